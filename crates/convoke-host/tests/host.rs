//! What a program does with a host: load, start, answer, go on, read along, add a kind of file.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::path::Path;
use std::sync::Arc;

use convoke_config::{Environment, Loader};
use convoke_core::store::{Batch, OnBusy};
use convoke_core::{Answer, BoxFuture, EventKind, PendingQuestion, Responder, RunStatus, Store};
use convoke_goals::Values;
use convoke_host::{GoOnOptions, Host, HostError, StartOptions};
use convoke_store::SqliteStore;
use tempfile::TempDir;

const AGENTFILE: &str = r#"NAME letter
INPUT topic
INPUT token SECRET
TOOLS write
GOAL draft "Write about $topic with $token"
GOAL sign "Sign $draft" SUPERVISED HUMAN
RUN main USING draft, sign
"#;

const SCRIPT: &str = r#"
[[rule]]
when.output = "commitment"
json = { interpretation = "Sign it.", approach = "With a name.", confidence = "high" }

[[rule]]
when.output = "assessment"
json = { met_commitment = true }

[[rule]]
when = { user_contains = '<current-goal id="draft">' }
reply = [{ tool_calls = [{ name = "write", arguments = { path = "draft.txt", content = "Looms." } }] }, { text = "Looms." }]

[[rule]]
when = { user_contains = '<current-goal id="sign">' }
reply = "Looms. Ann"
"#;

/// A folder to work in, and a home.
struct House {
    home: TempDir,
    project: TempDir,
}

impl House {
    fn new() -> Self {
        let house = Self { home: tempfile::tempdir().unwrap(), project: tempfile::tempdir().unwrap() };
        house.put("letter.agent", AGENTFILE);
        house.put("script.toml", SCRIPT);
        house
    }

    fn put(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    fn path(&self) -> &Path {
        self.project.path()
    }

    /// As a program would open it that was started for this folder.
    fn host(&self) -> Host {
        self.builder().build().unwrap()
    }

    fn builder(&self) -> convoke_host::HostBuilder {
        let home = self.home.path().to_str().unwrap();
        let model = format!("scripted/{}", self.path().join("script.toml").display());
        let workspace = self.path().to_str().unwrap();
        let environment = Environment::of([
            ("HOME", home),
            ("CONVOKE_MODEL", &model),
            ("CONVOKE_WORKSPACE", workspace),
            ("PATH", "/usr/bin:/bin"),
        ]);
        Host::builder(Loader::new(environment).folder(self.path()).load().unwrap())
    }
}

fn topic() -> Values {
    Values::from_iter([("topic", "looms"), ("token", "sesame-open-wide")])
}

/// Somebody who approves of everything.
struct Agreeable;

impl Responder for Agreeable {
    fn respond<'a>(&'a self, _: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(async { Some(Answer::approve().by("ann")) })
    }
}

#[tokio::test]
async fn a_file_is_run_with_tools_and_policy() {
    let house = House::new();
    let host = house.host();
    let loaded = host.load(house.path().join("letter.agent")).unwrap();
    let schema = loaded.definition.as_ref().unwrap().inputs_schema();
    assert_eq!(schema["properties"]["topic"]["type"], "string");
    assert_eq!(schema["properties"]["token"]["writeOnly"], true);
    assert_eq!(schema["required"], serde_json::json!(["topic", "token"]));
    let mut options = StartOptions::default();
    options.responder = Some(Arc::new(Agreeable));
    let mut running = host.start(loaded, topic(), options).await.unwrap();
    let mut calls = 0;
    while let Some(event) = running.next().await {
        calls += u32::from(matches!(event.kind, EventKind::ToolCallExecuting { .. }));
    }
    let finished = running.finish().await.unwrap();
    assert_eq!(finished.outcome.status, RunStatus::Completed, "{:?}", finished.error());
    assert_eq!((finished.result(), calls), (Some("Looms. Ann"), 1));
    assert_eq!(std::fs::read_to_string(house.path().join("draft.txt")).unwrap(), "Looms.");
    let record = host.record(&finished.outcome.run).await.unwrap();
    assert_eq!(record.record.status, RunStatus::Completed);
    assert_eq!(Path::new(&finished.manifest().path), house.path().join("letter.agent"));
}

