//! Unseals arguments of tools, and seals their results.

use convoke_core::{CategorisedError, Error, Execution, QuestionKind, Repeat, SideOutput, ToolSpec};

use super::seals::Seals;

/// Whether a tool is left as it is. What tools that are workflows or agents themselves are given they tell models, and that
/// is written down; and tools that somebody else executes do not get secrets.
pub(super) fn is_open(tool: &ToolSpec) -> bool {
    tool.repeat == Repeat::Reenter || tool.execution == Execution::Client
}

/// Puts marks into what a tool asks, reports and remarks.
pub(super) fn seal_speech(seals: &Seals, said: &mut SideOutput) {
    let seal = |text: &mut String| *text = seals.seal_cut(text);
    match said {
        SideOutput::Question(question) => {
            [&mut question.title, &mut question.details, &mut question.covers].into_iter().for_each(seal);
            question.subject = seals.seal_cut_value(&question.subject);
            if let QuestionKind::Choice { options } = &mut question.kind {
                options.iter_mut().for_each(seal);
            }
        }
        SideOutput::Event { name, value } => {
            seal(name);
            *value = seals.seal_cut_value(value);
        }
        SideOutput::Remark(text) => seal(text),
        SideOutput::Note(value) => *value = seals.seal_cut_value(value),
        _ => {}
    }
}

/// The error, or one that says the same with marks in it.
pub(super) fn sealed_error(seals: &Seals, error: Error) -> Error {
    let tells = |text: String| seals.seal_cut(&text) != text;
    if !error.causes().any(|cause| tells(cause.to_string()) || tells(format!("{cause:?}"))) {
        return error;
    }
    match error {
        Error::Denied(reason) => Error::Denied(seals.seal_cut(&reason).into()),
        Error::Halted(reason) => Error::Halted(seals.seal_cut(&reason).into()),
        Error::Cancelled(reason) => Error::Cancelled(seals.seal_cut(&reason).into()),
        Error::Model(mut inner) => {
            inner.message = seals.seal_cut(&inner.message);
            inner.request_id = inner.request_id.map(|id| seals.seal_cut(&id));
            Error::Model(inner)
        }
        other => Error::failed(CategorisedError::new(other.category(), seals.seal_cut(&other.to_string()))),
    }
}
