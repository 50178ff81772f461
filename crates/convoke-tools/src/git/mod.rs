//! The `git` tool: the part of git that stays in the workspace, in the sandbox.
//!
//! Arguments are parsed against a list of what each subcommand may be told; nothing is passed on that is not on it, so no
//! option can make git run a program, read another configuration or write elsewhere. Secrets are left out of whatever
//! shows content.
//!
//! What talks to other machines (push, pull, fetch, clone) is not here.

mod command;
mod subcommands;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use convoke_agent::{FunctionTool, ToolContext};
use convoke_core::{Error, Origin, Repeat, Scope, ToolEffect};
use schemars::JsonSchema;
use serde::Deserialize;

use self::command::GitCommand;
use crate::sandbox::{CommandEnd, CommandSlot, Sandbox, SandboxCommand};
use crate::shell::{by_turns, result, taken_over};

/// How long a command may take, in seconds.
const TIME: u64 = 60;

/// Set for every command: nothing is executed because a repository says so.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.editor=false",
    "core.sshCommand=false",
    "core.askPass=false",
    "credential.helper=",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "log.showSignature=false",
    "protocol.allow=never",
    "submodule.recurse=false",
    "maintenance.auto=false",
    "gc.auto=0",
];

/// Arguments of `git`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Git {
    /// The subcommand and its arguments, each by itself: `["log", "--oneline", "-n", "5", "--", "src"]`. Paths come after
    /// `--`.
    #[schemars(length(min = 1))]
    args: Vec<String>,
    /// The folder it is run in, from the top of the workspace.
    #[serde(default = "crate::workspace::top")]
    folder: String,
}

/// The tool `git`, confined by this sandbox.
pub fn git(sandbox: &Sandbox) -> FunctionTool {
    let sandbox = sandbox.clone();
    let waiting = sandbox.clone();
    let tool = FunctionTool::with_context(
        "git",
        format!(
            "Runs git in the workspace, without hooks. Subcommands: {}. Paths come after `--`. Protected files are left \
             out.",
            command::names()
        ),
        move |context: ToolContext, arguments: Git| {
            let sandbox = sandbox.clone();
            async move {
                let turn = sandbox.turn_of(&context.prepared).await.map_err(Error::failed)?;
                let ended = run(&sandbox, arguments, &turn, &context.scope).await;
                turn.is_over();
                ended
            }
        },
    );
    by_turns::<Git>(tool, &waiting)
        .effects([ToolEffect::Reads, ToolEffect::Writes, ToolEffect::Spawns])
        .repeat(Repeat::Never)
        .origin(|arguments: Git| Origin::Repository(arguments.folder))
        .timeout(Duration::from_secs(4 * TIME))
}

async fn run(sandbox: &Sandbox, arguments: Git, turn: &CommandSlot, scope: &Scope) -> Result<String, Error> {
    let protected = sandbox.workspace().protected();
    // Where a link leads, if the folder is one: names of what is protected may begin there.
    let folder =
        sandbox.workspace().real(&arguments.folder).unwrap_or_else(|| PathBuf::from(&arguments.folder));
    let parsed = GitCommand::of(&arguments.args, &folder, protected).map_err(Error::failed)?;
    for commit in parsed.commits() {
        // An object of another kind could be the content of any file.
        let check = ["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{commit}^{{commit}}")]
            .map(Into::into);
        let checked = sandbox
            .run_in(task(sandbox, &arguments.folder, check.to_vec()), &turn.for_a_look())
            .await
            .map_err(Error::failed)?;
        if checked.end != CommandEnd::Exited(0) {
            return Err(Error::failed(format!(
                "`{commit}` is not a commit here; give commits, branches or tags, paths after `--`, and REVISION:PATH for \
                 a file as it was"
            )));
        }
    }
    let task = task(sandbox, &arguments.folder, parsed.into_arguments(protected));
    // Nobody reviews what git changes.
    let ended = sandbox.clone().reviewed(false).run_held(task, turn).await.map_err(Error::failed)?;
    let finished = taken_over(ended, scope).await?;
    result(sandbox, &finished, TIME, scope)
}

fn task(sandbox: &Sandbox, folder: &str, arguments: Vec<OsString>) -> SandboxCommand {
    let mut all: Vec<OsString> = vec!["--no-pager".into(), "--no-replace-objects".into()];
    // The workspace may be somebody else's, a container's for instance; hooks are off and configuration is protected.
    let trusted = format!("safe.directory={}", sandbox.workspace().path().display());
    for setting in SETTINGS.iter().copied().chain([trusted.as_str()]) {
        all.extend(["-c".into(), setting.into()]);
    }
    all.extend(arguments);
    let above = sandbox.workspace().path().parent().map(|path| path.as_os_str().to_owned());
    let variables: BTreeMap<&str, OsString> = BTreeMap::from([
        ("GIT_CONFIG_NOSYSTEM", "1".into()),
        ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
        ("GIT_TERMINAL_PROMPT", "0".into()),
        ("GIT_ATTR_NOSYSTEM", "1".into()),
        // For commits in a repository that does not say whose they are.
        ("EMAIL", "agent@convoke.invalid".into()),
        // A repository above the workspace is none of its business.
        ("GIT_CEILING_DIRECTORIES", above.unwrap_or_default()),
    ]);
    let task = SandboxCommand::new("git", all).folder(folder).time(Duration::from_secs(TIME));
    variables.into_iter().fold(task, |task, (name, value)| task.variable(name, value))
}