#[tokio::test]
async fn a_run_that_waits_is_answered_and_gone_on_with_by_another_host() {
    let house = House::new();
    let host = house.host();
    let loaded = host.load(house.path().join("letter.agent")).unwrap();
    let running = host.start(loaded, topic(), StartOptions::default()).await.unwrap();
    let finished = running.finish().await.unwrap();
    assert_eq!(finished.outcome.status, RunStatus::Suspended);
    let run = finished.outcome.run.clone();
    let question = finished.outcome.questions()[0].id.clone();
    drop(host);
    // The file is needed no more.
    std::fs::remove_file(house.path().join("letter.agent")).unwrap();
    let other = house.host();
    other.answer(&run, &question, Answer::approve().by("ben")).await.unwrap();
    let unequipped = other.go_on(&run, GoOnOptions::default()).await;
    assert!(matches!(unequipped, Err(HostError::SecretsMissing { names, .. }) if names == ["token"]));
    let mut again = GoOnOptions::default();
    again.secrets = Values::from_iter([("token", "sesame-open-wide")]);
    let finished = other.go_on(&run, again).await.unwrap().finish().await.unwrap();
    assert_eq!((finished.outcome.status, finished.result()), (RunStatus::Completed, Some("Looms. Ann")));
    // Whoever reads along later hears all of it, without anything being done.
    let mut events = other.subscribe(&run, None).await.unwrap();
    let mut heard = Vec::new();
    while let Some(event) = events.next().await {
        heard.push(event.unwrap().kind);
    }
    assert!(matches!(heard.last(), Some(EventKind::RunEnded(_))), "{:?}", heard.last());
    let ended = other.go_on(&run, GoOnOptions::default()).await;
    assert!(matches!(ended, Err(HostError::Ended { status: RunStatus::Completed, .. })));
}

/// `TOOLS write, none` was no mistake once.
#[tokio::test]
async fn a_run_that_was_begun_before_a_rule_came_is_not_refused_for_it() {
    let house = House::new();
    let host = house.host();
    let loaded = host.load(house.path().join("letter.agent")).unwrap();
    let finished =
        host.start(loaded, topic(), StartOptions::default()).await.unwrap().finish().await.unwrap();
    let run = finished.outcome.run.clone();
    let mut kept = host.record(&run).await.unwrap().record.launch;
    let text = AGENTFILE.replace("TOOLS write", "TOOLS write, none");
    kept.host.as_mut().unwrap()["agentfile"]["text"] = text.as_str().into();
    let store = SqliteStore::open(host.store_file()).unwrap();
    let lease = store.claim(&run, OnBusy::Refuse).await.unwrap();
    store.append(&lease, Batch { launch: Some(kept), ..Batch::default() }).await.unwrap();
    drop(store);
    host.answer(&run, &finished.outcome.questions()[0].id, Answer::approve().by("ann")).await.unwrap();
    let mut again = GoOnOptions::default();
    again.secrets = Values::from_iter([("token", "sesame-open-wide")]);
    let finished = host.go_on(&run, again).await.unwrap().finish().await.unwrap();
    assert_eq!(finished.outcome.status, RunStatus::Completed, "{:?}", finished.error());
    house.put("new.agent", &text);
    let new = host.load(house.path().join("new.agent")).unwrap();
    assert_eq!(new.diagnostics.errors(), 1, "{:?}", new.diagnostics);
    assert!(new.valid().is_err());
}

#[tokio::test]
async fn what_is_wrong_is_said_before_anything_is_done() {
    let house = House::new();
    let host = house.host();
    house.put("wrong.agent", "NAME wrong\nGOAL a \"x\"\nRUN main USING b\n");
    let wrong = host.load(house.path().join("wrong.agent")).unwrap();
    assert!(wrong.diagnostics.errors() > 0 && wrong.definition.is_none());
    let refused = host.start(wrong, Values::new(), StartOptions::default()).await;
    assert!(matches!(refused, Err(HostError::Invalid { kind: "Agentfile", .. })));
    let loaded = || host.load(house.path().join("letter.agent")).unwrap();
    let Err(HostError::Inputs { problems }) =
        host.start(loaded(), Values::from_iter([("token", "x")]), StartOptions::default()).await
    else {
        panic!("an input is missing");
    };
    assert!(problems.iter().any(|problem| problem.contains("topic")), "{problems:?}");
    assert!(matches!(host.load(house.path().join("nowhere")), Err(HostError::File(_))));
    house.put("policy.toml", "version = 1\nnonsense = 1\n");
    let refused = house.host().start(loaded(), topic(), StartOptions::default()).await;
    assert!(matches!(refused, Err(HostError::Policy(_))));
    assert!(!house.path().join("draft.txt").exists());
}

