//! The policy before the calls of a run.

use std::sync::Arc;

use convoke_core::{
    Answer, BoxFuture, Error, Repeat, RunStatus, Runtime, Scope, Step, Store, Tool, ToolCall, ToolEffect,
    ToolEffects, ToolResult, ToolSpec, Workflow,
};
use convoke_store::MemoryStore;
use convoke_tools::files;
use convoke_tools::policy::{Policy, PolicyGate, PolicyOutcome};
use convoke_tools::workspace::Workspace;
use serde_json::{Value, json};

use crate::policy;

#[test]
fn a_denial_says_what_to_do_instead() {
    let gate = PolicyGate::new(policy("[paths]\ndeny = [\"private/**\"]\n"));
    let spec = ToolSpec::new("write", "", [ToolEffect::Writes].into());
    let decision = gate.decide(&spec, &json!({"path": "private/x", "content": ""}));
    insta::assert_snapshot!(decision.denial(), @"denied by the policy: `private/x` is denied (paths.deny = \"private/**\", policy.toml:3). Work with other files, or say what you need and why.");
}

/// Where the Go `agent` program does not offer them, ours are denied with the rule that says so: the model is told why.
#[test]
fn agent_071_where_only_bash_is_allowed_every_other_tool_is_denied() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let only_bash = policy(
        "[defaults]\nreads = \"deny\"\nwrites = \"deny\"\nspawns = \"deny\"\nirreversible = \"deny\"\n\
         [tools.bash]\ndecision = \"allow\"\n",
    );
    let gate = PolicyGate::new(only_bash).workspace(&workspace);
    let all = files::all(&workspace);
    for name in ["read", "write", "grep"] {
        assert!(all.iter().any(|tool| tool.spec().name() == name), "{name}");
    }
    for tool in all {
        let name = tool.spec().name();
        let arguments = json!({"path": "x", "source": "x", "destination": "y", "pattern": "x"});
        let decision = gate.decide(tool.spec(), &arguments);
        assert_eq!(decision.outcome, PolicyOutcome::Deny, "{name}");
        let denial = decision.denial();
        assert!(
            denial.starts_with("denied by the policy") && denial.contains("defaults."),
            "{name}: {denial}"
        );
    }
    let bash = ToolSpec::new("bash", "", [ToolEffect::Spawns, ToolEffect::Irreversible].into());
    assert_eq!(gate.decide(&bash, &json!({"command": "ls"})).outcome, PolicyOutcome::Allow);
}

#[test]
fn workflows_are_judged_by_what_they_do() {
    let gate = PolicyGate::new(Policy::default());
    let effects = [ToolEffect::Spawns, ToolEffect::Network].into();
    let agent = ToolSpec::new("researcher", "", effects).repeat(Repeat::Reenter);
    assert_eq!(gate.decide(&agent, &json!({})).outcome, PolicyOutcome::Allow);
    let gate = PolicyGate::new(policy("[tools.researcher]\ndecision = \"ask\"\n"));
    assert_eq!(gate.decide(&agent, &json!({})).outcome, PolicyOutcome::Ask);
}

#[test]
fn a_tool_of_a_server_is_not_taken_for_a_built_in_one() {
    let gate =
        PolicyGate::new(policy("[tools.read.paths]\nallow = [\"**\"]\n[mcp]\ndeny = [\"files:read\"]\n"))
            .mcp("read", "files", "read");
    let spec = ToolSpec::new("read", "", [ToolEffect::Reads].into());
    let decision = gate.decide(&spec, &json!({"path": "x"}));
    assert_eq!((decision.outcome, decision.rule.key.as_str()), (PolicyOutcome::Deny, "mcp.deny"));
}

#[test]
fn the_folder_of_a_command_can_be_denied_and_allows_nothing() {
    let gate = PolicyGate::new(policy("[paths]\ndeny = [\"private/**\"]\n[commands]\nask = [\"make\"]\n"));
    let effects = [ToolEffect::Spawns, ToolEffect::Irreversible].into();
    let spec = ToolSpec::new("bash", "", effects);
    let outcome = |command: &str, folder: &str| {
        gate.decide(&spec, &json!({"command": command, "folder": folder})).outcome
    };
    assert_eq!(outcome("ls", "src"), PolicyOutcome::Allow);
    assert_eq!(outcome("make", "src"), PolicyOutcome::Ask);
    assert_eq!(outcome("ls", "private/x"), PolicyOutcome::Deny);
    let git = ToolSpec::new("git", "", effects);
    assert_eq!(gate.decide(&git, &json!({"args": "status"})).outcome, PolicyOutcome::Allow);
    assert_eq!(gate.decide(&git, &json!({"args": ["push"]})).outcome, PolicyOutcome::Ask);
}

