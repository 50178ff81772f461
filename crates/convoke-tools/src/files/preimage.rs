//! Preimages of changed files, kept with the call, by which an interrupted change knows whether it was made.
//!
//! Only digests and the identity of files are kept, never what is in them. What fits neither the state before nor the
//! one after is left to people: somebody else has been there.

use std::path::Path;

use convoke_agent::{FunctionTool, InterruptedCall};
use convoke_core::{Digest, Error, Preparation, Reconciliation};
use serde_json::{Value, json};

use super::HasPath;
use crate::blocking::{CancelFlag, blocking};
use crate::workspace::{FileError, FileKind, Follow, HardLinkCensus, ResolvedPath, Target, Workspace};

/// Looks at what a call is about to change.
pub(super) type CaptureState<A> = fn(&Workspace, &A) -> Result<Value, FileError>;
/// Finds out what became of a call, by what it was like before; journals of older versions do not have that.
pub(super) type FindOutcome<A> = fn(&Workspace, &A, Option<&Value>) -> Result<Reconciliation, FileError>;

/// Has a tool look before it changes something, and find out by that what became of a change that was interrupted.
pub(super) fn with_preimage<A: HasPath>(
    tool: FunctionTool,
    workspace: &Workspace,
    look: CaptureState<A>,
    find_out: FindOutcome<A>,
) -> FunctionTool {
    let (here, there) = (workspace.clone(), workspace.clone());
    tool.prepare(move |arguments: A| {
        let workspace = here.clone();
        async move {
            let seen = blocking(move |_: &CancelFlag| look(&workspace, &arguments)).await;
            // What cannot be looked at cannot be changed either, and the call says why.
            seen.map_or_else(|_: Error| Preparation::default(), |seen| Preparation::default().keeping(seen))
        }
    })
    .reconcile_from(move |interrupted: InterruptedCall, arguments: A| {
        let workspace = there.clone();
        async move {
            let before = interrupted.before;
            blocking(move |_: &CancelFlag| find_out(&workspace, &arguments, before.as_ref())).await
        }
    })
}

/// A change of one file's content, before it is made.
pub(super) fn change(before: &str, after: &str) -> Value {
    json!({"before": digest(before.as_bytes()), "after": digest(after.as_bytes())})
}

/// What became of it, by what the file has now.
pub(super) fn changed(seen: &Value, now: &str, done: impl FnOnce() -> String) -> Reconciliation {
    let now = digest(now.as_bytes());
    if seen["after"] == now {
        Reconciliation::Done(done())
    } else if seen["before"] == now {
        Reconciliation::NotDone
    } else {
        Reconciliation::Unknown
    }
}

/// What a file has in it, as a digest; `null` for nothing, and for what has no content.
pub(super) fn content_at(workspace: &Workspace, path: impl AsRef<Path>) -> Result<Value, FileError> {
    let place = workspace.resolve(path, Follow::Links)?;
    if place.kind() != Some(FileKind::File) {
        return Ok(Value::Null);
    }
    Ok(digest(&workspace.open_place(&place, &mut HardLinkCensus::default())?.read_all()?))
}

/// What is at a path, whatever is in it: the same as long as it is neither changed nor replaced, wherever it is moved.
pub(super) fn identity_at(workspace: &Workspace, path: impl AsRef<Path>) -> Result<Value, FileError> {
    workspace.resolve(path, Follow::Nothing).map(|place| identity(&place))
}

fn identity(place: &ResolvedPath) -> Value {
    match &place.target {
        Target::There { stat, .. } => Value::String(format!(
            "{:x}:{:x}:{}:{}.{}",
            stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec
        )),
        Target::Top | Target::Missing { .. } => Value::Null,
    }
}

fn digest(content: &[u8]) -> Value {
    Value::String(Digest::of_parts(&[content]).to_string())
}
