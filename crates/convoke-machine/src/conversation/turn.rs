//! One turn: the state speaks, and so does every state that it moves on to.

use std::sync::Arc;

use convoke_agent::{Agent, AgentResult, AgentStop, Conversation};
use convoke_core::{Error, Message, Repeat, Role, ToolResult, Toolset, Transcript};
use jiff::Timestamp;
use serde_json::json;

use super::activation::{Activation, ActivationError, Direction, Situation, broken, limited, offered};
use super::announce;
use super::client::{TURN_RULES, give_results, results_of_client};
use super::fold::Fold;
use super::state::{MachineState, Talk};
use super::talk::Session;
use super::tools::{is_machine_tool, machine_tools};
use crate::pack::AGENT;
use crate::workflow::{
    Act, Command, Context, Status, TRANSITION, TransitionSlot, WorkflowError, WorkflowEvent, advance,
};

/// How often models are asked in a turn, or a step, that does not say otherwise.
pub(super) const MAX_ROUNDS: u32 = 50;

/// What comes after a round.
pub(super) enum Next {
    /// Another one: the state has changed, or something in it.
    Round,
    /// Nothing: the turn is over.
    End,
}

/// What came of a round.
struct Done {
    /// The transition that was asked for.
    slot: TransitionSlot,
    /// Why the model stopped.
    stop: AgentStop,
    /// Whether it wanted calls that the budget does not have.
    is_over_budget: bool,
}

