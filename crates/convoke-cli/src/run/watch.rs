//! Watches a run under way: shows it, has a person answer its questions, and ends it when told to.

use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::time::Duration;

use convoke_agent::memory::MESSAGE_CUT;
use convoke_core::{Answer, Error, Event, EventKind, Outcome, Path, RunStream, State, StoreError, Timestamp};
use convoke_history::json::event_json;
use convoke_history::progress::{RunProgress, Speech};
use convoke_history::{AwaitedMail, human};
use convoke_host::stored::{call_lines, cut_short_note};
use convoke_host::tools::AlwaysAllow;
use convoke_host::{CLIENT_REFUSED, CLIENT_REQUEST, CUT_SHORT, EVENT_PASSED_OVER};
use convoke_tools::policy::NarrowRule;
use convoke_tools::shell::CHANGES_REFUSED;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::time::MissedTickBehavior;

use super::dialog::{Dialog, DialogStep};
use super::display::Display;
use super::keyboard::Keyboard;
use super::person::AskedQuestion;
use super::prompt::show;
use super::signals::{INTERRUPTED, Signals};
use crate::failure::Failure;
use crate::terminal::{Output, Screen, text};

/// How often a picture is drawn.
const FRAME: Duration = Duration::from_millis(100);

/// So much of a command is shown.
const SHOWN: usize = 60;

/// A wait that is said although nothing else is.
const LONG_WAIT: Duration = Duration::from_secs(60);

/// What watches a run.
pub(crate) struct Watch<'a> {
    pub(crate) progress: RunProgress,
    pub(crate) display: Display,
    /// What is said to the person, if somebody talks with it.
    pub(crate) speech: Option<Speech>,
    /// Whether it, or a part of it, is talked with.
    pub(crate) is_conversation: bool,
    pub(crate) signals: Signals,
    pub(crate) keyboard: Keyboard,
    /// Questions, if somebody is there to answer them.
    pub(crate) questions: Option<mpsc::Receiver<AskedQuestion>>,
    /// Whether a client was asked to make calls: whoever has nothing to type until it has can leave.
    pub(crate) awaits_client: bool,
    /// Says that whoever is there leaves.
    pub(crate) leaves: watch::Sender<bool>,
    /// Who answers.
    pub(crate) by: String,
    /// Where a person's "always" is written.
    pub(crate) always: Option<AlwaysAllow>,
    /// What was approved for the whole run.
    pub(crate) granted: HashSet<String>,
    /// The command that takes the run over from whoever works on it.
    pub(crate) take_over: String,
    /// The command that sends the run something.
    pub(crate) send: String,
    /// Whether every event is a result.
    pub(crate) gives_events: bool,
    /// Whether mail was taken that had not been taken before.
    pub(crate) has_new_mail: bool,
    /// How steps failed that may be tried again.
    pub(crate) failed_tries: HashMap<Path, String>,
    pub(crate) output: &'a mut Output,
    /// What the user was told, for the document at the end.
    pub(crate) notes: &'a mut Vec<String>,
}

/// A question being answered.
struct OpenDialog {
    dialog: Dialog,
    /// The rule that would answer it for ever.
    rule: Option<NarrowRule>,
    asked: AskedQuestion,
}

