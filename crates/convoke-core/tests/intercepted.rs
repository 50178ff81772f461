//! Interceptors: they deny, ask, and change what goes out and what comes back.

use std::sync::Arc;

use crate::common::Trail;
use crate::common::meddling::{Meddler, kind};
use crate::common::stored::{Home, asks, echo, says};
use crate::common::tools::TestTool;
use convoke_core::store::{Batch, NewMail, NewRun};
use convoke_core::{
    Answer, BoxFuture, EffectOutcome, EffectRequest, Entry, Error, Event, EventKind, Fork, InterceptedEffect,
    Interceptor, Labels, Message, ModelRequest, Outcome, Path, Question, RunId, RunStatus, Runtime, Scope,
    Tool, ToolCall, Transcript, Verdict, Visibility, Workflow,
};
use convoke_steps::{AsyncFunc, Chain, task_boxed};
use serde_json::json;

const KINDS: [&str; 5] = ["model", "tool", "ask", "receive", "custom"];

/// Performs one effect, and gives what came of it.
async fn perform(scope: &Scope, kind: &str, tool: &Arc<dyn Tool>) -> Result<String, Error> {
    Ok(match kind {
        "model" => {
            let model = scope.default_model()?;
            scope.model(&model, ModelRequest::new("hello"), Visibility::Streamed).await?.text()
        }
        "tool" => {
            let call = ToolCall { id: "one".into(), name: "look".into(), arguments: json!({"at": "sky"}) };
            scope.tool_scope(&**tool, None).tool(tool, &call).await?.content
        }
        "ask" => {
            let answer = scope.ask(Question::text("Well?")).await?;
            serde_json::to_value(answer.decision)?["text"].as_str().unwrap_or("nothing").to_owned()
        }
        "receive" => scope.receive::<String>("letters").await?.payload,
        _ => {
            scope
                .custom("work")
                .request(&1)
                .perform(|_| async { Ok::<_, Error>("worked".to_owned()) })
                .await?
        }
    })
}

/// A step that performs one effect and leaves what came of it, or why not.
fn performs(kind: &'static str, tool: &TestTool) -> AsyncFunc<Trail> {
    let tool: Arc<dyn Tool> = Arc::new(tool.clone());
    task_boxed(kind, move |scope, trail: &mut Trail| {
        let tool = Arc::clone(&tool);
        Box::pin(async move {
            trail.steps.push(match perform(scope, kind, &tool).await {
                Err(Error::Denied(reason)) => format!("denied: {reason}"),
                outcome => outcome?,
            });
            Ok(())
        })
    })
}

/// An effect of one kind, and then a question.
fn one(kind: &'static str, tool: &TestTool) -> Workflow<Trail> {
    Workflow::new(Chain::new("main").then(performs(kind, tool)).then(asks("And now?")))
}

fn looks() -> TestTool {
    TestTool::gives("look", "stars")
}

fn runtime(home: &Home, interceptor: &Meddler) -> Runtime {
    home.builder().patience(std::time::Duration::ZERO).interceptor(interceptor.clone()).build()
}

async fn send(home: &Home, run: &RunId) {
    home.store().post(run, NewMail::json("letters", "dear you").unwrap()).await.unwrap();
}

/// Starts a run, and gives it what its effect waits for.
async fn run_through(home: &Home, runtime: &Runtime, workflow: &Workflow<Trail>) -> Outcome<Trail> {
    let first = runtime.start(workflow, Trail::default()).await.unwrap();
    let waits = home.asked(&first.run).await;
    if waits.is_empty() {
        send(home, &first.run).await;
    } else if waits == ["Well?"] {
        home.answer(&first.run, "Well?", Answer::text("fine")).await;
    } else {
        return first;
    }
    runtime.resume(workflow, first.run).await.unwrap()
}

