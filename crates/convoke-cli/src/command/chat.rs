//! `convoke chat`

use std::io::{self, IsTerminal, Read, Write};
use std::sync::Arc;

use convoke_core::{
    Answer, BoxFuture, Error, EventKind, FinishReason, ModelParams, Outcome, PendingQuestion, Responder,
    RunId, RunStatus, RunStream, Runtime,
};
use convoke_store::MemoryStore;
use serde_json::json;

use crate::arguments::{Arguments, Chat};
use crate::chat;
use crate::failure::Failure;
use crate::human;
use crate::models::Models;
use crate::observe::Watchers;
use crate::select;
use crate::session::Session;
use crate::shell;
use crate::terminal::{Output, text};
use crate::view::UsageView;

pub(crate) async fn run(arguments: &Arguments, wanted: &Chat, output: &mut Output) -> Result<(), Failure> {
    let opening = opening(wanted.prompt.as_deref())?;
    let is_conversation = opening.is_none() || wanted.resume.is_some();
    let models = Models::load(arguments)?;
    let choice = models.choose(wanted.model.as_deref()).await?;
    let name = choice.model.ok_or_else(|| {
        let looked = choice.findings.iter().map(ToString::to_string);
        looked
            .fold(Failure::failed("there is no model to talk to"), Failure::detail)
            .hint("set a provider's key (ANTHROPIC_API_KEY, OPENAI_API_KEY, …), or name a model with --model")
    })?;
    let mut model = models.open(&name, output).await?;
    // Who asks for a model by name gets that one or an error.
    if wanted.model.is_none() {
        model = models.falling_back(model, &models.config.fallback());
    }
    let workflow = chat::workflow(model);
    let watchers = Watchers::start(&models.config, output);
    if wanted.forget {
        let runtime = watchers.watch(runtime()).store(MemoryStore::new()).build();
        let start = runtime.start(&workflow, chat_of(wanted, opening));
        let stream = start.limits(models.config.limits()).stream();
        let told = tell(stream, is_conversation, output, arguments.json).await;
        watchers.finish(output).await;
        return told.map(drop);
    }
    let session = Session::open_or_make(arguments, output)?;
    let runtime = watchers.watch(runtime()).shared_store(Arc::clone(&session.store)).build();
    let start = match &wanted.resume {
        Some(run) => {
            let run = resumable(&session, run).await?;
            if let Some(words) = opening {
                answer(&session, &run, words).await?;
            }
            runtime.resume(&workflow, run)
        }
        None => runtime.start(&workflow, chat_of(wanted, opening)),
    };
    let start = start.limits(models.config.limits());
    let told = tell(start.stream(), is_conversation, session.output, session.json).await;
    watchers.finish(session.output).await;
    let (run, status) = told?;
    if status == RunStatus::Suspended {
        let again = session.command(&format!("chat --continue {}", shell::quoted(run.as_str())));
        session.output.note(&format!("go on with `{again}`"));
    }
    Ok(())
}

fn chat_of(wanted: &Chat, opening: Option<String>) -> chat::Chat {
    let (system, params) = (wanted.system.clone(), params(wanted));
    chat::Chat { system, goes_on: opening.is_none(), opening, params, last: None }
}

/// What is said first, if it is not to be typed.
fn opening(prompt: Option<&str>) -> Result<Option<String>, Failure> {
    let words = match prompt {
        Some("-") => typed()?,
        None if !io::stdin().is_terminal() => typed()?,
        Some(words) => words.to_owned(),
        None => return Ok(None),
    };
    if words.trim().is_empty() {
        return Err(Failure::usage("there is nothing to say").hint("write `convoke chat 'WHAT TO SAY'`"));
    }
    Ok(Some(words))
}

fn typed() -> Result<String, Failure> {
    let mut words = String::new();
    io::stdin()
        .read_to_string(&mut words)
        .map_err(|error| Failure::failed(format!("standard input cannot be read: {error}")))?;
    Ok(words)
}

fn params(wanted: &Chat) -> ModelParams {
    let mut params = ModelParams::default();
    params.max_tokens = wanted.max_tokens;
    params.temperature = wanted.temperature;
    params
}

fn runtime() -> convoke_core::RuntimeBuilder {
    let builder = Runtime::builder();
    if io::stdin().is_terminal() { builder.responder(Person) } else { builder }
}

/// The run of an earlier conversation.
async fn resumable(session: &Session<'_>, wanted: &str) -> Result<RunId, Failure> {
    let record = select::run(session, wanted).await?;
    if record.workflow != chat::NAME {
        let workflow = text::one_line(&record.workflow);
        return Err(Failure::failed(format!(
            "run {} is no conversation: its workflow is `{workflow}`",
            record.id
        ))
        .hint(format!("`{}` lists conversations", session.command("runs --workflow chat"))));
    }
    if record.status == RunStatus::Completed {
        return Err(Failure::failed(format!("the conversation of run {} is over", record.id))
            .hint("a conversation that is to go on begins with `convoke chat` and no text"));
    }
    Ok(record.id)
}

