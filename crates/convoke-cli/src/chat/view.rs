//! Shows a conversation as it goes, and handles Ctrl-C meanwhile.

use std::io::{self, IsTerminal};

use convoke_core::{Event, EventKind, FinishReason, Outcome, RunStream};
use convoke_history::human;
use convoke_host::chat::{Chat, ReplyStop};

use super::person::ChatResponder;
use crate::failure::Failure;
use crate::run::{INTERRUPTED, Signals};
use crate::terminal::{Output, Spinner};

/// The view of a conversation.
pub(crate) struct ChatView<'a> {
    pub(crate) output: &'a mut Output,
    /// Whether only the end is told, as JSON.
    pub(crate) is_json: bool,
    /// Whether there is more to come after the first answer.
    pub(crate) is_conversation: bool,
    /// Whether something was said with the command, so that an answer comes first.
    pub(crate) has_words: bool,
    /// What the model is called.
    pub(crate) model: String,
    /// Whoever types, if somebody does.
    pub(crate) person: Option<ChatResponder>,
    /// Stops an answer.
    pub(crate) stop: ReplyStop,
    pub(crate) signals: Signals,
}

impl ChatView<'_> {
    /// Shows it to its end. Gives what was said of an answer that was broken off, too.
    pub(crate) async fn run(
        mut self,
        mut stream: RunStream<Chat>,
    ) -> Result<(Outcome<Chat>, String), Failure> {
        let mut answer = Answer::new(self.is_json);
        if self.has_words {
            answer.waiting = Spinner::begin(&self.model);
        }
        loop {
            tokio::select! {
                biased;
                by = self.signals.next() => {
                    // Who asked once has nothing but this answer: half of it is the end of the run.
                    let is_answers = by == "Ctrl-C" && self.person.is_some() && self.is_conversation;
                    if is_answers {
                        // At the prompt the editor takes Ctrl-C; what comes in between is about no answer.
                        if self.person.as_ref().is_some_and(|person| !person.is_typing()) {
                            self.stop.now();
                            answer.is_stopped = true;
                        }
                    } else if stream.canceller().is_cancelled() {
                        // Whoever says it twice means it. What is journaled is safe.
                        drop(stream);
                        std::process::exit(INTERRUPTED);
                    } else {
                        stream.canceller().cancel(format!("stopped by {by}"));
                    }
                }
                event = stream.next() => match event {
                    Some(event) => self.show(event, &mut answer)?,
                    None => break,
                }
            }
        }
        answer.waiting.end();
        if answer.is_live && !answer.whole.is_empty() {
            self.output.piece("\n")?;
        }
        Ok((stream.outcome().await?, answer.whole))
    }

    fn show(&mut self, event: Event, answer: &mut Answer) -> Result<(), Failure> {
        let is_question = matches!(event.kind, EventKind::QuestionAsked { .. });
        if !event.replayed {
            self.show_new(event, answer)?;
        }
        if let Some(person) = self.person.as_ref().filter(|_| is_question) {
            person.is_shown();
        }
        Ok(())
    }

    fn show_new(&mut self, event: Event, answer: &mut Answer) -> Result<(), Failure> {
        match event.kind {
            EventKind::QuestionAnswered { .. } => {
                answer.is_stopped = false;
                answer.waiting = Spinner::begin(&self.model);
            }
            EventKind::MessageDelta { text, .. } => {
                if answer.is_live {
                    answer.waiting.end();
                    self.output.piece(&text)?;
                }
                answer.whole.push_str(&text);
            }
            // What was said so far is void.
            kind @ (EventKind::QuestionAsked { .. } | EventKind::MessageRestarted { .. }) => {
                answer.waiting.end();
                if !std::mem::take(&mut answer.whole).is_empty() && answer.is_live {
                    self.output.piece("\n")?;
                }
                if let EventKind::MessageRestarted { model, reason, .. } = kind {
                    self.output.note(&format!("{reason}; {model} begins anew"));
                }
            }
            EventKind::MessageEnded { finish, usage, .. } => {
                answer.waiting.end();
                if self.is_json {
                    return Ok(());
                }
                let whole = std::mem::take(&mut answer.whole);
                if answer.is_live {
                    self.output.plain("")?;
                } else if !whole.is_empty() {
                    self.output.plain(&whole)?;
                }
                self.output.flush()?;
                // Who asked once gets an error in the end.
                if self.is_conversation
                    && let Some(note) = finish.and_then(cut_short)
                {
                    self.output.note(note);
                }
                if answer.is_live && io::stderr().is_terminal() {
                    // How much of an answer that was stopped is to be paid for, nobody says.
                    let used = if answer.is_stopped { "stopped".to_owned() } else { human::usage(&usage) };
                    self.output.aside(&used);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// An answer that is being given.
struct Answer {
    whole: String,
    /// What is said live can be void a moment later. A person sees that; a file or another program gets whole answers.
    is_live: bool,
    is_stopped: bool,
    waiting: Spinner,
}

impl Answer {
    fn new(is_json: bool) -> Self {
        let is_live = !is_json && io::stdout().is_terminal();
        Self { whole: String::new(), is_live, is_stopped: false, waiting: Spinner::default() }
    }
}

/// Why an answer is not whole, if it is not.
pub(crate) fn cut_short(finish: FinishReason) -> Option<&'static str> {
    match finish {
        FinishReason::Length => {
            Some("the answer was cut off at its token limit; allow more with --max-tokens")
        }
        FinishReason::ContentFilter => Some("the model refused to answer; rephrase, or use another model"),
        _ => None,
    }
}
