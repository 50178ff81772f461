//! One step of a composition: what it does, and what listeners hear of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use convoke_agent::{Agent, AgentResult, AgentStop, AnswerShape, answered_calls};
use convoke_core::{
    BoxFuture, Error, Message, ModelRequest, Nature, Scope, SharedStep, Step, Tool, ToolCall, Toolset,
    Transcript, Visibility,
};
use convoke_steps::Dag;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use super::board::{Board, result_of};
use crate::conversation::activation::{Activation, Direction, limited, objection, offered};
use crate::conversation::announce::tell;
use crate::conversation::client::{Clients, give_results, results_of_client};
use crate::conversation::turn::{MAX_ROUNDS, last_results};
use crate::pack::composition::{Predicate, Reduce, Strategy, Termination};
use crate::pack::template::rendered;

/// What steps come to besides what they give.
#[derive(Default)]
pub(in crate::conversation) struct Tally {
    /// How often tools were called, whatever became of the calls.
    pub(in crate::conversation) calls: AtomicU64,
    /// Why a limit was the end of what an agent did, if one was.
    pub(in crate::conversation) cut_short: Mutex<BTreeMap<Arc<str>, Option<String>>>,
}

/// A step of a composition.
pub(super) struct ComposedStep {
    pub(super) id: Arc<str>,
    pub(super) kind: &'static str,
    /// What it is given, for listeners; nothing for steps that only lead on.
    pub(super) input: Option<Value>,
    /// How often it was begun.
    pub(super) attempts: AtomicU64,
    pub(super) work: Work,
    pub(super) tally: Arc<Tally>,
    /// Where clients send what came of calls.
    pub(super) clients: Clients,
}

/// What a step does.
pub(super) enum Work {
    Ask(Asked),
    Agent {
        asked: Asked,
        tools: Toolset,
        termination: Termination,
    },
    /// The step calls the tool and leaves what it gave as text.
    Tool {
        tool: SharedStep<Board>,
    },
    /// A client calls the tool, and sends what it gave.
    Client {
        tool: Arc<dyn Tool>,
        args: Map<String, Value>,
    },
    Branch {
        predicate: Predicate,
        then: String,
        otherwise: Option<String>,
    },
    Parallel {
        branches: Dag<Board>,
        ids: Vec<Arc<str>>,
        reduce: Reduce,
    },
}

/// What a model is asked, and how.
pub(super) struct Asked {
    pub(super) activation: Activation,
    pub(super) input: Option<Value>,
    pub(super) shape: Option<AnswerShape<Value>>,
}

impl Asked {
    /// What the step says, otherwise what the composition was given.
    fn words(&self, board: &Board) -> Result<String, Error> {
        Ok(match &self.input {
            Some(input) => rendered(&board.resolved(input)?),
            None => rendered(&board.input),
        })
    }

    fn request(&self, messages: Transcript) -> ModelRequest {
        ModelRequest { messages, params: self.activation.params.clone(), ..ModelRequest::default() }
    }
}

impl ComposedStep {
    async fn work(&self, scope: &Scope, board: &mut Board) -> Result<(), Error> {
        let output = match &self.work {
            Work::Ask(asked) => self.ask(scope, asked, &asked.words(board)?).await?,
            Work::Agent { asked, tools, termination } => {
                let words = asked.words(board)?;
                match objection(&asked.activation.validators, Direction::Input, &words) {
                    Some(instead) => Value::String(instead),
                    None => {
                        let (result, refused) =
                            self.run_agent(scope, &asked.activation, tools, termination, &words).await?;
                        let results = result.transcript.iter().flat_map(|message| message.results());
                        let made = results.count().saturating_sub(refused);
                        self.tally.calls.fetch_add(made as u64, Ordering::Relaxed);
                        self.answer(scope, asked, result, termination).await?
                    }
                }
            }
            Work::Tool { tool } => {
                self.tally.calls.fetch_add(1, Ordering::Relaxed);
                return scope.composing().inline(&**tool, board).await;
            }
            Work::Client { tool, args } => {
                self.tally.calls.fetch_add(1, Ordering::Relaxed);
                self.wait_for_client(scope, &**tool, board.resolved_fields(args)?).await?
            }
            Work::Branch { predicate, then, otherwise } => {
                let way = if board.holds(predicate)? { Some(then) } else { otherwise.as_ref() };
                tell(scope, "composition.branch.evaluated", json!({"step_id": self.id, "taken": way})).await;
                board.lead(&self.id, way.cloned());
                return Ok(());
            }
            Work::Parallel { branches, ids, reduce } => {
                let mut inner = board.clone();
                let ended = scope.composing().inline(branches, &mut inner).await;
                let status = |id: &Arc<str>| {
                    let status = if inner.output(id).is_some() { "completed" } else { "failed" };
                    json!({"id": id, "status": status})
                };
                let branches: Vec<Value> = ids.iter().map(status).collect();
                let about = json!({"step_id": self.id, "branches": branches});
                tell(scope, "composition.parallel.completed", about).await;
                ended?;
                reduced(reduce, ids, &inner)
            }
        };
        board.give(&self.id, output);
        Ok(())
    }