impl Session<'_> {
    /// Lets the state speak, and those it moves on to, until one is done or somebody else has to move on.
    pub(super) async fn turn(&mut self) -> Result<(), Error> {
        let mut rounds = 0;
        self.began = self.state.said.len();
        loop {
            let at = self.now().await?;
            if let Err(error) = self.machine.compiled.check_time(&self.context, at) {
                return self.end_with(&error).await;
            }
            if let Some(name) = self.composition() {
                match self.compose(&name, at).await? {
                    Next::Round => continue,
                    Next::End => return Ok(()),
                }
            }
            let activation = self.speaking()?;
            let objections = self.objections_to_words(&activation);
            if let Some((_, instead)) = objections.last() {
                announce::broken(self.scope, "input", &objections).await;
                self.say(Message::assistant(instead)).await;
                return Ok(());
            }
            let opened = self.open(&activation.prompt).clone();
            let known = opened.len();
            let result = self.speak(&activation, opened, rounds, at).await?;
            rounds += result.turns;
            let limited = self.limited(&activation, &result, rounds);
            let state = self.context.current_state().to_owned();
            let Done { slot, stop, is_over_budget } = self.take_in(&activation, result, known, at).await?;
            self.note_cut_short(&state, limited).await;
            let next = self.commit(slot).await?;
            let is_running = self.machine.compiled.status(&self.context) == Status::Running;
            if is_over_budget
                && is_running
                && let Err(error) = self.machine.compiled.check_budget(&self.context, at)
                && self.ends_without_calls()?
            {
                return self.end_with(&error).await;
            }
            let goes_on = matches!(stop, AgentStop::HandedOff | AgentStop::ClientToolCalls);
            if !goes_on || matches!(next, Next::End) {
                return Ok(());
            }
        }
    }

    /// How the state speaks now. That it cannot is kept where the person is told so: whoever goes on once it is mended comes to the same
    /// question.
    fn speaking(&self) -> Result<Activation, Error> {
        let activation = || self.activation(self.machine.compiled.prompt_task(&self.context));
        if self.state.talk != Talk::Ongoing {
            return activation().map_err(Error::failed);
        }
        let scope = self.scope.child("activation");
        let mut kept = scope.composing().decision("why it cannot speak")?;
        let failed: ActivationError = match kept.made() {
            Some(failed) => failed,
            None => match activation() {
                Ok(activation) => return Ok(activation),
                Err(failed) => {
                    // A run that is only told again may be of a build that did not keep it.
                    let _ = kept.make(failed.clone());
                    failed
                }
            },
        };
        Err(Error::failed(failed))
    }

    /// How a prompt speaks now: the one way an activation comes to be, at the opening, at every handoff, every round and after every wait.
    pub(super) fn activation(&self, task: &str) -> Result<Activation, ActivationError> {
        let (compiled, context) = (&self.machine.compiled, &self.context);
        let failed = |reason: String| {
            let (state, prompt) = (context.current_state().to_owned(), task.to_owned());
            ActivationError { state, prompt, reason }
        };
        let state =
            compiled.current(context).ok_or_else(|| failed("the workflow has no such state".into()))?;
        let names = compiled.artifacts().map(|artifact| &*artifact.name);
        let artifacts = names.map(|name| (name, context.artifact(name).unwrap_or_default())).collect();
        let MachineState { brief, variables, said, entered, .. } = &*self.state;
        let is_of_earlier_build = self.clients.rules < TURN_RULES;
        let situation =
            Situation { state, task, brief, artifacts, variables, said, entered, is_of_earlier_build };
        let mut activation = self.machine.stage.activate(&situation).map_err(failed)?;
        if let Some(delegated) = &self.clients.delegated {
            activation.tools = delegated.counting(&activation.tools);
        }
        Ok(activation)
    }

    /// What is said instead of asking the model about what the person said.
    fn objections_to_words(&self, activation: &Activation) -> Vec<(String, String)> {
        let words = self.state.said.last().filter(|message| message.role == Role::User);
        words.map_or_else(Vec::new, |words| broken(&activation.validators, Direction::Input, &words.text()))
    }

    /// Has the model of the state work until it is done, or something has changed.
    async fn speak(
        &self,
        activation: &Activation,
        opened: Transcript,
        rounds: u32,
        at: Timestamp,
    ) -> Result<AgentResult, Error> {
        if activation.validators.iter().any(|validator| validator.is_about(Direction::Output)) {
            // It may be replaced: whoever shows it while it comes waits for what was spoken.
            let state = json!({"state": self.context.current_state()});
            announce::tell(self.scope, "workflow.speech_held", state).await;
        }
        let context: Arc<Context> = Arc::new(self.context.clone());
        let scope = self.timed(&context)?;
        let agent = self.agent(activation, context, opened.len(), rounds, at)?;
        let mut talk = Conversation::from(opened);
        scope.run(&agent, &mut talk).await?;
        talk.result.ok_or_else(|| Error::failed("the agent ended without a result"))
    }

    fn agent(
        &self,
        activation: &Activation,
        context: Arc<Context>,
        known: usize,
        rounds: u32,
        at: Timestamp,
    ) -> Result<Agent, Error> {
        let compiled = Arc::clone(&self.machine.compiled);
        let name = match context.current_state() {
            "" => "state",
            name => name,
        };
        let turns = max_rounds(activation).saturating_sub(rounds);
        let rules = self.clients.rules;
        let is_last = rules > 1 && turns <= 1;
        let mut agent = activation.agent(name, offered(&activation.tools, is_last), turns, rules);
        for tool in machine_tools(&compiled, &context) {
            agent = agent.shared_tool(tool);
        }
        let others = activation.refusal.clone();
        // The instructions are before what was said.
        let one_too_many = (rules > 1).then(|| activation.one_too_many(self.began + 1, rules));
        let is_timed = compiled.budget().max_wall_time_sec.is_some();
        let counted = self.clients.delegated.clone().zip(compiled.budget().max_tool_calls);
        let tools = activation.tools.clone();
        let counts = counted.is_some();
        let agent = agent
            .hand_off_when(move |transcript| {
                let has_delegated = || counts && has_delegated(&tools, transcript);
                is_timed || has_moved(transcript) || has_consulted(transcript) || has_delegated()
            })
            .refuse_when(move |transcript, call| {
                let others = || (others.as_ref().filter(|_| !is_machine_tool(&call.name))?)(transcript, call);
                let workflow = Fold::new(&compiled, &context, at);
                let one_too_many = || one_too_many.as_ref()?(transcript, call);
                let (over_budget, made) = workflow.refusal(transcript.since(known), call);
                if let Some((delegated, most)) = &counted {
                    delegated.leave(most.saturating_sub(made));
                }
                one_too_many().or(over_budget).or_else(others)
            });
        Ok(agent.build()?)
    }

    /// Why a limit was the end of what the state did, and whether the state cannot be left because of it.
    fn limited(&self, activation: &Activation, result: &AgentResult, rounds: u32) -> Option<String> {
        let reason = limited(result, rounds, max_rounds(activation), &activation.tools)?;
        let mut events = self.machine.compiled.available_events(&self.context);
        let moves = events.next().is_some() && !self.waits_for_events();
        Some(if moves {
            format!("{reason}, so it had no `{TRANSITION}` to leave the state with")
        } else {
            reason
        })
    }

    /// Keeps why a limit was the end of what a part of the conversation did, or that none was.
    pub(super) async fn note_cut_short(&mut self, part: &str, reason: Option<String>) {
        let known = &mut self.state.cut_short;
        let Some(reason) = reason else { return drop(known.remove(part)) };
        known.insert(part.to_owned(), reason.clone());
        announce::tell(self.scope, announce::CUT_SHORT, json!({"part": part, "reason": reason})).await;
    }

    /// Takes in what was said and done.
    async fn take_in(
        &mut self,
        activation: &Activation,
        result: AgentResult,
        known: usize,
        at: Timestamp,
    ) -> Result<Done, Error> {
        let mut said: Vec<Message> = result.transcript.since(known).cloned().collect();
        let is_as_said = !matches!(result.stop, AgentStop::Custom | AgentStop::ClientToolCalls);
        if result.stop == AgentStop::Custom {
            // What must not be said was not, and what it asked for is not done.
            said.pop();
            let broken = broken(&activation.validators, Direction::Output, &result.text());
            announce::broken(self.scope, "output", &broken).await;
            said.push(Message::assistant(
                broken.last().map(|(_, instead)| instead.as_str()).unwrap_or_default(),
            ));
        }
        if result.stop == AgentStop::ClientToolCalls {
            let results =
                results_of_client(self.scope, &self.clients.channel, &result.pending_calls, |_| None).await?;
            give_results(&mut said, results);
        }
        let fold = Fold::new(&self.machine.compiled, &self.context, at).take_all(said.iter());
        let Fold { context, slot, events, refused, is_over_budget, .. } = fold;
        let state = self.context.current_state().to_owned();
        let spoken = said.iter().filter(|message| message.role == Role::Assistant);
        for message in spoken {
            let text = message.text();
            announce::spoke(self.scope, &self.machine.compiled, &state, &text).await;
            if !text.is_empty() {
                self.state.last = Some(text);
            }
        }
        announce::happened(self.scope, &self.machine.compiled, &events).await;
        announce::refused(self.scope, &state, &refused).await;
        self.context = context;
        self.count_delegated(at);
        self.state.said.extend(said);
        match &mut self.opened {
            Some(opened) if is_as_said => opened.talk = result.transcript,
            other => *other = None,
        }
        Ok(Done { slot, stop: result.stop, is_over_budget })
    }

    /// Counts what was called by those whom the state has called in.
    fn count_delegated(&mut self, at: Timestamp) {
        let made = self.clients.delegated.as_ref().map_or(0, |delegated| delegated.take());
        if made > 0 {
            let counted = Command::at(at, Act::ToolCalls(made));
            // Counting is never refused.
            let _ = advance(&self.machine.compiled, &mut self.context, counted);
        }
    }

    pub(super) async fn say(&mut self, message: Message) {
        let text = message.text();
        announce::spoke(self.scope, &self.machine.compiled, self.context.current_state(), &text).await;
        self.state.last = Some(text);
        self.hear(message);
    }

    /// Lets the transition happen that was asked for; without one the state goes on with what has changed in it.
    async fn commit(&mut self, mut slot: TransitionSlot) -> Result<Next, Error> {
        if slot.pending().is_none() {
            return Ok(Next::Round);
        }
        let at = self.now().await?;
        match slot.commit(&self.machine.compiled, &mut self.context, at).transpose() {
            None => Ok(Next::Round),
            Some(moved) => self.moved(moved.map(|(asked, events)| (events, asked.context))).await,
        }
    }

    /// Lets the state begin that a transition led to, with what it is to know; or ends with why there was none.
    pub(super) async fn moved(
        &mut self,
        moved: Result<(Vec<WorkflowEvent>, String), WorkflowError>,
    ) -> Result<Next, Error> {
        match moved {
            Ok((events, brief)) => {
                announce::happened(self.scope, &self.machine.compiled, &events).await;
                self.enter(&events, brief).await?;
                Ok(if self.waits_for_events() { Next::End } else { Next::Round })
            }
            Err(error) => {
                self.end_with(&error).await?;
                Ok(Next::End)
            }
        }
    }
}

/// How often the model of a state may be asked in a turn.
fn max_rounds(activation: &Activation) -> u32 {
    activation.max_rounds.unwrap_or(MAX_ROUNDS)
}

/// Whether some of those were called last that make calls themselves: these are to count before there are more.
fn has_delegated(tools: &Toolset, transcript: &Transcript) -> bool {
    let calls = |name: &str| tools.get(name).is_some_and(|tool| tool.spec().repeat == Repeat::Reenter);
    last_results(transcript).any(|result| calls(&result.name))
}

/// Whether agents were among those that were called last: they are to know of it when they are called again.
fn has_consulted(transcript: &Transcript) -> bool {
    last_results(transcript).any(|result| result.name.starts_with(AGENT))
}

/// Whether the calls that were answered last have changed something in the workflow.
fn has_moved(transcript: &Transcript) -> bool {
    last_results(transcript).any(|result| is_machine_tool(&result.name) && !result.is_error)
}

/// The results of the calls that were answered last.
pub(super) fn last_results(transcript: &Transcript) -> impl Iterator<Item = &ToolResult> {
    transcript.last().into_iter().flat_map(Message::results)
}
