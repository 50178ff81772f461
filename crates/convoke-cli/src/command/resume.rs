//! `convoke resume`

use std::path::{Path, PathBuf};

use convoke_core::store::{RunQuery, RunRecord};
use convoke_core::{Outcome, RunStatus, WhenBusy};
use convoke_goals::agentfile::model::Input;
use convoke_goals::agentfile::{self, read};
use convoke_history::History;

use crate::agentfiles::{Checked, check_keeping, counted, is_standard_input, tell};
use crate::arguments::Arguments;
use crate::configuration;
use crate::failure::Failure;
use crate::onward;
use crate::run::{
    About, Format, Given, Hands, InputArguments, Job, Manifest, Place, Prompt, ResumeArguments, Servers,
    Source, give, must_be_where_it_was,
};
use crate::select;
use crate::session::Session;

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
        return Err(Failure::failed(format!("run {} is not a run of an Agentfile", record.id)).hint(how));
    };
    if !wanted.changed_file && record.status != RunStatus::Completed && !onward::can_go_on(record) {
        return Err(ended(session, record).await?);
    }
    let config = configuration::load(arguments)?;
    let mut source = source(session, kept, wanted.changed_file, config.skills())?;
    if record.status == RunStatus::Completed {
        return completed(session, record, &source, wanted.common.output).await;
    }
    if !wanted.here {
        must_be_where_it_was(session, record, &source.manifest, &Place::here(arguments, &config))?;
    }
    if let Some(policy) = &wanted.common.policy {
        source.manifest.policy = Some(policy.clone());
    } else {
        must_name_policy(session, record, &source.manifest)?;
    }
    if let Some(model) = &wanted.common.model {
        source.manifest.model = Some(model.clone());
        source.manifest.model_asked = true;
    }
    let mut prompt = Prompt::new(!wanted.common.no_input);
    let secrets: Vec<Input> = source.file.inputs.iter().filter(|input| input.secret).cloned().collect();
    let mut given =
        Given::read(&InputArguments { input: wanted.input.clone(), ..InputArguments::default() }, None);
    let missing: Vec<Input> = given.missing(&secrets).into_iter().cloned().collect();
    prompt.fill(&mut given, missing, session.output).await?;
    let again = session.resume(&record.id, &source.manifest);
    let how = format!("secrets are not kept with a run: give them again, with `{again}` or `-i name=@file`");
    let values = given.secrets(&source.file.inputs, &how)?;
    for name in source.manifest.fingerprints.differing(&values) {
        session.output.note(&format!("`{name}` is not the value this run began with"));
    }
    let policy = source.manifest.policy.clone();
    let hands = Hands::prepare(arguments, &config, policy.as_deref(), Servers::Start, session.output);
    let hands = prompt.unless_interrupted(hands).await?;
    let mut job =
        prompt.unless_interrupted(Job::prepare(source, values, config, hands, session.output)).await?;
    prompt.unless_interrupted(job.load(session.output)).await?;
    let when_busy = if wanted.take_over { WhenBusy::TakeOver } else { WhenBusy::Refuse };
    job.go_on(session, record.id.clone(), &wanted.common, when_busy, prompt, arguments.color).await
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
    if wanted.common.policy.is_none() {
        must_name_policy(session, record, &kept)?;
    }
    must_be_where_it_was(session, record, &kept, &Place::here(arguments, &configuration::load(arguments)?))?;
    if kept.secrets().is_empty() || Prompt::new(!wanted.common.no_input).is_there() {
        return Ok(());
    }
    let again = session.resume(&record.id, &kept);
    Err(Failure::usage(
        "secrets are not kept with a run, and cannot be given with an answer: nothing was answered",
    )
    .hint(format!("leave `--resume` out, and then go on with `{again}`")))
}

fn must_name_policy(session: &Session<'_>, record: &RunRecord, kept: &Manifest) -> Result<(), Failure> {
    if kept.policy.is_none() {
        return Ok(());
    }
    let again = session.resume(&record.id, kept);
    Err(Failure::usage(format!("run {} was begun with a policy that was named: name it again", record.id))
        .hint(format!("`{again}` goes on under it; another one may be named as well")))
}

/// Gives the result of a run that is done, which takes no model.
async fn completed(
    session: &mut Session<'_>,
    record: &RunRecord,
    source: &Source,
    format: Format,
) -> Result<(), Failure> {
    let ending = History::load(&*session.store, &record.id).await?.ending;
    let state = serde_json::from_value(ending.and_then(|ending| ending.state).unwrap_or_default()).map_err(
        |error| Failure::failed(format!("the result of run {} cannot be read: {error}", record.id)),
    )?;
    let (run, status, totals) = (record.id.clone(), record.status, record.totals);
    give(
        session,
        source,
        format,
        &Outcome { run, status, state, error: None, totals },
        About { is_quiet: true, ..About::default() },
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
    Ok(onward::otherwise(session, &history).into_iter().fold(failure, Failure::hint))
}

/// The newest run of an Agentfile that can go on, and on which nobody works.
async fn newest(session: &Session<'_>) -> Result<RunRecord, Failure> {
    let runs = session.store.runs(&RunQuery::default()).await?;
    let can = |record: &RunRecord| {
        record.holder.is_none() && onward::can_go_on(record) && Manifest::of(record).is_some()
    };
    runs.into_iter().find(can).ok_or_else(|| {
        Failure::not_found(format!("no run of an Agentfile in {} is left to be resumed", session.place))
            .hint(format!("`{}` lists the runs there are", session.command("runs")))
    })
}

/// The file as it was when the run began, or as it is now.
fn source(
    session: &mut Session<'_>,
    kept: Manifest,
    changed: bool,
    skills: &[PathBuf],
) -> Result<Source, Failure> {
    let now = match is_standard_input(Path::new(&kept.path)) {
        true => Err(Failure::failed("the file came on standard input: there is no other")),
        false => check_keeping(Path::new(&kept.path), skills),
    };
    if changed {
        let (checked, beside) = now?;
        let text = checked.source.text().to_owned();
        let file = valid(session, checked)?;
        return Ok(Source { file, manifest: Manifest { text, beside, ..kept } });
    }
    let is_other = |(checked, beside): &(Checked, _)| {
        checked.source.text() != kept.text || (checked.file.is_some() && *beside != kept.beside)
    };
    if now.as_ref().is_ok_and(is_other) {
        session.output.note(&format!(
            "{} has changed since; the run goes on with the file as it was. `--changed-file` takes the new one",
            kept.path
        ));
    }
    let source = agentfile::Source::new(&*kept.path, &*kept.text);
    let (file, diagnostics) = read(&source, &kept.beside);
    let file = valid(session, Checked { source, file, diagnostics, note: None })?;
    Ok(Source { file, manifest: kept })
}

fn valid(session: &mut Session<'_>, checked: Checked) -> Result<agentfile::Agentfile, Failure> {
    let Some(file) = checked.file else {
        tell(&checked.source, &checked.diagnostics, session.output);
        let found = counted(checked.diagnostics.errors(), checked.diagnostics.warnings());
        return Err(Failure::failed(format!("the Agentfile is not valid: {found}")));
    };
    Ok(file)
}
