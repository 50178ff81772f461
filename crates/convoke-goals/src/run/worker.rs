//! A worker: one model with tools, asked until there is an answer.

use std::sync::Arc;

use convoke_agent::{Agent, AgentResult, AgentStop};
use convoke_core::{
    Error, Message, Model, ModelRequest, Role, Scope, ToolCall, Toolset, Transcript, Visibility,
};

use super::called_tools::{CalledTools, merge};
use super::error::{GoalError, out_of_turns};
use super::events;
use super::outputs::{self, ParsedOutputs};
use super::reply_check::{no_answer, readable, repeats_prompt};
use crate::context::convergence::{ConvergenceVerdict, verdict};
use crate::context::{Fence, FittedPrompt};
use crate::equipment::CommandReader;
use crate::plan::WorkerSettings;
use crate::rules::Rules;
use crate::skills::{ActiveSkills, SkillShelf, allowed};
use crate::state::GoalState;
use crate::supervise::Product;
use crate::tree::Output;

/// A worker: who is asked, and what.
pub(super) struct Worker<'a> {
    /// Who.
    pub(super) name: &'a str,
    pub(super) model: Arc<dyn Model>,
    pub(super) settings: &'a WorkerSettings,
    /// All tools it has; the kit's and perhaps more.
    pub(super) tools: Toolset,
    /// Those of them that are offered by name only.
    pub(super) on_demand: Vec<String>,
    pub(super) fence: &'a Fence,
    /// The skills it may take up.
    pub(super) skills: SkillShelf,
    pub(super) system: String,
    pub(super) prompt: FittedPrompt,
    pub(super) outputs: &'a [Output],
    /// It may say that nothing is left to improve.
    pub(super) converging: bool,
    pub(super) max_turns: TurnLimit,
    /// The rules the run was begun under.
    pub(super) rules: Rules,
    /// Who reads command lines.
    pub(super) commands: Option<CommandReader>,
    /// The tools that those it calls in have called.
    pub(super) called: CalledTools,
    /// Told of every call it makes, for when it fails and leaves nothing else behind.
    pub(super) watched: Option<CalledTools>,
}

/// How many turns somebody has.
#[derive(Debug, Clone, Copy)]
pub(super) struct TurnLimit {
    /// As the run was begun.
    pub(super) turns: u32,
    /// As it goes on now, if that is more.
    pub(super) raised: Option<u32>,
}

impl TurnLimit {
    /// What is left of it after so many turns.
    fn after(self, used: u32) -> Self {
        let left = |turns: u32| turns.saturating_sub(used);
        let raised = self.raised.map(left);
        // Whoever had more than there were at first had those of the raised limit.
        let turns = if used > self.turns { raised.unwrap_or(0) } else { left(self.turns) };
        Self { turns, raised: raised.filter(|raised| *raised > turns) }
    }
}

/// The result of a worker, or of several together.
#[derive(Debug, Clone, Default)]
pub(super) struct WorkResult {
    pub(super) product: Product,
    /// Whether nothing is left to improve, if it was asked.
    pub(super) converged: Option<bool>,
    /// What others made on the way: values of agents, and of goals below the goal.
    pub(super) beside: GoalState,
}