#[tokio::test]
async fn every_kind_of_effect_can_be_denied_and_stays_denied_when_the_run_is_resumed() {
    for denied in KINDS {
        let (home, tool) = (Home::new(echo()), looks());
        // The question at the end is let through.
        let before = |about: &InterceptedEffect<'_>| match about.request {
            EffectRequest::Ask { question } if question.title != "Well?" => Verdict::Allow,
            request => Verdict::deny(format!("no {}", kind(request))),
        };
        let strict = Meddler { before, ..Meddler::called("strict") };
        let workflow = one(denied, &tool);
        let first = runtime(&home, &strict).start(&workflow, Trail::default()).await.unwrap();
        assert_eq!(home.asked(&first.run).await, ["And now?"], "{denied}");
        home.answer(&first.run, "And now?", Answer::text("end")).await;
        // Nobody forbids anything any more, and the past is what it was.
        let resumed = home.resume(&workflow, &first.run).await;
        let reason = match denied {
            "tool" => "`look` was not called: no tool".to_owned(),
            _ => format!("denied: no {denied}"),
        };
        assert_eq!(resumed.completed().unwrap().steps, [reason, "end".to_owned()]);
        assert_eq!((tool.calls(), home.model.requests().len()), (0, 0), "{denied}");
    }
}

#[tokio::test]
async fn a_person_can_be_asked_about_every_kind_of_effect_and_what_they_say_decides() {
    for asked in KINDS {
        for (answer, is_approved) in [(Answer::approve(), true), (Answer::reject("not today"), false)] {
            let (home, tool) = (Home::new(echo()), looks());
            let before = |about: &InterceptedEffect<'_>| match about.request {
                EffectRequest::Ask { question } if question.title != "Well?" => Verdict::Allow,
                _ => Verdict::ask(Question::approval("May it?")),
            };
            let asks = Meddler { before, ..Meddler::called("asks") };
            let (workflow, runtime) = (one(asked, &tool), runtime(&home, &asks));
            let first = runtime.start(&workflow, Trail::default()).await.unwrap();
            assert_eq!(
                (home.asked(&first.run).await, tool.calls()),
                (vec!["May it?".to_owned()], 0),
                "{asked}"
            );
            home.answer(&first.run, "May it?", answer).await;
            let mut next = runtime.resume(&workflow, first.run).await.unwrap();
            if is_approved && asked == "receive" {
                send(&home, &next.run).await;
                next = runtime.resume(&workflow, next.run).await.unwrap();
            } else if is_approved && asked == "ask" {
                home.answer(&next.run, "Well?", Answer::text("fine")).await;
                next = runtime.resume(&workflow, next.run).await.unwrap();
            }
            let left = &next.state.steps[0];
            assert_eq!(left.contains("not today"), !is_approved, "{asked}: {left}");
            assert_eq!(home.asked(&next.run).await, ["And now?"], "{asked}: {:?}", next.error);
        }
    }
}