    /// Has a client call a tool. Steps run side by side, so each has a channel of its own.
    async fn wait_for_client(
        &self,
        scope: &Scope,
        tool: &dyn Tool,
        arguments: Value,
    ) -> Result<Value, Error> {
        tool.check(&arguments).map_err(Error::failed)?;
        let name = tool.spec().name();
        let call = ToolCall { id: String::new(), name: name.to_owned(), arguments };
        // What is no result is passed over, a failure too that does not say what failed.
        let failure = |sent: &Value| match (&sent["is_error"], &sent["content"]) {
            (Value::Bool(true), Value::Null) => None,
            (Value::Bool(true), why) => {
                Some(format!("a client reported that `{name}` failed: {}", rendered(why)))
            }
            _ => None,
        };
        let mut results = results_of_client(scope, &self.channel(), &[call], failure).await?;
        Ok(results.pop().map(|result| result_of(result.content)).unwrap_or_default())
    }

    /// Where clients send what came of its calls.
    fn channel(&self) -> String {
        format!("{}/{}", self.clients.channel, self.id)
    }

    /// Lets an agent work, and a client make the calls that are its own. Gives how many calls were refused because they repeat
    /// themselves.
    async fn run_agent(
        &self,
        scope: &Scope,
        activation: &Activation,
        tools: &Toolset,
        termination: &Termination,
        words: &str,
    ) -> Result<(AgentResult, usize), Error> {
        let mut said: Transcript = words.into();
        let mut refused = 0;
        let most = termination.max_steps.unwrap_or(MAX_ROUNDS).max(1);
        let mut left = most;
        loop {
            let is_last = self.clients.rules > 2 && left == 1;
            let agent = self.agent(activation, offered(tools, is_last), termination, left)?;
            let known = said.len();
            let mut result = agent.run(scope, said).await?;
            let calls = answered_calls(result.transcript.since(known), Some(Agent::DEFAULT_REPEAT_LIMIT));
            refused += calls.iter().filter(|answered| answered.is_refused_repeat).count();
            left = left.saturating_sub(result.turns);
            // Nobody would read what a client gives after the last step.
            if result.stop != AgentStop::ClientToolCalls || left == 0 {
                let reason = limited(&result, most - left, most, tools);
                self.tally.cut_short.lock().await.insert(Arc::clone(&self.id), reason);
                return Ok((result, refused));
            }
            let results = results_of_client(scope, &self.channel(), &result.pending_calls, |_| None).await?;
            let is_over = results.iter().any(|result| Some(&result.name) == termination.tool_called.as_ref());
            let mut messages: Vec<Message> = result.transcript.iter().cloned().collect();
            give_results(&mut messages, results);
            said = messages.into_iter().collect();
            if is_over {
                result.transcript = said;
                return Ok((result, refused));
            }
        }
    }

    /// What an agent comes to.
    async fn answer(
        &self,
        scope: &Scope,
        asked: &Asked,
        result: AgentResult,
        termination: &Termination,
    ) -> Result<Value, Error> {
        let results = || result.transcript.iter().flat_map(|message| message.results());
        let text = result.text();
        if let Some(instead) = objection(&asked.activation.validators, Direction::Output, &text) {
            return Ok(Value::String(instead));
        }
        // Who ends by calling a tool often says nothing beside: then what that gave is the answer.
        let is_last = |name: &str| termination.tool_called.as_deref() == Some(name);
        let last =
            results().filter(|result| is_last(&result.name)).last().map(|result| result.content.clone());
        let text = Some(text).filter(|text| !text.is_empty()).or(last).unwrap_or_default();
        let Some(shape) = &asked.shape else { return Ok(Value::String(text)) };
        if let Ok(value) = shape.read(&text) {
            return Ok(value);
        }
        let mut messages = result.transcript.clone();
        messages.push(Message::user(
            "Give your answer as JSON, in the form that is asked for, and nothing else.",
        ));
        let model = asked.activation.model_for(scope)?;
        let (request, context) = (asked.request(messages), self.context());
        Ok(shape.ask(scope, &model, request, Visibility::Streamed, &context).await?.value)
    }

