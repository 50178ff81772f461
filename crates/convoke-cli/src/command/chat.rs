//! `convoke chat`

use std::io::{self, IsTerminal, Read};
use std::sync::Arc;

use convoke_agent::memory::Memories;
use convoke_core::{Error, ModelParams, Outcome, RunId, RunStatus, Runtime, Transcript};
use convoke_history::json::UsageView;
use convoke_host::Host;
use convoke_host::RunTelemetry;
use convoke_host::chat::{Chat, ChatParts, FirstWords, ReplyStop, workflow};
use convoke_store::MemoryStore;
use serde_json::json;

use crate::arguments::{self, Arguments};
use crate::chat::{ChatView, Person, cut_short, resume};
use crate::failure::{Exit, Failure};
use crate::host;
use crate::logging;
use crate::run::{Signals, open};
use crate::session::Session;
use crate::terminal::Output;

pub(crate) async fn run(
    arguments: &Arguments,
    wanted: &arguments::Chat,
    output: &mut Output,
) -> Result<(), Failure> {
    let opening = opening(wanted)?;
    let has_words = opening.is_some();
    let is_conversation = !has_words || wanted.resume.is_some();
    let earlier = match &wanted.resume {
        Some(run) => {
            let session = Session::open_or_make(arguments, output)?;
            let earlier = resume::find(&session, run).await?;
            let is_silent = !has_words && !io::stdin().is_terminal();
            if is_silent && earlier.awaits_words(&*session.store).await? {
                return Err(nothing_to_say());
            }
            Some(earlier)
        }
        None => None,
    };
    let mut chat = chat_of(wanted, opening.clone());
    if let Some(earlier) = &earlier
        && wanted.model.is_none()
    {
        // What was said to one model is not said to another unless somebody asks for that.
        chat.model.clone_from(&earlier.chat.model);
        chat.model_asked = earlier.chat.model_asked;
    }
    if let Some(earlier) = &earlier {
        // What was to be remembered still is.
        chat.memory = chat.memory.or_else(|| earlier.chat.memory.clone());
    }
    let host = host::load(arguments)?;
    let models = host.models()?;
    let choice = models.choose(chat.model.as_deref()).await?;
    let name = choice.model.ok_or_else(|| {
        let looked = choice.findings.iter().map(ToString::to_string);
        looked
            .fold(Failure::failed("there is no model to talk to"), Failure::detail)
            .hint("set a provider's key (ANTHROPIC_API_KEY, OPENAI_API_KEY, …), or name a model with --model")
    })?;
    if earlier.is_some() && chat.model.is_none() {
        output.note(&format!(
            "this conversation does not say which model it was held with: it goes on with {name}; `-m` names another"
        ));
    }
    // It may be gone on with from another folder.
    chat.model = Some(name.clone().absolute().to_string());
    let mut model = open(&models, &name, output).await?;
    // Who asks for a model by name gets that one or an error.
    if !chat.model_asked {
        model = models.falling_back(model, &models.config.fallback());
    }
    let stop = ReplyStop::new();
    let person = io::stdin().is_terminal().then(|| Person::new(stop.clone()));
    if is_conversation && person.is_some() {
        output.aside(&format!("{name} · /help says what can be typed; /quit or Ctrl-D leaves"));
    }
    let memories = match &chat.memory {
        Some(name) => Some((remembering(&host, name)?, Arc::clone(&model))),
        None => None,
    };
    let workflow = workflow(ChatParts { model: stop.over(model), memories });
    let mut notes = Vec::new();
    let telemetry = RunTelemetry::start(&models.config, &mut notes);
    host::tell(&notes, output);
    let runtime = telemetry.watch(Runtime::builder());
    let limits = models.config.limits();
    let view = |output, signals| ChatView {
        output,
        is_json: arguments.json,
        is_conversation,
        has_words,
        model: name.to_string(),
        person: person.clone(),
        stop,
        signals,
    };
    if wanted.forget {
        let runtime = runtime.responder(FirstWords::new(None, person.clone()));
        let runtime = runtime.store(MemoryStore::new()).build();
        let stream = runtime.start(&workflow, chat).limits(limits).stream();
        let told = view(output, Signals::listen()?).run(stream).await;
        logging::finish(&telemetry, output).await;
        return ended(told?, None, output, arguments.json).map(drop);
    }
    let mut session = Session::open_or_make(arguments, output)?;
    let (continued, unsaid) = match earlier {
        Some(earlier) => {
            let continued = resume::go_on(&mut session, earlier, opening).await?;
            (Some(continued.run), continued.unsaid)
        }
        None => (None, None),
    };
    let runtime = runtime.responder(FirstWords::new(unsaid, person.clone()));
    let runtime = runtime.shared_store(Arc::clone(&session.store)).build();
    let start = match continued {
        Some(run) => runtime.resume(&workflow, run),
        None => runtime.start(&workflow, chat),
    };
    let stream = start.limits(limits).stream();
    let told = view(session.output, Signals::listen()?).run(stream).await;
    logging::finish(&telemetry, session.output).await;
    let outcome = told?;
    let again = session.about("chat --continue", &outcome.run, "");
    let has_said = outcome.state.last.is_some();
    let run = outcome.run.clone();
    let status = match ended(outcome, Some(&run), session.output, session.json) {
        Err(Failure::Ended(exit)) => {
            session.output.note(&format!("stopped; go on with `{again}`"));
            return Err(Failure::Ended(exit));
        }
        ended => ended?,
    };
    if status == RunStatus::Suspended || (is_conversation && has_said) {
        session.output.note(&format!("go on with `{again}`"));
    }
    Ok(())
}