type After = fn(&EffectRequest<'_>, &mut Result<EffectOutcome, Error>) -> Labels;

#[tokio::test]
async fn what_came_back_can_be_changed_or_denied_before_anybody_sees_it() {
    fn changed(_: &EffectRequest<'_>, outcome: &mut Result<EffectOutcome, Error>) -> Labels {
        match outcome {
            Ok(EffectOutcome::Model(reply)) => reply.message = Message::assistant("changed"),
            Ok(EffectOutcome::Tool(result)) => *result = "changed".to_owned(),
            Ok(EffectOutcome::Ask(answer)) => *answer = Answer::text("changed"),
            Ok(EffectOutcome::Receive(received)) => received.payload = json!("changed"),
            Ok(EffectOutcome::Custom(value)) => *value = json!("changed"),
            other => panic!("{other:?}"),
        }
        Labels::new()
    }
    fn denied(_: &EffectRequest<'_>, outcome: &mut Result<EffectOutcome, Error>) -> Labels {
        *outcome = Err(Error::Denied("not to be seen".into()));
        Labels::new()
    }
    for kind in KINDS {
        for (after, seen) in [(changed as After, "changed"), (denied, "denied: not to be seen")] {
            let home = Home::new(echo());
            let meddler = Meddler { after, ..Meddler::called("meddler") };
            let (workflow, runtime) = (one(kind, &looks()), runtime(&home, &meddler));
            let outcome = run_through(&home, &runtime, &workflow).await;
            assert_eq!(outcome.state.steps, [seen], "{kind}: {:?}", outcome.error);
            let told = home.runtime().replay(&workflow, &outcome.run).await.unwrap();
            assert_eq!(told.state.steps, [seen], "{kind}, told again");
            let kept = format!("{:?}", home.entries(&outcome.run).await);
            for original in ["hello!", "stars", "fine", "dear you", "worked"] {
                assert!(!kept.contains(original), "{kind}: {kept}");
            }
        }
    }
}

#[tokio::test]
async fn the_world_gets_what_was_changed_and_the_journal_and_events_have_what_the_run_knows() {
    let (home, tool) = (Home::new(echo()), looks());
    let meddler = Meddler {
        request: |request| {
            let messages: Transcript = request
                .messages
                .iter()
                .map(|said| Message::user(said.text().replace("hello", "SECRET")))
                .collect();
            Some(ModelRequest { messages, ..request.clone() })
        },
        arguments: |arguments| {
            Some(serde_json::from_str(&arguments.to_string().replace("sky", "SECRET")).unwrap())
        },
        question: |question| Some(Question { title: "SECRET?".to_owned(), ..question.clone() }),
        ..Meddler::called("meddler")
    };
    let workflow = Workflow::new(
        Chain::new("main")
            .then(performs("model", &tool))
            .then(performs("tool", &tool))
            .then(performs("ask", &tool)),
    );
    let start = runtime(&home, &meddler).start(&workflow, Trail::default());
    let (events, outcome) = start.stream().collect().await;
    let outcome = outcome.unwrap();
    assert_eq!(home.model.requests()[0].messages.last().unwrap().text(), "SECRET");
    assert_eq!(tool.heard(), [json!({"at": "SECRET"})]);
    assert_eq!(home.asked(&outcome.run).await, ["SECRET?"]);
    assert_eq!(outcome.state.steps[0], "SECRET!", "nothing takes it out of this reply");
    let asked = format!("{events:?}");
    assert!(!asked.contains("SECRET?") && asked.contains("Well?"), "{asked}");
    let requests: Vec<_> =
        home.entries(&outcome.run).await.into_iter().filter_map(|entry| entry.request).collect();
    let requests = format!("{requests:?}");
    assert!(
        !requests.contains("SECRET") && requests.contains("sky") && requests.contains("Well?"),
        "{requests}"
    );
    // Whoever looks at the arguments finds those of the run, so nothing diverges without the interceptor.
    home.answer(&outcome.run, "SECRET?", Answer::text("fine")).await;
    assert_eq!(home.resume(&workflow, &outcome.run).await.status, RunStatus::Completed);
}

#[tokio::test]
async fn an_approval_given_to_one_interceptor_never_answers_another() {
    fn asks_about_calls(name: &'static str, before: fn(&InterceptedEffect<'_>) -> Verdict) -> Meddler {
        Meddler { before, ..Meddler::called(name) }
    }
    for answer in [Answer::approve(), Answer::approve().for_run()] {
        let (home, tool) = (Home::new(echo()), looks());
        let policy = asks_about_calls("policy", |about| match about.request {
            EffectRequest::Tool { .. } => {
                Verdict::ask(Question::approval("Policy: may it?").covers("looking"))
            }
            _ => Verdict::Allow,
        });
        let guard = asks_about_calls("guard", |about| match about.request {
            EffectRequest::Tool { .. } => {
                Verdict::ask(Question::approval("Guard: really?").covers("looking"))
            }
            _ => Verdict::Allow,
        });
        let workflow = one("tool", &tool);
        let first = runtime(&home, &policy).start(&workflow, Trail::default()).await.unwrap();
        home.answer(&first.run, "Policy: may it?", answer).await;
        let both = home.builder().interceptor(guard).interceptor(policy).build();
        let second = both.resume(&workflow, first.run).await.unwrap();
        let asked = home.asked(&second.run).await;
        assert!(asked.contains(&"Guard: really?".to_owned()) && tool.calls() == 0, "{asked:?}");
        home.answer(&second.run, "Guard: really?", Answer::approve()).await;
        let third = both.resume(&workflow, second.run).await.unwrap();
        assert_eq!((third.state.steps, tool.calls()), (vec!["stars".to_owned()], 1));
    }
}

/// The journal of an earlier version, which asked about calls where nobody had a name.
fn unnamed(entries: Vec<Entry>) -> Vec<Entry> {
    let rename = |entry: Entry| Entry {
        path: Path::from(entry.path.as_str().replace("interceptors/policy", "gate").as_str()),
        ..entry
    };
    entries.into_iter().map(rename).collect()
}

