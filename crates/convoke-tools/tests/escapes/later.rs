//! Questions that are asked while a command waits, and answered later or not at all.

use std::sync::Arc;
use std::time::Duration;

use convoke_core::{
    Answer, BoxFuture, Error, PendingQuestion, Question, Responder, RunId, RunStatus, Runtime, Scope, Step,
    Store, Tool, ToolResult, Workflow,
};
use convoke_store::MemoryStore;
use convoke_tools::network::HostRules;
use convoke_tools::policy::Policy;
use convoke_tools::sandbox::{Confinement, Network, Sandbox};
use serde_json::json;

use crate::common::{Call, Hands};
use crate::shell::in_views;

/// Somebody who is there, and says "later"; or says nothing at all.
#[derive(Clone, Copy)]
enum Person {
    Later,
    Silent,
}

impl Responder for Person {
    fn respond<'a>(&'a self, _: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        match self {
            Self::Later => Box::pin(async { None }),
            Self::Silent => Box::pin(std::future::pending()),
        }
    }
}

/// A store, and processes that work on its runs one after the other.
struct House {
    store: Arc<dyn Store>,
    run: RunId,
}

impl House {
    fn new() -> Self {
        Self { store: Arc::new(MemoryStore::new()), run: "later".parse().unwrap() }
    }

    fn runtime(&self, person: Option<Person>) -> Runtime {
        let runtime = Runtime::builder().shared_store(Arc::clone(&self.store));
        person.into_iter().fold(runtime, |runtime, person| runtime.responder(person)).build()
    }

    async fn start(&self, person: Person, calls: &Workflow<Option<ToolResult>>) -> RunStatus {
        let outcome = self.runtime(Some(person)).start(calls, None).id(self.run.clone()).await.unwrap();
        outcome.status
    }

    async fn resume(&self, person: Option<Person>, calls: &Workflow<Option<ToolResult>>) -> RunStatus {
        self.runtime(person).resume(calls, self.run.clone()).await.unwrap().status
    }

    async fn open(&self) -> Vec<PendingQuestion> {
        self.store.questions(Some(&self.run)).await.unwrap()
    }

    /// Answers the only open question.
    async fn answer(&self, answer: Answer) -> Question {
        let open = self.open().await;
        assert_eq!(open.len(), 1, "{open:?}");
        self.store.answer(&self.run, &open[0].id, answer).await.unwrap();
        open[0].question.clone()
    }
}

/// Commands one after the other, with a question of the workflow's own between them.
struct Commands {
    bash: Arc<dyn Tool>,
    commands: Vec<String>,
}

impl Step<Option<ToolResult>> for Commands {
    fn name(&self) -> &str {
        "commands"
    }

    fn run<'a>(
        &'a self,
        scope: &'a Scope,
        state: &'a mut Option<ToolResult>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            for (number, command) in self.commands.iter().enumerate() {
                if number > 0 {
                    scope.ask(Question::confirm("Go on?")).await?;
                }
                let arguments = json!({"command": command, "timeout": 20});
                Call { tool: Arc::clone(&self.bash), arguments }.run(scope, state).await?;
            }
            Ok(())
        })
    }
}

fn calls(bash: &Arc<dyn Tool>, commands: &[&str]) -> Workflow<Option<ToolResult>> {
    let commands = commands.iter().map(|command| (*command).to_owned()).collect();
    Workflow::new(Commands { bash: Arc::clone(bash), commands })
}

fn reviewed(test: &str) -> Option<Hands> {
    in_views(test, |sandbox| sandbox.reviewed(true))
}

