//! The `bash` tool, in a sandbox.
//!
//! The command's text is not looked at: what it may do is decided by where it runs.

mod for_step;
mod review;

use std::fmt::Write;
use std::time::Duration;

use convoke_agent::{FunctionTool, InterruptedCall, ToolContext};
use convoke_core::{Error, EventKind, Origin, Repeat, Scope, ToolEffect};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::blocking::{CancelFlag, blocking};
use crate::network::wanted_network;
use crate::policy::talks_to_others;
use crate::sandbox::{
    self, CapturedOutput, CommandEnd, CommandResult, CommandSlot, EndedCommand, LostChanges, Network,
    Sandbox, SandboxCommand, SandboxError,
};

pub use for_step::was_overtaken;
pub(crate) use review::taken_over;

/// The event that tells of changes that were not taken over, with the command and why.
pub const CHANGES_REFUSED: &str = "changes_refused";

/// The longest time that can be asked for, in seconds.
const LONGEST: u64 = 1_800;

/// Arguments of `bash`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Bash {
    /// What bash shall do.
    #[schemars(length(min = 1))]
    command: String,
    /// The folder it starts in, from the top of the workspace.
    #[serde(default = "crate::workspace::top")]
    folder: String,
    /// How long it may take, in seconds.
    #[serde(default = "two_minutes")]
    #[schemars(range(min = 1, max = 1_800))]
    timeout: u64,
}

fn two_minutes() -> u64 {
    120
}

/// The tool `bash`, with commands confined by this sandbox.
///
/// Its result is what the command wrote, then what it wrote to its error output after a line `STDERR:`, then
/// `Exit code: 0`. That a command fails or runs out of time is a result too. To a [step](Scope::is_for_step) the result is what
/// the command wrote, all of it, and a command that fails, that writes more than 1 MiB, or whose changes are not all taken over, is
/// an error.
pub fn bash(sandbox: &Sandbox) -> FunctionTool {
    let sandbox = sandbox.clone();
    let mut effects =
        vec![ToolEffect::Reads, ToolEffect::Writes, ToolEffect::Spawns, ToolEffect::Irreversible];
    if sandbox.reaches() != Network::None {
        effects.push(ToolEffect::Network);
    }
    let waiting = sandbox.clone();
    let tool = FunctionTool::with_context(
        "bash",
        "Runs a command with bash, in the workspace, without a terminal and without input. It ends with everything it has \
         started: nothing stays in the background. Long output is cut in the middle, and the whole of it kept in a file.",
        move |context: ToolContext, arguments: Bash| {
            let sandbox = sandbox.clone();
            async move {
                let turn = sandbox.turn_of(&context.prepared).await.map_err(Error::failed)?;
                let ended = run(&sandbox, arguments, &turn, &context.scope).await;
                turn.is_over();
                ended
            }
        },
    );
    let heard = waiting.clone();
    by_turns::<Bash>(tool, &waiting)
        // Nothing has come out of its view then, and nothing was reached.
        .undone_while_asking(|about| about["reached"] == json!(false))
        .noted(move |note| {
            if let Network::Hosts(rules) = heard.reaches() {
                rules.restore_answers(note);
            }
        })
        .effects(effects)
        .repeat(Repeat::Never)
        .origin(|arguments: Bash| Origin::Command(arguments.command))
        // The sandbox keeps the time that was asked for; this one is for what comes before and after.
        .timeout(Duration::from_secs(LONGEST + 60))
}

/// Has a tool that runs commands wait for its turn before a call begins, and look what is left of one that was
/// interrupted.
pub(crate) fn by_turns<A: DeserializeOwned + Send + 'static>(
    tool: FunctionTool,
    sandbox: &Sandbox,
) -> FunctionTool {
    let sandbox = sandbox.clone();
    tool.prepare(move |_: A| sandbox.clone().prepared()).reconcile_from(
        |interrupted: InterruptedCall, _: A| async move {
            blocking(move |_: &CancelFlag| {
                Ok::<_, SandboxError>(sandbox::interrupted(interrupted.before.as_ref()))
            })
            .await
        },
    )
}

