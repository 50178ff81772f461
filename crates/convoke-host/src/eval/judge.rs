//! Models that judge, each verdict a run of its own: asked again for the same, it is there already.

use std::sync::Arc;
use std::time::Duration;

use convoke_agent::structured_value;
use convoke_core::{
    BoxFuture, Digest, Error, Limits, Message, Model, ModelRequest, OutputSchema, RunId, Runtime, Scope,
    Step, Store, Visibility, WhenBusy, Workflow,
};
use convoke_eval::judge::{INSTRUCTIONS, JudgeQuestion, JudgeVerdict};
use serde::{Deserialize, Serialize};

/// What is to be judged, and the verdict.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Case {
    prompt: String,
    #[serde(default)]
    verdict: Option<JudgeVerdict>,
}

struct Judge(Arc<dyn Model>);

impl Step<Case> for Judge {
    fn name(&self) -> &str {
        "judge"
    }

    fn run<'a>(&'a self, scope: &'a Scope, case: &'a mut Case) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let asked = [Message::system(INSTRUCTIONS), Message::user(case.prompt.as_str())];
            let request = ModelRequest { messages: asked.into_iter().collect(), ..ModelRequest::new("") };
            let shape = OutputSchema {
                name: "verdict".to_owned(),
                description: "A score, and why".to_owned(),
                schema: JudgeQuestion::answer_schema(),
            };
            let answer =
                structured_value(scope, &self.0, request, shape, Visibility::Hidden, "judge").await?;
            case.verdict = Some(serde_json::from_value(answer.value)?);
            Ok(())
        })
    }
}

/// What judging takes.
pub(super) struct Judging {
    pub(super) store: Arc<dyn Store>,
    pub(super) model: Arc<dyn Model>,
    pub(super) timeout: Duration,
    pub(super) limits: Limits,
}

impl Judging {
    /// The id of the run in which it is judged.
    ///
    /// # Errors
    /// If ids cannot be as long.
    pub(super) fn id(&self, run: &RunId, number: usize, question: &JudgeQuestion) -> Result<RunId, Error> {
        let id = format!("{run}-judge-{number}-{}", &self.digest("judge", run, question)[..8]);
        Ok(id.parse()?)
    }

    /// A digest of what is judged: nobody who wrote the text knew it, as the id of the run is part of it.
    fn digest(&self, what: &str, run: &RunId, question: &JudgeQuestion) -> String {
        let parts = [what, run.as_str(), &question.criteria.criteria, &question.content, self.model.name()];
        Digest::of_parts(&parts.map(str::as_bytes)).to_string()
    }

    /// Has the model judge about a run, or looks up what it said before.
    pub(super) async fn judge(
        self,
        run: &RunId,
        id: RunId,
        question: &JudgeQuestion,
    ) -> Result<JudgeVerdict, Error> {
        let fence = self.digest("fence", run, question);
        let case = Case { prompt: question.prompt(&fence), verdict: None };
        let workflow = Workflow::new(Judge(self.model)).named("judge");
        let runtime = Runtime::builder().shared_store(self.store).build();
        let start = runtime.start(&workflow, case).id(id).timeout(self.timeout).limits(self.limits);
        // Another process that evaluates under the same name may have asked it already.
        let start = start.when_busy(WhenBusy::Wait);
        let verdict = start.await?.completed()?.verdict;
        verdict.ok_or_else(|| Error::failed("the judge said nothing"))
    }
}
