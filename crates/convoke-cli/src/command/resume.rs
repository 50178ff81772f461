//! `convoke resume`

use std::path::Path;

use convoke_core::store::{RunQuery, RunRecord};
use convoke_core::{Outcome, RunStatus, WhenBusy};
use convoke_goals::agentfile::model::Input;
use convoke_history::History;
use convoke_host::store::must_be_out_of_reach;
use convoke_host::tools::ServerStartup;
use convoke_host::{GivenInputs, GoOnOptions, Host, HostError, LoadedFile, Manifest, is_standard_input};

use crate::arguments::Arguments;
use crate::diagnostics::{tell, valid};
use crate::failure::Failure;
use crate::run::{Format, Prompt, ResumeArguments, RunNotes, RunSource, give_of, load, take_secrets_off};
use crate::select;
use crate::session::{Session, secret_options};
use crate::terminal::text;
use crate::{fork_advice, host, shell};

pub(super) async fn run(
    session: &mut Session<'_>,
    wanted: &ResumeArguments,
    arguments: &Arguments,
) -> Result<(), Failure> {
    let record = match &wanted.run {
        Some(run) => select::run(session, run).await?,
        None => newest(session).await?,
    };
    go_on(session, &record, wanted, arguments).await
}

/// Goes on with this run.
pub(super) async fn go_on(
    session: &mut Session<'_>,
    record: &RunRecord,
    wanted: &ResumeArguments,
    arguments: &Arguments,
) -> Result<(), Failure> {
    let Some(kept) = Manifest::of(record) else {
        let how = session.resuming(record);
        return Err(Failure::failed(format!(
            "run {} is not a run of an Agentfile, a pack or a graph",
            record.id
        ))
        .hint(how));
    };
    if !wanted.changed_file && record.status != RunStatus::Completed && !fork_advice::can_go_on(record) {
        return Err(ended(session, record).await?);
    }
    take_secrets_off(&wanted.input, &kept.inputs(), true)?;
    let host = host::load(arguments)?;
    let (loaded, manifest) = source(session, &host, record, kept, wanted.changed_file)?;
    let definition = valid(&loaded)?;
    // A file that has changed may have other secrets.
    take_secrets_off(&wanted.input, definition.inputs(), true)?;
    if record.status == RunStatus::Completed {
        let source = RunSource { definition: &*definition, manifest: &manifest };
        return completed(session, record, source, wanted.common.output).await;
    }
    let mut options = options(wanted);
    must_fit(session, &host, record, &manifest, &options)?;
    let mut prompt = Prompt::new(!wanted.common.no_input);
    let secrets: Vec<Input> = definition.inputs().iter().filter(|input| input.secret).cloned().collect();
    let mut given = GivenInputs::read(&wanted.input, None, None);
    let missing: Vec<Input> = given.missing(&secrets).into_iter().cloned().collect();
    prompt.fill(&mut given, missing, session.output).await?;
    let mut again = manifest.clone();
    again.policy = options.policy.clone().or(again.policy);
    let again = session.resume(&record.id, &again);
    let how = format!("secrets are not kept with a run: give them again, with `{again}` or `-i name=@file`");
    options.secrets =
        given.secrets(definition.inputs()).map_err(|invalid| Failure::from(invalid).hint(how))?;
    let mut notes = Vec::new();
    let preparing = async {
        let prepared = host.prepare_again(loaded, manifest, &options, ServerStartup::Start, &mut notes).await;
        prepared.map_err(Failure::from)
    };
    let prepared = prompt.unless_interrupted(preparing).await;
    host::tell(&notes, session.output);
    let mut prepared = prepared?;
    prompt.unless_interrupted(load(&mut prepared, session.output)).await?;
    let when_busy = if wanted.take_over { WhenBusy::TakeOver } else { WhenBusy::Refuse };
    let run = record.id.clone();
    crate::run::go_on(prepared, session, run, &wanted.common, when_busy, prompt, arguments.color).await
}

/// Refuses to go on at once with a run that is answered if it needs what cannot be given with an answer, or another folder: before
/// the answer is kept. A run that is no run of an Agentfile is refused when it is to go on.
pub(super) fn must_have_what_it_takes(
    session: &Session<'_>,
    record: &RunRecord,
    wanted: &ResumeArguments,
    arguments: &Arguments,
) -> Result<(), Failure> {
    // Whoever works on it has it all.
    let Some(kept) = Manifest::of(record).filter(|_| record.holder.is_none()) else { return Ok(()) };
    let host = host::load(arguments)?;
    must_fit(session, &host, record, &kept, &options(wanted))?;
    must_be_out_of_reach(host.config(), &arguments.store)?;
    if secret_options(&kept).is_empty() || Prompt::new(!wanted.common.no_input).is_there() {
        return Ok(());
    }
    let again = session.resume(&record.id, &kept);
    Err(Failure::usage(
        "secrets are not kept with a run, and cannot be given with an answer: nothing was answered",
    )
    .hint(format!("leave `--resume` out, and then go on with `{again}`")))
}

