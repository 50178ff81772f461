//! `convoke chat`

use std::io::{self, IsTerminal};
use std::sync::Arc;

use convoke_agent::memory::Memories;
use convoke_core::{Error, ModelParams, Outcome, RunId, RunStatus};
use convoke_history::json::UsageView;
use convoke_host::chat::{Chat, ChatError, ContinuedChat, PreparedChat, StoredChat, is_chat};
use convoke_host::stored::{LAST, StoreUse};
use convoke_host::{FailureReport, Host, is_cancelled_for_good};
use serde_json::json;

use crate::arguments::{self, Arguments};
use crate::chat::{ChatResponder, ChatView, cut_short};
use crate::failure::{Exit, Failure};
use crate::files;
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
            let session = Session::open(arguments, StoreUse::Make, output)?;
            let earlier = find(&session, run).await?;
            let is_silent = !has_words && !io::stdin().is_terminal();
            if is_silent && earlier.awaits_words(&*session.store).await? {
                return Err(nothing_to_say());
            }
            Some(earlier)
        }
        None => None,
    };
    let mut chat = chat_of(wanted, opening.clone());
    if let Some(earlier) = &earlier {
        chat.keep_model_of(&earlier.chat);
        // What was to be remembered still is.
        chat.memory = chat.memory.or_else(|| earlier.chat.memory.clone());
    }
    let host = host::load(arguments)?;
    let models = host.models()?;
    let choice = models.choose(chat.model.as_deref()).await?;
    let name = choice.model.ok_or_else(|| {
        FailureReport::failed("there is no model to talk to")
            .detailed(choice.findings.iter().map(ToString::to_string))
            .hint("set a provider's key (ANTHROPIC_API_KEY, OPENAI_API_KEY, …), or name a model with --model")
    })?;
    if earlier.is_some() && chat.model.is_none() {
        output.note(&format!(
            "this conversation does not say which model it was held with: it goes on with {name}; `-m` names another"
        ));
    }
    // Everything that may be wrong comes before what may have a gigabyte to fetch.
    models.check(&name)?;
    let memories = chat.memory.as_deref().map(|name| remembering(&host, name)).transpose()?;
    if !wanted.forget {
        Session::open(arguments, StoreUse::Make, output)?;
    }
    let model = open(&models, &name, output).await?;
    let mut notes = Vec::new();
    let prepared = PreparedChat::new(&models, chat, &name, model, memories, &mut notes);
    let stop = prepared.stop().clone();
    let person = io::stdin().is_terminal().then(|| ChatResponder::new(stop.clone()));
    if is_conversation && person.is_some() {
        output.aside(&format!("{name} · /help says what can be typed; /quit or Ctrl-D leaves"));
    }
    output.notes(&notes);
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
        let (stream, telemetry) = prepared.start(None, None, person.clone());
        let watched = view(output, Signals::listen()?).run(stream).await;
        logging::finish(&telemetry, output).await;
        let (outcome, begun) = watched?;
        return ended(outcome, begun, None, output, arguments.json).map(drop);
    }
    let mut session = Session::open(arguments, StoreUse::Make, output)?;
    let continued = match earlier {
        Some(earlier) => Some(go_on(&mut session, earlier, opening).await?),
        None => None,
    };
    let (stream, telemetry) = prepared.start(Some(Arc::clone(&session.store)), continued, person.clone());
    let watched = view(session.output, Signals::listen()?).run(stream).await;
    logging::finish(&telemetry, session.output).await;
    let (outcome, begun) = watched?;
    let again = session.about("chat --continue", &outcome.run, "");
    let has_said = outcome.state.last.is_some();
    let run = outcome.run.clone();
    let status = match ended(outcome, begun, Some(&run), session.output, session.json) {
        Err(Failure::Ended(exit)) => {
            let record = session.store.run(&run).await?;
            match record.filter(is_cancelled_for_good) {
                Some(record) => {
                    let FailureReport { message, hints, .. } = session.ended_for_good(&record).await?;
                    session.output.notes(std::iter::once(message).chain(hints));
                }
                None => session.output.note(&format!("stopped; go on with `{again}`")),
            }
            return Err(Failure::Ended(exit));
        }
        ended => ended?,
    };
    if status == RunStatus::Suspended || (is_conversation && has_said) {
        session.output.note(&format!("go on with `{again}`"));
    }
    Ok(())
}

/// The conversation of this run; for `last` the newest one that can go on.
async fn find(session: &Session<'_>, wanted: &str) -> Result<StoredChat, Failure> {
    if wanted != LAST {
        let record = session.find(wanted).await?;
        if is_chat(&record) && is_cancelled_for_good(&record) {
            return Err(session.ended_for_good(&record).await?.into());
        }
        return StoredChat::of(record).map_err(|error| match error {
            ChatError::NotAChat { .. } => Failure::from(error)
                .hint(format!("`{}` lists conversations", session.command("runs --workflow chat"))),
            other => other.into(),
        });
    }
    StoredChat::newest(&*session.store).await?.ok_or_else(|| {
        Failure::not_found(format!("there is no conversation in {} that can go on", session.place))
            .hint("`convoke chat` begins one; a question with its answer, `convoke chat \"…\"`, is over")
    })
}

/// The run that it goes on in, with these words said in it, if there are any, or to be said in it.
async fn go_on(
    session: &mut Session<'_>,
    earlier: StoredChat,
    words: Option<String>,
) -> Result<ContinuedChat, Failure> {
    let before = earlier.run().clone();
    let continued = earlier.go_on(&session.store, words).await?;
    let run = &continued.run;
    if *run != before {
        session.output.note(&format!("the conversation of run {before} was over; it goes on in run {run}"));
    }
    Ok(continued)
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
        ..Chat::default()
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
        Some("-") => files::standard_input()?,
        None if !io::stdin().is_terminal() => files::standard_input()?,
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

/// What came of it; `begun` is what was said of an answer that was broken off, `kept` its run, if it was kept.
fn ended(
    outcome: Outcome<Chat>,
    begun: String,
    kept: Option<&RunId>,
    output: &mut Output,
    json: bool,
) -> Result<RunStatus, Failure> {
    let status = outcome.status;
    let naming = |failure: FailureReport| failure.detailed(kept.map(|run| format!("run {run}")));
    if status == RunStatus::Cancelled {
        if json {
            output.json(&json!({
                "run": kept,
                "status": status,
                "model": outcome.state.model,
                "text": begun,
                "finish": null,
                "usage": UsageView::from(&outcome.totals.usage),
            }))?;
        }
        return Err(Failure::Ended(Exit::Cancelled));
    }
    if let Some(error) = outcome.error.filter(|error| !matches!(error.root(), Error::Suspended(_))) {
        return Err(naming(error.into()).into());
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
            Err(naming(FailureReport::failed(why)).into())
        }
        _ => Ok(status),
    }
}