impl Worker<'_> {
    /// Asks.
    ///
    /// # Errors
    /// Failures of the model, stops, and a reply that is empty. A limit is not an error here, unless it is a budget that is
    /// used up before there is anything to read.
    pub(super) async fn ask(mut self, scope: &Scope) -> Result<WorkResult, Error> {
        events::context_cut(scope, self.name, &self.prompt.cuts).await;
        let mut product = self.once(scope).await?;
        if self.rules.reworded() {
            product.text = readable(&product.text, self.fence, self.rules);
            if let Some(correction) = no_answer(&product, self.converging) {
                self.prompt.text.push_str(correction);
                product = self.once(scope).await?;
                product.text = readable(&product.text, self.fence, self.rules);
                if repeats_prompt(&product.text) {
                    product.text.clear();
                }
            }
        }
        self.called.add_to(&mut product.tools);
        // Whoever improves on something may have nothing to add to it.
        let has_before = self.rules.reworded() && self.converging;
        if product.text.trim().is_empty() && product.incomplete.is_none() && !has_before {
            return Err(GoalError::Empty { name: self.name.to_owned() }.into());
        }
        let converged = self.converging.then(|| self.take_verdict(&mut product.text));
        let nothing_to_read = product.text.trim().is_empty();
        if !self.outputs.is_empty() && !nothing_to_read {
            self.read(scope, &mut product).await?;
        }
        Ok(WorkResult { product, converged, beside: GoalState::default() })
    }

    async fn once(&self, scope: &Scope) -> Result<Product, Error> {
        if self.tools.is_empty() && self.skills.is_empty() && !self.outputs.is_empty() {
            self.in_shape(scope).await
        } else {
            self.with_tools(scope).await
        }
    }

    /// One reply, whose shape the provider sees to.
    async fn in_shape(&self, scope: &Scope) -> Result<Product, Error> {
        scope.composing().take_turn()?;
        let mut request = self.request(self.opening());
        request.output = Some(outputs::schema(self.name, self.outputs, self.converging));
        let answer = scope.composing().leaf_child("answer");
        let reply = answer.model(&self.model, request, Visibility::Streamed).await?.whole()?;
        Ok(Product { text: reply.text(), ..Product::default() })
    }

    /// Works with tools and skills. Whoever asks for a skill by its marker goes on with its text.
    async fn with_tools(&self, scope: &Scope) -> Result<Product, Error> {
        let mut product = Product::default();
        let mut messages: Transcript = self.prompt.text.as_str().into();
        let mut taken_up = ActiveSkills::new(&self.skills);
        let mut turns = self.max_turns;
        loop {
            let result = self.agent(turns, &taken_up)?.run(scope, messages).await?;
            turns = turns.after(result.turns);
            tools_called(&result, &mut product.tools);
            product.text = result.text();
            product.incomplete = incomplete(&result);
            if result.stop == AgentStop::BudgetExhausted && product.text.trim().is_empty() && turns.turns > 0
            {
                // There is nothing to end with. It fails as whatever needs more than there is; a run that is resumed with
                // more goes on from here.
                if let Some(exhausted) = scope.composing().used_up() {
                    events::goal_incomplete(
                        scope,
                        self.name,
                        product.incomplete.as_deref().unwrap_or_default(),
                    )
                    .await;
                    return Err(Error::Budget(Box::new(exhausted)));
                }
                messages = result.transcript;
                continue;
            }
            let Some(skill) = taken_up.marked(&product.text).filter(|_| result.stop == AgentStop::Custom)
            else {
                return Ok(product);
            };
            if turns.turns == 0 {
                product.incomplete = Some(out_of_turns(self.max_turns.turns));
                return Ok(product);
            }
            events::skill_loaded(scope, self.name, &skill.name).await;
            messages = taken_up.go_on(&skill, &result.transcript);
        }
    }

    fn agent(&self, turns: TurnLimit, taken_up: &ActiveSkills) -> Result<Agent, Error> {
        let mut agent = Agent::builder(self.name)
            .system(self.system.as_str())
            .shared_model(Arc::clone(&self.model))
            .tools(self.tools.clone())
            .on_demand(self.on_demand.iter().cloned())
            .params(self.settings.params.clone())
            .max_turns(turns.turns)
            .raised_turns(turns.raised);
        let (limited, watched) = (!self.skills.is_empty(), self.watched.clone());
        if limited {
            let marks = taken_up.clone();
            agent = agent.stop_when(move |_, reply| marks.marked(&reply.text()).is_some());
        }
        let (rules, reader) = (self.settings.call_rules.clone(), self.commands.clone());
        if limited || watched.is_some() || !rules.is_empty() {
            let limits = taken_up.clone();
            agent = agent.refuse_when(move |conversation, call| {
                if let Some(watched) = &watched {
                    watched.add([call.name.clone()]);
                }
                forbidden(&rules, call, reader.as_ref()).or_else(|| limits.refusal(conversation, call))
            });
        }
        Ok(agent.build()?)
    }

    /// Whether it says that nothing is left to improve; the text is left without that.
    fn take_verdict(&self, text: &mut String) -> bool {
        let mut converged = false;
        if let ConvergenceVerdict::Converged { rest } = verdict(text) {
            *text = rest;
            converged = true;
        }
        if !self.outputs.is_empty()
            && let Some((said, rest)) = outputs::take_converged(text, self.outputs)
        {
            *text = rest;
            converged |= said;
        }
        converged
    }

    async fn read(&self, scope: &Scope, product: &mut Product) -> Result<(), Error> {
        let mut read = outputs::read(&product.text, self.outputs);
        if self.rules.take_text_as_sole_output() {
            read = read.or_prose(&product.text, self.outputs);
        }
        if !read.missing.is_empty() && product.incomplete.is_none() {
            read = self.repaired(scope, &product.text, read).await?;
        }
        if !read.missing.is_empty() {
            let fields: Vec<&str> = read.missing.iter().map(|missing| missing.field.as_str()).collect();
            events::output_missing(scope, self.name, &fields, &read.problem()).await;
            for field in fields {
                scope.composing().note_lacking(field);
            }
        }
        let missing = read.missing.into_iter();
        product.missing = missing.map(|missing| format!("`{}` {}", missing.field, missing.problem)).collect();
        product.fields = read.fields;
        Ok(())
    }

    /// Asks once more for nothing but the values.
    ///
    /// # Errors
    /// Whatever the model fails with: what is missing would be missing for good.
    async fn repaired(
        &self,
        scope: &Scope,
        answer: &str,
        read: ParsedOutputs,
    ) -> Result<ParsedOutputs, Error> {
        let mut messages = self.opening();
        messages.push(Message::assistant(answer));
        messages.push(Message::user(format!(
            "That answer cannot be used as it is: {}. Answer again, with nothing but the corrected JSON object.",
            read.problem()
        )));
        let mut request = self.request(messages);
        request.output = Some(outputs::schema(self.name, self.outputs, false));
        let repair = scope.composing().leaf_child("repair");
        let reply = repair.model(&self.model, request, Visibility::Hidden).await;
        match reply.and_then(|reply| Ok(reply.whole()?)) {
            Ok(reply) => {
                let text = match self.rules.take_out_all_marks() {
                    true => self.fence.without_repeated_marks(&reply.text()),
                    false => reply.text(),
                };
                Ok(outputs::read(&text, self.outputs).or(read))
            }
            Err(error) if self.rules.need_outputs() || error.passes(repair.path()) => Err(error),
            Err(_) => Ok(read),
        }
    }

    fn opening(&self) -> Transcript {
        [Message::system(self.system.as_str()), Message::user(self.prompt.text.as_str())]
            .into_iter()
            .collect()
    }

    fn request(&self, messages: Transcript) -> ModelRequest {
        ModelRequest { messages, params: self.settings.params.clone(), ..ModelRequest::default() }
    }
}