/// What is said on the command line, to hold from now on.
fn options(wanted: &ResumeArguments) -> GoOnOptions {
    let mut options = GoOnOptions::default();
    options.model.clone_from(&wanted.common.model);
    options.policy.clone_from(&wanted.common.policy);
    options.limits.clone_from(&wanted.common.budget);
    options.timeout = wanted.common.timeout;
    options.anywhere = wanted.here;
    options
}

/// Refuses to go on with a run that does not fit here, and says what does.
pub(super) fn must_fit(
    session: &Session<'_>,
    host: &Host,
    record: &RunRecord,
    kept: &Manifest,
    options: &GoOnOptions,
) -> Result<(), Failure> {
    host.must_fit(record, kept, options).map_err(|error| {
        let failure = Failure::usage(text::clean(&error.to_string()));
        match error {
            HostError::Elsewhere { there, .. } => {
                let again = session.resume_from(&record.id, kept);
                if there.is_gone() {
                    return failure
                        .hint(format!("to let the run work in this folder, add `--here` to `{again}`"));
                }
                let folder = shell::quoted(&there.here.display().to_string());
                failure.hint(format!("go on there: `cd {folder} && {again}`")).hint(format!(
                    "if that folder is this one now, or the run is to work here: add `--here` to `{again}`"
                ))
            }
            HostError::PolicyToBeNamed { .. } => failure.hint(format!(
                "`{}` goes on under it; another one may be named as well",
                session.resume(&record.id, kept)
            )),
            other => other.into(),
        }
    })
}

/// Gives the result of a run that is done, which takes no model.
async fn completed(
    session: &mut Session<'_>,
    record: &RunRecord,
    source: RunSource<'_>,
    format: Format,
) -> Result<(), Failure> {
    let ending = History::load(&*session.store, &record.id).await?.ending;
    let state = ending.and_then(|ending| ending.state).unwrap_or_default();
    let (run, status, totals) = (record.id.clone(), record.status, record.totals);
    give_of(
        session,
        source,
        format,
        &Outcome { run, status, state, error: None, totals },
        RunNotes { is_quiet: true, ..RunNotes::default() },
    )
    .await
}

/// Why a run does not go on that was ended by a decision, and what does.
async fn ended(session: &Session<'_>, record: &RunRecord) -> Result<Failure, Failure> {
    let history = History::load(&*session.store, &record.id).await?;
    let why = history.ending.as_ref().and_then(|ending| ending.error.clone()).unwrap_or_default();
    // It begins with what it was: halted, or cancelled.
    let told = format!("run {} was {why}", record.id);
    let failure = match record.status {
        RunStatus::Cancelled => Failure::cancelled(told),
        _ => Failure::failed(told),
    };
    Ok(fork_advice::otherwise(session, &history).into_iter().fold(failure, Failure::hint))
}

/// The newest run of an Agentfile that can go on, and on which nobody works.
async fn newest(session: &Session<'_>) -> Result<RunRecord, Failure> {
    let runs = session.store.runs(&RunQuery::default()).await?;
    let can = |record: &RunRecord| {
        record.holder.is_none() && fork_advice::can_go_on(record) && Manifest::of(record).is_some()
    };
    runs.into_iter().find(can).ok_or_else(|| {
        Failure::not_found(format!("no run of an Agentfile in {} is left to be resumed", session.place))
            .hint(format!("`{}` lists the runs there are", session.command("runs")))
    })
}

/// The file as it was when the run began, or as it is now.
fn source(
    session: &mut Session<'_>,
    host: &Host,
    record: &RunRecord,
    kept: Manifest,
    changed: bool,
) -> Result<(LoadedFile, Manifest), Failure> {
    let now = match is_standard_input(Path::new(&kept.path)) {
        true => Err(Failure::failed("the file came on standard input: there is no other")),
        false => host.load(&kept.path).map_err(Failure::from),
    };
    let (loaded, manifest) = match changed {
        true => (now?, kept),
        false => {
            if now.as_ref().is_ok_and(|now| now.differs_from(&kept)) {
                session.output.note(&format!(
                    "{} has changed since; the run goes on with the file as it was. `--changed-file` takes the new one",
                    kept.path
                ));
            }
            host.restore(record)?
        }
    };
    if loaded.definition.is_none() {
        tell(&loaded.source, &loaded.diagnostics, session.output);
    }
    Ok((loaded, manifest))
}