#[tokio::test]
async fn what_was_approved_when_nobody_who_asked_had_a_name_is_the_policys() {
    let before = |about: &InterceptedEffect<'_>| match about.request {
        EffectRequest::Tool { .. } => Verdict::ask(Question::approval("May it?")),
        _ => Verdict::Allow,
    };
    for inherits in [true, false] {
        let (home, tool) = (Home::new(echo()), looks());
        let policy = Meddler { before, inherits, ..Meddler::called("policy") };
        let workflow = Workflow::new(performs("tool", &tool));
        let first = runtime(&home, &policy).start(&workflow, Trail::default()).await.unwrap();
        let record = home.store().run(&first.run).await.unwrap().unwrap();
        let old = NewRun {
            id: "old".parse().unwrap(),
            workflow: record.workflow,
            version: record.version,
            input: record.input,
            seed: record.seed,
            outline: record.outline,
            launch: record.launch,
            forked_from: None,
            past: Batch { entries: unnamed(home.entries(&first.run).await), ..Batch::default() },
        };
        let lease = home.store().create(old).await.unwrap();
        home.store().release(&lease);
        let run: RunId = "old".parse().unwrap();
        let asked = runtime(&home, &policy).resume(&workflow, run.clone()).await.unwrap();
        assert_eq!((asked.status, home.asked(&run).await.len()), (RunStatus::Suspended, 1));
        home.answer(&run, "May it?", Answer::approve()).await;
        let done = runtime(&home, &policy).resume(&workflow, run.clone()).await.unwrap();
        assert_eq!(done.completed().unwrap().steps, ["stars"]);
        let asked = home.entries(&run).await.iter().any(|entry| entry.path.as_str().contains("interceptors"));
        assert_eq!(asked, !inherits, "asked in the old place, or anew");
    }
}

#[tokio::test]
async fn a_fork_asks_again_before_it_does_what_an_interceptor_was_told_it_may() {
    let before = |about: &InterceptedEffect<'_>| match about.request {
        EffectRequest::Custom { .. } => Verdict::ask(Question::approval("May it?")),
        _ => Verdict::Allow,
    };
    let home = Home::new(echo());
    let asks = Meddler { before, ..Meddler::called("asks") };
    let (workflow, runtime) = (one("custom", &looks()), runtime(&home, &asks));
    let run = runtime.start(&workflow, Trail::default()).await.unwrap().run;
    home.answer(&run, "May it?", Answer::approve()).await;
    let _ = runtime.resume(&workflow, run.clone()).await.unwrap();
    let entries = home.entries(&run).await;
    let begun = entries.iter().find(|entry| entry.effect == convoke_core::EffectKind::Custom).unwrap().seq;
    let forked = async |at: u64| {
        let fork = Fork::new(run.clone(), at).create(home.store()).await.unwrap();
        let _ = runtime.resume(&workflow, fork.clone()).await.unwrap();
        home.asked(&fork).await
    };
    assert_eq!(forked(begun).await, ["May it?"], "it would be done again");
    assert_eq!(forked(entries.last().unwrap().seq + 1).await, ["And now?"], "it is done");
}

#[tokio::test]
async fn a_reply_that_must_be_judged_is_told_to_nobody_before() {
    let told = async |meddler: Meddler| {
        let runtime = Runtime::builder().model(echo()).interceptor(meddler).build();
        let workflow = Workflow::new(Chain::new("main").then(performs("model", &looks())));
        let (events, outcome) = runtime.start(&workflow, Trail::default()).stream().collect().await;
        (format!("{events:?}").contains("hello!"), outcome.unwrap().state.steps.remove(0), events)
    };
    let after = |_: &EffectRequest<'_>, outcome: &mut Result<EffectOutcome, Error>| {
        *outcome = Err(Error::Denied("no".into()));
        Labels::new()
    };
    let late = Meddler { after, ..Meddler::called("late") };
    assert!(told(late.clone()).await.0, "pieces are told as they come");
    let (heard, left, _) = told(Meddler { holds: true, ..late }).await;
    assert_eq!((heard, left.as_str()), (false, "denied: no"));
    let (heard, left, events) = told(Meddler { holds: true, ..Meddler::called("calm") }).await;
    assert_eq!((heard, left.as_str()), (true, "hello!"));
    let count =
        |is_it: fn(&EventKind) -> bool| events.iter().filter(|event: &&Event| is_it(&event.kind)).count();
    assert_eq!(count(|kind| matches!(kind, EventKind::MessageStarted { .. })), 1);
    assert_eq!(count(|kind| matches!(kind, EventKind::MessageEnded { .. })), 1);
}

