//! A run's record as lines for people to read.

use convoke_core::{RunStatus, Timestamp};

use super::{BlockLines, Rich};
use crate::account::{Gist, RecordItem, TextBlock};
use crate::{DisplayStatus, History, Tone, human, run_duration, text};

/// Where the texts of an item begin.
const MARGIN: &str = "     ";
/// How wide the numbers and the times are.
const NUMBER: usize = 7;
const SINCE: usize = 12;

/// What stands between facts.
const BETWEEN: &str = " · ";

/// The layout of a record in lines.
#[derive(Debug, Clone, Copy)]
pub struct RecordLines<'a> {
    /// The run.
    pub history: &'a History,
    /// The time.
    pub now: Timestamp,
    /// How wide lines may be, if anybody cares.
    pub width: Option<usize>,
    /// Whether texts are whole, however long.
    pub is_full: bool,
}

impl RecordLines<'_> {
    /// Returns what is on top of a record.
    #[must_use]
    pub fn head(&self, gist: &Gist) -> Vec<Rich> {
        let history = self.history;
        let record = &history.record;
        let workflow = text::one_line(&record.workflow);
        let mut lines = vec![Rich::new(
            Tone::Strong,
            format!("run {} of {workflow}, version {}", record.id, record.version),
        )];
        let spent = history.spent();
        let mut facts = Vec::new();
        facts.extend(
            run_duration(record, self.now)
                .filter(|_| record.status != RunStatus::Running)
                .map(human::duration),
        );
        facts.push(human::count(spent.model_calls, "model call"));
        facts.push(human::count(spent.tool_calls, "tool call"));
        let tokens = human::tokens(spent.usage.total_tokens());
        facts.push(format!("{}{tokens} tokens", human::about(&spent.usage)));
        facts.extend(Some(human::spent_cost(&spent)).filter(|cost| !cost.is_empty()).map(
            |cost| match &*cost {
                human::UNKNOWN => "cost unknown".to_owned(),
                _ => cost,
            },
        ));
        let times = gist.times_taken_up(record);
        if times > 1 {
            facts.push(format!("taken up {}", human::count(times, "time")));
        }
        let facts = facts.into_iter().map(Rich::plain);
        let status = DisplayStatus::of(record);
        lines.extend(packed(
            std::iter::once(Rich::new(status.tone(), status.name())).chain(facts),
            self.width,
            "",
        ));
        for given in gist.inputs_blocks() {
            lines.extend(self.block(&given));
        }
        lines
    }

    /// Returns one item, with an empty line before it.
    #[must_use]
    pub fn item(&self, item: &RecordItem<'_>) -> Vec<Rich> {
        let mut line = Rich::new(Tone::Accent, format!("{:<NUMBER$}", item.number()))
            .with(Tone::Faint, format!("{:>SINCE$}  ", item.since(self.history)));
        if let Some(moment) = item.moment() {
            line = line
                .with(Tone::Strong, text::one_line(&moment.effect.path.to_string()))
                .with(Tone::Plain, " ");
        }
        line = line.with(
            if item.tone == Tone::Plain { Tone::Faint } else { item.tone },
            text::one_line(&item.title),
        );
        let mut lines = vec![Rich::default()];
        let width = self.width;
        let facts: Vec<Rich> =
            item.facts.iter().map(|(tone, fact)| Rich::new(*tone, text::one_line(fact))).collect();
        let whole =
            facts.iter().fold(line.clone(), |line, fact| line.with(Tone::Faint, BETWEEN).then(fact.clone()));
        if width.is_none_or(|width| whole.width() <= width) {
            lines.push(whole);
        } else {
            lines.extend(line.wrap(width, NUMBER + SINCE + 2));
            lines.extend(packed(facts, width, MARGIN));
        }
        lines.extend(item.blocks.iter().flat_map(|text| self.block(text)));
        lines
    }

    fn block(&self, block: &TextBlock) -> Vec<Rich> {
        let (margin, width) = (Rich::plain(MARGIN), self.width);
        if self.is_full { block.lines(&margin, width, None) } else { block.brief_lines(&margin, width) }
    }
}

/// Facts in as few lines as they fit into.
fn packed(facts: impl IntoIterator<Item = Rich>, width: Option<usize>, margin: &str) -> Vec<Rich> {
    let mut lines: Vec<Rich> = Vec::new();
    for fact in facts {
        match lines.last_mut() {
            Some(line) if width.is_none_or(|width| line.width() + BETWEEN.len() + fact.width() <= width) => {
                *line = line.clone().with(Tone::Faint, BETWEEN).then(fact);
            }
            _ => lines.push(Rich::plain(margin).then(fact)),
        }
    }
    lines.iter().flat_map(|line| line.wrap(width, margin.len())).collect()
}