/// Why a call may not be made: whoever is a skill makes the calls that the skill allows.
fn forbidden(rules: &[Arc<[String]>], call: &ToolCall, reader: Option<&CommandReader>) -> Option<String> {
    let breaks = |rules: &&Arc<[String]>| {
        allowed::offers(rules, &call.name) && !allowed::allow_read(rules, call, reader)
    };
    let broken = rules.iter().find(breaks)?;
    Some(format!(
        "this call of `{}` is not allowed: every program of a command must be among these: {}",
        call.name,
        broken.join(", ")
    ))
}

/// Adds the tools that were called, each once, in order.
fn tools_called(result: &AgentResult, tools: &mut Vec<String>) {
    for message in result.transcript.iter().filter(|message| message.role == Role::Assistant) {
        merge(tools, message.tool_calls().map(|call| call.name.clone()));
    }
}

/// Why an agent's work was cut short, if it was. Supervisors were told this in these words, which a journal knows again.
fn incomplete(result: &AgentResult) -> Option<String> {
    if result.stop != AgentStop::ClientToolCalls {
        return result.cut_short();
    }
    let calls: Vec<&str> = result.pending_calls.iter().map(|call| call.name.as_str()).collect();
    Some(format!(
        "it wants tools called that the client executes, and a goal has no client: {}",
        calls.join(", ")
    ))
}
