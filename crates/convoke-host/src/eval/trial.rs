//! One run of a scenario: an ordinary durable run that is given what the scenario says.
//!
//! The run waits for nothing in this process. Whenever it is suspended, what it waits for is looked up in the scenario and sent, as
//! anybody else would send it, and the run goes on.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use convoke_core::store::NewMail;
use convoke_core::{Error, Model, RunId, RunStatus, Store, Timestamp};
use convoke_eval::judge::JudgeQuestion;
use convoke_eval::scenario::{ModelSource, TurnInput};
use convoke_eval::{
    AssertionReport, Evaluated, Observation, RunReport, Scenario, evaluate, evaluate_declared,
};
use convoke_goals::Values;
use convoke_history::History;
use convoke_machine::conversation::TOOL_RESULTS;
use serde_json::json;

use super::EvalOptions;
use super::judge::judge;
use super::models::{beside, brought};
use super::observe::{observe, replies};
use super::person::{Person, is_turn};
use crate::HostError;
use crate::definition::{Definition, LoadedFile};
use crate::host::{GoOnOptions, Host, StartOptions};
use crate::prepared::{ExecutionOptions, PreparedRun};
use crate::store::cancel_run;
use crate::tools::ServerStartup;

/// One run of a scenario.
pub(super) struct Trial<'a> {
    pub(super) host: &'a Host,
    pub(super) loaded: &'a LoadedFile,
    pub(super) path: PathBuf,
    pub(super) scenario: Arc<Scenario>,
    pub(super) inputs: Values,
    pub(super) model: Option<ModelSource>,
    pub(super) id: RunId,
    pub(super) options: &'a EvalOptions,
}

/// What a suspended run is given.
enum Next {
    /// It goes on with what was sent.
    GoOn,
    /// The scenario has nothing for it, and why.
    Stuck(String),
}

