//! A workflow with a bit of everything that can go wrong in a crash.

use std::time::Duration;

use convoke::core::{
    BoxFuture, CallContext, Invocation, Model, ModelRequest, Reality, Reconciliation, Repeat, ReplyStream,
    Tool, ToolSpec,
};
use convoke::prelude::*;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::points::point;
use crate::world::World;

/// How many model calls can be under way at the same moment.
pub(crate) const MODEL_CALLS_AT_ONCE: usize = 7;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Report {
    plan: String,
    registered: u32,
    rate: u32,
    notes: Vec<String>,
    rounds: u32,
    approved: bool,
    summary: String,
    letters: Vec<u32>,
    generations: u32,
    labels: String,
}

/// What a tool does when nobody knows whether it has acted.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Its key makes a second call harmless.
    Keyed,
    /// It can find out by the key.
    Reconciling,
    /// It has no idea.
    Blind,
}

struct Act {
    spec: ToolSpec,
    kind: Kind,
    world: World,
}

impl Act {
    fn new(name: &str, kind: Kind, world: &World) -> Self {
        let spec = ToolSpec::new(name, "Does something to the world.", ToolEffects::from(ToolEffect::Writes));
        let spec = if kind == Kind::Keyed { spec.repeat(Repeat::Safe) } else { spec };
        Self { spec, kind, world: world.clone() }
    }
}

impl Tool for Act {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            point("in the tool, before it acts");
            let what = call.arguments["what"].as_str().unwrap_or("?").to_owned();
            match self.kind {
                Kind::Keyed => self.world.put(call.key.as_str(), &what),
                Kind::Reconciling => self.world.add("reconciled", call.key.as_str(), &what),
                Kind::Blind => self.world.add("blind", call.key.as_str(), &what),
            }
            point("between the tool and the journal");
            Ok(format!("did {what}"))
        })
    }

    fn reconcile<'a>(
        &'a self,
        key: &'a convoke::core::IdempotencyKey,
        arguments: &'a Value,
        _: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<Reconciliation, Error>> {
        Box::pin(async move {
            Ok(match self.kind {
                Kind::Reconciling if self.world.has("reconciled", key.as_str()) => {
                    Reconciliation::Done(format!("did {}", arguments["what"].as_str().unwrap_or("?")))
                }
                Kind::Reconciling => Reconciliation::NotDone,
                _ => Reconciliation::Unknown,
            })
        })
    }
}

/// A scripted model that keeps count of what it was asked and what was paid for.
struct Counted {
    inner: ScriptedModel,
    world: World,
}

impl Model for Counted {
    fn name(&self) -> &str {
        "counted"
    }

    fn reality(&self) -> Reality {
        Reality::Simulated
    }

    fn reply<'a>(&'a self, request: ModelRequest, call: CallContext) -> ReplyStream<'a> {
        let key = call.key.to_string();
        point("before a model call");
        let done = futures_util::stream::once(async move {
            self.world.add("model", &key, "call");
            point("between the model's reply and the journal");
        });
        Box::pin(self.inner.reply(request, call).chain(done.filter_map(|()| async { None })))
    }
}

fn model(world: &World) -> Counted {
    let inner = ScriptedModel::builder()
        .when(Match::has_tool_result(), Reply::text("the tools did it"))
        .when(
            Match::offers_tools(),
            Reply::tool("keyed", json!({"what": "agent keyed"}))
                .and_tool("blind", json!({"what": "agent blind"})),
        )
        .otherwise(Reply::with(|request: &ModelRequest| {
            let asked = request.messages.last().map(|message| message.text()).unwrap_or_default();
            format!("answer to {asked}")
        }))
        .build();
    Counted { inner, world: world.clone() }
}

pub(crate) fn runtime_model(world: &World) -> impl Model + 'static {
    model(world)
}