async fn run(sandbox: &Sandbox, arguments: Bash, turn: &CommandSlot, scope: &Scope) -> Result<String, Error> {
    if arguments.command.trim().is_empty() {
        return Err(Error::failed("denied: the command is empty"));
    }
    let task = SandboxCommand::new("bash", ["-c", &arguments.command])
        .folder(arguments.folder)
        .time(Duration::from_secs(arguments.timeout));
    let known_hosts = match sandbox.reaches() {
        Network::Hosts(rules) => rules.answered(scope.run_id()),
        _ => 0,
    };
    let asked = match sandbox.reaches() {
        Network::Hosts(rules) if rules.may_ask() => Some(rules.questions()),
        _ => None,
    };
    let ended = match asked {
        None => sandbox.run_held(task, turn).await,
        Some((asker, questions)) => tokio::select! {
            ended = sandbox.run_held(task.asker(Some(asker)), turn) => ended,
            stop = questions.put_to(scope) => return Err(stop),
        },
    };
    if let Network::Hosts(rules) = sandbox.reaches()
        && rules.answered(scope.run_id()) > known_hosts
    {
        scope.leave_note(rules.answers_json(scope.run_id()));
    }
    let finished = match ended.map_err(Error::failed)? {
        EndedCommand::Held(held) => review::reviewed(sandbox, held, &arguments.command, scope).await?,
        EndedCommand::Done(finished) => finished,
    };
    let mut finished = finished;
    if finished.lost != LostChanges::None && scope.has_listeners() {
        // The model is told in the result. Whoever follows the run should not have to read that.
        let value = json!({"command": arguments.command, "notes": finished.notes});
        scope.emit(EventKind::Custom { name: CHANGES_REFUSED.to_owned(), value }).await;
    }
    finished.notes.extend(unreached(sandbox, &arguments.command, &finished).map(str::to_owned));
    result(sandbox, &finished, arguments.timeout, scope)
}

/// Why a command that talks to other machines, by its text or by what it said, reaches none, where nothing can hold it to hosts.
fn unreached(sandbox: &Sandbox, command: &str, finished: &CommandResult) -> Option<&'static str> {
    let said = [&finished.stderr, &finished.stdout];
    let failed = finished.end != CommandEnd::Exited(0);
    let wanted = || failed && said.iter().any(|said| wanted_network(&said.to_string()));
    sandbox.hosts_unheld().filter(|_| wanted() || talks_to_others(command))
}

/// What comes of a command, for the model or the step that ran it.
pub(crate) fn result(
    sandbox: &Sandbox,
    finished: &CommandResult,
    seconds: u64,
    scope: &Scope,
) -> Result<String, Error> {
    if scope.is_for_step() {
        return for_step::result(sandbox, finished, seconds);
    }
    let mut text = told(sandbox, finished);
    add_line(&mut text, &end_text(finished.end, seconds));
    Ok(text)
}

/// What is told of a command besides its end.
fn told(sandbox: &Sandbox, finished: &CommandResult) -> String {
    let mut text = finished.stdout.to_string();
    if finished.stderr.bytes() > 0 {
        add_line(&mut text, "STDERR:\n");
        let _ = write!(text, "{}", finished.stderr);
    }
    add_rest(&mut text, sandbox, "output", &finished.stdout);
    add_rest(&mut text, sandbox, "error output", &finished.stderr);
    // What is asked for with `2>&1` is in the output; there it may also be what a file says, and no complaint.
    let complaint = |output: &CapturedOutput| sandbox.refusal(&output.to_string());
    let refusal = complaint(&finished.stderr)
        .or_else(|| complaint(&finished.stdout).filter(|_| finished.end != CommandEnd::Exited(0)));
    let closed =
        [&finished.stderr, &finished.stdout].iter().find_map(|said| sandbox.closed(&said.to_string()));
    let closed = closed.filter(|_| finished.end != CommandEnd::Exited(0));
    for note in refusal.iter().chain(&closed).chain(&finished.notes) {
        add_line(&mut text, &format!("[{note}]"));
    }
    text
}

fn add_line(text: &mut String, line: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
}

/// Says where the rest is of output that is cut.
fn add_rest(text: &mut String, sandbox: &Sandbox, name: &str, output: &CapturedOutput) {
    if output.is_cut() {
        let kept = match sandbox.store(output) {
            Some(path) => format!("all of the {name} is in {path}; look at it with sed -n or grep"),
            None => format!("the rest of the {name} is lost"),
        };
        add_line(text, &format!("[{kept}]"));
    }
}

fn end_text(end: CommandEnd, seconds: u64) -> String {
    match end {
        CommandEnd::Exited(code) => format!("Exit code: {code}"),
        CommandEnd::Signalled(signal) => format!("Killed by signal {signal}{}", why(signal)),
        CommandEnd::TimedOut => format!("command timed out after {seconds} seconds, and was killed"),
        CommandEnd::OverLimit(exceeded) => format!("command was killed: {exceeded}"),
    }
}

fn why(signal: i32) -> &'static str {
    match signal {
        libc::SIGXFSZ => " (a file became larger than it may)",
        libc::SIGXCPU | libc::SIGKILL => " (it may have used too much time or memory)",
        _ => "",
    }
}
