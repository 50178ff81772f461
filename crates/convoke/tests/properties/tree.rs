//! Random trees of steps.

use std::collections::BTreeSet;
use std::time::Duration;

use convoke::core::{BoxFuture, Error as KernelError, ModelRequest};
use convoke::prelude::*;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

/// The state: what was done, in order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Log {
    pub(crate) lines: Vec<String>,
    pub(crate) attempts: u32,
}

/// A workflow to be.
#[derive(Debug, Clone)]
pub(crate) enum Tree {
    Write,
    Fail,
    Panic,
    Hang,
    Model,
    Custom,
    Clock,
    Sleep,
    Ask,
    Mail,
    Flaky,
    Chain(Vec<Tree>),
    Forgiving(Vec<Tree>),
    Patient(Vec<Tree>),
    Tolerant(Vec<Tree>),
    Race(Vec<Tree>),
    Loop(u64, Box<Tree>),
    Timed(Box<Tree>),
}

impl Tree {
    pub(crate) const KINDS: usize = 18;

    /// The step, with a name of its own.
    pub(crate) fn step(&self, name: &str) -> Box<dyn Step<Log>> {
        match self {
            Self::Write => Box::new(func(name, |log: &mut Log| {
                log.lines.push("wrote".to_owned());
                Ok::<_, Error>(())
            })),
            Self::Fail => Box::new(func(name, |log: &mut Log| {
                log.lines.push("failing".to_owned());
                Err("no luck")
            })),
            Self::Panic => Box::new(func(name, |_: &mut Log| -> Result<(), Error> { panic!("help") })),
            Self::Hang => Box::new(task(name, hang)),
            Self::Model => {
                Box::new(prompt(name, |log: &Log| format!("line {}", log.lines.len())).text(new_line))
            }
            Self::Custom => Box::new(task(name, custom)),
            Self::Clock => Box::new(task(name, clock)),
            Self::Sleep => Box::new(task(name, sleep)),
            Self::Ask => Box::new(task(name, ask)),
            Self::Mail => Box::new(task(name, mail)),
            Self::Flaky => {
                let flaky = func("flaky", |log: &mut Log| {
                    log.attempts += 1;
                    if log.attempts.is_multiple_of(3) { Ok(()) } else { Err(Error::transient("not yet")) }
                });
                let policy = RetryPolicy::attempts(2).expect("two is not zero");
                Box::new(Retry::new(flaky, policy).named(name))
            }
            Self::Chain(children) => Box::new(chain(name, children, None)),
            Self::Forgiving(children) => Box::new(chain(name, children, Some(OnError::Continue))),
            Self::Patient(children) => Box::new(fan(name, children, Join::all().finish_rest())),
            Self::Tolerant(children) => Box::new(fan(name, children, Join::keep_succeeded())),
            Self::Race(children) => Box::new(fan(name, children, Join::any().cancel_rest())),
            Self::Loop(times, body) => Box::new(Loop::times(name, *times, body.step("body"))),
            Self::Timed(child) => Box::new(child.step(name).timeout(Duration::from_secs(100))),
        }
    }

    fn children(&self) -> &[Tree] {
        match self {
            Self::Chain(children)
            | Self::Forgiving(children)
            | Self::Patient(children)
            | Self::Tolerant(children)
            | Self::Race(children) => children,
            Self::Loop(_, child) | Self::Timed(child) => std::slice::from_ref(child),
            _ => &[],
        }
    }

    fn has(&self, wanted: fn(&Self) -> bool) -> bool {
        wanted(self) || self.children().iter().any(|child| child.has(wanted))
    }

    fn has_beside_others(&self, wanted: fn(&Self) -> bool) -> bool {
        let is_fan = matches!(self, Self::Patient(_) | Self::Tolerant(_) | Self::Race(_));
        (is_fan && self.children().len() > 1 && self.has(wanted))
            || self.children().iter().any(|child| child.has_beside_others(wanted))
    }

    /// Whether the time of an answer may decide what another branch's failure does.
    fn asks_beside_others(&self) -> bool {
        self.has_beside_others(|tree| matches!(tree, Self::Ask | Self::Mail))
    }

    /// The same if somebody may have to be asked what became of something that was interrupted.
    fn acts_beside_others(&self) -> bool {
        self.has_beside_others(|tree| matches!(tree, Self::Custom))
    }

    /// Which kinds of step are in it.
    pub(crate) fn kinds(&self, seen: &mut BTreeSet<String>) {
        let name = format!("{self:?}");
        seen.insert(name.split(['(', ' ', ',']).next().unwrap_or_default().to_owned());
        self.children().iter().for_each(|child| child.kinds(seen));
    }
}

fn new_line(log: &mut Log) -> &mut String {
    log.lines.push(String::new());
    log.lines.last_mut().expect("one was just added")
}

fn chain(name: &str, children: &[Tree], on_error: Option<OnError<Log>>) -> Chain<Log> {
    // The same name more than once: paths must be told apart all the same.
    children.iter().fold(Chain::new(name), |chain, child| match &on_error {
        Some(on_error) => chain.then_or(child.step("link"), on_error.clone()),
        None => chain.then(child.step("link")),
    })
}

