//! Assesses a run: what its scenario asserts and its file declares, compared with what happened, and judged.

use std::sync::Arc;

use convoke_core::{Error, Model, Store};
use convoke_eval::judge::JudgeQuestion;
use convoke_eval::scenario::ModelSource;
use convoke_eval::{
    AssertionReport, Evaluated, Observation, cannot_fail, evaluate, evaluate_declared, evaluate_step,
};
use convoke_history::History;
use convoke_machine::pack::model::Eval;

use super::judge::Judging;
use super::models::{beside, brought};
use super::observe::replies;
use super::trial::Trial;
use crate::HostError;

impl Trial<'_> {
    /// What the scenario asserts and the file declares, judged, and how many replies judges gave for that.
    pub(super) async fn assertions(
        &self,
        store: &Arc<dyn Store>,
        observed: &Observation,
    ) -> Result<(Vec<AssertionReport>, usize), HostError> {
        let definition = self.loaded.valid()?;
        let session = self.id.as_str();
        let wanted = |mut evals: Vec<Eval>| {
            evals.retain(|eval| is_wanted(eval, &self.options.groups));
            evals
        };
        let evals =
            |state: Option<&str>| wanted(state.map(|state| definition.evals(state)).unwrap_or_default());
        let mut all = evaluate(&self.scenario, observed);
        for (number, turn) in observed.turns.iter().enumerate() {
            let due =
                evals(turn.state()).into_iter().filter(|eval| eval.is_due_after_turn(session, number as u64));
            all.extend(due.filter_map(|eval| evaluate_declared(&eval, observed, Some(number))));
        }
        let due = evals(observed.whole.state()).into_iter().filter(|eval| eval.is_due_at_end(session));
        all.extend(due.filter_map(|eval| evaluate_declared(&eval, observed, None)));
        for (step, output) in &observed.whole.steps {
            let evals = wanted(definition.step_evals(step));
            all.extend(evals.iter().filter_map(|eval| evaluate_step(eval, observed, step, output)));
        }
        let (mut reports, mut judged, mut given) = (Vec::new(), 0, 0);
        for evaluated in all {
            reports.push(match evaluated {
                Evaluated::Done(report) => report,
                Evaluated::Judge(question, report) => {
                    judged += 1;
                    self.judged(store, judged, &mut given, &question, report).await?
                }
            });
        }
        Ok((reports, given))
    }

    /// The evals of the file that were looked at and that no run could fail, in words.
    pub(super) fn sure_evals(&self, observed: &Observation) -> Result<Vec<String>, HostError> {
        let definition = self.loaded.valid()?;
        let states = observed.whole.path.iter().map(String::as_str).chain(observed.whole.state());
        let of_states = states.flat_map(|state| definition.evals(state));
        let all = of_states.chain(observed.whole.steps.keys().flat_map(|step| definition.step_evals(step)));
        let wanted = all.filter(|eval| eval.enabled && is_wanted(eval, &self.options.groups));
        let mut notes: Vec<String> = wanted.filter_map(|eval| cannot_fail(&eval)).collect();
        notes.sort();
        notes.dedup();
        Ok(notes)
    }

    async fn judged(
        &self,
        store: &Arc<dyn Store>,
        number: usize,
        given: &mut usize,
        question: &JudgeQuestion,
        report: AssertionReport,
    ) -> Result<AssertionReport, HostError> {
        let failed = |found: String, report: AssertionReport| {
            let passed = report.passed.map(|_| false);
            AssertionReport { passed, score: None, found, ..report }
        };
        let Some(model) = self.judging_model(*given).await? else {
            let why =
                "a script replies, and nobody says who judges: name a model in `judge`, or with --judge";
            return Ok(failed(why.to_owned(), report));
        };
        let limits = self.host.limits(self.options.limits.as_ref());
        let judging = Judging { store: Arc::clone(store), model, timeout: self.timeout(), limits };
        let run = judging.id(&self.id, number, question)?;
        let judged = judging.judge(&self.id, run.clone(), question).await;
        if store.run(&run).await?.is_some() {
            // One that could not be used is a reply, too.
            *given += replies(&History::load(&**store, &run).await?.effects).count();
        }
        Ok(match judged {
            Ok(verdict) => report.judged(question, &verdict, run.as_str()),
            // Somebody told this process to stop; what the judge said so far is not lost.
            Err(error @ Error::Cancelled { .. }) => return Err(error.into()),
            Err(error) => failed(format!("the judge failed: {error}"), report),
        })
    }

    /// Who judges, after judges have given so many replies: whoever is asked for, then whom the scenario names, then whoever replies,
    /// unless that is a script.
    async fn judging_model(&self, given: usize) -> Result<Option<Arc<dyn Model>>, HostError> {
        let asked = self.options.judge.clone().map(ModelSource::Named);
        // Replies that were written for a script say nothing about another model.
        let is_for_it = |own: &&ModelSource| self.options.model.is_none() || !own.is_scripted();
        let own = self.scenario.judge.as_ref().filter(is_for_it);
        let own = own.cloned().map(|own| beside(own, &self.path));
        let source = match (asked.or(own), &self.model) {
            (None, Some(replying)) if replying.is_scripted() => return Ok(None),
            (judge, replying) => judge.or_else(|| replying.clone()),
        };
        let models = self.host.models()?;
        if let Some(source) = &source
            && let Some(own) = brought(source, &models, &self.path, given)?
        {
            return Ok(Some(own.model));
        }
        let name = match &source {
            Some(ModelSource::Named(name)) => Some(name.as_str()),
            _ => None,
        };
        let choice = models.choose(name).await?;
        let looked = || choice.findings.iter().map(ToString::to_string).collect();
        let model = choice.model.as_ref().ok_or_else(|| HostError::NoModel { looked: looked() })?;
        models.open(model, &mut |_| {}).await.map(Some)
    }
}

/// The groups of an eval. One that names none is of `default`, and of `long-running` if a model judges, of `fast-running` otherwise.
pub(super) fn groups_of(eval: &Eval) -> Vec<String> {
    let speed = if eval.kind.starts_with("llm_judge") { "long-running" } else { "fast-running" };
    match eval.groups.as_slice() {
        [] => vec!["default".to_owned(), speed.to_owned()],
        own => own.to_vec(),
    }
}

/// Whether an eval is of one of these groups.
fn is_wanted(eval: &Eval, groups: &[String]) -> bool {
    groups.is_empty() || groups_of(eval).iter().any(|own| groups.contains(own))
}
