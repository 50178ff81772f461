//! `convoke send`

use convoke_core::store::{Mail, NewMail};
use convoke_core::{RunStatus, StoreError};
use convoke_history::History;
use convoke_host::HostError;
use convoke_host::store::{check_mail, meant_channel, result_key, send, untaken_mail};
use serde_json::{Value, json};

use crate::arguments::Send;
use crate::failure::Failure;
use crate::session::Session;

pub(super) async fn run(session: &mut Session<'_>, arguments: &Send) -> Result<(), Failure> {
    let payload = payload(arguments)?;
    let record = session.find(&arguments.run).await?;
    let history = History::load(&*session.store, &record.id).await?;
    let ended = match record.status {
        RunStatus::Halted => Some("halted"),
        _ => convoke_host::is_cancelled_for_good(&record).then_some("cancelled for good"),
    };
    if let Some(ended) = ended {
        let refused = Failure::failed(format!("run `{}` was {ended}: nothing was sent", record.id));
        return Err(session.fork_instead(&history).into_iter().fold(refused, Failure::hint));
    }
    let channel = meant_channel(&history, &arguments.channel, &payload);
    let mut sent = untaken_mail(&*session.store, &history, channel).await?;
    if let Some(key) = &arguments.key {
        // Who sends the same once more is told that it is there.
        let known = session.store.mail_by_key(&record.id, key).await?;
        sent.retain(|mail| {
            let is_noted = |known: &Mail| {
                known.read::<(String, Value)>().is_ok_and(|(channel, said)| {
                    channel == mail.channel && mail.read().is_ok_and(|kept: Value| kept == said)
                })
            };
            let is_it = |known: &Mail| (&known.channel, known.number) == (&mail.channel, mail.number);
            !known.iter().any(|known| is_it(known) || is_noted(known))
        });
    }
    let payload = check_mail(&history, &sent, channel, &payload).map_err(|why| {
        let refused = Failure::failed(format!("{why}: nothing was sent"));
        let shows = session.about("show", &record.id, "");
        refused.hint(format!("`{shows}` says what it waits for, and how that is sent"))
    })?;
    let by = arguments.by.clone().unwrap_or_else(convoke_host::user_name);
    let mut mail = NewMail::json(channel, &payload)
        .map_err(|error| Failure::usage(error.to_string()))?
        .sender(by.trim());
    mail.key.clone_from(&arguments.key);
    let result_of = result_key(&history, channel, &payload);
    let posted = send(&*session.store, &record.id, mail, result_of).await.map_err(|error| match error {
        HostError::Store(StoreError::Over { .. }) | HostError::ResultSent { .. } => {
            Failure::failed(format!("{error}: nothing was sent"))
        }
        HostError::KeyTaken { .. } => Failure::failed(format!("{error}: nothing was sent"))
            .hint("leave `--key` out, or take another key, to send this as well"),
        error => error.into(),
    })?;
    if session.json {
        let (run, number, is_new) = (&record.id, posted.number, posted.is_new);
        session.output.json(&json!({"run": run, "channel": channel, "number": number, "is_new": is_new}))?;
    }
    if !posted.is_new {
        session.output.note("the run was sent this before: nothing was sent; another key sends it once more");
        return Ok(());
    }
    let now = session.store.run(&record.id).await?.unwrap_or(record);
    let next = session.after_mail(&now, channel);
    session.output.note(&format!("sent on `{channel}`: {next}"));
    Ok(())
}

fn payload(arguments: &Send) -> Result<Value, Failure> {
    match (&arguments.payload, &arguments.text) {
        (_, Some(text)) => Ok(Value::String(text.clone())),
        (Some(json), None) => serde_json::from_str(json).map_err(|error| {
            Failure::usage(format!("what is to be sent is not JSON: {error}"))
                .hint("a plain text is sent with `--text TEXT`")
        }),
        (None, None) => Ok(Value::Null),
    }
}
