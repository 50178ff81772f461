//! `convoke resume`

use convoke_core::store::RunRecord;
use convoke_core::{Outcome, RunStatus, WhenBusy};
use convoke_goals::agentfile::model::Input;
use convoke_history::History;
use convoke_host::store::must_be_out_of_reach;
use convoke_host::stored::RunSource;
use convoke_host::tools::ServerStartup;
use convoke_host::{GivenInputs, GoOnOptions, Manifest};

use crate::arguments::Arguments;
use crate::diagnostics::tell;
use crate::failure::Failure;
use crate::host;
use crate::run::{Format, Prompt, ResumeArguments, RunNotes, give, load, take_secrets_off};
use crate::session::Session;

pub(super) async fn run(
    session: &mut Session<'_>,
    wanted: &ResumeArguments,
    arguments: &Arguments,
) -> Result<(), Failure> {
    let record = match &wanted.run {
        Some(run) => session.find(run).await?,
        None => session.newest().await?,
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
    let kept = session.must_go_on(record, wanted.changed_file).await?;
    take_secrets_off(&wanted.input, &kept.inputs(), true)?;
    let host = host::load(arguments)?;
    let (loaded, manifest) = match wanted.changed_file {
        true => (host.load_anew(&kept)?, kept),
        false => {
            if host.has_changed(&kept) {
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
    let definition = loaded.checked()?;
    // A file that has changed may have other secrets.
    take_secrets_off(&wanted.input, definition.inputs(), true)?;
    if record.status == RunStatus::Completed {
        let source = RunSource { definition: &*definition, manifest: &manifest };
        return completed(session, record, source, wanted.common.output).await;
    }
    let mut options = options(wanted);
    session.must_fit(&host, record, &manifest, &options)?;
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
    session.output.notes(&notes);
    let mut prepared = prepared?;
    prompt.unless_interrupted(load(&mut prepared, session.output)).await?;
    let when_busy = if wanted.take_over { WhenBusy::TakeOver } else { WhenBusy::Refuse };
    let run = record.id.clone();
    crate::run::go_on(prepared, session, run, &wanted.common, when_busy, prompt, notes).await
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
    session.must_fit(&host, record, &kept, &options(wanted))?;
    must_be_out_of_reach(host.config(), &arguments.store)?;
    if kept.secret_options().is_empty() || Prompt::new(!wanted.common.no_input).is_there {
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
    let outcome = Outcome { run, status, state, error: None, totals };
    give(session, source, format, &outcome, RunNotes { is_quiet: true, ..RunNotes::default() }).await
}
