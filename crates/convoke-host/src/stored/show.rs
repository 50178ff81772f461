//! A stored run as lines of text: what it was given, did and came to, what it waits for, and what it is in doubt about.

use convoke_core::RunStatus;
use convoke_history::account::{EffectRenderer, TextBlock};
use convoke_history::lines::{BlockLines, Rich, header, tree};
use convoke_history::{History, Tone, human};
use convoke_machine::conversation::Way;

use super::StoredRuns;

/// The parts of a run that are shown.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShownParts {
    /// Whole texts instead of one line each.
    pub full: bool,
    /// The final state, too.
    pub state: bool,
}

impl StoredRuns {
    /// A run in lines no wider than this.
    #[must_use]
    pub fn show(&self, history: &History, parts: ShownParts, width: Option<usize>) -> Vec<Rich> {
        let gist = crate::gist(history);
        let way = crate::way_of(history);
        let texts = |blocks: &[TextBlock]| texts(blocks, width, parts.full);
        let renderer = parts.full.then(|| EffectRenderer::new(history));
        let steps = tree(history, width, renderer);
        let steps = match steps.is_empty() {
            true if history.record.status.is_final() => {
                vec![Rich::new(
                    Tone::Faint,
                    "it called, asked and waited for nothing; what only computes is not listed",
                )]
            }
            true => vec![Rich::new(Tone::Faint, "nothing in its journal yet")],
            false => steps,
        };
        let questions = history.questions.iter().map(|open| self.open_question(open, width, parts.full));
        let sections = [
            header(history, self.now, width),
            texts(&gist.inputs_blocks()),
            steps,
            texts(&way.as_ref().map(way_blocks).unwrap_or_default()),
            self.doubts(history, width),
            apart(questions),
            self.awaited_calls(history, width),
            error(history, width),
            texts(gist.result_block().as_slice()),
            state(history, parts.state),
        ];
        apart(sections)
    }
}

/// What is not empty, with an empty line between.
fn apart(sections: impl IntoIterator<Item = Vec<Rich>>) -> Vec<Rich> {
    let sections = sections.into_iter().filter(|section| !section.is_empty());
    sections.reduce(|before, section| [before, vec![Rich::default()], section].concat()).unwrap_or_default()
}

/// The states that a run went through, and how.
fn way_blocks(way: &Way) -> Vec<TextBlock> {
    let states = way.states.iter().map(|state| {
        let here = if state.state == way.current { ", where it is" } else { "" };
        format!("{}: {}{here}", state.state, human::count(state.visits, "visit"))
    });
    let moves = way.transitions.iter().map(|taken| {
        let times = if taken.times > 1 { format!(", {} times", taken.times) } else { String::new() };
        let instead = match &taken.instead_of[..] {
            [] => String::new(),
            passed => format!(" instead of {}", passed.join(", ")),
        };
        format!("{} → {}{instead}, on {}{times}", taken.from, taken.to, taken.event)
    });
    let blocks = [("states", states.collect::<Vec<_>>()), ("moves", moves.collect::<Vec<_>>())];
    let blocks = blocks.into_iter().filter(|(_, lines)| !lines.is_empty());
    blocks.map(|(label, lines)| TextBlock::new(label, lines.join("\n"))).collect()
}

/// Texts, all of them or their beginnings.
fn texts(blocks: &[TextBlock], width: Option<usize>, is_full: bool) -> Vec<Rich> {
    let lines = |block: &TextBlock| match is_full {
        true => block.lines(&Rich::default(), width, None),
        false => block.brief_lines(&Rich::default(), width),
    };
    blocks.iter().flat_map(lines).collect()
}

/// Why a run did not complete. That it waits for answers is said by its questions.
fn error(history: &History, width: Option<usize>) -> Vec<Rich> {
    let ending = history.ending.as_ref().filter(|_| history.record.status != RunStatus::Suspended);
    let Some((ending, error)) = ending.and_then(|ending| Some((ending, ending.error.as_ref()?))) else {
        return Vec::new();
    };
    let error = TextBlock::new("error", error.clone()).toned(Tone::Bad);
    let places = ending.failed_at.iter().map(|path| TextBlock::new("at", path.to_string()));
    texts(&std::iter::once(error).chain(places).collect::<Vec<_>>(), width, true)
}

fn state(history: &History, is_wanted: bool) -> Vec<Rich> {
    match history.ending.as_ref().and_then(|ending| ending.state.as_ref()) {
        _ if !is_wanted => Vec::new(),
        Some(state) => format!("{state:#}").lines().map(Rich::plain).collect(),
        None => vec![Rich::new(Tone::Faint, format!("no final state: the run is {}", history.record.status))],
    }
}
