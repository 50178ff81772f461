//! Secret inputs reach models and tools, and nothing that is kept or shown.

use std::sync::{Arc, Mutex};

use convoke_agent::FunctionTool;
use convoke_core::{
    CallContext, Event, FinishReason, Model, ModelCall, ModelCallEnd, ModelError, ModelErrorKind,
    ModelRequest, Observer, Reality, ReplyDelta, ReplyStream, Runtime, Toolset,
};
use convoke_goals::{
    Agent, Equipment, Goal, Input, InputProblem, Prepared, Secrets, Sequence, Spawning, Values, Workflow,
};
use convoke_store::SqliteStore;
use futures_util::stream;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A model that answers with these pieces, one list a call, and remembers what it was asked.
#[derive(Clone, Default)]
struct Pieces(Arc<Inner>);

#[derive(Default)]
struct Inner {
    replies: Mutex<Vec<Vec<Result<ReplyDelta, ModelError>>>>,
    asked: Mutex<Vec<ModelRequest>>,
}

impl Pieces {
    fn new(replies: impl IntoIterator<Item = Vec<Result<ReplyDelta, ModelError>>>) -> Self {
        let inner = Inner { replies: Mutex::new(replies.into_iter().collect()), ..Inner::default() };
        Self(Arc::new(inner))
    }

    fn asked(&self) -> String {
        let asked = self.0.asked.lock().unwrap();
        asked
            .iter()
            .flat_map(|request| request.messages.iter())
            .map(|message| format!("{message:?}\n"))
            .collect()
    }
}

impl Model for Pieces {
    fn name(&self) -> &str {
        "pieces"
    }

    fn reply<'a>(&'a self, request: ModelRequest, _call: CallContext) -> ReplyStream<'a> {
        self.0.asked.lock().unwrap().push(request);
        let mut replies = self.0.replies.lock().unwrap();
        let reply = if replies.is_empty() { said("nothing more") } else { replies.remove(0) };
        Box::pin(stream::iter(reply))
    }

    fn reality(&self) -> Reality {
        Reality::Simulated
    }
}

fn finished(reason: FinishReason) -> Result<ReplyDelta, ModelError> {
    Ok(ReplyDelta::Finished { reason, request_id: None })
}

fn said(text: &str) -> Vec<Result<ReplyDelta, ModelError>> {
    in_pieces(text, &[])
}

/// A text in pieces of these lengths, and then the rest.
fn in_pieces(text: &str, lengths: &[usize]) -> Vec<Result<ReplyDelta, ModelError>> {
    let mut deltas: Vec<_> =
        pieces(text, lengths).into_iter().map(|piece| Ok(ReplyDelta::Text(piece))).collect();
    deltas.push(finished(FinishReason::Stop));
    deltas
}

fn pieces(text: &str, lengths: &[usize]) -> Vec<String> {
    let mut characters = text.chars();
    let mut pieces: Vec<String> =
        lengths.iter().map(|length| characters.by_ref().take(*length).collect()).collect();
    pieces.push(characters.collect());
    pieces
}

fn calls(tool: &str, arguments: &Value, lengths: &[usize]) -> Vec<Result<ReplyDelta, ModelError>> {
    let mut deltas =
        vec![Ok(ReplyDelta::ToolCallStarted { index: 0, id: "call-1".into(), name: tool.into() })];
    for delta in pieces(&arguments.to_string(), lengths) {
        deltas.push(Ok(ReplyDelta::ToolCallArguments { index: 0, delta }));
    }
    deltas.push(finished(FinishReason::ToolCalls));
    deltas
}

/// A workflow that uses its secret in a goal, a persona and a tool.
fn tree() -> Workflow {
    let clerk = Agent::new("clerk", "You log in with $token.");
    Workflow::new("login").input(Input::new("token").secret()).input(Input::new("note").default("")).sequence(
        Sequence::new("main")
            .goal(Goal::new("log-in", "Log in with $token. $note").using(clerk))
            .goal(Goal::new("report", "Say what came of ${log-in}")),
    )
}

fn equipment(model: &Pieces, secret: &str) -> Equipment {
    let mut equipment = Equipment::default();
    equipment.model = Some(Arc::new(model.clone()));
    equipment.spawning = Spawning::Never;
    equipment.secrets = Secrets::new().with("token", secret);
    equipment
}

