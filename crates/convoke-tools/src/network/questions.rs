//! Questions to a person about a host, while a command waits for it.
//!
//! Connections ask through a channel, and the call that runs the command puts their questions to a person, one after the
//! other, in its own scope: so a question is on record like any other, and ends when the call does. One answer holds for the
//! host in the whole run, because a program that was told no tries again, and a person must not be asked the same thing twice.

use convoke_core::{Error, Question, Scope};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

use super::{Destination, HostRules};
use crate::policy::Decision;

/// How many hosts a person is asked about in a run. A program that wants more of them is up to something, and would wear out
/// whoever answers.
const MOST_HOSTS: usize = 16;

/// How many connections wait to be asked about. The others wait for their turn.
const WAITING: usize = 64;

/// Asks about hosts, for the connections of a command.
#[derive(Debug, Clone)]
pub struct HostAsker(mpsc::Sender<PendingQuestion>);

/// The questions about hosts, for the call that runs the command.
#[derive(Debug)]
pub struct HostQuestions {
    rules: HostRules,
    wanted: mpsc::Receiver<PendingQuestion>,
}

#[derive(Debug)]
struct PendingQuestion {
    destination: Destination,
    decision: Decision,
    /// Whether the command has reached some host before.
    reached: bool,
    reply: oneshot::Sender<HostAnswer>,
}

/// The answer about a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostAnswer {
    Yes,
    No,
    /// Nobody is there to be asked.
    Nothing,
}

impl HostAnswer {
    fn of(may: bool) -> Self {
        if may { Self::Yes } else { Self::No }
    }
}

impl HostRules {
    /// The two ends of a command's questions.
    #[must_use]
    pub fn questions(&self) -> (HostAsker, HostQuestions) {
        let (sender, wanted) = mpsc::channel(WAITING);
        (HostAsker(sender), HostQuestions { rules: self.clone(), wanted })
    }
}

impl HostAsker {
    /// Whether a person lets commands reach a host. No, if nobody puts the question to one any more.
    pub(super) async fn ask(
        &self,
        destination: &Destination,
        decision: Decision,
        reached: bool,
    ) -> HostAnswer {
        let (reply, answer) = oneshot::channel();
        let wanted = PendingQuestion { destination: destination.clone(), decision, reached, reply };
        match self.0.send(wanted).await {
            Ok(()) => answer.await.unwrap_or(HostAnswer::No),
            Err(_) => HostAnswer::No,
        }
    }
}

impl HostQuestions {
    /// Puts questions to a person as they come, and ends with the first that cannot be: its error is why.
    pub async fn put_to(mut self, scope: &Scope) -> Error {
        let run = scope.run_id();
        while let Some(wanted) = self.wanted.recv().await {
            let known = self.rules.answer(run, &wanted.destination);
            // The host is its name: a command that is run again may ask about others, or in another order.
            let name = format!("host {}", wanted.destination);
            // What was asked before may have been answered, though nobody is there now.
            let may_ask = || scope.is_attended() || scope.composing().has_past_in(&name);
            let said = match known {
                Some(may) => HostAnswer::of(may),
                None if self.rules.answered(run) >= MOST_HOSTS => HostAnswer::No,
                None if !may_ask() => HostAnswer::Nothing,
                None => match scope.ask_named(&name, question(&wanted)).await {
                    Ok(answer) => {
                        self.rules.keep_answer(run, wanted.destination, answer.is_approval());
                        HostAnswer::of(answer.is_approval())
                    }
                    // Somebody else decided that nobody is to be asked.
                    Err(Error::Denied(_)) => HostAnswer::No,
                    Err(stop) => return stop,
                },
            };
            // The connection may be gone by now.
            let _ = wanted.reply.send(said);
        }
        // Every asker is gone: nobody will ask again, and what they asked for goes on by itself.
        std::future::pending().await
    }
}

fn question(wanted: &PendingQuestion) -> Question {
    let PendingQuestion { destination, decision, reached, .. } = wanted;
    let later = match reached {
        true => "it may have acted by then",
        false => "the command is run again when the run goes on",
    };
    Question::confirm(format!("May commands of this run reach `{destination}`?"))
        .details(format!(
            "A command is waiting for it: {} ({}). To allow it for good, write `commands.hosts.allow = [\"{destination}\"]` \
             into your policy.toml. If you answer later, {later}, and your answer holds for the host until the run ends.",
            decision.because, decision.rule
        ))
        .about(json!({
            "host": destination.host(),
            "port": destination.port(),
            "because": decision.because,
            "reached": reached,
        }))
}