#[tokio::test]
async fn a_run_goes_on_only_where_it_was_begun_and_under_the_policy_that_was_named() {
    let house = House::new();
    let loose = house.home.path().join("loose.toml");
    std::fs::write(&loose, "version = 1\n").unwrap();
    let host = house.host();
    let mut options = StartOptions::default();
    options.policy = Some(loose.clone());
    let loaded = host.load(house.path().join("letter.agent")).unwrap();
    let finished = host.start(loaded, topic(), options).await.unwrap().finish().await.unwrap();
    let run = finished.outcome.run;
    let unnamed = host.go_on(&run, GoOnOptions::default()).await;
    assert!(matches!(unnamed, Err(HostError::PolicyToBeNamed { .. })));
    let elsewhere = House { home: house.home, project: tempfile::tempdir().unwrap() };
    elsewhere.put("script.toml", SCRIPT);
    let other = elsewhere.builder().store_file(host.store_file()).build().unwrap();
    let mut options = GoOnOptions::default();
    options.policy = Some(loose);
    let moved = other.go_on(&run, options).await;
    assert!(matches!(moved, Err(HostError::Elsewhere { .. })), "{:?}", moved.err());
}

mod another_kind {
    use super::*;
    use convoke_core::{Runner, Step, Workflow};
    use convoke_goals::agentfile::Source;
    use convoke_goals::agentfile::diagnostic::Diagnostics;
    use convoke_goals::agentfile::load::Loader as Files;
    use convoke_goals::agentfile::model::Input;
    use convoke_goals::{Equipment, Problem, Secrets};
    use convoke_host::{Definition, DefinitionKind, EquippedDefinition};
    use serde_json::{Value, json};

    /// Files whose text is what a run of them comes to.
    struct Echoes;
    #[derive(Clone)]
    struct Echo(String);
    struct Say(String);

    impl DefinitionKind for Echoes {
        fn name(&self) -> &'static str {
            "echo"
        }
        fn title(&self) -> &'static str {
            "echo"
        }
        fn recognizes(&self, name: &str, _: &[u8]) -> bool {
            name.ends_with(".echo")
        }
        fn read(&self, source: &Source, _: &dyn Files) -> (Option<Arc<dyn Definition>>, Diagnostics) {
            (Some(Arc::new(Echo(source.text().trim().to_owned()))), Diagnostics::default())
        }
    }

    impl Definition for Echo {
        fn name(&self) -> &str {
            "echo"
        }
        fn inputs(&self) -> &[Input] {
            &[]
        }
        fn inputs_schema(&self) -> Value {
            json!({"type": "object"})
        }
        fn outline(&self) -> Value {
            json!(self.0)
        }
        fn outline_text(&self) -> String {
            self.0.clone()
        }
        fn names_model(&self) -> bool {
            false
        }
        fn separate_secrets(&self, values: Values) -> (Secrets, Values) {
            (Secrets::new(), values)
        }
        fn equip(&self, _: &Equipment) -> Result<Box<dyn EquippedDefinition>, Vec<String>> {
            Ok(Box::new(self.clone()))
        }
        fn result(&self, state: &Value) -> Option<String> {
            state.as_str().map(str::to_owned)
        }
    }

    impl EquippedDefinition for Echo {
        fn runner(&self) -> Runner {
            Runner::new(&Workflow::new(Say(self.0.clone())).named("echo"))
        }
        fn warnings(&self) -> &[Problem] {
            &[]
        }
        fn bind(&self, _: Values) -> Result<Vec<u8>, Vec<String>> {
            Ok(b"\"\"".to_vec())
        }
    }

    impl Step<String> for Say {
        fn name(&self) -> &str {
            "say"
        }
        fn run<'a>(
            &'a self,
            _: &'a convoke_core::Scope,
            state: &'a mut String,
        ) -> BoxFuture<'a, Result<(), convoke_core::Error>> {
            Box::pin(async move {
                state.clone_from(&self.0);
                Ok(())
            })
        }
    }

    #[tokio::test]
    async fn plugs_in_and_is_gone_on_with() {
        let house = House::new();
        house.put("hello.echo", "hello\n");
        let host = house.builder().kind(Echoes).build().unwrap();
        let loaded = host.load(house.path().join("hello.echo")).unwrap();
        assert_eq!(loaded.title(), "echo");
        let running = host.start(loaded, Values::new(), StartOptions::default()).await.unwrap();
        let finished = running.finish().await.unwrap();
        assert_eq!(finished.result(), Some("hello"));
        let record = host.record(&finished.outcome.run).await.unwrap().record;
        assert_eq!(host.manifest(&record).unwrap().text, "hello\n");
        // One that does not know the kind says so, and touches nothing.
        assert!(matches!(house.host().manifest(&record), Err(HostError::UnknownKind { .. })));
        let agentfile = host.load(house.path().join("letter.agent")).unwrap();
        assert_eq!(agentfile.title(), "Agentfile");
    }
}
