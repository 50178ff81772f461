//! Files in files: a pack as a goal of an Agentfile, an Agentfile as a tool of a pack's state, skills of a state. One run, one journal.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use convoke_config::{Environment, Loader};
use convoke_core::store::NewMail;
use convoke_core::{EffectKind, Fork, Phase, RunId, RunStatus, Store};
use convoke_goals::Values;
use convoke_host::{ActiveRun, FinishedRun, GoOnOptions, Host, HostBuilder, StartOptions};
use convoke_store::MemoryStore;
use serde_json::json;
use tempfile::TempDir;

const DAY: &str = r#"NAME day
INPUT customer
INPUT message
GOAL talk FROM desk/desk.pack.yaml -> summary, items:json
GOAL report "Report on $summary for $customer"
RUN main USING talk, report
"#;

const DIG: &str = r#"NAME dig
INPUT what
GOAL look "Look into $what"
RUN main USING look
"#;

const DESK: &str = r#"
id: desk
name: Desk
version: 1.0.0
template_engine: {version: v1, syntax: "{{variable}}"}
metadata: {convoke: {workflows: {dig: dig.agent}}}
tools:
  dig: {name: dig, description: Looks into something}
skills: [./skills, {name: counting, description: Counts., instructions: One after the other.}]
prompts:
  intake: {id: intake, name: Intake, version: 1.0.0, system_template: "You take in what {{customer}} says.",
    variables: [{name: customer, type: string, required: true}]}
  work: {id: work, name: Work, version: 1.0.0, system_template: "You work on {{workflow_context}}.", tools: [dig]}
  close: {id: close, name: Close, version: 1.0.0, system_template: "You close it."}
workflow:
  version: 2
  entry: intake
  states:
    intake: {prompt_task: intake, skills: none, on_event: {Work: work}}
    work: {prompt_task: work, skills: ./skills/garden, on_event: {Ask: approval},
      artifacts: {summary: {type: text/plain}, items: {type: application/json}}}
    approval: {prompt_task: close, orchestration: external, on_event: {Approved: done}}
    done: {prompt_task: close, skills: none, terminal: true}
"#;

const SCRIPT: &str = r#"
[[rule]]
when = { user_contains = "Report on two things" }
reply = "Two things, reported."

[[rule]]
when = { user_contains = "Look into soil" }
reply = "Dug up."

[[rule]]
when = { system_contains = "You take in what ada says" }
reply = { tool_calls = [{ name = "workflow__transition", arguments = { event = "Work", context = "the garden" } }] }

[[rule]]
when = { system_contains = "You work on the garden", tool_result_contains = "Dug up." }
reply = { tool_calls = [
  { name = "workflow__set_artifact", arguments = { name = "summary", value = "two things" } },
  { name = "workflow__set_artifact", arguments = { name = "items", value = '["a", "b"]' } },
  { name = "workflow__transition", arguments = { event = "Ask", context = "may it be closed?" } },
] }

[[rule]]
when = { system_contains = "You work on the garden", tool_result_contains = "Dig deep" }
reply = { tool_calls = [{ name = "dig", arguments = { what = "soil" } }] }

[[rule]]
when = { system_contains = "digging: Digs" }
reply = { tool_calls = [{ name = "use_skill", arguments = { name = "digging" } }] }

[[rule]]
when = { system_contains = "You close it" }
reply = "Closed."
"#;

/// A folder to work in, and a home.
struct House {
    home: TempDir,
    project: TempDir,
    store: Arc<dyn Store>,
}