    /// What errors about an answer call it.
    fn context(&self) -> String {
        format!("composition step \"{}\"", self.id)
    }

    /// Asks a model once, without tools.
    async fn ask(&self, scope: &Scope, asked: &Asked, words: &str) -> Result<Value, Error> {
        let Activation { prompt, validators, .. } = &asked.activation;
        if let Some(instead) = objection(validators, Direction::Input, words) {
            return Ok(Value::String(instead));
        }
        let model = asked.activation.model_for(scope)?;
        let messages = [Message::system(prompt.as_str()), Message::user(words)];
        let request = asked.request(messages.into_iter().collect());
        // What may have to be replaced is not shown before it was looked at.
        let visibility = if validators.is_empty() { Visibility::Streamed } else { Visibility::Hidden };
        let (text, value) = match &asked.shape {
            Some(shape) => {
                let answer = shape.ask(scope, &model, request, visibility, &self.context()).await?;
                (answer.reply.text(), answer.value)
            }
            None => {
                let text = scope.model(&model, request, visibility).await?.whole()?.text();
                (text.clone(), Value::String(text))
            }
        };
        Ok(objection(validators, Direction::Output, &text).map_or(value, Value::String))
    }

    fn agent(
        &self,
        activation: &Activation,
        tools: Toolset,
        termination: &Termination,
        max_steps: u32,
    ) -> Result<Agent, Error> {
        let last = termination.tool_called.clone();
        let is_over = move |transcript: &Transcript| {
            last_results(transcript).any(|result| Some(&result.name) == last.as_ref())
        };
        let rules = self.clients.rules;
        let agent = activation.agent(&self.id, tools, max_steps, rules);
        let agent = if rules > 1 { agent.refuse_when(activation.one_too_many(0, rules)) } else { agent };
        Ok(agent.system(activation.prompt.as_str()).hand_off_when(is_over).build()?)
    }
}

/// The outputs of branches as one.
fn reduced(reduce: &Reduce, ids: &[Arc<str>], board: &Board) -> Value {
    let mut outputs = ids.iter().filter_map(|id| Some((id.to_string(), board.output(id)?.clone())));
    let merged = match reduce.strategy {
        Strategy::Barrier => Value::Object(outputs.collect()),
        Strategy::Append => Value::Array(outputs.map(|(_, output)| output).collect()),
        Strategy::Replace => outputs.next_back().map(|(_, output)| output).unwrap_or_default(),
    };
    Value::Object(Map::from_iter([(reduce.into.clone(), merged)]))
}

impl Step<Board> for ComposedStep {
    fn name(&self) -> &str {
        &self.id
    }

    fn run<'a>(&'a self, scope: &'a Scope, board: &'a mut Board) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            // What refers to nothing fails the step, and says so.
            let input = self.input.as_ref().and_then(|input| board.resolved(input).ok());
            let mut about = json!({"step_id": self.id, "kind": self.kind, "input": input});
            tell(scope, "composition.step.started", about.clone()).await;
            about["attempt"] = (self.attempts.fetch_add(1, Ordering::Relaxed) + 1).into();
            let ended = self.work(scope, board).await;
            match &ended {
                Ok(()) => about["output"] = board.output(&self.id).cloned().unwrap_or_default(),
                Err(error) => about["error"] = error.to_string().into(),
            }
            tell(scope, "composition.step.completed", about).await;
            ended
        })
    }

    fn kind(&self) -> &'static str {
        self.kind
    }

    fn nature(&self) -> Nature {
        match &self.work {
            Work::Agent { .. } | Work::Parallel { .. } => Nature::Composite,
            _ => Nature::Leaf,
        }
    }
}

/// A tool step's result, as the board has it.
pub(super) fn give_result(id: Arc<str>) -> impl Fn(&mut Board, Value, String) + Send + Sync + 'static {
    move |board, _, content| board.give(&id, result_of(content))
}