/// Has a model say something before every call.
struct Thinks;

impl Interceptor for Thinks {
    fn name(&self) -> &'static str {
        "thinks"
    }

    fn before<'a>(&'a self, about: InterceptedEffect<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
        Box::pin(async move {
            let model = about.scope.default_model()?;
            let about_it = ModelRequest::new(format!("a {}?", kind(about.request)));
            let said = about.scope.model(&model, about_it, Visibility::Hidden).await?.text();
            Ok(if said.ends_with('!') { Verdict::Allow } else { Verdict::deny(said) })
        })
    }
}

#[tokio::test]
async fn what_an_interceptor_does_is_told_to_the_others_and_counts_when_the_run_is_told_again() {
    let (home, watches) = (Home::new(echo()), Meddler::called("watches"));
    let runtime = home.builder().interceptor(Thinks).interceptor(watches.clone()).build();
    let workflow = Workflow::new(Chain::new("main").then(says("a")).then(performs("tool", &looks())));
    let outcome = runtime.start(&workflow, Trail::default()).await.unwrap();
    let totals = outcome.totals;
    assert_eq!(outcome.state.steps, ["a!", "stars"]);
    assert_eq!(watches.seen(), ["model", "model", "model", "tool"], "thought, said, thought, done");
    assert_eq!(totals.model_calls, 3);
    let told = runtime.replay(&workflow, &outcome.run).await.unwrap();
    assert_eq!((told.unused, told.error.is_none()), (0, true));
    assert_eq!(home.model.requests().len(), 3, "nobody thinks again");
}

#[tokio::test]
async fn what_interceptors_do_counts_once_however_often_the_run_goes_on() {
    let home = Home::new(echo());
    let runtime = home.builder().interceptor(Thinks).build();
    let main = Chain::new("main").then(says("a")).then(performs("tool", &looks())).then(asks("well?"));
    let workflow = Workflow::new(Chain::new("all").then(says("before")).then(main).then(says("b")));
    let suspended = runtime.start(&workflow, Trail::default()).await.unwrap();
    assert_eq!(suspended.status, RunStatus::Suspended, "{:?}", suspended.error);
    home.answer(&suspended.run, "well?", Answer::text("well")).await;
    let done = runtime.resume(&workflow, suspended.run).await.unwrap();
    assert_eq!(done.status, RunStatus::Completed, "{:?}", done.error);
    assert_eq!(done.totals.model_calls as usize, home.model.requests().len());
    assert_eq!(done.totals.model_calls, 8, "three were said, and five thought");
}

/// Asks a person, says what came of it, and asks something else.
fn asks_and_copes() -> AsyncFunc<Trail> {
    task_boxed("cope", |scope, trail: &mut Trail| {
        Box::pin(async move {
            trail.steps.push(match scope.ask(Question::text("first?")).await {
                Err(Error::Denied(_)) => "denied".to_owned(),
                other => format!("{:?}", other?.decision),
            });
            trail.steps.push(scope.labels().to_string());
            scope.ask(Question::text("second?")).await?;
            Ok(())
        })
    })
}

#[tokio::test]
async fn a_question_that_is_denied_when_the_run_goes_on_is_no_longer_open() {
    let (home, workflow) = (Home::new(echo()), Workflow::new(asks_and_copes()));
    let suspended = home.start(&workflow, Trail::default()).await;
    assert_eq!(home.asked(&suspended.run).await, ["first?"]);
    let before = |about: &InterceptedEffect<'_>| match about.request {
        EffectRequest::Ask { question } if question.title == "first?" => {
            Verdict::deny("nobody is to be asked")
        }
        _ => Verdict::Allow,
    };
    let denying = Meddler { before, ..Meddler::called("denies") };
    let again = runtime(&home, &denying).resume(&workflow, suspended.run.clone()).await.unwrap();
    assert_eq!(again.status, RunStatus::Suspended, "{:?}", again.error);
    assert_eq!(home.asked(&suspended.run).await, ["second?"]);
    // One that is denied before it was asked is never open.
    let new = runtime(&home, &denying).start(&workflow, Trail::default()).await.unwrap();
    assert_eq!(home.asked(&new.run).await, ["second?"]);
}

