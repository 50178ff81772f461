//! Assesses a run: what its scenario asserts and its file declares, compared with what happened, and judged.

use std::sync::Arc;

use convoke_core::{Error, Model, Store};
use convoke_eval::judge::JudgeQuestion;
use convoke_eval::scenario::ModelSource;
use convoke_eval::{AssertionReport, Evaluated, Observation, evaluate, evaluate_declared, evaluate_step};
use convoke_machine::pack::model::Eval;

use super::judge::Judging;
use super::models::{beside, brought};
use super::trial::Trial;
use crate::HostError;

impl Trial<'_> {
    /// What the scenario asserts and the file declares, judged.
    pub(super) async fn assertions(
        &self,
        store: &Arc<dyn Store>,
        observed: &Observation,
    ) -> Result<Vec<AssertionReport>, HostError> {
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
        let failed = |found: String, report: AssertionReport| {
            let passed = report.passed.map(|_| false);
            AssertionReport { passed, score: None, found, ..report }
        };
        let Some(model) = self.judging_model(number).await? else {
            let why =
                "a script replies, and nobody says who judges: name a model in `judge`, or with --judge";
            return Ok(failed(why.to_owned(), report));
        };
        let limits = self.host.limits(self.options.limits.as_ref());
        let judging = Judging { store: Arc::clone(store), model, timeout: self.timeout(), limits };
        let judged = judging.judge(&self.id, number, question).await;
        Ok(match judged {
            Ok((run, verdict)) => report.judged(question, &verdict, run.as_str()),
            // Somebody told this process to stop; what the judge said so far is not lost.
            Err(error @ Error::Cancelled { .. }) => return Err(error.into()),
            Err(error) => failed(format!("the judge failed: {error}"), report),
        })
    }

    /// Who judges: whoever is asked for, then whom the scenario names, then whoever replies, unless that is a script.
    async fn judging_model(&self, number: usize) -> Result<Option<Arc<dyn Model>>, HostError> {
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
            && let Some(own) = brought(source, &models, &self.path, number - 1)?
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

/// Whether an eval is of one of these groups. One that names none is of `default`, and of `long-running` if a model judges, of
/// `fast-running` otherwise.
fn is_wanted(eval: &Eval, groups: &[String]) -> bool {
    let speed = if eval.kind.starts_with("llm_judge") { "long-running" } else { "fast-running" };
    let is_of = |group: &String| match eval.groups.as_slice() {
        [] => group == "default" || group == speed,
        own => own.contains(group),
    };
    groups.is_empty() || groups.iter().any(is_of)
}