#[test]
fn what_a_call_is_about_is_what_its_arguments_say() {
    use convoke_tools::policy::Subject;

    let declared = policy("[tools.grep]\narguments = { file = \"path\" }\n");
    let about = |tool: &str, arguments: Value| {
        let spec = ToolSpec::new(tool, "", [ToolEffect::Reads].into());
        declared.call(&spec, &arguments).subjects
    };
    let path = |path: &str| Subject::Path(path.to_owned());
    assert_eq!(about("read", json!({})), []);
    assert_eq!(about("mv", json!({"source": "x"})), [path("x")]);
    assert_eq!(about("grep", json!({})), [path(".")]);
    assert_eq!(about("grep", json!({"path": "x", "file": ["y", "z"]})), [path("x"), path("y"), path("z")]);
    assert_eq!(about("ls", json!({"path": 3})), []);
    let program = Subject::Program(["git", "log", "-1"].map(str::to_owned).into());
    assert_eq!(about("git", json!({"args": ["log", "-1"]})), std::slice::from_ref(&program));
    assert_eq!(about("git", json!({"args": "log  -1"})), [program]);
    assert_eq!(about("git", json!({})), []);
}

#[test]
fn what_tools_that_come_with_convoke_do_is_known_by_their_names() {
    use ToolEffect::{Irreversible, Network, Reads, Spawns, Writes};

    for (tools, effects) in [
        (&["read", "head", "tail", "ls", "tree", "glob", "grep", "diff"][..], &[Reads][..]),
        (&["write", "edit", "patch", "mkdir", "mv", "cp"], &[Writes]),
        (&["rm"], &[Writes, Irreversible]),
        (&["bash"], &[Reads, Writes, Spawns, Irreversible]),
        (&["git"], &[Reads, Writes, Spawns]),
        (&["web_fetch", "web_search"], &[Reads, Network]),
    ] {
        for tool in tools {
            let known = Policy::effects_of(tool).unwrap();
            for effect in [Reads, Writes, Spawns, Network, Irreversible] {
                assert_eq!(known.contains(effect), effects.contains(&effect), "{tool}: {effect:?}");
            }
        }
    }
    assert_eq!(Policy::effects_of("upload"), None);
}

#[test]
fn both_ends_of_a_move_are_judged() {
    let gate = PolicyGate::new(policy("[paths]\ndeny = [\"private/**\"]\n"));
    let spec = ToolSpec::new("mv", "", [ToolEffect::Writes].into());
    for (source, destination) in [("private/x", "y"), ("y", "private/x")] {
        let decision = gate.decide(&spec, &json!({"source": source, "destination": destination}));
        assert_eq!(decision.outcome, PolicyOutcome::Deny);
    }
}

/// A step that calls a tool.
struct Calls(Arc<dyn Tool>, Value);

impl Step<Option<ToolResult>> for Calls {
    fn name(&self) -> &str {
        "calls"
    }

    fn run<'a>(
        &'a self,
        scope: &'a Scope,
        state: &'a mut Option<ToolResult>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let Self(tool, arguments) = self;
            let name = tool.spec().name().to_owned();
            let call = ToolCall { id: "1".to_owned(), name, arguments: arguments.clone() };
            *state = Some(scope.tool_scope(&**tool, None).tool(tool, &call).await?);
            Ok(())
        })
    }
}

/// A workflow that calls one of the file tools.
fn calling(workspace: &Workspace, name: &str, arguments: Value) -> Workflow<Option<ToolResult>> {
    let tool = files::all(workspace).into_iter().find(|tool| tool.spec().name() == name).unwrap();
    Workflow::new(Calls(tool, arguments))
}

fn removal(folder: &std::path::Path) -> (Workspace, Workflow<Option<ToolResult>>) {
    std::fs::write(folder.join("x"), "").unwrap();
    let workspace = Workspace::open(folder).unwrap();
    let workflow = calling(&workspace, "rm", json!({"path": "x"}));
    (workspace, workflow)
}

#[tokio::test]
async fn agent_067_a_call_that_is_allowed_and_fails_is_a_result_and_the_run_completes() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let runtime =
        Runtime::builder().interceptor(PolicyGate::new(Policy::default()).workspace(&workspace)).build();
    let workflow = calling(&workspace, "read", json!({"path": "nowhere.txt"}));
    let result = runtime.start(&workflow, None).await.unwrap().completed().unwrap().unwrap();
    assert!(result.is_error);
    assert_eq!(result.content, "`nowhere.txt` does not exist; list the folder to see what does");
}

#[tokio::test]
async fn agent_068_a_write_outside_is_denied_by_the_policy_and_the_run_completes() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let gate = PolicyGate::new(policy("[paths]\nwithin = [\"$WORKSPACE/**\"]\n")).workspace(&workspace);
    let runtime = Runtime::builder().interceptor(gate).build();
    let workflow = calling(&workspace, "write", json!({"path": "/etc/passwd", "content": "x"}));
    let outcome = runtime.start(&workflow, None).await.unwrap();
    let result = outcome.completed().unwrap().unwrap();
    assert!(
        result.is_error && result.content.contains("not called: denied by the policy: "),
        "{}",
        result.content
    );
    assert!(result.content.contains("paths.within"), "{}", result.content);
    assert_ne!(std::fs::read_to_string("/etc/passwd").unwrap(), "x");
}

