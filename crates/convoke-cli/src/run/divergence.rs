//! Explains a divergence: what has changed since the run began, in the words of the file.

use convoke_core::Divergence;
use convoke_history::History;
use convoke_host::{ChangedText, Manifest, changed_texts};

use super::result::RunSource;
use crate::session::Session;
use crate::terminal::text;

/// How much of a text is shown.
const SHOWN: usize = 60;

/// What has changed, as far as the file that the run began with says it.
pub(super) fn in_words(divergence: &Divergence, began: Option<&Manifest>, source: RunSource<'_>) -> String {
    let before = began.filter(|began| !began.has_same_file(source.manifest));
    let place = divergence.path.to_string();
    let Some(before) = before else {
        return format!(
            "at `{place}` the run asks for something else than it did before, although its file is the same: it was begun by \
             another version of this program, or with other settings"
        );
    };
    let files = before.agentfile().zip(source.definition.agentfile());
    let changes = files.map(|(before, now)| changed_texts(&before, now)).unwrap_or_default();
    let changes: Vec<String> = changes.iter().map(in_one_sentence).collect();
    let changed = match changes.is_empty() {
        true => "the file has changed".to_owned(),
        false => changes.join("; "),
    };
    format!(
        "{changed}. What was done already does not fit that: at `{place}` the run had asked for something else"
    )
}

/// What can be done about it.
pub(super) fn otherwise(
    session: &Session<'_>,
    divergence: &Divergence,
    history: &History,
    resume: &str,
) -> String {
    let is_it = |effect: &&convoke_history::Effect| {
        effect.path == divergence.path && effect.ordinal == divergence.ordinal
    };
    let fork = history
        .effects
        .iter()
        .find(is_it)
        .map(|effect| session.about("fork", &history.record.id, &format!("--at {}", effect.first_seq())));
    match fork {
        Some(fork) => format!(
            "go on with the file as it was, `{resume}`; or have a run that does this part anew, `{fork}`, and resume that \
             with --changed-file"
        ),
        None => format!("go on with the file as it was, `{resume}`"),
    }
}

fn in_one_sentence(changed: &ChangedText) -> String {
    let shown = |text: &str| text::cut(&text::one_line(text), SHOWN);
    format!(
        "the text of {} `{}` has changed: \"{}\" → \"{}\"",
        changed.kind,
        text::one_line(&changed.name),
        shown(&changed.before),
        shown(&changed.now)
    )
}
