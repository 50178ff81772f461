//! Secret inputs reach models and tools, and nothing that is kept or shown.

use std::sync::{Arc, Mutex};

use convoke_agent::{FunctionTool, ToolContext};
use convoke_core::{
    Answer, CallContext, Decision, Error, Event, EventKind, FinishReason, Model, ModelError, ModelErrorKind,
    ModelRequest, Observer, Preparation, Question, QuestionKind, Reality, Repeat, ReplyDelta, ReplyStream,
    Runtime, Store, ToolEffect, Toolset,
};
use convoke_goals::{
    Agent, Equipment, Goal, Input, InputProblem, PreparedWorkflow, Secrets, Sequence, Spawning, Values,
    Workflow,
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

fn prepared(equipment: &Equipment) -> PreparedWorkflow {
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
}

/// Everything a run leaves: what it stores, what it tells, and the state it ends with.
async fn left_by(prepared: &PreparedWorkflow, values: Values) -> (String, bool) {
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

/// What a run leaves whose model and tool say these texts.
async fn left_after(secret: &str, said_by_model: String, said_by_tool: String) -> (String, Pieces) {
    let tool = FunctionTool::dynamic("login", "Logs in.", json!({"type": "object"}), move |_, _: Value| {
        let said = said_by_tool.clone();
        async move { Ok::<_, convoke_core::Error>(said) }
    });
    let model =
        Pieces::new([calls("login", &json!({}), &[]), in_pieces(&said_by_model, &[3, 5, 2]), said("ok")]);
    let mut equipment = equipment(&model, secret);
    equipment.tools = Toolset::new().with(tool.unwrap()).unwrap();
    let (left, succeeded) = left_by(&prepared(&equipment), Values::new()).await;
    assert!(succeeded, "{left}");
    (left, model)
}

#[tokio::test]
async fn a_secret_from_a_file_is_hidden_without_what_is_around_it() {
    for secret in ["sk-live-0123456789\n", "  sk-live-0123456789\r\n", "\tsk-live-0123456789 "] {
        let told = |who: &str| format!("{who} used sk-live-0123456789 to log in");
        let (left, model) = left_after(secret, told("I"), told("it")).await;
        assert!(!left.contains("sk-live-0123456789"), "{left}");
        assert!(model.asked().contains("it used sk-live-0123456789 to log in"), "{}", model.asked());
    }
}

#[tokio::test]
async fn every_line_of_a_secret_is_hidden_by_itself() {
    let lines =
        ["-----BEGIN KEY-----", "MIIEvQIBADANBgkqhkiG9w0B", "AQEFAASCBKcwggSjAgEAAoIB", "-----END KEY-----"];
    let secret = format!("{}\n", lines.join("\n"));
    let (left, model) = left_after(&secret, format!("line 2 is {}", lines[1]), lines[2].to_owned()).await;
    assert!(!left.contains(lines[1]) && !left.contains(lines[2]), "{left}");
    assert!(model.asked().contains(lines[2]), "{}", model.asked());
}

#[tokio::test]
async fn a_secret_is_hidden_in_base64_in_addresses_and_in_json_within_json() {
    let secret = "k3y/with+a\"quote?";
    let once = json!({ "key": secret }).to_string();
    let forms = [
        "azN5L3dpdGgrYSJxdW90ZT8=",
        "azN5L3dpdGgrYSJxdW90ZT8",
        // The same within `user:…`, and with a line break after it.
        "dXNlcjprM3kvd2l0aCthInF1b3RlPw==",
        "azN5L3dpdGgrYSJxdW90ZT8K",
        "k3y%2Fwith%2Ba%22quote%3F",
        "k3y%2fwith%2ba%22quote%3f",
        once.as_str(),
        &json!({ "body": once }).to_string(),
    ];
    for form in forms {
        let (left, model) =
            left_after(secret, format!("I sent {form} there"), format!("got {form} here")).await;
        for length in [form.len() / 2, 12] {
            for start in 0..=form.len() - length {
                let part = &form[start..start + length];
                // What JSON puts around it is no secret.
                if !part.contains("key") && !part.contains("body") && !part.ends_with(['=', '}']) {
                    assert!(!left.contains(part), "{part} of {form}");
                }
            }
        }
        let asked = model.asked();
        // Exactly as it was, but for what nobody writes like that.
        if form.starts_with("azN5") || form.contains("%2F") {
            assert!(asked.contains(&format!("got {form} here")), "{asked}");
        }
    }
}

#[tokio::test]
async fn what_a_tool_cut_does_not_tell_most_of_the_secret() {
    let secret = "s3cr3t-t0k3n-0123456789";
    for (cut, left_of_it) in [
        ("a: s3cr3t-t0k3n-012 […]", "s3cr3t-t"),
        ("out\n[… 20480 bytes left out …]\n-t0k3n-0123456789\nmore", "-0123456"),
        ("…r3t-t0k3n-012345…", "t-t0k3n-"),
        ("s3cr3t-t0k3n-01234567", "s3cr3t-t"),
    ] {
        let (left, model) = left_after(secret, "done".to_owned(), cut.to_owned()).await;
        assert!(!left.contains(left_of_it), "{cut}: {left}");
        assert!(model.asked().contains(&cut.replace('\n', "\\n")), "{}", model.asked());
    }
}

#[tokio::test]
async fn what_a_model_server_says_of_itself_does_not_tell_the_secret() {
    let secret = "s3cr3t-t0k3n-0123456789";
    let id = || Some(format!("reply-to-{secret}"));
    let mut first = said("logged in");
    first.pop();
    first.push(Ok(ReplyDelta::Finished { reason: FinishReason::Stop, request_id: id() }));
    let mut error =
        ModelError::new(ModelErrorKind::InvalidRequest, format!("no JSON: {{\"key\": \"{}", &secret[..16]));
    error.request_id = id();
    let model = Pieces::new([first, vec![Err(error)]]);
    let (left, succeeded) = left_by(&prepared(&equipment(&model, secret)), Values::new()).await;
    assert!(!succeeded);
    assert!(left.contains("no JSON") && left.contains("reply-to-⟦secret:token:"), "{left}");
    assert!(!left.contains(&secret[..8]), "{left}");
}

/// A tool that asks a person and reports how far it is, with what it was given.
fn asking_tool() -> FunctionTool {
    let schema = json!({"type": "object"});
    let tool = FunctionTool::dynamic("login", "Logs in.", schema, |context, arguments: Value| async move {
        let password = arguments["password"].as_str().unwrap().to_owned();
        let value = json!({"message": format!("step 1 with {password}")});
        context.scope.emit(EventKind::Custom { name: "mcp.progress".to_owned(), value }).await;
        let question = Question::choice(format!("Use {password}?"), [password.clone(), "another".to_owned()])
            .details(format!("it is {password}"))
            .about(json!({"default": password}));
        let answer = context.scope.ask(question).await?;
        match answer.decision {
            Decision::Choose { option } if option == password => Ok::<_, convoke_core::Error>("took it"),
            other => panic!("{other:?}"),
        }
    });
    tool.unwrap().idempotent()
}

#[tokio::test]
async fn what_a_tool_asks_and_reports_does_not_tell_the_secret() {
    let secret = "hunter22-and-more";
    let folder = tempfile::tempdir().unwrap();
    let hears = Hears::default();
    let runtime = || {
        let store = SqliteStore::open(folder.path().join("runs.db")).unwrap();
        Runtime::builder().store(store).observer(hears.clone()).build()
    };
    let model = Pieces::new([calls("login", &json!({"password": secret}), &[]), said("in"), said("ok")]);
    let mut equipment = equipment(&model, secret);
    equipment.tools = Toolset::new().with(asking_tool()).unwrap();
    let prepared = prepared(&equipment);
    let bound = prepared.bind(Values::new()).unwrap();
    let first = runtime();
    let started = first.start(&prepared.workflow(), bound.state).await.unwrap();
    let [asked] = started.questions() else { panic!("{:?}", started.error) };
    let QuestionKind::Choice { options } = &asked.question.kind else { panic!("{asked:?}") };
    assert!(asked.question.title.starts_with("Use ⟦secret:token:"), "{asked:?}");

    let answer = Answer::new(Decision::Choose { option: options[0].clone() });
    drop(first);
    let store = SqliteStore::open(folder.path().join("runs.db")).unwrap();
    store.answer(&started.run, &asked.id, answer).await.unwrap();
    drop(store);
    let ended = runtime().resume(&prepared.workflow(), started.run.clone()).await.unwrap();
    assert!(ended.error.is_none(), "{:?}", ended.error);
    assert!(model.asked().contains("took it"), "{}", model.asked());
    let mut left = format!("{:?}\n{:?}\n{}", started.error, ended.state, hears.0.lock().unwrap());
    for file in std::fs::read_dir(folder.path()).unwrap() {
        left.push_str(&String::from_utf8_lossy(&std::fs::read(file.unwrap().path()).unwrap()));
    }
    assert!(left.contains("step 1 with ⟦secret:token:") && left.contains("it is ⟦secret:token:"), "{left}");
    assert!(!left.contains(secret), "{left}");
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

#[tokio::test]
async fn what_a_tool_keeps_with_its_calls_has_no_secret_in_it() {
    let schema = json!({"type": "object"});
    let login = FunctionTool::dynamic("login", "Logs in.", schema.clone(), |_, _: Value| async {
        Ok::<_, Error>("in")
    })
    .unwrap()
    .effects([ToolEffect::Writes])
    .repeat(Repeat::Never)
    .prepare(|arguments: Value| async move { Preparation::default().keeping(json!({"was": arguments})) });
    let noting = |context: ToolContext, arguments: Value| async move {
        context.scope.leave_note(json!({"noted": arguments}));
        Ok::<_, Error>("noted")
    };
    let noting = FunctionTool::dynamic("noting", "Notes.", schema, noting).unwrap();
    let call = |index: usize, name: &str| {
        let started =
            ReplyDelta::ToolCallStarted { index, id: format!("call-{index}"), name: name.to_owned() };
        let delta = json!({"password": "s3cr3t-t0k3n-xyz"}).to_string();
        [Ok(started), Ok(ReplyDelta::ToolCallArguments { index, delta })]
    };
    let mut calls: Vec<Result<ReplyDelta, ModelError>> =
        call(0, "login").into_iter().chain(call(1, "noting")).collect();
    calls.push(finished(FinishReason::ToolCalls));
    let model = Pieces::new([calls, said("done")]);
    let mut equipment = equipment(&model, "s3cr3t-t0k3n-xyz");
    equipment.tools = Toolset::new().with(login).unwrap().with(noting).unwrap();
    let (left, _) = left_by(&prepared(&equipment), Values::new()).await;
    assert!(left.contains("noted") && left.contains("\"was\""), "both were kept");
    assert!(!left.contains("s3cr3t-t0k3n-xyz"), "{left}");
}

#[test]
fn a_secret_given_again_takes_the_place_of_that_one_and_of_no_other() {
    let mut secrets = Secrets::new().with("token", "the first of them").with("password", "another one");
    secrets.set("token", "the second of them");
    assert_eq!(secrets.names().collect::<Vec<_>>(), ["password", "token"]);
    assert!(secrets.has("password") && secrets.has("token") && !secrets.has("key"));
    assert_eq!(format!("{secrets:?}"), r#"Secrets["password", "token"]"#, "names only");
}