impl House {
    fn new() -> Self {
        let (home, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let house = Self { home, project, store: Arc::new(MemoryStore::new()) };
        house.put("day.agent", DAY);
        house.put("desk/desk.pack.yaml", DESK);
        house.put("desk/dig.agent", DIG);
        house.put(
            "desk/skills/garden/digging/SKILL.md",
            "---\nname: digging\ndescription: Digs.\n---\nDig deep.\n",
        );
        house.put(
            "desk/skills/office/filing/SKILL.md",
            "---\nname: filing\ndescription: Files.\n---\nBy date.\n",
        );
        house.put("script.toml", SCRIPT);
        house
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn path(&self) -> &Path {
        self.project.path()
    }

    fn host(&self) -> Host {
        let model = format!("scripted/{}", self.path().join("script.toml").display());
        let environment = Environment::of([
            ("HOME", self.home.path().to_str().unwrap()),
            ("CONVOKE_MODEL", &model),
            ("CONVOKE_WORKSPACE", self.path().to_str().unwrap()),
            ("PATH", "/usr/bin:/bin"),
        ]);
        let builder: HostBuilder =
            Host::builder(Loader::new(environment).folder(self.path()).load().unwrap());
        builder.store(Arc::clone(&self.store)).build().unwrap()
    }

    /// Whatever waits for it may go on.
    /// Goes on to the end, and approves as soon as that is waited for: an event belongs to the visit it is sent in.
    async fn approved(&self, run: &RunId, running: ActiveRun) -> FinishedRun {
        let approving = async {
            while !self.waits(run).await {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            self.store.post(run, NewMail::json("Approved", &json!("by the board")).unwrap()).await.unwrap();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            finished = running.finish() => finished.unwrap(),
            () = approving => unreachable!("it waits for ever"),
        }
    }

    async fn waits(&self, run: &RunId) -> bool {
        let entries = self.store.entries(run, 1, usize::MAX).await.unwrap();
        let last = entries.iter().rfind(|entry| entry.effect == EffectKind::Receive);
        last.is_some_and(|entry| entry.phase == Phase::Started)
    }

    /// What was done for good, by path.
    async fn done(&self, run: &RunId) -> Vec<String> {
        let entries = self.store.entries(run, 1, usize::MAX).await.unwrap();
        let effects = [EffectKind::Model, EffectKind::Tool];
        let done =
            entries.iter().filter(|entry| entry.phase == Phase::Finished && effects.contains(&entry.effect));
        let mut done: Vec<String> = done.map(|entry| entry.path.to_string()).collect();
        done.sort();
        done
    }
}

fn given() -> Values {
    Values::from_iter([("customer", "ada"), ("message", "There is something in the garden.")])
}

fn is_right(finished: &FinishedRun) -> bool {
    let outputs = &finished.outcome.state["outputs"];
    finished.outcome.status == RunStatus::Completed
        && finished.result() == Some("Two things, reported.")
        && outputs["talk"] == "Closed."
        && outputs["summary"] == "two things"
        && outputs["items"] == json!(["a", "b"])
}

#[tokio::test]
async fn a_nested_run_that_is_killed_anywhere_comes_to_the_same_end_and_does_nothing_twice() {
    let house = House::new();
    let host = house.host();
    let loaded = host.load(house.path().join("day.agent")).unwrap();
    let said: Vec<_> = loaded.diagnostics.iter().map(|diagnostic| &diagnostic.message).collect();
    assert!(said.is_empty(), "{said:?}");
    let run: RunId = "day-1".parse().unwrap();
    let mut options = StartOptions::default();
    options.id = Some(run.clone());
    let running = host.start(loaded, given(), options).await.unwrap();
    let finished = house.approved(&run, running).await;
    assert!(is_right(&finished), "{:?} {:?}", finished.outcome.state, finished.error());
    let done = house.done(&run).await;
    assert_eq!(done.len(), 13, "{done:#?}");
    // The files are needed no more: the run has kept them.
    for file in ["day.agent", "desk/desk.pack.yaml", "desk/dig.agent", "desk/skills/garden/digging/SKILL.md"]
    {
        std::fs::remove_file(house.path().join(file)).unwrap();
    }
    let entries = house.store.entries(&run, 1, usize::MAX).await.unwrap().len() as u64;
    for cut in 1..=entries {
        let killed = Fork::new(run.clone(), cut).create(&house.store).await.unwrap();
        let again = house.host().go_on(&killed, GoOnOptions::default()).await.unwrap();
        let finished = house.approved(&killed, again).await;
        assert!(is_right(&finished), "killed before entry {cut}: {:?}", finished.error());
        assert_eq!(house.done(&killed).await, done, "killed before entry {cut}");
    }
}

#[tokio::test]
async fn what_does_not_go_together_is_said_where_it_is_written() {
    let house = House::new();
    let host = house.host();
    let said = |name: &str| {
        let loaded = host.load(house.path().join(name)).unwrap();
        let said: Vec<String> = loaded.diagnostics.iter().map(|found| found.message.clone()).collect();
        said.join("\n")
    };
    house.put(
        "wrong.agent",
        "NAME wrong\nAGENT x FROM desk/desk.pack.yaml\nAGENT y \"You.\"\n\
         GOAL a FROM desk/desk.pack.yaml -> sumary USING y\n\
         CONVERGE b FROM desk/desk.pack.yaml WITHIN 3\nGOAL c \"c\" USING x\nRUN main USING a, b, c\n",
    );
    let wrong = said("wrong.agent");
    for part in [
        "`desk/desk.pack.yaml` cannot be an agent",
        "`desk/desk.pack.yaml` needs `customer`, which nothing defines",
        "the pack `desk` gives no `sumary`",
        "`a` is a pack, which works by itself",
        "`b` is a pack, which is not improved on",
    ] {
        assert!(wrong.contains(part), "{part}:\n{wrong}");
    }
    house.put("desk/desk.pack.yaml", &DESK.replace("entry: intake", "entry: intkae"));
    let wrong = said("day.agent");
    assert!(wrong.contains("`desk/desk.pack.yaml` has an error in it"), "{wrong}");
    house.put("desk/desk.pack.yaml", &DESK.replace("{dig: dig.agent}", "{gid: dig.agent}"));
    assert!(said("desk/desk.pack.yaml").contains("the pack has no tool `gid`"));
    let parameters = "description: Looks into something, parameters: {type: object, properties: {how: {}}}";
    house.put("desk/desk.pack.yaml", &DESK.replace("description: Looks into something", parameters));
    assert!(said("desk/desk.pack.yaml").contains("needs `what`, which the tool has no parameter for"));
}

#[tokio::test]
async fn files_that_name_each_other_in_a_circle_are_refused() {
    let house = House::new();
    let host = house.host();
    house.put("desk/dig.agent", "NAME dig\nINPUT what\nINPUT customer\nGOAL a FROM desk.pack.yaml\nGOAL look \"Look into $what\"\nRUN main USING a, look\n");
    let loaded = host.load(house.path().join("day.agent")).unwrap();
    let said: Vec<&String> = loaded
        .diagnostics
        .iter()
        .flat_map(|found| std::iter::once(&found.message).chain(&found.notes))
        .collect();
    assert!(said.iter().any(|said| said.contains("without end")), "{said:?}");
}

#[tokio::test]
async fn a_skill_that_is_none_and_one_that_is_not_there() {
    let house = House::new();
    let host = house.host();
    house.put("desk/skills/garden/digging/SKILL.md", "Dig.");
    let loaded = host.load(house.path().join("desk/desk.pack.yaml")).unwrap();
    assert_eq!(loaded.diagnostics.errors(), 1);
    house.put("desk/desk.pack.yaml", &DESK.replace("[./skills,", "[./nowhere, '@org/filing@1.0',"));
    let loaded = host.load(house.path().join("desk/desk.pack.yaml")).unwrap();
    let said: Vec<String> = loaded.diagnostics.iter().map(|found| found.message.clone()).collect();
    assert_eq!(
        said,
        ["there is no skill in `./nowhere`", "there is no skill `@org/filing@1.0` on this machine"]
    );
    assert!(loaded.definition.is_some(), "what is not there keeps nothing from being run");
    let kept = [house.path().join("desk/skills/office")];
    let loaded = host.load_with(house.path().join("desk/desk.pack.yaml"), &kept).unwrap();
    assert_eq!(loaded.diagnostics.iter().count(), 1, "skills that are kept elsewhere are found by name");
}