impl Watch<'_> {
    /// Runs it to its end. Gives also what was said to the person last.
    pub(crate) async fn run<S: State>(
        mut self,
        mut stream: RunStream<S>,
    ) -> Result<(Outcome<S>, Option<String>), Failure> {
        let mut frames = tokio::time::interval(FRAME);
        frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut conversation: Option<OpenDialog> = None;
        // Whoever waits for an answer then is told that the run ends, not that nobody is there.
        let mut broken_off = None;
        let mut is_stopping = false;
        loop {
            let is_free = conversation.is_none();
            tokio::select! {
                biased;
                by = self.signals.next() => {
                    self.display.step_aside();
                    break_line(conversation.as_ref());
                    if self.speech.as_mut().is_some_and(Speech::is_cut_off) {
                        show("\n");
                    }
                    if stream.canceller().is_cancelled() {
                        // Whoever says it twice means it. What is journaled is safe; commands end, and take nothing along.
                        drop(stream);
                        std::process::exit(INTERRUPTED);
                    }
                    stream.canceller().cancel(format!("stopped by {by}"));
                    broken_off = conversation.take();
                    is_stopping = true;
                    self.output.note(&format!("{by}: stopping; once more to stop at once"));
                }
                event = stream.next() => {
                    let Some(event) = event else { break };
                    if self.show_speech(&event, conversation.as_ref()) {
                        // It goes on without what was asked.
                        conversation = None;
                    }
                    if let Err(failure) = self.hear(&event) {
                        // Events that nobody gets are not worth the money.
                        self.gives_events = false;
                        stream.canceller().cancel(failure.message());
                    }
                }
                asked = next(self.questions.as_mut()), if is_free && !is_stopping => {
                    let Some(asked) = asked else { self.questions = None; continue };
                    // Several may have been asked before the first was answered for all of them.
                    let covers = &asked.question.question.covers;
                    if !covers.is_empty() && self.granted.contains(covers) {
                        drop(asked.answer.send(Some(Answer::approve().by(&*self.by).for_run())));
                        continue;
                    }
                    conversation = Some(self.begin(asked));
                }
                () = given_up(conversation.as_mut()), if !is_free => {
                    let given_up = conversation.take();
                    break_line(given_up.as_ref());
                    // What came instead is shown.
                    if given_up.is_some_and(|given_up| given_up.dialog.is_turn()) {
                        continue;
                    }
                    self.output.note("the question was answered elsewhere, or is not asked any more");
                }
                line = self.keyboard.line(), if !is_free || self.may_leave() => {
                    match is_free {
                        false => conversation = self.answer(conversation, line.as_deref()),
                        true => self.leave_at_end(line.as_deref()),
                    }
                }
                _ = frames.tick(), if is_free && self.is_drawn() => self.display.draw(&self.progress),
            }
        }
        drop(broken_off);
        self.display.finish(&self.progress);
        let said = self.speech.and_then(|speech| speech.last);
        let outcome = stream.outcome().await.map_err(|error| refused(error, &self.take_over))?;
        Ok((outcome, said))
    }

    /// Whether a picture is drawn: not into a line that is being said.
    fn is_drawn(&self) -> bool {
        self.display.is_picture() && !self.speech.as_ref().is_some_and(Speech::is_speaking)
    }

    /// Shows what is said in an event. Says whether there was anything.
    fn show_speech(&mut self, event: &Event, conversation: Option<&OpenDialog>) -> bool {
        let Some(speech) = &mut self.speech else { return false };
        let is_now = !self.progress.is_resumed() || self.progress.nodes()[0].is_live;
        let Some(words) = speech.hear(event, is_now) else { return false };
        self.display.step_aside();
        break_line(conversation);
        show(&words.paint(self.display.palette()));
        true
    }

    fn hear(&mut self, event: &Event) -> Result<(), Failure> {
        self.progress.apply(event);
        if let EventKind::Custom { name, value } = &event.kind
            && name == CHANGES_REFUSED
            && !event.replayed
        {
            self.note(refused_changes(value));
        }
        if let EventKind::Custom { name, value } = &event.kind
            && name == MESSAGE_CUT
            && !event.replayed
        {
            self.note(format!(
                "of a message of {} bytes the first {} are remembered",
                value["bytes"], value["kept"]
            ));
        }
        self.display.heard(&self.progress, event);
        self.tell_client(event);
        self.tell_wait(event);
        self.give(event)
    }

    /// Says that something is tried again after a long time, where nothing else says so.
    fn tell_wait(&mut self, event: &Event) {
        match &event.kind {
            _ if event.replayed || !self.display.is_quiet() => {}
            EventKind::RetryFailed { error, .. } => {
                self.failed_tries.insert(event.path.clone(), text::one_line(error));
            }
            EventKind::RetryScheduled { delay, .. } => {
                let why = self.failed_tries.remove(&event.path).unwrap_or_default();
                if *delay > LONG_WAIT {
                    let name =
                        event.path.last().map_or_else(String::new, |place| text::one_line(place.written()));
                    self.note(format!("`{name}` is tried again in {}: {why}", human::duration(*delay)));
                }
            }
            _ => {}
        }
    }

    /// Says which calls a client is to make, what it sent that is no result, and what in a conversation did not go as it was to.
    fn tell_client(&mut self, event: &Event) {
        // Whatever is told after mail that had not been taken before is new.
        self.has_new_mail |= matches!(event.kind, EventKind::MailReceived { .. }) && !event.replayed;
        let EventKind::Custom { name, value } = &event.kind else { return };
        if self.progress.is_resumed() && !self.progress.nodes()[0].is_live && !self.has_new_mail {
            return;
        }
        let channel = value["channel"].as_str().unwrap_or_default();
        match name.as_str() {
            CLIENT_REQUEST if self.questions.is_some() => {
                self.awaits_client = true;
                self.display.step_aside();
                let awaited = AwaitedMail::new(channel, value);
                let lines = call_lines(&self.send, &awaited, None);
                lines.iter().for_each(|line| self.output.explained(line));
            }
            CLIENT_REFUSED => {
                let reason = text::one_line(value["reason"].as_str().unwrap_or_default());
                self.note(format!("what was sent on `{}` is passed over: {reason}", text::one_line(channel)));
            }
            CUT_SHORT => {
                let said = |field: &str| text::one_line(value[field].as_str().unwrap_or_default());
                self.note(cut_short_note(&said("part"), &said("reason")));
            }
            EVENT_PASSED_OVER => {
                let said = |field: &str| text::one_line(value[field].as_str().unwrap_or_default());
                let (event, state) = (said("event"), said("state"));
                self.note(format!("`{event}` is passed over: it was sent before `{state}` was entered"));
            }
            _ => {}
        }
    }

    /// Whether nothing is to be typed but that somebody leaves.
    fn may_leave(&self) -> bool {
        self.awaits_client && !*self.leaves.borrow()
    }

    /// Leaves the run where nothing more is typed. Lines that nobody asked for are for nobody.
    fn leave_at_end(&mut self, line: Option<&str>) {
        if line.is_none() {
            self.display.step_aside();
            self.leaves.send_replace(true);
        }
    }

    fn note(&mut self, note: String) {
        self.display.step_aside();
        self.output.note(&note);
        self.notes.push(note);
    }

    fn give(&mut self, event: &Event) -> Result<(), Failure> {
        if !self.gives_events {
            return Ok(());
        }
        let event = event_json(event).map_err(std::io::Error::from)?;
        self.output.json_line(&event)?;
        self.output.flush()
    }

    fn begin(&mut self, asked: AskedQuestion) -> OpenDialog {
        self.display.step_aside();
        self.keyboard.forget();
        let (width, _) = Screen::size();
        let always = self.always.as_ref().filter(|_| asked.question.is_for(&self.by, Timestamp::now()));
        let rule = always.and_then(|always| always.rule(&asked.question.question));
        let told = self.always.as_ref().zip(rule.as_ref()).map(|(always, rule)| always.describe(rule));
        let dialog = Dialog::new(asked.question.clone(), self.by.clone(), width).or_always(told);
        let has_read = self.speech.as_ref().is_some_and(|speech| speech.last.is_some());
        let dialog = if self.is_conversation { dialog.in_conversation(has_read) } else { dialog };
        if let (Some(speech), true) = (&mut self.speech, dialog.is_turn()) {
            // What was said before this process began is read now.
            let said = asked.question.question.subject["said"].as_str();
            speech.last = speech.last.take().or_else(|| said.map(str::to_owned));
        }
        self.display.ask(&dialog.opening(), &dialog.prompt());
        OpenDialog { dialog, rule, asked }
    }

    fn answer(&mut self, conversation: Option<OpenDialog>, line: Option<&str>) -> Option<OpenDialog> {
        let OpenDialog { mut dialog, rule, asked } = conversation?;
        let heard = dialog.hear(line);
        if let (DialogStep::Always(_), Some(always), Some(rule)) = (&heard, &self.always, &rule) {
            match always.write(rule) {
                Ok(()) => self.output.note(&format!("written: {}", always.describe(rule))),
                Err(problem) => self.output.note(&format!("it is approved for this run only: {problem}")),
            }
        }
        match heard {
            DialogStep::More(lines) => {
                self.display.ask(&lines, &dialog.prompt());
                return Some(OpenDialog { dialog, rule, asked });
            }
            // If nobody waits for it any more, it is answered already.
            DialogStep::Answered(answer) | DialogStep::Always(answer) => {
                if answer.for_run {
                    self.granted.insert(asked.question.question.covers.clone());
                }
                drop(asked.answer.send(Some(answer)));
            }
            DialogStep::Later => drop(asked.answer.send(None)),
        }
        None
    }
}

