//! Tools that work on the files of a [`Workspace`].
//!
//! Each is a function over the workspace, which decides what may be touched; nothing here opens a file by itself. Each
//! says which paths it touches, so that two writers of one path never run at once, and where its result comes from.
//! Results are bounded: what is left out is said, with how to get it.

mod diff;
mod edit;
mod glob;
mod grep;
mod ignore_rules;
mod list;
mod manage;
mod patch;
mod preimage;
mod read;
mod unified;
mod write;

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use convoke_agent::{FunctionTool, ToolContext};
use convoke_core::{Access, Origin, Tool, ToolEffect};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::blocking::{CancelFlag, blocking};
use crate::workspace::{FileError, Workspace};

/// The longest result, in bytes. More is paged.
const MOST_BYTES: usize = 64 << 10;
/// How long a call may work.
const TIME: Duration = Duration::from_secs(60);

/// Returns all file tools, in the order a model is told of them.
#[must_use]
pub fn all(workspace: &Workspace) -> Vec<Arc<dyn Tool>> {
    let tools = [
        read::read(workspace),
        read::head(workspace),
        read::tail(workspace),
        write::write(workspace),
        edit::edit(workspace),
        patch::patch(workspace),
        glob::glob(workspace),
        grep::grep(workspace),
        list::ls(workspace),
        list::tree(workspace),
        diff::diff(workspace),
        manage::mkdir(workspace),
        manage::mv(workspace),
        manage::cp(workspace),
        manage::rm(workspace),
    ];
    tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect()
}

/// Returns those of them that change nothing.
#[must_use]
pub fn reading(workspace: &Workspace) -> Vec<Arc<dyn Tool>> {
    let mut tools = all(workspace);
    tools.retain(|tool| !tool.spec().effects.changes_the_world());
    tools
}

type Work<A> = fn(&Workspace, A, &CancelFlag) -> Result<String, FileError>;
type Touches<A> = fn(&Workspace, A) -> Vec<Access>;

/// Arguments with a path, for the label of the tool's result.
trait HasPath: DeserializeOwned + JsonSchema + Send + 'static {
    fn path(&self) -> &str;
}

/// A tool on files.
fn tool<A: HasPath>(
    workspace: &Workspace,
    name: &str,
    description: &str,
    work: Work<A>,
    touches: Touches<A>,
) -> FunctionTool {
    tool_for(
        workspace,
        name,
        description,
        move |workspace, arguments, _, cancel| work(workspace, arguments, cancel),
        touches,
    )
}

/// Who is given the result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// A model, which is told what is left out.
    Model,
    /// A step, for which it is data.
    Step,
}

/// A tool on files that gives steps something else than models.
fn tool_for<A: HasPath>(
    workspace: &Workspace,
    name: &str,
    description: &str,
    work: impl Fn(&Workspace, A, Reader, &CancelFlag) -> Result<String, FileError> + Clone + Send + Sync + 'static,
    touches: Touches<A>,
) -> FunctionTool {
    let (here, there) = (workspace.clone(), workspace.clone());
    FunctionTool::with_context(name, description, move |context: ToolContext, arguments: A| {
        let (workspace, work) = (here.clone(), work.clone());
        let reader = if context.scope.is_for_step() { Reader::Step } else { Reader::Model };
        async move { blocking(move |cancel| work(&workspace, arguments, reader, cancel)).await }
    })
    .effects([ToolEffect::Reads])
    .accesses(move |arguments: A| touches(&there, arguments))
    .origin(|arguments: A| Origin::File(arguments.path().to_owned()))
    .timeout(TIME)
}

/// Whether a pattern's or a path's part of the tree is git's own.
fn is_git_folder(name: &std::ffi::OsStr) -> bool {
    name == ".git"
}

/// Says in the result what is not in it.
fn note(result: &mut String, text: &str) {
    if !result.is_empty() && !result.ends_with('\n') {
        result.push('\n');
    }
    // Writing to a string cannot fail.
    let _ = write!(result, "[{text}]");
}

fn plural(count: usize, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}
