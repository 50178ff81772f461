//! Reads the faults of a reply.

use convoke_core::{ModelError, ModelErrorKind};

use super::section::Section;
use crate::scripted::ScriptError;
use crate::scripted::fault::{Fault, FaultKind};

const ERROR_KEYS: [&str; 4] = ["status", "kind", "message", "retry_after"];

const KINDS: &str = "one of \"authentication\", \"quota\", \"rate_limited\", \"context_too_long\", \"refused\", \
                     \"overloaded\", \"network\", \"malformed\", \"invalid_request\", \"interrupted\", \"empty\", \
                     \"truncated\", \"forbidden\", \"missing\", \"other\"";

/// How the reply breaks, if it does. It can do so in one way only.
pub(super) fn read(section: &mut Section) -> Result<Option<Fault>, ScriptError> {
    let ways: Vec<&'static str> =
        ["error", "cut_after", "hangs", "hangs_after"].into_iter().filter(|key| section.has(key)).collect();
    if let [first, second, ..] = ways[..] {
        return Err(section.conflict(first, second, "a reply breaks in one way only; keep one of them"));
    }
    if let Some(error) = section.section("error", &ERROR_KEYS)? {
        let after = section.count("fail_after")?.unwrap_or_default();
        return Ok(Some(Fault { after, kind: FaultKind::Fail(failure(error)?) }));
    }
    if section.has("fail_after") {
        return Err(section.missing("error", "the error to fail with, such as { status = 500 }"));
    }
    if let Some(after) = section.count("cut_after")? {
        return Ok(Some(Fault { after, kind: FaultKind::Cut }));
    }
    if section.switch("hangs")? {
        return Ok(Some(Fault { after: 0, kind: FaultKind::Hang }));
    }
    Ok(section.count("hangs_after")?.map(|after| Fault { after, kind: FaultKind::Hang }))
}

/// The key that makes this fault.
pub(super) fn key(fault: &Fault) -> &'static str {
    match fault.kind {
        FaultKind::Cut => "cut_after",
        FaultKind::Fail(_) => "error",
        FaultKind::Hang => "hangs",
    }
}

fn failure(mut section: Section) -> Result<ModelError, ScriptError> {
    let kind: Option<ModelErrorKind> =
        section.read("kind", KINDS, |value| serde_json::from_value(value.clone()).ok())?;
    let status = section.read("status", "an HTTP status from 100 to 599", |value| {
        u16::try_from(value.as_u64()?).ok().filter(|status| (100..600).contains(status))
    })?;
    let message = section.text("message")?.unwrap_or_else(|| "a fault of the script".to_owned());
    let mut error = match (status, kind) {
        (Some(status), None) => ModelError::of_status(status, message),
        (Some(status), Some(kind)) => ModelError { kind, ..ModelError::of_status(status, message) },
        (None, Some(kind)) => ModelError::new(kind, message),
        (None, None) => return Err(section.missing("status", "an HTTP status, or give a `kind`")),
    };
    error.retry_after = section.duration("retry_after")?;
    Ok(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_the_message_lists_is_a_kind() {
        let kinds: Vec<&str> = KINDS.split('"').skip(1).step_by(2).collect();
        assert_eq!(kinds.len(), 15);
        for kind in kinds {
            assert!(serde_json::from_value::<ModelErrorKind>(kind.into()).is_ok(), "{kind}");
        }
    }
}