#[tokio::test]
async fn what_an_interceptor_says_of_an_answer_is_known_from_then_on() {
    let (home, workflow) = (Home::new(echo()), Workflow::new(asks_and_copes()));
    let after = |request: &EffectRequest<'_>, _: &mut Result<EffectOutcome, Error>| match request {
        EffectRequest::Ask { .. } => "from=person".parse().unwrap(),
        _ => Labels::new(),
    };
    let labelling = Meddler { after, ..Meddler::called("labels") };
    let run = runtime(&home, &labelling).start(&workflow, Trail::default()).await.unwrap().run;
    for title in ["first?", "second?"] {
        home.answer(&run, title, Answer::text("yes")).await;
        let outcome = runtime(&home, &labelling).resume(&workflow, run.clone()).await.unwrap();
        assert_ne!(outcome.status, RunStatus::Failed, "{:?}", outcome.error);
    }
    let told = home.runtime().replay(&workflow, &run).await.unwrap();
    assert_eq!(told.state.steps.last().map(String::as_str), Some("from=person"));
}

#[tokio::test]
async fn what_an_interceptor_says_of_mail_is_known_from_then_on() {
    let step = task_boxed("take", |scope, trail: &mut Trail| {
        Box::pin(async move {
            trail.text = scope.receive::<String>("letters").await?.payload;
            trail.steps.push(scope.labels().to_string());
            Ok(())
        })
    });
    let (home, workflow) = (Home::new(echo()), Workflow::new(step));
    let after = |request: &EffectRequest<'_>, _: &mut Result<EffectOutcome, Error>| match request {
        EffectRequest::Receive { .. } => "from=mail".parse().unwrap(),
        _ => Labels::new(),
    };
    let labelling = runtime(&home, &Meddler { after, ..Meddler::called("labels") });
    let run = labelling.start(&workflow, Trail::default()).await.unwrap().run;
    send(&home, &run).await;
    let done = labelling.resume(&workflow, run).await.unwrap();
    assert_eq!((done.state.text.as_str(), &*done.state.steps), ("dear you", &["from=mail".to_owned()][..]));
}

#[tokio::test]
async fn two_interceptors_of_one_name_are_refused() {
    let twice =
        Runtime::builder().interceptor(Meddler::called("a")).interceptor(Meddler::called("a")).build();
    let workflow = Workflow::new(says("a"));
    let refused = twice.start(&workflow, Trail::default()).await.unwrap_err();
    assert!(refused.to_string().contains("duplicate or empty interceptor name `a`"), "{refused}");
    let adds = task_boxed("adds", |scope, _: &mut Trail| {
        Box::pin(async move { scope.intercepted(Arc::new(Meddler::called("a"))).map(drop) })
    });
    let once = Runtime::builder().interceptor(Meddler::called("a")).build();
    let outcome = once.start(&Workflow::new(adds), Trail::default()).await.unwrap();
    assert_eq!(outcome.status, RunStatus::Failed, "a scope cannot have one of a name that is taken");
}

#[tokio::test]
async fn a_scopes_own_interceptor_is_told_what_is_done_in_it_and_below_and_nothing_else() {
    let (home, own) = (Home::new(echo()), Meddler::called("own"));
    let inside = own.clone();
    let step = task_boxed("work", move |scope, trail: &mut Trail| {
        let inside = inside.clone();
        Box::pin(async move {
            let scope = scope.intercepted(Arc::new(inside))?;
            scope.run(&says("below"), trail).await
        })
    });
    let workflow = Workflow::new(Chain::new("main").then(says("a")).then(step).then(says("b")));
    home.start(&workflow, Trail::default()).await.completed().unwrap();
    assert_eq!(own.seen(), ["model"]);
}