fn chat_of(wanted: &arguments::Chat, opening: Option<String>) -> Chat {
    let mut params = ModelParams::default();
    params.max_tokens = wanted.max_tokens;
    params.temperature = wanted.temperature;
    Chat {
        system: wanted.system.clone(),
        goes_on: opening.is_none(),
        opening,
        model: wanted.model.clone(),
        model_asked: wanted.model.is_some(),
        params,
        memory: wanted.memory.clone(),
        said: Transcript::new(),
        last: None,
    }
}

/// What the conversation is remembered in.
fn remembering(host: &Host, name: &str) -> Result<Arc<dyn Memories>, Failure> {
    let memory = host.memory()?;
    memory.session(name).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(Arc::new(memory))
}

/// What is said first, if it is not to be typed. A conversation that goes on may have an answer to give before anybody speaks.
fn opening(wanted: &arguments::Chat) -> Result<Option<String>, Failure> {
    let words = match wanted.prompt.as_deref() {
        Some("-") => typed()?,
        None if !io::stdin().is_terminal() => typed()?,
        Some(words) => words.to_owned(),
        None => return Ok(None),
    };
    if !words.trim().is_empty() {
        return Ok(Some(words));
    }
    match wanted.prompt.is_none() && wanted.resume.is_some() {
        true => Ok(None),
        false => Err(nothing_to_say()),
    }
}

fn nothing_to_say() -> Failure {
    Failure::usage("there is nothing to say").hint("write `convoke chat 'WHAT TO SAY'`")
}

fn typed() -> Result<String, Failure> {
    let mut words = String::new();
    io::stdin()
        .read_to_string(&mut words)
        .map_err(|error| Failure::failed(format!("standard input cannot be read: {error}")))?;
    Ok(words)
}

/// What came of it; `kept` is its run, if it was kept.
fn ended(
    outcome: Outcome<Chat>,
    kept: Option<&RunId>,
    output: &mut Output,
    json: bool,
) -> Result<RunStatus, Failure> {
    let status = outcome.status;
    let naming = |failure: Failure| match kept {
        Some(run) => failure.detail(format!("run {run}")),
        None => failure,
    };
    if status == RunStatus::Cancelled {
        return Err(Failure::Ended(Exit::Cancelled));
    }
    if let Some(error) = outcome.error.filter(|error| !matches!(error.root(), Error::Suspended(_))) {
        return Err(naming(Failure::from(error)));
    }
    let finish = outcome.state.last.as_ref().map(|reply| reply.finish);
    if json && let Some(reply) = &outcome.state.last {
        output.json(&json!({
            "run": kept,
            "status": status,
            "model": reply.model,
            "text": reply.text(),
            "finish": reply.finish,
            "usage": UsageView::from(&reply.usage),
        }))?;
    }
    // Half an answer is no answer to a program that asked once.
    match finish.and_then(cut_short) {
        Some(why) if status == RunStatus::Completed && !outcome.state.goes_on => {
            Err(naming(Failure::failed(why)))
        }
        _ => Ok(status),
    }
}