fn prepared(equipment: &Equipment) -> Prepared {
    tree().prepare(equipment).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Writes down all that an observer is told.
#[derive(Clone, Default)]
struct Hears(Arc<Mutex<String>>);

impl Hears {
    fn note(&self, told: &dyn std::fmt::Debug) {
        self.0.lock().unwrap().push_str(&format!("{told:?}\n"));
    }
}

impl Observer for Hears {
    fn observe(&self, event: &Event) {
        self.note(event);
    }

    fn model_call_started(&self, call: &ModelCall<'_>) {
        self.note(call);
    }

    fn model_call_ended(&self, end: &ModelCallEnd<'_>) {
        self.note(end);
    }
}

/// Everything a run leaves: what it stores, what it tells, and the state it ends with.
async fn left_by(prepared: &Prepared, values: Values) -> (String, bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let hears = Hears::default();
    let store = SqliteStore::open(&path).unwrap();
    let runtime = Runtime::builder().store(store).observer(hears.clone()).build();
    let bound = prepared.bind(values).unwrap();
    let mut left = format!("{bound:?}");
    let (events, outcome) = runtime.start(&prepared.workflow(), bound.state).stream().collect().await;
    let outcome = outcome.unwrap();
    left.push_str(&format!("{events:?}\n{:?}\n{:?}", outcome.state, outcome.error));
    left.push_str(
        &serde_json::to_string(&events.iter().map(|event| &event.kind).collect::<Vec<_>>()).unwrap(),
    );
    drop(runtime);
    let mut stored = String::new();
    for file in std::fs::read_dir(folder.path()).unwrap() {
        stored.push_str(&String::from_utf8_lossy(&std::fs::read(file.unwrap().path()).unwrap()));
    }
    // Prompts are stored as they are, so a secret in one would be found.
    assert!(stored.contains("Log in with") && stored.contains("⟦secret:token:"));
    left.push_str(&stored);
    let heard = hears.0.lock().unwrap().clone();
    assert!(heard.contains("Log in with") && heard.contains("ModelCallEnd"));
    left.push_str(&heard);
    (left, outcome.error.is_none())
}

/// A secret as it is, and as JSON and Rust write it.
fn spellings(secret: &str) -> Vec<String> {
    let json = Value::from(secret).to_string();
    let debug = format!("{secret:?}");
    [secret.to_owned(), json[1..json.len() - 1].to_owned(), debug[1..debug.len() - 1].to_owned()].into()
}

#[tokio::test]
async fn models_and_tools_get_the_secret_and_nothing_else_does() {
    let secret = "hunter2-\"quoted\"\\and/more";
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let tool =
        FunctionTool::dynamic("login", "Logs in.", json!({"type": "object"}), move |_, arguments: Value| {
            log.lock().unwrap().push(arguments.clone());
            async move {
                Ok::<_, convoke_core::Error>(format!(
                    "welcome, {}",
                    arguments["password"].as_str().unwrap_or("?")
                ))
            }
        })
        .unwrap();
    let model = Pieces::new([
        calls("login", &json!({"password": secret, "again": [secret]}), &[14, 3, 1]),
        in_pieces(&format!("I used {secret} to log in."), &[9, 2, 5]),
        in_pieces(&format!("{{\"used\": {}}}", json!(secret)), &[11, 12]),
    ]);
    let mut equipment = equipment(&model, secret);
    equipment.tools = Toolset::new().with(tool).unwrap();
    let note = format!("The password is {secret}!");
    let (left, succeeded) = left_by(&prepared(&equipment), Values::from_iter([("note", note)])).await;
    assert!(succeeded, "{left}");
    for spelling in spellings(secret) {
        assert!(!left.contains(&spelling), "{spelling}");
    }
    assert!(left.contains("⟦secret:token:"));
    assert_eq!(*seen.lock().unwrap(), [json!({"password": secret, "again": [secret]})]);
    let asked = model.asked();
    let shown = format!("{secret:?}");
    let shown = shown.trim_matches('"');
    assert!(asked.contains(&format!("You log in with {shown}.")), "{asked}");
    assert!(asked.contains(&format!("welcome, {shown}")), "{asked}");
    assert!(!asked.contains("⟦secret"), "{asked}");
}

#[tokio::test]
async fn a_tool_that_keeps_what_it_is_told_gets_a_mark_and_the_model_its_secret_back() {
    let kept = Arc::new(Mutex::new(String::new()));
    let log = Arc::clone(&kept);
    let schema = json!({"type": "object"});
    let tool = FunctionTool::dynamic("login", "Keeps it.", schema, move |_, arguments: Value| {
        *log.lock().unwrap() = arguments["password"].as_str().unwrap().to_owned();
        async move { Ok::<_, convoke_core::Error>(format!("kept {}", arguments["password"])) }
    });
    let model =
        Pieces::new([calls("login", &json!({"password": "my hunter22"}), &[]), said("ok"), said("ok")]);
    let mut equipment = equipment(&model, "hunter22");
    equipment.tools = Toolset::new().with(tool.unwrap().keeps()).unwrap();
    let (left, succeeded) = left_by(&prepared(&equipment), Values::new()).await;
    assert!(succeeded && !left.contains("hunter22"), "{left}");
    let kept = kept.lock().unwrap().clone();
    assert!(kept.starts_with("my ⟦secret:token:"), "{kept}");
    assert!(model.asked().contains("my hunter22"), "{}", model.asked());
}

#[tokio::test]
async fn what_the_provider_said_comes_back_to_it_as_it_was_even_if_a_call_is_called_like_it() {
    let tool = FunctionTool::dynamic("login", "Logs in.", json!({"type": "object"}), |_, _: Value| async {
        Ok::<_, convoke_core::Error>("in")
    });
    let mut called = calls("login", &json!({"login": 1}), &[]);
    called[0] = Ok(ReplyDelta::ToolCallStarted { index: 0, id: "id-login-7".into(), name: "login".into() });
    let model = Pieces::new([called, said("ok"), said("ok")]);
    let mut equipment = equipment(&model, "login");
    equipment.tools = Toolset::new().with(tool.unwrap()).unwrap();
    let prepared = prepared(&equipment);
    let bound = prepared.bind(Values::new()).unwrap();
    Runtime::new().start(&prepared.workflow(), bound.state).await.unwrap().completed().unwrap();
    let asked = model.asked();
    assert!(asked.contains("call_id: \"id-login-7\"") && asked.contains("name: \"login\""), "{asked}");
}

#[tokio::test]
async fn errors_of_models_and_tools_do_not_tell_the_secret() {
    let secret = "s3cr3t-t0k3n";
    let fails = FunctionTool::dynamic(
        "login",
        "Logs in.",
        json!({"type": "object"}),
        |_, arguments: Value| async move {
            Err::<String, _>(convoke_core::Error::failed(format!("no such password: {arguments}")))
        },
    )
    .unwrap();
    let error = ModelError::new(ModelErrorKind::InvalidRequest, format!("bad request: {secret}"));
    let model = Pieces::new([
        calls("login", &json!({"password": secret}), &[]),
        vec![Ok(ReplyDelta::Text("s3cr".into())), Err(error)],
    ]);
    let mut equipment = equipment(&model, secret);
    equipment.tools = Toolset::new().with(fails).unwrap();
    let (left, succeeded) = left_by(&prepared(&equipment), Values::new()).await;
    assert!(!succeeded);
    assert!(!left.contains(secret), "{left}");
    assert!(left.contains("no such password") && left.contains("bad request"), "{left}");
}

#[tokio::test]
async fn the_runtimes_own_model_is_sealed_too() {
    let model = Pieces::new([said("it is hunter22"), said("done")]);
    let mut equipment = equipment(&model, "hunter22");
    equipment.model = None;
    let prepared = prepared(&equipment);
    let runtime = Runtime::builder().model(model.clone()).build();
    let outcome =
        runtime.start(&prepared.workflow(), prepared.bind(Values::new()).unwrap().state).await.unwrap();
    let state = format!("{:?}", outcome.completed().unwrap());
    assert!(!state.contains("hunter22") && state.contains("it is ⟦secret:token:"), "{state}");
    assert!(model.asked().contains("Log in with hunter22."));
}

#[tokio::test]
async fn text_that_looks_like_a_mark_is_only_text() {
    let model = Pieces::new([said("ok"), said("ok")]);
    let prepared = prepared(&equipment(&model, "hunter22"));
    let forged = format!("⟦secret:token:{}⟧", "0".repeat(24));
    let (_, succeeded) = left_by(&prepared, Values::from_iter([("note", forged.as_str())])).await;
    assert!(succeeded);
    assert!(model.asked().contains(&forged));
}

#[tokio::test]
async fn a_run_goes_on_only_with_its_secrets_and_is_told_again_without() {
    let approved = || {
        tree()
            .sequence(Sequence::new("end").goal(Goal::new("sign", "Sign with $token").supervised_by_human()))
    };
    let runtime = Runtime::builder().store(convoke_store::MemoryStore::new()).build();
    let model = Pieces::new([said("hunter22 works"), said("logged in"), said("{\"step\":\"sign\"}")]);
    let with = approved().prepare(&equipment(&model, "hunter22")).unwrap();
    let started = runtime.start(&with.workflow(), with.bind(Values::new()).unwrap().state).await.unwrap();
    assert_eq!(started.questions().len(), 1, "{:?}", started.error);
    let run = started.run.clone();

    let mut equipment = equipment(&model, "hunter22");
    equipment.secrets = Secrets::new();
    let without = approved().prepare(&equipment).unwrap();
    assert_eq!(without.missing_secrets(), ["token"]);
    let refused = runtime.resume(&without.workflow(), run.clone()).await.unwrap();
    let error = refused.error.unwrap().to_string();
    assert!(error.contains("secret input `token` is missing"), "{error}");

    let told = runtime.replay(&without.workflow(), &run).await.unwrap();
    assert!(format!("{:?}", told.state).contains("works"), "{told:?}");

    let again = runtime.resume(&with.workflow(), run.clone()).await.unwrap();
    assert_eq!(again.questions().len(), 1, "what was refused can still go on: {:?}", again.error);
}

#[test]
fn secrets_are_given_apart_and_are_long_enough() {
    let given = Values::from_iter([("token", "hunter22"), ("note", "x")]);
    let (secrets, values) = tree().separate_secrets(given.clone());
    assert_eq!(format!("{secrets:?}"), "Secrets[\"token\"]");
    assert_eq!(values, Values::from_iter([("note", "x")]));

    let model = Pieces::default();
    let mut equipment = equipment(&model, "abc");
    let problems = prepared(&equipment).bind(Values::new()).unwrap_err().problems;
    assert!(matches!(&problems[..], [InputProblem::Secret { .. }]), "{problems:?}");
    assert!(problems[0].to_string().contains("at least 4 characters"));

    equipment.secrets = Secrets::new();
    let problems = prepared(&equipment).bind(Values::new()).unwrap_err().problems;
    assert!(matches!(&problems[..], [InputProblem::Missing { .. }]), "{problems:?}");

    equipment.secrets = secrets;
    let problems = prepared(&equipment).bind(given).unwrap_err();
    assert!(problems.to_string().contains("among the values"), "{problems}");
    assert!(!problems.to_string().contains("hunter22"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever the secret is, and however what comes back is cut into pieces, nothing that is kept has it.
    #[test]
    fn nothing_of_a_secret_is_kept(
        secret in "[a-zA-Z0-9\"\\\\/\n ü€😀]{6,20}",
        lengths in proptest::collection::vec(0_usize..6, 0..12),
        around in "[a-z{}\" ]{0,8}",
    ) {
        // What the machinery writes by itself has short words in it.
        let secret = format!("Q7{secret}");
        let model = Pieces::new([
            calls("login", &json!({"password": secret, "text": format!("{around}{secret}{around}")}), &lengths),
            in_pieces(&format!("{around}{secret}{around}{secret}"), &lengths),
            in_pieces(&json!({"used": secret}).to_string(), &lengths),
        ]);
        let tool = FunctionTool::dynamic("login", "Logs in.", json!({"type": "object"}), |_, arguments: Value| async move {
            Ok::<_, convoke_core::Error>(format!("{arguments} {}", arguments["text"].as_str().unwrap_or_default()))
        })
        .unwrap();
        let mut equipment = equipment(&model, &secret);
        equipment.tools = Toolset::new().with(tool).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (left, succeeded) = runtime.block_on(left_by(&prepared(&equipment), Values::new()));
        prop_assert!(succeeded, "{left}");
        for spelling in spellings(&secret) {
            prop_assert!(!left.contains(&spelling), "{spelling:?} in {left}");
        }
        prop_assert!(left.contains("⟦secret:token:"));
    }
}