#[tokio::test]
async fn what_a_step_was_allowed_in_the_place_of_an_interceptor_is_no_approval_of_that() {
    for (outer, inner) in [("interceptors", "policy"), ("x", "gate")] {
        let home = Home::new(echo());
        let before = |about: &InterceptedEffect<'_>| match about.request {
            EffectRequest::Custom { .. } => Verdict::ask(Question::approval("may it?").covers("pay")),
            _ => Verdict::Allow,
        };
        let policy = Meddler { before, inherits: true, ..Meddler::called("policy") };
        let runtime = home.builder().interceptor(policy).build();
        let harmless = task_boxed(inner, |scope, _: &mut Trail| {
            Box::pin(async move {
                scope.ask(Question::approval("a harmless thing?").covers("pay")).await?;
                Ok(())
            })
        });
        let pays = task_boxed("pays", |scope, trail: &mut Trail| {
            Box::pin(async move {
                trail.count += scope.custom("pay").perform(|_| async { Ok::<u64, Error>(1) }).await?;
                Ok(())
            })
        });
        let first = Chain::new(outer).then(harmless);
        let workflow = Workflow::new(Chain::new("main").then(first).then(asks("pause")).then(pays));
        let run = runtime.start(&workflow, Trail::default()).await.unwrap().run;
        home.answer(&run, "a harmless thing?", Answer::approve().for_run()).await;
        assert_eq!(runtime.resume(&workflow, run.clone()).await.unwrap().status, RunStatus::Suspended);
        home.answer(&run, "pause", Answer::text("x")).await;
        let outcome = runtime.resume(&workflow, run.clone()).await.unwrap();
        assert_eq!((outcome.status, outcome.state.count), (RunStatus::Suspended, 0));
        assert_eq!(home.asked(&run).await, ["may it?"]);
    }
}

#[tokio::test]
async fn a_call_that_was_denied_was_not_made_and_does_not_count_when_the_run_goes_on() {
    let home = Home::new(echo());
    let before = |about: &InterceptedEffect<'_>| match about.request {
        EffectRequest::Model { .. } => Verdict::deny("not today"),
        _ => Verdict::Allow,
    };
    let runtime = home.builder().interceptor(Meddler { before, ..Meddler::called("guard") }).build();
    let copes = task_boxed("copes", |scope, trail: &mut Trail| {
        Box::pin(async move {
            let model = scope.default_model()?;
            let denied = scope.model(&model, ModelRequest::new("well?"), Visibility::Streamed).await;
            trail.steps.push(denied.unwrap_err().to_string());
            Ok(())
        })
    });
    let workflow = Workflow::new(Chain::new("main").then(copes).then(asks("pause")));
    let (heard, outcome) = runtime.start(&workflow, Trail::default()).stream().collect().await;
    let waiting = outcome.unwrap();
    assert_eq!(waiting.totals.model_calls, 0);
    home.answer(&waiting.run, "pause", Answer::text("on")).await;
    let (told, outcome) = runtime.resume(&workflow, waiting.run).stream().collect().await;
    let ended = outcome.unwrap();
    assert_eq!((ended.status, ended.totals.model_calls), (RunStatus::Completed, 0));
    for events in [heard, told] {
        let calls = events.iter().filter(|event| matches!(event.kind, EventKind::ModelCallEnded { .. }));
        assert_eq!(calls.count(), 0, "nobody was called");
    }
}

#[tokio::test]
async fn what_an_interceptor_asks_is_for_whom_the_runtime_says_and_refused_when_nobody_answers_in_time() {
    let (home, tool) = (Home::new(echo()), looks());
    let asks = Meddler {
        before: |about| match kind(about.request) {
            "tool" => Verdict::Ask { question: Box::new(Question::approval("May it?")) },
            _ => Verdict::Allow,
        },
        ..Meddler::called("asks")
    };
    let time = std::time::Duration::from_millis(50);
    let runtime = || {
        let builder = home.builder().interceptor(asks.clone()).answered_by(["ann"]);
        builder.answered_within(Some(time)).build()
    };
    let workflow = one("tool", &tool);
    let run = runtime().start(&workflow, Trail::default()).await.unwrap().run;
    home.answer(&run, "May it?", Answer::approve().by("bob")).await;
    tokio::time::sleep(2 * time).await;
    let after = runtime().resume(&workflow, run).await.unwrap();
    assert_eq!(tool.calls(), 0);
    assert!(after.state.steps[0].contains("nobody answered in time"), "{:?}", after.state.steps);
}
