//! Explains a divergence: what has changed since the run began, in the words of the file.

use convoke_core::Divergence;
use convoke_history::{History, text};
use convoke_text::columns;

use super::{RunSource, StoredRuns};
use crate::{ChangedText, Manifest, changed_texts};

/// How much of a text is shown.
const SHOWN: usize = 60;

/// What has changed, as far as the file that the run began with says it.
pub(super) fn in_words(divergence: &Divergence, began: Option<&Manifest>, source: RunSource<'_>) -> String {
    let place = divergence.path.to_string();
    let Some(before) = began.filter(|began| !began.has_same_file(source.manifest)) else {
        return format!(
            "at `{place}` the run asks for something else than it did before, although its file is the same: it was begun by \
             another version of this program, or with other settings"
        );
    };
    let files = before.agentfile().zip(source.definition.agentfile());
    let changes = files.map(|(before, now)| changed_texts(&before, now)).unwrap_or_default();
    let changes: Vec<String> = changes.iter().map(in_one_sentence).collect();
    let changed = if changes.is_empty() { "the file has changed".to_owned() } else { changes.join("; ") };
    format!(
        "{changed}. What was done already does not fit that: at `{place}` the run had asked for something else"
    )
}

fn in_one_sentence(changed: &ChangedText) -> String {
    let shown = |text: &str| columns::cut(&text::one_line(text), SHOWN);
    let (name, before, now) = (text::one_line(&changed.name), shown(&changed.before), shown(&changed.now));
    format!("the text of {} `{name}` has changed: \"{before}\" → \"{now}\"", changed.kind)
}

impl StoredRuns {
    /// What can be done about a divergence. With the file that the run began with, going on as it is comes to the same.
    pub(super) fn past_divergence(
        &self,
        divergence: &Divergence,
        history: &History,
        source: RunSource<'_>,
        resume: &str,
    ) -> String {
        let has_changed =
            Manifest::of(&history.record).is_some_and(|began| !began.has_same_file(source.manifest));
        let found = history
            .effects
            .iter()
            .find(|effect| effect.path == divergence.path && effect.ordinal == divergence.ordinal);
        let fork = found.map(|effect| {
            let fork = self.about("fork", &history.record.id, &format!("--at {}", effect.first_seq()));
            let how = if has_changed { " with --changed-file" } else { "" };
            format!("; or have a run that does this part anew, `{fork}`, and resume that{how}")
        });
        let go_on = match has_changed {
            true => format!("go on with the file as it was, `{resume}`"),
            false => {
                "go on with the version of this program, and the settings, that it was begun with".to_owned()
            }
        };
        go_on + &fork.unwrap_or_default()
    }
}
