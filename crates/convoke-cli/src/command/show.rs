//! `convoke show`

use convoke_core::RunStatus;
use convoke_history::History;
use convoke_history::account::{EffectRenderer, TextBlock};
use convoke_history::json::HistoryView;
use convoke_host::Way;

use super::drawing::{draw, only_diagrams_go_to_files};
use crate::arguments::{OutlineFormat, Show};
use crate::failure::Failure;
use crate::fork_advice;
use crate::human;
use crate::render::{BlockLines, awaited_calls, doubts, header, open_question, tree};
use crate::select;
use crate::session::Session;
use crate::shell;
use crate::terminal::{Rich, Tone};

pub(super) async fn run(session: &mut Session<'_>, arguments: &Show) -> Result<(), Failure> {
    only_diagrams_go_to_files(arguments.format, session.json, arguments.output.as_deref())?;
    let record = select::run(session, &arguments.run).await?;
    let history = History::load(&*session.store, &record.id).await?;
    let gist = convoke_host::gist(&history);
    let way = convoke_host::way_of(&history);
    if session.json || arguments.format == OutlineFormat::Json {
        let way = way.and_then(|way| serde_json::to_value(way).ok());
        let view = HistoryView::new(&history, &gist, session.now).way(way);
        return session.output.json(&view);
    }
    if arguments.format != OutlineFormat::Text {
        let diagram = convoke_host::diagram_of(&history).ok_or_else(|| no_diagram(&history))?;
        return draw(&diagram, arguments.format, arguments.output.as_deref(), session.output);
    }
    let sections = [
        header(&history, session.now, session.output.width()),
        texts(session, &gist.inputs_blocks(), arguments),
        whole_tree(session, &history, arguments),
        texts(session, &way.as_ref().map(way_blocks).unwrap_or_default(), arguments),
        doubts(session, &history),
        questions(session, &history, arguments),
        awaited_calls(session, &history.record.id, &history.awaited()),
        error(session, &history),
        texts(session, &gist.result_block().into_iter().collect::<Vec<_>>(), arguments),
        state(&history, arguments),
    ];
    let mut is_first = true;
    for section in sections.iter().filter(|section| !section.is_empty()) {
        if !is_first {
            session.output.plain("")?;
        }
        is_first = false;
        for line in section {
            session.output.line(line)?;
        }
    }
    if let Some(note) = next_step(session, &history) {
        session.output.note(&note);
    }
    Ok(())
}

fn no_diagram(history: &History) -> Failure {
    Failure::failed(format!("nothing is known of what run {} is made of", history.record.id))
        .hint("only runs of files, and of programs that keep an outline with them, can be drawn")
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
fn texts(session: &Session<'_>, blocks: &[TextBlock], arguments: &Show) -> Vec<Rich> {
    let (margin, width) = (Rich::default(), session.output.width());
    let lines = |block: &TextBlock| match arguments.full {
        true => block.lines(&margin, width, None),
        false => block.brief_lines(&margin, width),
    };
    blocks.iter().flat_map(lines).collect()
}

fn whole_tree(session: &Session<'_>, history: &History, arguments: &Show) -> Vec<Rich> {
    if history.effects.is_empty() {
        return vec![Rich::new(Tone::Faint, "nothing in its journal yet")];
    }
    tree(history, session.output.width(), arguments.full.then(|| EffectRenderer::new(history)))
}

fn questions(session: &Session<'_>, history: &History, arguments: &Show) -> Vec<Rich> {
    let mut lines = Vec::new();
    for open in &history.questions {
        if !lines.is_empty() {
            lines.push(Rich::default());
        }
        lines.extend(open_question(session, open, arguments.full));
    }
    lines
}

/// Why a run did not complete. That it waits for answers is said by its questions.
fn error(session: &Session<'_>, history: &History) -> Vec<Rich> {
    let ending = history.ending.as_ref().filter(|_| history.record.status != RunStatus::Suspended);
    let Some(ending) = ending else { return Vec::new() };
    let Some(error) = &ending.error else { return Vec::new() };
    let (margin, width) = (Rich::default(), session.output.width());
    let mut lines = TextBlock::new("error", error.clone()).toned(Tone::Bad).lines(&margin, width, None);
    for path in &ending.failed_at {
        lines.extend(TextBlock::new("at", path.to_string()).lines(&margin, width, None));
    }
    lines
}

fn state(history: &History, arguments: &Show) -> Vec<Rich> {
    if !arguments.state {
        return Vec::new();
    }
    match history.ending.as_ref().and_then(|ending| ending.state.as_ref()) {
        Some(state) => {
            let json = serde_json::to_string_pretty(state).unwrap_or_else(|_| state.to_string());
            json.lines().map(Rich::plain).collect()
        }
        None => vec![Rich::new(Tone::Faint, format!("no final state: the run is {}", history.record.status))],
    }
}

fn next_step(session: &Session<'_>, history: &History) -> Option<String> {
    let record = &history.record;
    let resume = || session.resuming(record);
    match record.status {
        RunStatus::Running if record.holder.is_none() => Some(format!("to let it go on, {}", resume())),
        RunStatus::Suspended => waits_for(session, history),
        RunStatus::Running | RunStatus::Completed => None,
        _ if !fork_advice::can_go_on(record) => fork_advice::otherwise(session, history),
        _ => {
            let fork = session.about("fork", &record.id, "--at N");
            Some(format!("to try again what failed, {}; to try something else, `{fork}`", resume()))
        }
    }
}

/// What can be done about a suspended run. What its questions say is said by them.
fn waits_for(session: &Session<'_>, history: &History) -> Option<String> {
    let record = &history.record;
    let resume = || session.resuming(record);
    let is_settled = history.questions.iter().all(|open| open.settled(session.now).is_some());
    if !history.questions.is_empty() && is_settled {
        return Some(format!("nothing is left to answer: {}", resume()));
    }
    if record.wake.is_some_and(|wake| wake <= session.now) {
        return Some(format!("what it waited for is there: {}", resume()));
    }
    if !history.questions.is_empty() {
        return None;
    }
    if !awaited_calls(session, &record.id, &history.awaited()).is_empty() {
        return Some(format!("once what it waits for was sent, {}", resume()));
    }
    if let Some(channel) = record.channels.first() {
        let send = session.about("send", &record.id, &format!("{} JSON", shell::quoted(channel)));
        return Some(format!("it waits to be sent something: `{send}`"));
    }
    match record.wake {
        Some(wake) => Some(format!("it sleeps until {wake}; then {}", resume())),
        None => Some(format!("it can go on: {}", resume())),
    }
}