/// That changes of a command did not come out, which the model was told, and its user should know.
fn refused_changes(value: &Value) -> String {
    let command = text::cut(&text::one_line(value["command"].as_str().unwrap_or_default()), SHOWN);
    let why = value["notes"].as_array().into_iter().flatten().filter_map(Value::as_str).map(text::one_line);
    let why = text::cut(&why.collect::<Vec<_>>().join("; "), SHOWN * 4);
    format!("changes of `{command}` did not come out of its view: {why}")
}

fn refused(error: Error, take_over: &str) -> Failure {
    let is_busy = matches!(&error, Error::Store(StoreError::Busy { .. }));
    let failure = Failure::from(error);
    if is_busy { failure.hint(format!("`{take_over}` takes it over")) } else { failure }
}

async fn next(questions: Option<&mut mpsc::Receiver<AskedQuestion>>) -> Option<AskedQuestion> {
    match questions {
        Some(questions) => questions.recv().await,
        None => pending().await,
    }
}

/// Ends the line that a question stands in, if there is one.
fn break_line(conversation: Option<&OpenDialog>) {
    if conversation.is_some() {
        show("\n");
    }
}

async fn given_up(conversation: Option<&mut OpenDialog>) {
    match conversation {
        Some(conversation) => conversation.asked.answer.closed().await,
        None => pending().await,
    }
}
