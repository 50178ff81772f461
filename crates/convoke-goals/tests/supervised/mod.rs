//! A supervised task without a tree of goals around it, for tests.
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use convoke_core::{
    Answer, BoxFuture, Error, Event, EventKind, Model, ModelParams, ModelRequest, Nature, Outcome,
    PendingQuestion, Responder, RunId, Runtime, Scope, Step, Store, Visibility, Workflow,
};
use convoke_goals::context::Fence;
use convoke_goals::supervise::{
    Attempt, Correction, HumanPolicy, ModelSupervisor, Product, SupervisedBy, SupervisedTask, Supervisor,
};
use convoke_models::scripted::Replies;
use convoke_models::{Match, Reply, ScriptedModel};
use serde_json::{Value, json};

pub(crate) const GOAL: &str = "Write a haiku about rust";

/// A commitment nobody has a reason to look at.
pub(crate) fn promise() -> Value {
    json!({
        "interpretation": "three lines about rust", "scope_in": ["a haiku"], "scope_out": ["an essay"],
        "approach": "count syllables", "tools_planned": [], "predicted_output": "three lines",
        "confidence": "high", "assumptions": ["rust is the language"],
    })
}

/// A commitment that differs from that.
pub(crate) fn promise_with(name: &str, value: Value) -> Value {
    let mut promise = promise();
    promise[name] = value;
    promise
}

/// An assessment nobody has a reason to look at.
pub(crate) fn kept() -> Value {
    json!({"met_commitment": true, "deviations": [], "concerns": [], "unexpected": []})
}

/// An assessment that is a reason to look.
pub(crate) fn broken() -> Value {
    json!({"met_commitment": false, "deviations": [], "concerns": [], "unexpected": []})
}

pub(crate) fn verdict(name: &str) -> Value {
    json!({"reason": "because", "verdict": name, "correction": "use fewer words", "question": "Is this a haiku?"})
}

/// A model that commits, works, assesses and judges.
pub(crate) struct Script {
    pub(crate) commit: Replies,
    pub(crate) work: Replies,
    pub(crate) post: Replies,
    pub(crate) judge: Replies,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            commit: one(promise()),
            work: Replies::in_turn(["first", "second", "third", "fourth"]),
            post: one(kept()),
            judge: one(verdict("continue")),
        }
    }
}

pub(crate) fn one(value: Value) -> Replies {
    Reply::json(value).into()
}

pub(crate) fn turns<const N: usize>(values: [Value; N]) -> Replies {
    Replies::in_turn(values.map(Reply::json))
}

impl Script {
    pub(crate) fn model(self) -> ScriptedModel {
        ScriptedModel::builder()
            .when(Match::output("commitment"), self.commit)
            .when(Match::output("assessment"), self.post)
            .when(Match::output("judgement"), self.judge)
            .otherwise(self.work)
            .build()
    }
}

/// The requests of one phase: `commitment`, `assessment`, `judgement`, or `work`.
pub(crate) fn requests(model: &ScriptedModel, phase: &str) -> Vec<ModelRequest> {
    let name = |request: &ModelRequest| {
        request.output.as_ref().map_or("work".to_owned(), |output| output.name.clone())
    };
    model.requests().into_iter().filter(|request| name(request) == phase).collect()
}

pub(crate) fn count(model: &ScriptedModel, phase: &str) -> usize {
    requests(model, phase).len()
}

/// The text of a request's last message.
pub(crate) fn last(request: &ModelRequest) -> String {
    request.messages.last().unwrap().text()
}

type Shaping = Arc<dyn Fn(&mut Product) + Send + Sync>;

/// A step that is supervised. Its state becomes the output.
#[derive(Clone)]
pub(crate) struct Watched {
    pub(crate) name: &'static str,
    pub(crate) supervised_by: SupervisedBy,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) params: ModelParams,
    pub(crate) supervisor: Arc<dyn Supervisor>,
    pub(crate) max_reorients: u32,
    pub(crate) human: HumanPolicy,
    pub(crate) shape: Shaping,
    pub(crate) attempts: Arc<AtomicUsize>,
    /// The attempt that fails, from 1.
    pub(crate) fails_at: Option<usize>,
}

#[derive(Debug, thiserror::Error)]
#[error("the well is dry")]
pub(crate) struct Dry;

impl Watched {
    pub(crate) fn by(supervised_by: SupervisedBy, model: &ScriptedModel) -> Self {
        Self {
            name: "haiku",
            supervised_by,
            model: Arc::new(model.clone()),
            params: ModelParams::default(),
            supervisor: Arc::new(ModelSupervisor::new()),
            max_reorients: 2,
            human: HumanPolicy::default(),
            shape: Arc::new(|_| ()),
            attempts: Arc::default(),
            fails_at: None,
        }
    }

    pub(crate) fn by_model(model: &ScriptedModel) -> Self {
        Self::by(SupervisedBy::Model, model)
    }

    pub(crate) fn by_human(model: &ScriptedModel) -> Self {
        Self::by(SupervisedBy::Human, model)
    }