pub(crate) fn build(world: &World) -> Workflow<Report> {
    let tools = Toolset::new()
        .with(Act::new("keyed", Kind::Keyed, world))
        .and_then(|tools| tools.with(Act::new("reconciling", Kind::Reconciling, world)))
        .and_then(|tools| tools.with(Act::new("blind", Kind::Blind, world)))
        .expect("three different names");
    let act = |step: &str, tool: &str, what: &'static str| {
        ToolStep::new(step.to_owned(), &tools, tool.to_owned(), move |_: &Report| {
            Ok::<_, Error>(json!({"what": what}))
        })
        .discard()
    };
    let note = |name: &'static str| {
        prompt(name, move |_: &Report| format!("note {name}")).text(|report: &mut Report| {
            report.notes.push(String::new());
            report.notes.last_mut().expect("one was just added")
        })
    };
    let take_notes = |report: &mut Report, branch: Report| report.notes.extend(branch.notes);
    let inner = Parallel::builder("inner", Join::all().finish_rest())
        .branch(
            Chain::new("left").then(act("act", "reconciling", "left")).then(note("left note")),
            take_notes,
        )
        .branch(Chain::new("right").then(act("act", "keyed", "right")).then(note("right note")), take_notes)
        .build()
        .expect("two different names");
    let agent = Agent::builder("worker").tools(tools.clone()).build().expect("a valid agent");
    let agent = AgentStep::new("agent", agent, |_: &Report| "do both".to_owned())
        .store(|report: &mut Report, result| report.notes.push(result.text()));
    let research = Parallel::builder("research", Join::all().finish_rest())
        .branch(
            Chain::new("direct").then(note("first")).then(act("act", "keyed", "direct")).then(note("second")),
            take_notes,
        )
        .branch(inner, take_notes)
        .branch(agent, take_notes)
        .build()
        .expect("three different names");
    let each = Map::new(
        "each",
        Join::all().cancel_rest(),
        |_: &Report| vec!["a".to_owned(), "b".to_owned(), "c".to_owned()],
        prompt("item", |item: &String| format!("item {item}")).text(|item: &mut String| item),
        |report, mapped| report.notes.extend(mapped.into_iter().filter_map(|item| item.result.ok())),
    );
    let round = Chain::new("round")
        .then(note("round note"))
        .then(act("act", "reconciling", "round"))
        .then(task("count", count));
    let once = Chain::new("once")
        .then(task("register", register))
        .then(prompt("plan", |_: &Report| "make a plan").text(|report| &mut report.plan))
        .then(research)
        .then(each)
        .then(Loop::times("rounds", 3, round))
        .then(task("approve", approve));
    let first = Router::new("first")
        .route("once", |report: &Report| report.generations == 0, once)
        .otherwise(func("later", |_: &mut Report| Ok::<_, Error>(())));
    // What comes after it happens in every generation, at the same places.
    let main = Chain::new("main")
        .then(first)
        .then(act("finish", "blind", "finish"))
        .then(prompt("summary", |_: &Report| "sum up").text(|report| &mut report.summary))
        .then(task("look back", look_back))
        .then(task("next", next));
    Workflow::new(main)
}

/// Continues twice.
async fn next(scope: &Scope, report: &mut Report) -> Result<(), Error> {
    report.generations += 1;
    if report.generations < 3 { scope.continue_with(report) } else { Ok(()) }
}

async fn register(scope: &Scope, report: &mut Report) -> Result<(), Error> {
    let before = scope.now().await?;
    report.rate = scope.custom("rate").repeatable().perform(|_| async { Ok::<_, Error>(7) }).await?;
    report.registered =
        scope.custom("register").request(&"me").perform(|_| async { Ok::<_, Error>(42) }).await?;
    let after = scope.now().await?;
    if after < before { Err("time ran backwards".into()) } else { Ok(()) }
}

async fn look_back(scope: &Scope, report: &mut Report) -> Result<(), Error> {
    report.labels = scope.labels().to_string();
    Ok(())
}

async fn count(scope: &Scope, report: &mut Report) -> Result<(), Error> {
    report.rounds += scope.custom("one").repeatable().perform(|_| async { Ok::<_, Error>(1_u32) }).await?;
    Ok(())
}

async fn approve(scope: &Scope, report: &mut Report) -> Result<(), Error> {
    report.approved = scope.ask(Question::approval("Finish?")).await?.is_approval();
    for _ in 0..2 {
        report.letters.push(scope.receive::<u32>("letters").await?.payload);
    }
    // Over by the time that another process begins.
    scope.sleep(Duration::from_millis(1)).await
}