/// Says the next words in a conversation that waits for them.
async fn answer(session: &Session<'_>, run: &RunId, words: String) -> Result<(), Failure> {
    let open = session.store.questions(Some(run)).await?;
    let turn = open.into_iter().find(|pending| pending.question.title == chat::TURN).ok_or_else(|| {
        Failure::failed(format!("run {run} does not wait for anybody to speak"))
            .hint("leave the text out to let it go on first")
    })?;
    session.store.answer(run, &turn.id, Answer::text(words)).await?;
    Ok(())
}

/// Tells a conversation as it goes.
async fn tell(
    mut stream: RunStream<chat::Chat>,
    is_conversation: bool,
    output: &mut Output,
    json: bool,
) -> Result<(RunId, RunStatus), Failure> {
    // What is said live can be void a moment later. A person sees that; a file or another program gets whole answers.
    let is_live = !json && io::stdout().is_terminal();
    let mut whole = String::new();
    while let Some(event) = stream.next().await {
        match event.kind {
            EventKind::MessageDelta { text, .. } if !event.replayed => {
                if is_live {
                    output.piece(&text)?;
                }
                whole.push_str(&text);
            }
            EventKind::MessageRestarted { model, reason, .. } => {
                if is_live && !whole.is_empty() {
                    output.plain("")?;
                }
                whole.clear();
                output.note(&format!("{reason}; {model} begins anew"));
            }
            EventKind::MessageEnded { finish, usage, .. } if !event.replayed && !json => {
                if is_live {
                    output.plain("")?;
                } else {
                    output.plain(&whole)?;
                }
                output.flush()?;
                whole.clear();
                // Who asked once gets an error in the end.
                if is_conversation && let Some(note) = finish.and_then(cut_short) {
                    output.note(note);
                }
                if is_live && io::stderr().is_terminal() {
                    output.aside(&human::usage(&usage));
                }
            }
            _ => {}
        }
    }
    finish(stream.outcome().await?, output, json)
}

fn finish(
    outcome: Outcome<chat::Chat>,
    output: &mut Output,
    json: bool,
) -> Result<(RunId, RunStatus), Failure> {
    let (run, status) = (outcome.run, outcome.status);
    if let Some(error) = outcome.error.filter(|error| !matches!(error.root(), Error::Suspended(_))) {
        return Err(Failure::from(error).detail(format!("run {run}")));
    }
    let finish = outcome.state.last.as_ref().map(|reply| reply.finish);
    if json && let Some(reply) = &outcome.state.last {
        output.json(&json!({
            "run": run,
            "status": status,
            "model": reply.model,
            "text": reply.text(),
            "finish": reply.finish,
            "usage": UsageView::from(&reply.usage),
        }))?;
    }
    // Half an answer is no answer to a program that asked once.
    match finish.and_then(cut_short) {
        Some(why) if status == RunStatus::Completed => Err(Failure::failed(why).detail(format!("run {run}"))),
        _ => Ok((run, status)),
    }
}

/// Why an answer is not whole, if it is not.
fn cut_short(finish: FinishReason) -> Option<&'static str> {
    match finish {
        FinishReason::Length => {
            Some("the answer was cut off at its token limit; allow more with --max-tokens")
        }
        FinishReason::ContentFilter => Some("the model refused to answer; rephrase, or use another model"),
        _ => None,
    }
}

/// Whoever sits at the terminal.
struct Person;

impl Responder for Person {
    fn respond<'a>(&'a self, asked: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        let trouble = asked.question.details.clone();
        Box::pin(async move {
            // Typing takes as long as it takes; the thread ends with the process.
            let line = tokio::task::spawn_blocking(move || {
                let mut line = String::new();
                if !trouble.is_empty() {
                    let _ = writeln!(io::stderr(), "{}", text::clean(&trouble));
                }
                let _ = write!(io::stderr(), "> ");
                let _ = io::stderr().flush();
                loop {
                    match io::stdin().read_line(&mut line) {
                        Ok(0) | Err(_) => {
                            if io::stdin().is_terminal() {
                                let _ = writeln!(io::stderr());
                            }
                            return None;
                        }
                        Ok(_) if line.trim().is_empty() => line.clear(),
                        Ok(_) => return Some(line.trim().to_owned()),
                    }
                }
            });
            line.await.ok().flatten().map(Answer::text)
        })
    }
}