#[tokio::test]
async fn agentcore_245_what_is_denied_is_not_done_and_the_model_reads_why() {
    let folder = tempfile::tempdir().unwrap();
    let (workspace, workflow) = removal(folder.path());
    let strict = PolicyGate::new(policy("[tools.rm]\ndecision = \"deny\"\n")).workspace(&workspace);
    let outcome = Runtime::builder().interceptor(strict).build().start(&workflow, None).await.unwrap();
    let result = outcome.completed().unwrap().unwrap();
    assert!(
        result.is_error && result.content.contains("the tool `rm` is not allowed here"),
        "{}",
        result.content
    );
    assert!(folder.path().join("x").exists());
    let lax = PolicyGate::new(policy("[tools.rm.paths]\nallow = [\"x\"]\n")).workspace(&workspace);
    Runtime::builder().interceptor(lax).build().start(&workflow, None).await.unwrap().completed().unwrap();
    assert!(!folder.path().join("x").exists());
}

#[tokio::test]
async fn what_cannot_be_undone_waits_for_a_person_who_sees_the_call_and_the_rule() {
    for (answer, stays) in [(Answer::approve(), false), (Answer::reject("keep it"), true)] {
        let folder = tempfile::tempdir().unwrap();
        let (workspace, workflow) = removal(folder.path());
        let store = Arc::new(MemoryStore::new()) as Arc<dyn Store>;
        let gate = PolicyGate::new(Policy::default()).workspace(&workspace);
        let runtime = Runtime::builder().shared_store(Arc::clone(&store)).interceptor(gate).build();
        let first = runtime.start(&workflow, None).await.unwrap();
        assert_eq!(first.status, RunStatus::Suspended);
        assert!(folder.path().join("x").exists());
        let pending = store.questions(Some(&first.run)).await.unwrap().remove(0);
        insta::assert_json_snapshot!("the_question", pending.question);
        store.answer(&first.run, &pending.id, answer).await.unwrap();
        let second = runtime.resume(&workflow, first.run).await.unwrap();
        assert_eq!(second.completed().unwrap().unwrap().is_error, stays);
        assert_eq!(folder.path().join("x").exists(), stays);
    }
}

#[test]
fn a_redirection_out_of_the_workspace_is_denied_with_the_reason() {
    // Not in /tmp: commands may have one of their own.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let top = folder.path().canonicalize().unwrap();
    std::fs::create_dir(top.join("work")).unwrap();
    std::os::unix::fs::symlink(top.join("work"), top.join("alias")).unwrap();
    let workspace = Workspace::open(top.join("work")).unwrap();
    let spec = ToolSpec::new("bash", "", [ToolEffect::Spawns, ToolEffect::Irreversible].into());
    let gate = |policy: Policy| PolicyGate::new(policy).workspace(&workspace);
    let decide = |gate: &PolicyGate, command: &str| gate.decide(&spec, &json!({"command": command}));
    let confined = gate(Policy::default());
    for command in ["echo x > /etc/cron.d/x", "ls >> /root/x", "sh -c 'ls &> /var/x'", "ls > /tmp/../etc/x"] {
        let decision = decide(&confined, command);
        assert_eq!(decision.outcome, PolicyOutcome::Deny, "{command}: {decision}");
        assert!(decision.denial().contains("outside of the workspace"), "{decision}");
    }
    let inside = format!("ls > {0}/work/x; ls > {0}/alias/y", top.display());
    for command in
        [&*inside, "ls > x 2>&1", "ls > /dev/null", "ls > /tmp/x", "ls < /usr/share/x", "cd x; ls > ../y"]
    {
        let decision = decide(&confined, command);
        assert_eq!(decision.outcome, PolicyOutcome::Allow, "{command}: {decision}");
    }
    // Without a sandbox it is for the person who turned it off to say what goes.
    let open = gate(policy("sandbox = \"off\"\n[commands]\ndefault = \"allow\"\n"));
    assert_eq!(decide(&open, "echo x > /srv/x").outcome, PolicyOutcome::Allow);
}

#[test]
fn what_is_remembered_for_every_workspace_is_asked_about() {
    let spec = ToolSpec::new("remember", "", ToolEffects::NONE);
    let decided = |policy: Policy, scope: &str| {
        let gate = PolicyGate::new(policy);
        gate.decide(&spec, &json!({"findings": ["x"], "scope": scope})).outcome
    };
    assert_eq!(decided(Policy::default(), "user"), PolicyOutcome::Ask);
    assert_eq!(decided(Policy::default(), "workspace"), PolicyOutcome::Allow);
    let allowing = || crate::policy("[tools.remember]\ndecision = \"allow\"\n");
    assert_eq!(decided(allowing(), "user"), PolicyOutcome::Allow);
}