impl Trial<'_> {
    /// Runs it, as far as it has not been run before, and says what came of it.
    pub(super) async fn run(&self) -> Result<RunReport, HostError> {
        let store = self.host.store()?;
        let record = store.run(&self.id).await?;
        let is_over = record
            .as_ref()
            .is_some_and(|record| record.status.is_final() || record.status == RunStatus::Failed);
        let stuck = if is_over { None } else { self.drive(&store, record.is_some()).await? };
        let definition = self.loaded.valid()?;
        let history = History::load(&*store, &self.id).await?;
        let mut observed = observe(&history, &**definition);
        if let Some(why) = stuck {
            cancel_run(&*store, history.record.clone(), &why, |_| {}).await?;
            (observed.status, observed.error) = ("suspended".to_owned(), Some(why));
        } else if history.record.status == RunStatus::Cancelled {
            // Whoever cancelled it when the scenario had nothing for it.
            observed.status = "suspended".to_owned();
        }
        let assertions = self.assertions(&store, &observed, &**definition).await?;
        Ok(RunReport {
            run: self.id.to_string(),
            passed: assertions.iter().all(|assertion| assertion.passed != Some(false)),
            status: observed.status,
            seconds: history.record.worked.as_secs_f64(),
            usage: observed.usage,
            result: observed.result,
            facts: observed.facts,
            assertions,
        })
    }

    /// Lets the run go on until it is over, or the scenario has nothing more for it.
    async fn drive(&self, store: &Arc<dyn Store>, exists: bool) -> Result<Option<String>, HostError> {
        let mut prepared = self.prepared(store, exists).await?;
        let ended = loop {
            let history = History::load(&**store, &self.id).await?;
            let person = Person::new(Arc::clone(&self.scenario), &history);
            let how = ExecutionOptions {
                responder: Some(Arc::new(person)),
                patience: Duration::ZERO,
                ..ExecutionOptions::default()
            };
            let active = prepared.go_on(Arc::clone(store), self.id.clone(), how, &mut Vec::new());
            let (stream, after) = active.into_parts();
            let outcome = stream.outcome().await;
            prepared = after.prepared;
            match outcome {
                Ok(outcome) if outcome.status == RunStatus::Suspended => {}
                Ok(_) => break Ok(None),
                Err(error) => break Err(error.into()),
            }
            match self.next(store).await {
                Ok(Next::GoOn) => {}
                Ok(Next::Stuck(why)) => break Ok(Some(why)),
                Err(error) => break Err(error),
            }
        };
        prepared.close().await;
        ended
    }

    async fn prepared(&self, store: &Arc<dyn Store>, exists: bool) -> Result<PreparedRun, HostError> {
        let given = match exists {
            true => replies(&History::load(&**store, &self.id).await?.effects).count(),
            false => 0,
        };
        let models = self.host.models()?;
        let brought =
            self.model.as_ref().map(|source| brought(source, &models, &self.path, given)).transpose()?;
        let (host, name) = match (brought.flatten(), &self.model) {
            (Some(own), _) => {
                let host = self.host.bringing(Arc::new([(own.name.clone(), own.model)].into()));
                (host, Some(own.name))
            }
            (None, Some(ModelSource::Named(name))) => {
                (self.host.bringing(Arc::default()), Some(name.clone()))
            }
            (None, _) => (self.host.bringing(Arc::default()), None),
        };
        let notes = &mut Vec::new();
        let mut prepared = if exists {
            let record = store.run(&self.id).await?;
            let record = record.ok_or_else(|| convoke_core::StoreError::NotFound { run: self.id.clone() })?;
            let (loaded, manifest) = host.restore(&record)?;
            let options = GoOnOptions {
                policy: self.options.policy.clone(),
                secrets: self.inputs.clone(),
                ..GoOnOptions::default()
            };
            host.must_fit(&record, &manifest, &options)?;
            host.prepare_again(loaded, manifest, &options, ServerStartup::Start, notes).await?
        } else {
            let options = StartOptions {
                model: name,
                policy: self.options.policy.clone(),
                limits: self.options.limits.clone(),
                timeout: self.options.timeout,
                ..StartOptions::default()
            };
            host.prepare(self.loaded.clone(), self.inputs.clone(), &options, notes).await?
        };
        prepared.load(&mut |_| {}).await?;
        if !exists {
            prepared.create(&**store, Some(self.id.clone()), self.options.started_by.clone()).await?;
        }
        Ok(prepared)
    }

    /// Gives a suspended run what the scenario has for it.
    async fn next(&self, store: &Arc<dyn Store>) -> Result<Next, HostError> {
        let history = History::load(&**store, &self.id).await?;
        let record = &history.record;
        if record.channels.iter().any(|channel| channel == TOOL_RESULTS) {
            return self.give_results(store, &history).await;
        }
        let turn = history.effects.iter().filter(|effect| is_turn(effect)).count();
        let waits = history.questions.iter().map(|question| question.pending.question.title.as_str());
        let waits: Vec<&str> = waits.collect();
        if let Some(turn_number) = turn.checked_sub(1)
            && let Some(TurnInput::Event { event, payload }) =
                self.scenario.turns.get(turn_number).map(|turn| &turn.input)
        {
            if !record.channels.contains(event) {
                let waits = if record.channels.is_empty() {
                    "no event".to_owned()
                } else {
                    record.channels.join(", ")
                };
                return Ok(Next::Stuck(format!(
                    "turn {turn}: it does not wait for {event}, but for {waits}"
                )));
            }
            // Sent under a key, it is sent once, however often this is done.
            let mail = NewMail::json(event, payload)?.key(format!("turn {turn}")).sender("scenario");
            store.post(&self.id, mail).await?;
            return Ok(Next::GoOn);
        }
        if let Some(wake) = record.wake.filter(|_| waits.is_empty()) {
            tokio::time::sleep(wake.since(Timestamp::now())).await;
            return Ok(Next::GoOn);
        }
        let waits = match (waits.as_slice(), record.channels.as_slice()) {
            ([], channels) => format!("it waits for mail on {}", channels.join(", ")),
            (waits, _) => format!("nobody answers, since `answers` has no more: {}", waits.join("; ")),
        };
        Ok(Next::Stuck(waits))
    }

    /// Sends what the client makes of the calls of the last reply.
    async fn give_results(&self, store: &Arc<dyn Store>, history: &History) -> Result<Next, HostError> {
        let all: Vec<_> = replies(&history.effects).collect();
        let calls = all.last().map(|reply| reply.tool_calls()).unwrap_or_default();
        let known = |call: &convoke_core::ToolCall| {
            self.scenario.tool_answer(&call.name, &call.arguments).map(|answer| (call.clone(), answer))
        };
        let answers: Vec<_> = calls.iter().filter_map(known).collect();
        if answers.is_empty() {
            let names: Vec<String> =
                calls.iter().map(|call| format!("{} with {}", call.name, call.arguments)).collect();
            let why = format!("`tools` does not say what a call gives: {}", names.join("; "));
            return Ok(Next::Stuck(why));
        }
        let mut is_new = false;
        for (call, answer) in answers {
            let result = json!({"call_id": call.id, "content": answer.content, "is_error": answer.is_error});
            // Models number their calls anew in every conversation; replies are counted over the whole run.
            let mail = NewMail::json(TOOL_RESULTS, &result)?.key(format!("reply {}, {}", all.len(), call.id));
            is_new |= store.post(&self.id, mail.sender("scenario")).await?.is_new;
        }
        // What was sent before did not help: another call of the same reply is not known.
        let why = "`tools` does not say what every call of a reply gives".to_owned();
        Ok(if is_new { Next::GoOn } else { Next::Stuck(why) })
    }

    /// What the scenario asserts and the file declares, judged.
    async fn assertions(
        &self,
        store: &Arc<dyn Store>,
        observed: &Observation,
        definition: &dyn Definition,
    ) -> Result<Vec<AssertionReport>, HostError> {
        let mut all = evaluate(&self.scenario, observed);
        for (number, turn) in observed.turns.iter().enumerate() {
            let evals = turn.state.as_deref().map(|state| definition.evals(state)).unwrap_or_default();
            let due = evals.iter().filter(|eval| eval.is_due_after_turn(self.id.as_str(), number as u64));
            all.extend(due.filter_map(|eval| evaluate_declared(eval, observed, Some(number))));
        }
        let evals = observed.facts.state.as_deref().map(|state| definition.evals(state)).unwrap_or_default();
        let due = evals.iter().filter(|eval| eval.is_due_at_end(self.id.as_str()));
        all.extend(due.filter_map(|eval| evaluate_declared(eval, observed, None)));
        let (mut reports, mut judged) = (Vec::new(), 0);
        for evaluated in all {
            reports.push(match evaluated {
                Evaluated::Done(report) => report,
                Evaluated::Judge(question, report) => {
                    judged += 1;
                    self.judged(store, judged, &question, report).await?
                }
            });
        }
        Ok(reports)
    }

    async fn judged(
        &self,
        store: &Arc<dyn Store>,
        number: usize,
        question: &JudgeQuestion,
        report: AssertionReport,
    ) -> Result<AssertionReport, HostError> {
        let model = self.judging_model(number).await?;
        let judged = judge(Arc::clone(store), &self.id, number, question, model).await;
        Ok(match judged {
            Ok((run, verdict)) => report.judged(question, &verdict, run.as_str()),
            // Somebody told this process to stop; what the judge said so far is not lost.
            Err(error @ Error::Cancelled { .. }) => return Err(error.into()),
            Err(error) => {
                AssertionReport { passed: Some(false), found: format!("the judge failed: {error}"), ..report }
            }
        })
    }

    /// Who judges: whoever is asked for, then whom the scenario names, then whoever replies.
    async fn judging_model(&self, number: usize) -> Result<Arc<dyn Model>, HostError> {
        let asked = self.options.judge.clone().map(ModelSource::Named);
        // Replies that were written for a script say nothing about another model.
        let is_for_it = |own: &&ModelSource| self.options.model.is_none() || !own.is_scripted();
        let own = self.scenario.judge.as_ref().filter(is_for_it);
        let own = own.cloned().map(|own| beside(own, &self.path));
        let source = asked.or(own).or_else(|| self.model.clone());
        let models = self.host.models()?;
        if let Some(source) = &source
            && let Some(own) = brought(source, &models, &self.path, number - 1)?
        {
            return Ok(own.model);
        }
        let name = match &source {
            Some(ModelSource::Named(name)) => Some(name.as_str()),
            _ => None,
        };
        let choice = models.choose(name).await?;
        let looked = || choice.findings.iter().map(ToString::to_string).collect();
        let model = choice.model.as_ref().ok_or_else(|| HostError::NoModel { looked: looked() })?;
        models.open(model, &mut |_| {}).await
    }
}