fn fan(name: &str, children: &[Tree], join: Join) -> Parallel<Log> {
    let empty = Parallel::builder(name, join);
    let full = children.iter().enumerate().fold(empty, |fan, (index, child)| {
        fan.branch(child.step(&format!("branch {index}")), |log: &mut Log, branch: Log| {
            log.lines.push(format!("joined {}", branch.lines.len()));
        })
    });
    full.build().expect("names are different and there is at least one branch")
}

async fn hang(_: &Scope, _: &mut Log) -> Result<(), Error> {
    tokio::time::sleep(Duration::from_secs(1_000_000)).await;
    Ok(())
}

async fn custom(scope: &Scope, log: &mut Log) -> Result<(), Error> {
    let number: usize =
        scope.custom("count").request(&log.lines.len()).perform(|_| async { Ok::<_, Error>(7) }).await?;
    log.lines.push(format!("custom {number}"));
    let failed: Result<u32, KernelError> = scope.custom("fail").perform(|_| async { Err("no") }).await;
    log.lines.push(format!("failed: {}", failed.is_err()));
    Ok(())
}

fn clock<'a>(scope: &'a Scope, log: &'a mut Log) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        let before = scope.now().await?;
        let ordered = before <= scope.now().await?;
        log.lines.push(format!("ordered {ordered}, random {}", scope.random() == scope.random()));
        log.lines.push(format!("knows {}", scope.labels()));
        Ok(())
    })
}

async fn sleep(scope: &Scope, log: &mut Log) -> Result<(), Error> {
    scope.sleep(Duration::from_millis(100)).await?;
    log.lines.push("slept".to_owned());
    Ok(())
}

async fn ask(scope: &Scope, log: &mut Log) -> Result<(), Error> {
    let answer = scope.ask(Question::approval("go on?")).await?;
    log.lines.push(format!("approved {}", answer.is_approval()));
    Ok(())
}

async fn mail(scope: &Scope, log: &mut Log) -> Result<(), Error> {
    let letter = scope.receive::<String>("letters").await?;
    log.lines.push(format!("{} by {}", letter.payload, letter.sender));
    Ok(())
}

/// The same workflow in so many generations, each with the state of the one before.
pub(crate) fn in_generations(tree: &Tree, generations: u32) -> Workflow<Log> {
    let next = task_boxed("next", move |scope: &Scope, log: &mut Log| {
        Box::pin(async move {
            log.lines.push(format!("random {}", scope.random()));
            match scope.generation() + 1 < generations {
                true => scope.continue_with(log),
                false => Ok(()),
            }
        })
    });
    Workflow::new(Chain::new("generations").then(tree.step("body")).then(next))
}

/// A model that says what it was asked.
pub(crate) fn echo() -> ScriptedModel {
    let reply = Reply::with(|request: &ModelRequest| {
        let asked = request.messages.last().map(|message| message.text()).unwrap_or_default();
        format!("you said {asked}")
    });
    ScriptedModel::builder().otherwise(reply).forget_requests().build()
}

fn leaf() -> impl Strategy<Value = Tree> {
    use Tree::{Ask, Clock, Custom, Fail, Flaky, Hang, Mail, Model, Panic, Sleep, Write};
    prop_oneof![
        3 => Just(Write),
        3 => Just(Model),
        2 => Just(Custom),
        1 => Just(Fail),
        1 => Just(Panic),
        1 => Just(Hang),
        1 => Just(Clock),
        1 => Just(Sleep),
        1 => Just(Ask),
        1 => Just(Mail),
        1 => Just(Flaky),
    ]
}

fn tree(race: bool) -> impl Strategy<Value = Tree> {
    leaf().prop_recursive(4, 20, 4, move |inner| {
        let several = proptest::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            3 => several.clone().prop_map(Tree::Chain),
            2 => several.clone().prop_map(Tree::Forgiving),
            2 => several.clone().prop_map(Tree::Patient),
            1 => several.clone().prop_map(Tree::Tolerant),
            1 => several.prop_map(move |children| if race { Tree::Race(children) } else { Tree::Tolerant(children) }),
            1 => (0_u64..3, inner.clone()).prop_map(|(times, body)| Tree::Loop(times, Box::new(body))),
            1 => inner.prop_map(|child| Tree::Timed(Box::new(child))),
        ]
    })
}

/// Any tree at all.
pub(crate) fn any_tree() -> impl Strategy<Value = Tree> {
    tree(true)
}

/// A tree whose outcome does not depend on who is first, be it a branch or a person.
pub(crate) fn steady_tree() -> impl Strategy<Value = Tree> {
    tree(false).prop_filter("nobody is asked beside other branches", |tree| !tree.asks_beside_others())
}

/// A steady tree that may be killed at any moment: nobody is asked about an interruption beside other branches.
pub(crate) fn killable_tree() -> impl Strategy<Value = Tree> {
    steady_tree().prop_filter("nothing is done beside other branches", |tree| !tree.acts_beside_others())
}