#[tokio::test]
async fn changes_that_are_approved_later_come_out_if_they_are_the_same_again() {
    let Some(hands) = reviewed("changes_that_are_approved_later_come_out_if_they_are_the_same_again") else {
        return;
    };
    let (house, bash) = (House::new(), hands.tool("bash"));
    hands.put("from", "innocent");
    let calls = calls(bash, &["cat from > made"]);
    assert_eq!(house.start(Person::Later, &calls).await, RunStatus::Suspended);
    let question = house.answer(Answer::approve()).await;
    assert!(question.details.contains("it is run again when the run goes on"), "{question:?}");
    assert!(!hands.inside("made").exists());
    // Somebody changes what it reads: other changes were not approved, and nobody is asked what became of the command.
    hands.put("from", "evil");
    assert_eq!(house.resume(Some(Person::Later), &calls).await, RunStatus::Suspended);
    assert!(!hands.inside("made").exists());
    let question = house.answer(Answer::approve()).await;
    assert!(question.title.starts_with("May what the command changed") && question.details.contains("+evil"));
    // Also where nobody is there any more.
    assert_eq!(house.resume(None, &calls).await, RunStatus::Completed);
    assert_eq!((hands.content("made").as_str(), house.open().await.len()), ("evil", 0));
}

#[tokio::test]
async fn a_run_that_is_killed_in_a_question_of_a_command_is_not_in_doubt() {
    let Some(hands) = reviewed("a_run_that_is_killed_in_a_question_of_a_command_is_not_in_doubt") else {
        return;
    };
    let house = Arc::new(House::new());
    let calls = calls(hands.tool("bash"), &["echo once >> made"]);
    let running = tokio::spawn({
        let (house, calls) = (Arc::clone(&house), calls.clone());
        async move { house.start(Person::Silent, &calls).await }
    });
    while house.open().await.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    running.abort();
    let _ = running.await;
    house.answer(Answer::approve()).await;
    assert_eq!(house.resume(Some(Person::Later), &calls).await, RunStatus::Completed);
    assert_eq!((hands.content("made").as_str(), house.open().await.len()), ("once\n", 0));
}

/// `bash` whose hosts are asked about, as another process would have it.
fn by_host(hands: &Hands) -> Arc<dyn Tool> {
    let policy = Policy::parse("version = 1\n[commands]\nnetwork = \"hosts\"\n", "policy.toml").unwrap();
    let sandbox = Sandbox::new(&hands.workspace).unwrap().confinement(Confinement::View);
    Arc::new(convoke_tools::shell::bash(&sandbox.network(Network::Hosts(HostRules::new([policy])))))
}

/// Asks the proxy for a host that nobody has.
const CONNECT: &str = "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT asked.invalid:443 HTTP/1.1\\r\\n\\r\\n' >&3; head -1 <&3";

#[tokio::test]
async fn the_answer_about_a_host_holds_until_the_run_ends() {
    let Some(hands) = in_views("the_answer_about_a_host_holds_until_the_run_ends", |sandbox| sandbox) else {
        return;
    };
    let house = House::new();
    let command = format!("{CONNECT}; echo done >> ran");
    let calls = |bash: &Arc<dyn Tool>| calls(bash, &[&command, &command]);
    assert_eq!(house.start(Person::Later, &calls(&by_host(&hands))).await, RunStatus::Suspended);
    let question = house.answer(Answer::approve()).await;
    assert!(question.title.contains("asked.invalid:443"), "{question:?}");
    // It is run again, and goes on to the question between the two.
    assert_eq!(house.resume(Some(Person::Later), &calls(&by_host(&hands))).await, RunStatus::Suspended);
    assert_eq!(hands.content("ran"), "done\n");
    assert_eq!(house.answer(Answer::approve()).await.title, "Go on?");
    // Another process knows the answer, too.
    assert_eq!(house.resume(Some(Person::Later), &calls(&by_host(&hands))).await, RunStatus::Completed);
    assert_eq!((hands.content("ran").as_str(), house.open().await.len()), ("done\ndone\n", 0));
}

#[tokio::test]
async fn no_question_outlives_its_call() {
    let Some(hands) = in_views("no_question_outlives_its_call", |sandbox| sandbox) else { return };
    let house = House::new();
    let command = format!("({CONNECT}) & sleep 1; echo over > over");
    let status = house.start(Person::Silent, &calls(&by_host(&hands), &[&command])).await;
    assert_eq!((status, hands.content("over").as_str()), (RunStatus::Completed, "over\n"));
    assert_eq!(house.open().await.len(), 0);
}
