//! A run's record as lines for people to read.

use convoke_core::RunStatus;
use convoke_history::History;

use super::Told;
use crate::gist::Gist;
use crate::human;
use crate::render::{Block, taken_up, took};
use crate::session::Session;
use crate::terminal::{Ink, Rich, text};

/// Where the texts of an item begin.
const MARGIN: &str = "     ";
/// How wide the numbers and the times are.
const NUMBER: usize = 7;
const SINCE: usize = 12;

/// What stands between facts.
const BETWEEN: &str = " · ";

/// What is on top of a record.
pub(crate) fn head(session: &Session<'_>, history: &History, is_full: bool) -> Vec<Rich> {
    let record = &history.record;
    let workflow = text::one_line(&record.workflow);
    let mut lines =
        vec![Rich::new(Ink::Strong, format!("run {} of {workflow}, version {}", record.id, record.version))];
    let spent = history.spent();
    let mut facts = Vec::new();
    facts.extend(
        took(record, session.now).filter(|_| record.status != RunStatus::Running).map(human::duration),
    );
    facts.push(human::count(spent.model_calls, "model call"));
    facts.push(human::count(spent.tool_calls, "tool call"));
    let tokens = human::tokens(spent.usage.total_tokens());
    facts.push(format!("{}{tokens} tokens", human::about(&spent.usage)));
    facts.extend(Some(human::spent_cost(&spent)).filter(|cost| !cost.is_empty()).map(|cost| match &*cost {
        human::UNKNOWN => "cost unknown".to_owned(),
        _ => cost,
    }));
    let times = taken_up(record);
    if times > 1 {
        facts.push(format!("taken up {}", human::count(times, "time")));
    }
    let facts = facts.into_iter().map(Rich::plain);
    lines.extend(packed(
        std::iter::once(Rich::new(Ink::of(record.status), record.status.name())).chain(facts),
        session.output.width(),
        "",
    ));
    for given in Gist::of(history).given() {
        lines.extend(block(session, &given, is_full));
    }
    lines
}

/// One item, with an empty line before it.
pub(crate) fn item(session: &Session<'_>, history: &History, told: &Told<'_>, is_full: bool) -> Vec<Rich> {
    let mut line = Rich::new(Ink::Accent, format!("{:<NUMBER$}", told.number()))
        .with(Ink::Faint, format!("{:>SINCE$}  ", told.since(history)));
    if let Some(moment) = told.moment() {
        line = line.with(Ink::Strong, text::one_line(&moment.effect.path.to_string())).with(Ink::Plain, " ");
    }
    line = line.with(if told.ink == Ink::Plain { Ink::Faint } else { told.ink }, text::one_line(&told.title));
    let mut lines = vec![Rich::default()];
    let width = session.output.width();
    let facts: Vec<Rich> =
        told.facts.iter().map(|(ink, fact)| Rich::new(*ink, text::one_line(fact))).collect();
    let whole =
        facts.iter().fold(line.clone(), |line, fact| line.with(Ink::Faint, BETWEEN).then(fact.clone()));
    if width.is_none_or(|width| whole.width() <= width) {
        lines.push(whole);
    } else {
        lines.extend(line.wrap(width, NUMBER + SINCE + 2));
        lines.extend(packed(facts, width, MARGIN));
    }
    lines.extend(told.blocks.iter().flat_map(|text| block(session, text, is_full)));
    lines
}

/// Facts in as few lines as they fit into.
fn packed(facts: impl IntoIterator<Item = Rich>, width: Option<usize>, margin: &str) -> Vec<Rich> {
    let mut lines: Vec<Rich> = Vec::new();
    for fact in facts {
        match lines.last_mut() {
            Some(line) if width.is_none_or(|width| line.width() + BETWEEN.len() + fact.width() <= width) => {
                *line = line.clone().with(Ink::Faint, BETWEEN).then(fact);
            }
            _ => lines.push(Rich::plain(margin).then(fact)),
        }
    }
    lines.iter().flat_map(|line| line.wrap(width, margin.len())).collect()
}

fn block(session: &Session<'_>, block: &Block, is_full: bool) -> Vec<Rich> {
    let (margin, width) = (Rich::plain(MARGIN), session.output.width());
    if is_full { block.lines(&margin, width, None) } else { block.brief_lines(&margin, width) }
}