    pub(crate) fn unattended(mut self) -> Self {
        self.human.unattended = true;
        self
    }

    pub(crate) fn reorients(self, most: u32) -> Self {
        Self { max_reorients: most, ..self }
    }

    pub(crate) fn supervisor(self, supervisor: impl Supervisor + 'static) -> Self {
        Self { supervisor: Arc::new(supervisor), ..self }
    }

    pub(crate) fn shaped(self, shape: impl Fn(&mut Product) + Send + Sync + 'static) -> Self {
        Self { shape: Arc::new(shape), ..self }
    }

    pub(crate) fn attempts(&self) -> usize {
        self.attempts.load(Ordering::Relaxed)
    }

    pub(crate) fn workflow(&self) -> Workflow<String> {
        Workflow::new(self.clone())
    }

    /// Runs it by itself.
    pub(crate) async fn outcome(&self) -> Outcome<String> {
        Runtime::new().start(&self.workflow(), String::new()).await.unwrap()
    }

    pub(crate) async fn output(&self) -> String {
        self.outcome().await.completed().unwrap()
    }

    pub(crate) async fn error(&self) -> Error {
        self.outcome().await.completed().unwrap_err()
    }

    pub(crate) async fn events(&self, runtime: &Runtime) -> (Vec<Event>, Outcome<String>) {
        let (events, outcome) = runtime.start(&self.workflow(), String::new()).stream().collect().await;
        (events, outcome.unwrap())
    }

    /// The triggers of every attempt.
    pub(crate) async fn triggers(&self) -> Vec<Vec<String>> {
        self.triggers_with(&Runtime::new()).await
    }

    /// The same with this runtime.
    pub(crate) async fn triggers_with(&self, runtime: &Runtime) -> Vec<Vec<String>> {
        let (events, _) = self.events(runtime).await;
        let told = supervision(&events, "reconcile");
        told.iter().map(|value| serde_json::from_value(value["triggers"].clone()).unwrap()).collect()
    }
}

/// What was told about a phase.
pub(crate) fn supervision(events: &[Event], phase: &str) -> Vec<Value> {
    let told = events.iter().filter_map(|event| match &event.kind {
        EventKind::Custom { name, value } if name == "supervision" => Some(value.clone()),
        _ => None,
    });
    told.filter(|value| value["phase"] == phase).collect()
}

impl Step<String> for Watched {
    fn name(&self) -> &str {
        self.name
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut String) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let supervised = SupervisedTask {
                step: self.name,
                kind: "goal",
                goal: GOAL,
                supervised_by: self.supervised_by,
                tools: &["look".to_owned()],
                model: &self.model,
                params: &self.params,
                supervisor: &*self.supervisor,
                max_reorients: self.max_reorients,
                human: &self.human,
                fence: &Fence::new(7),
            };
            *state = supervised.run(scope, &mut Worker(self)).await?.text;
            Ok(())
        })
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }
}

/// Asks the model, telling it all corrections.
struct Worker<'a>(&'a Watched);

impl Attempt for Worker<'_> {
    fn attempt<'a>(
        &'a mut self,
        scope: &'a Scope,
        corrections: &'a [Correction],
    ) -> BoxFuture<'a, Result<Product, Error>> {
        Box::pin(async move {
            let attempt = self.0.attempts.fetch_add(1, Ordering::Relaxed) + 1;
            if self.0.fails_at == Some(attempt) {
                return Err(Error::failed(Dry));
            }
            let mut prompt = GOAL.to_owned();
            for Correction { source, text, .. } in corrections {
                prompt.push_str(&format!("\n({}) {text}", source.name()));
            }
            let scope = scope.child("attempt");
            let reply = scope.model(&self.0.model, ModelRequest::new(prompt), Visibility::Streamed).await?;
            let mut product = Product::default();
            product.text = reply.text();
            (self.0.shape)(&mut product);
            Ok(product)
        })
    }
}

/// Somebody who is there and answers in turn; the last answer again and again.
#[derive(Clone)]
pub(crate) struct Person {
    answers: Arc<Mutex<Vec<Answer>>>,
    pub(crate) asked: Arc<Mutex<Vec<PendingQuestion>>>,
}

impl Person {
    pub(crate) fn saying<const N: usize>(answers: [Answer; N]) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.to_vec())), asked: Arc::default() }
    }

    pub(crate) fn runtime(&self) -> Runtime {
        Runtime::builder().responder(self.clone()).build()
    }

    pub(crate) fn runtime_with(&self, store: &Arc<dyn Store>) -> Runtime {
        Runtime::builder().shared_store(Arc::clone(store)).responder(self.clone()).build()
    }

    pub(crate) fn asked(&self) -> Vec<PendingQuestion> {
        self.asked.lock().unwrap().clone()
    }
}

impl Responder for Person {
    fn respond<'a>(&'a self, question: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        self.asked.lock().unwrap().push(question.clone());
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() };
        Box::pin(async move { Some(answer) })
    }
}

pub(crate) fn run_id() -> RunId {
    "the-run".parse().unwrap()
}
