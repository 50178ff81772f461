//! Skills: which there are, how they are taken up, and that their limits hold.
use std::fs;
use std::sync::Arc;

use crate::run_support::{Echo, Rig, systems, text};
use convoke_agent::FunctionTool;
use convoke_core::store::Store;
use convoke_core::{EffectKind, Error, EventKind, Fork, ModelRequest, Phase, RunId, Runtime, Toolset};
use convoke_goals::agentfile::load::{MemoryLoader, Skill};
use convoke_goals::{Agent, Goal, Sequence, SkillShelf, Spawning, Type, Values, Workflow};
use convoke_models::{Match, Reply, ScriptedModel};
use convoke_store::MemoryStore;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tempfile::TempDir;

const REVIEW: &str =
    "---\nname: review\ndescription: Reviews\n  code.\nallowed-tools: echo\n---\n\nLook twice.\n";
const TIDY: &str = "---\nname: tidy\ndescription: Tidies up.\n---\nSort, then sweep.\n";

fn kept(skills: &[(&str, &str)]) -> (TempDir, SkillShelf) {
    let folder = TempDir::new().unwrap();
    for (path, text) in skills {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let shelf = SkillShelf::find_in([folder.path()]);
    (folder, shelf)
}

fn usual() -> (TempDir, SkillShelf) {
    kept(&[
        ("review/SKILL.md", REVIEW),
        ("review/scripts/lint.sh", "true"),
        ("review/references/style.md", "Short lines."),
        ("tidy/SKILL.md", TIDY),
    ])
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// `echo` and `erase`; `erase` notes that it was called.
fn tools(echo: &Echo) -> Toolset {
    let notes = echo.clone();
    let erase = FunctionTool::new("erase", "Erases", move |_: Nothing| {
        notes.note("erased".to_owned());
        async move { Ok::<_, Error>("gone".to_owned()) }
    });
    echo.tools().with(erase).unwrap()
}

fn tree() -> Workflow {
    Workflow::new("w").sequence(Sequence::new("s").goal(Goal::new("g", "Do it")))
}

fn rig(model: &ScriptedModel, echo: &Echo, shelf: &SkillShelf) -> Rig {
    Rig::new(model).with(|equipment| {
        equipment.tools = tools(echo);
        equipment.skills = shelf.clone();
    })
}

/// What tools gave back in a request, in order.
fn results(request: &ModelRequest) -> Vec<(String, bool)> {
    let results = request.messages.iter().flat_map(|message| message.results());
    results.map(|result| (result.content.clone(), result.is_error)).collect()
}

fn use_skill(name: &str) -> Reply {
    Reply::tool("use_skill", json!({"name": name}))
}

fn erase() -> Reply {
    Reply::tool("erase", json!({}))
}

#[test]
fn agent_188_skills_are_found_and_wrong_ones_passed_over() {
    let head = |name: &str| format!("---\nname: {name}\ndescription: d\n---\nx");
    let wrong = [
        ("nameless", "---\ndescription: d\n---\nx".to_owned(), "its head has no `name`"),
        ("idle", "---\nname: idle\n---\nx".to_owned(), "its head has no `description`"),
        ("open", "---\nname: open\ndescription: d\n".to_owned(), "must begin with a line `---`"),
        ("bare", "just text".to_owned(), "must begin with a line `---`"),
        ("other", head("another"), "its name is `another` and its folder is `other`"),
        ("Loud", head("Loud"), "`Loud` cannot be its name"),
        ("two--dashes", head("two--dashes"), "`two--dashes` cannot be its name"),
        ("-dash", head("-dash"), "`-dash` cannot be its name"),
        ("dash-", head("dash-"), "`dash-` cannot be its name"),
    ];
    let (folder, _) = usual();
    for (name, text, _) in &wrong {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("SKILL.md"), text).unwrap();
    }
    fs::create_dir(folder.path().join("no-skill")).unwrap();
    fs::write(folder.path().join("file.md"), "x").unwrap();
    let shelf = SkillShelf::find_in([folder.path().join("nowhere"), folder.path().to_owned()]);
    assert_eq!(shelf.catalogue(), [("review", "Reviews code."), ("tidy", "Tidies up.")]);
    let review = shelf.find("review").unwrap();
    assert_eq!(review.description, "Reviews code.");
    assert_eq!(review.instructions, "Look twice.");
    assert_eq!(review.allowed_tools.as_deref(), Some(&["echo".to_owned()][..]));
    assert_eq!(
        (review.scripts.as_slice(), review.references.as_slice()),
        (&["lint.sh".to_owned()][..], &["style.md".to_owned()][..])
    );
    assert_eq!(shelf.passed_over().len(), wrong.len(), "{:?}", shelf.passed_over());
    for (name, _, why) in wrong {
        let (_, error) =
            shelf.passed_over().iter().find(|(path, _)| *path == folder.path().join(name)).expect(name);
        assert!(error.to_string().contains(why), "{name}: {error}");
    }
    assert!(shelf.find("nothing").is_none());
}

#[test]
fn the_first_of_two_skills_of_a_name_counts() {
    let (near, _) = kept(&[("tidy/SKILL.md", "---\nname: tidy\ndescription: near\n---\n")]);
    let (far, _) = usual();
    let shelf = SkillShelf::find_in([near.path(), far.path()]);
    assert_eq!(shelf.catalogue(), [("review", "Reviews code."), ("tidy", "near")]);
}

#[test]
fn tools_with_parentheses_are_one() {
    let text = "---\nname: s\ndescription: d\nallowed-tools: Bash(git add:*), Read Grep\n---\n";
    let skill = Skill::load(&MemoryLoader::default().with("s/SKILL.md", text), "s").unwrap();
    assert_eq!(skill.allowed_tools.unwrap(), ["Bash(git add:*)", "Read", "Grep"]);
}

#[tokio::test]
async fn agent_080_the_catalogue_is_in_the_system_message() {
    let (_folder, shelf) = usual();
    let echo = Echo::default();
    let model = ScriptedModel::replies(["done"]);
    rig(&model, &echo, &shelf).run(tree()).await.completed();
    let system = systems(&model).remove(0);
    assert!(system.contains("\n- review: Reviews code.\n- tidy: Tidies up."), "{system}");
    assert!(system.contains("`use_skill`") && !system.contains("Look twice"), "{system}");
    let tools: Vec<String> = model.requests()[0].tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(tools, ["echo", "erase", "use_skill"]);

    let without = ScriptedModel::replies(["done"]);
    rig(&without, &echo, &SkillShelf::default()).run(tree()).await.completed();
    assert!(!systems(&without)[0].contains("kill"), "nothing is said of what there is not");
}

#[tokio::test]
async fn a_skill_gives_its_text_and_its_limits_hold_from_then_on() {
    let (folder, shelf) = usual();
    let echo = Echo::default();
    let model = ScriptedModel::replies([
        erase(),
        use_skill("review"),
        erase(),
        echo.call("fine"),
        // Another skill does not widen what this one left.
        use_skill("tidy"),
        erase(),
        Reply::tool("use_skill", json!({"name": "review", "file": "references/style.md"})),
        Reply::tool("use_skill", json!({"name": "review", "file": "../../secret"})),
        Reply::text("done"),
    ]);
    fs::write(folder.path().join("secret"), "secret").unwrap();
    let ran = rig(&model, &echo, &shelf).run(tree()).await;
    assert_eq!(text(&ran.completed(), "g"), "done");
    assert_eq!(echo.calls(), ["erased", "fine"], "once, before the skill was taken up");
    let results = results(&model.last_request().unwrap());
    let place = shelf.find("review").unwrap().folder.clone();
    let whole = format!(
        "# Skill: review\n\nLook twice.\n\n## Allowed tools\n\nFrom now on no other tools may be called: echo\n\n\
         ## Available Scripts\n\n- {place}/scripts/lint.sh\n\n\
         ## References (read one with `use_skill` and this as `file`)\n\n- references/style.md"
    );
    assert_eq!(results[0], ("gone".to_owned(), false));
    assert_eq!(results[1], (whole, false));
    let refused = "`erase` was not called: the skill `review`, which is in use, does not allow this call. It allows: echo";
    assert_eq!(results[2], (refused.to_owned(), true));
    assert_eq!(results[3], ("[fine]".to_owned(), false));
    assert_eq!(results[4], ("# Skill: tidy\n\nSort, then sweep.".to_owned(), false));
    assert_eq!(results[5], (refused.to_owned(), true));
    assert_eq!(results[6], ("Short lines.".to_owned(), false));
    assert!(results[7].1 && !results[7].0.contains("secret\n"), "{:?}", results[7]);
    assert_eq!(ran.custom("skill_loaded", "name"), ["review", "tidy"]);
    let rejected = |event: &&convoke_core::Event| matches!(event.kind, EventKind::ToolCallRejected { .. });
    assert_eq!(ran.events.iter().filter(rejected).count(), 2);
}

#[tokio::test]
async fn the_reply_that_takes_up_a_skill_is_under_its_limits_already() {
    let (_folder, shelf) = usual();
    let echo = Echo::default();
    let both = erase().and_tool("use_skill", json!({"name": "review"})).and_tool("erase", json!({}));
    let model = ScriptedModel::replies([both, Reply::text("done")]);
    rig(&model, &echo, &shelf).run(tree()).await.completed();
    assert_eq!(echo.calls(), [""; 0]);
}

#[tokio::test]
async fn a_skill_that_there_is_not_changes_nothing() {
    let (_folder, shelf) = usual();
    let echo = Echo::default();
    let model = ScriptedModel::replies([use_skill("reviw"), erase(), Reply::text("done")]);
    rig(&model, &echo, &shelf).run(tree()).await.completed();
    let results = results(&model.last_request().unwrap());
    assert!(results[0].0.contains("did you mean `review`?") && results[0].1, "{results:?}");
    assert_eq!(echo.calls(), ["erased"]);
}

#[tokio::test]
async fn one_conversation_is_not_bound_by_what_another_took_up() {
    let (_folder, shelf) = usual();
    let echo = Echo::default();
    let tree = Workflow::new("w")
        .sequence(Sequence::new("s").goal(Goal::new("a", "First")).goal(Goal::new("b", "Second")));
    let model = ScriptedModel::replies([use_skill("review"), Reply::text("a"), erase(), Reply::text("b")]);
    rig(&model, &echo, &shelf).run(tree).await.completed();
    assert_eq!(echo.calls(), ["erased"]);
}

#[tokio::test]
async fn nobody_is_called_in_to_do_what_a_skill_does_not_allow() {
    let (_folder, shelf) = kept(&[(
        "careful/SKILL.md",
        "---\nname: careful\ndescription: d\nallowed-tools: [echo, spawn_agent]\n---\nx",
    )]);
    let echo = Echo::default();
    let spawn = Reply::tool("spawn_agent", json!({"role": "hand", "task": "erase"}));
    let model = ScriptedModel::replies([use_skill("careful"), spawn, Reply::text("done")]);
    let rig = rig(&model, &echo, &shelf)
        .with(|equipment| equipment.spawning = Spawning::Allowed { depth: 1, at_once: 2 });
    rig.run(tree()).await.completed();
    let results = results(&model.last_request().unwrap());
    assert!(results[1].1 && results[1].0.contains("Do it yourself"), "{results:?}");
}

#[tokio::test]
async fn agent_079_a_marker_gives_the_skills_text_in_the_next_request() {
    let (_folder, shelf) = usual();
    let echo = Echo::default();
    let asks = erase().and_text("Let me see. [use-skill:review]");
    let model = ScriptedModel::replies([asks, erase(), Reply::text("done")]);
    let ran = rig(&model, &echo, &shelf).run(tree()).await;
    assert_eq!(text(&ran.completed(), "g"), "done");
    assert_eq!(echo.calls(), [""; 0], "calls beside the marker are dropped, and then it is not allowed");
    let requests = model.requests();
    let next: Vec<String> = requests[1].messages.iter().map(|message| message.text()).collect();
    let last = next.last().unwrap();
    assert!(last.starts_with("[Skill loaded: review]\n\n# Skill: review\n\nLook twice."), "{last}");
    assert_eq!(next[next.len() - 2], "Let me see. [use-skill:review]");
    assert_eq!(requests[1].messages.iter().flat_map(|message| message.tool_calls()).count(), 0);
    assert!(results(&requests[2])[0].0.contains("does not allow this call"));
    assert_eq!(ran.custom("skill_loaded", "name"), ["review"]);
}

#[tokio::test]
async fn agent_079_a_marker_of_no_skill_has_no_effect() {
    let (_folder, shelf) = usual();
    let echo = Echo::default();
    let model = ScriptedModel::replies(["[use-skill:nothing] done"]);
    let ran = rig(&model, &echo, &shelf).run(tree()).await;
    assert_eq!(text(&ran.completed(), "g"), "[use-skill:nothing] done");
    assert_eq!(model.calls(), 1);
}

#[tokio::test]
async fn without_tools_a_skill_is_asked_for_by_its_marker_and_only_once() {
    let (_folder, shelf) = usual();
    let model = ScriptedModel::replies(["[use-skill:tidy]", "{\"count\": 3} [use-skill:tidy]"]);
    let tree = Workflow::new("w")
        .sequence(Sequence::new("s").goal(Goal::new("g", "Do it").output(("count", Type::Int))));
    let ran = Rig::new(&model).with(|equipment| equipment.skills = shelf.clone()).run(tree).await;
    assert_eq!(ran.completed().get("count"), Some(&json!(3)));
    assert!(systems(&model)[0].contains("answer with `[use-skill:NAME]`"));
    assert!(model.requests().iter().all(|request| request.tools.is_empty()));
}

#[tokio::test]
async fn markers_do_not_outlast_the_turns() {
    let (_folder, shelf) = usual();
    let model = ScriptedModel::replies(["[use-skill:tidy]", "[use-skill:review]", "never"]);
    let rig = Rig::new(&model).with(|equipment| {
        equipment.skills = shelf.clone();
        equipment.max_turns = Some(2);
    });
    let ran = rig.run(tree()).await;
    ran.completed();
    assert_eq!(ran.custom("goal_incomplete", "reason"), ["it reached its limit of 2 turns"]);
    assert_eq!(model.calls(), 2);
}

#[tokio::test]
async fn agents_have_skills_too() {
    let (_folder, shelf) = usual();
    let echo = Echo::default();
    let critic = Agent::new("critic", "You are a critic.");
    let tree = Workflow::new("w").sequence(Sequence::new("s").goal(Goal::new("g", "Do it").using(critic)));
    let model = ScriptedModel::builder()
        .when(Match::has_tool_result().and(Match::tool_result_contains("not allow")), "done")
        .when(Match::has_tool_result(), erase())
        .otherwise(use_skill("review"))
        .build();
    rig(&model, &echo, &shelf).run(tree).await.completed();
    assert!(systems(&model)[0].contains("- tidy: Tidies up."));
    assert_eq!(echo.calls(), [""; 0]);
}

/// A run cut after any of its effects finds the same limits when it goes on.
#[tokio::test]
async fn limits_hold_in_a_run_that_is_resumed() {
    let (_folder, shelf) = usual();
    let script = || {
        ScriptedModel::builder()
            .when(Match::request_where(|request| results(request).len() == 2), "done")
            .when(Match::has_tool_result(), erase())
            .when(Match::any_contains("[Skill loaded: tidy]"), use_skill("review"))
            .otherwise("[use-skill:tidy]")
            .build()
    };
    let (echo, model) = (Echo::default(), script());
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let prepare = |model: &ScriptedModel| rig(model, &echo, &shelf).prepare(tree());
    let prepared = prepare(&model);
    let state = prepared.bind(Values::new()).unwrap().state;
    let runtime = Runtime::builder().shared_store(Arc::clone(&store)).build();
    let run: RunId = "whole".parse().unwrap();
    let outcome = runtime.start(&prepared.workflow(), state).id(run.clone()).await.unwrap();
    assert_eq!(text(&outcome.state, "g"), "done");
    assert_eq!(model.calls(), 4);
    let entries = store.entries(&run, 1, 1_000).await.unwrap();
    for at in 1..=entries.len() as u64 + 1 {
        let again = script();
        let fork = Fork::new(run.clone(), at).create(&store).await.unwrap();
        let outcome = runtime.resume(&prepare(&again).workflow(), fork).await.unwrap();
        assert_eq!(text(&outcome.state, "g"), "done", "cut before entry {at}");
        let kept = entries.iter().filter(|entry| entry.seq < at);
        let asked =
            kept.filter(|entry| entry.effect == EffectKind::Model && entry.phase == Phase::Finished).count();
        assert_eq!(again.calls() + asked, 4, "cut before entry {at}");
    }
    assert_eq!(echo.calls(), [""; 0]);
}

#[derive(Deserialize, JsonSchema)]
struct Command {
    command: String,
}

#[tokio::test]
async fn an_agent_made_of_a_skill_has_the_tool_of_whose_commands_the_skill_allows_some_and_no_others() {
    let skill = "---\nname: history\ndescription: Knows.\nallowed-tools: Bash(git:*)\n---\nTell.\n";
    let files = MemoryLoader::default().with("history/SKILL.md", skill);
    let source = convoke_goals::agentfile::Source::new(
        "Agentfile",
        "NAME w\nAGENT teller FROM history\nGOAL g \"Do it\" USING teller\nRUN main USING g\n",
    );
    let file = convoke_goals::agentfile::read(&source, &files).0.unwrap();
    let echo = Echo::default();
    let notes = echo.clone();
    let bash = FunctionTool::new("bash", "Runs", move |command: Command| {
        notes.note(command.command);
        async move { Ok::<_, Error>("ran".to_owned()) }
    });
    let commands = ["git log", "git log; rm x", "rm x", "git status"];
    let calls = commands.map(|command| Reply::tool("bash", json!({"command": command})));
    let model = ScriptedModel::builder().replies(calls.into_iter().chain([Reply::text("done")])).build();
    let rig = Rig::new(&model).with(|equipment| equipment.tools = tools(&echo).with(bash).unwrap());
    rig.run(Workflow::from(&file)).await.completed();
    assert_eq!(echo.calls(), ["git log", "git status"]);
    let requests = model.requests();
    let offered: Vec<&str> = requests[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(offered, ["bash"]);
    let (refusal, is_error) = results(&requests[2]).pop().unwrap();
    assert!(is_error && refusal.contains("not allowed") && refusal.contains("Bash(git:*)"), "{refusal}");
}
