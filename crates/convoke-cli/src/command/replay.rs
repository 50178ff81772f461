//! `convoke replay`

use convoke_core::history::{Attempt, Detail, Moment};
use convoke_core::{EffectKind, History, Phase, RunStatus, Timestamp};
use serde_json::{Value, json};

use crate::arguments::Replay;
use crate::failure::Failure;
use crate::human;
use crate::render::{Block, Side, Teller};
use crate::select;
use crate::session::Session;
use crate::terminal::{Ink, Rich, text};
use crate::view::{EndingView, EntryView};

/// Longer texts are cut to so many lines.
const SHOWN_LINES: usize = 24;

pub(super) async fn run(session: &mut Session<'_>, arguments: &Replay) -> Result<(), Failure> {
    let record = select::run(session, &arguments.run).await?;
    let history = History::load(&*session.store, &record.id).await?;
    let mut moments = history.timeline();
    if let Some(at) = arguments.at {
        if at == 0 || at > history.last_seq() {
            return Err(super::fork::no_entry(session, &history, at));
        }
        moments.retain(|moment| moment.seq <= at);
    }
    if session.json {
        return tell_json(session, &history, &moments, arguments);
    }
    let most = (!arguments.full).then_some(SHOWN_LINES);
    Page { session, history: &history, most, day: None }.tell(&moments, arguments)
}

/// A replay for people to read.
struct Page<'a, 'b> {
    session: &'a mut Session<'b>,
    history: &'a History,
    most: Option<usize>,
    day: Option<String>,
}

impl Page<'_, '_> {
    fn tell(&mut self, moments: &[Moment<'_>], arguments: &Replay) -> Result<(), Failure> {
        self.title()?;
        let mut teller = Teller::new(self.history);
        // The past of a fork was before it began.
        let own = moments.partition_point(|moment| self.history.is_inherited(moment.mark()));
        for moment in &moments[..own] {
            self.moment(moment, &mut teller)?;
        }
        if own < moments.len() || arguments.at.is_none() {
            self.beginning()?;
        }
        for moment in &moments[own..] {
            self.moment(moment, &mut teller)?;
        }
        if arguments.at.is_some() { Ok(()) } else { self.end() }
    }

    fn title(&mut self) -> Result<(), Failure> {
        let record = &self.history.record;
        let workflow = text::one_line(&record.workflow);
        let title = format!("run {} of {workflow}, version {}", record.id, record.version);
        self.session.output.line(&Rich::new(Ink::Strong, title))?;
        self.block(&Block::new("input", input(self.history).to_string()))
    }

    fn beginning(&mut self) -> Result<(), Failure> {
        let record = &self.history.record;
        let what = match &record.forked_from {
            Some(fork) => format!("forked from {} at #{}", fork.run, fork.at),
            None => "started".to_owned(),
        };
        self.head(record.created, "", Rich::plain(what))
    }

    fn moment(&mut self, moment: &Moment<'_>, teller: &mut Teller<'_>) -> Result<(), Failure> {
        let (effect, attempt) = (moment.effect, moment.attempt);
        let title = Rich::new(Ink::Strong, text::one_line(&effect.path.to_string()))
            .with(Ink::Plain, " ")
            .with(Ink::Faint, effect.kind.name())
            .then(what(self.history, moment));
        self.head(moment.at, &format!("#{}", moment.seq), title)?;
        let side = match moment.phase {
            Phase::Started => Side::Asked,
            Phase::Finished if attempt.begun.is_some() => Side::Given,
            Phase::Finished => Side::Both,
            Phase::Superseded => return Ok(()),
        };
        teller.tell(effect, attempt, side).iter().try_for_each(|block| self.block(block))
    }

    fn end(&mut self) -> Result<(), Failure> {
        let record = &self.history.record;
        if record.status == RunStatus::Running {
            self.session.output.plain("")?;
            return self.session.output.line(&Rich::new(Ink::Faint, "     it has not ended"));
        }
        self.head(record.updated, "", Rich::new(Ink::of(record.status), record.status.name()))?;
        match self.history.ending.as_ref().and_then(|ending| ending.error.as_ref()) {
            Some(error) => self.block(&Block::new("error", error.clone()).inked(Ink::of(record.status))),
            None => Ok(()),
        }
    }

    /// The first line of a moment, with the day on a line of its own when it changes.
    fn head(&mut self, at: Timestamp, number: &str, title: Rich) -> Result<(), Failure> {
        self.session.output.plain("")?;
        let day = human::date(at);
        if self.day.as_ref() != Some(&day) {
            self.session.output.line(&Rich::new(Ink::Faint, format!("{day} (UTC)")))?;
            self.day = Some(day);
        }
        let line = Rich::new(Ink::Accent, format!("{number:<4}"))
            .with(Ink::Faint, format!(" {} ", human::clock(at)))
            .then(title);
        let line = match self.session.output.width() {
            Some(width) => line.cut(width),
            None => line,
        };
        self.session.output.line(&line)
    }

    fn block(&mut self, block: &Block) -> Result<(), Failure> {
        for line in block.lines(&Rich::plain("     "), self.session.output.width(), self.most) {
            self.session.output.line(&line)?;
        }
        Ok(())
    }
}

fn input(history: &History) -> Value {
    serde_json::from_slice(&history.record.input).unwrap_or(Value::Null)
}

/// What happened, how long it took and what it cost.
fn what(history: &History, moment: &Moment<'_>) -> Rich {
    let attempt = moment.attempt;
    let verb = match (moment.phase, moment.effect.kind) {
        (Phase::Superseded, _) => " to be performed anew",
        (Phase::Started, _) => " begins",
        (Phase::Finished, EffectKind::Ask) if attempt.begun.is_some() => " answered",
        (Phase::Finished, _) if attempt.begun.is_some() => " ends",
        (Phase::Finished, _) => "",
    };
    let mut line = Rich::new(Ink::Faint, verb);
    if moment.phase == Phase::Finished {
        for fact in facts(history, attempt) {
            line = line.with(Ink::Faint, " · ").with(Ink::Plain, fact);
        }
    }
    line
}

fn facts(history: &History, attempt: &Attempt) -> Vec<String> {
    let mut facts = Vec::new();
    if let Detail::Model { model, .. } = &attempt.detail {
        facts.push(text::one_line(model));
    }
    facts.extend(history.duration(attempt).map(human::duration));
    if let Some(usage) = attempt.usage() {
        let (input, output) = (human::tokens(usage.input_tokens), human::tokens(usage.output_tokens));
        facts.push(format!("{input} in, {output} out"));
        facts.push(usage.cost.map_or_else(|| "cost unknown".to_owned(), human::cost));
    }
    facts
}

fn tell_json(
    session: &mut Session<'_>,
    history: &History,
    moments: &[Moment<'_>],
    arguments: &Replay,
) -> Result<(), Failure> {
    let record = &history.record;
    session.output.json_line(&json!({
        "event": "started",
        "at": record.created.to_string(),
        "run": record.id,
        "workflow": record.workflow,
        "version": record.version,
        "forked_from": record.forked_from,
        "input": input(history),
    }))?;
    let mut prompts = history.conversations.prompts();
    for moment in moments {
        session.output.json_line(&EntryView::new(history, moment, &mut prompts))?;
    }
    if arguments.at.is_some() || record.status == RunStatus::Running {
        return Ok(());
    }
    session.output.json_line(&json!({
        "event": "ended",
        "at": record.updated.to_string(),
        "status": record.status.name(),
        "ending": history.ending.as_ref().map(EndingView::from),
    }))
}
