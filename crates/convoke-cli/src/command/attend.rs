//! `convoke attend`: goes on with runs that are due, and says what became of them.

use std::collections::HashMap;
use std::sync::Arc;

use convoke_core::{Error, Outcome, RunId, RunStatus};
use convoke_host::stored::{ESTIMATED, RunSource};
use convoke_host::{FailureKind, FailureReport, GoOnOptions, Host, Manifest, can_go_on};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::arguments::{Arguments, Attend};
use crate::configuration;
use crate::failure::{Exit, Failure, error_json};
use crate::run::Signals;
use crate::session::Session;
use crate::terminal::text;

/// Reports that wait to be shown. If there are more, the oldest are shown and the rest is in the store.
const REPORTS: usize = 1024;

/// An event of a run that is attended to.
enum AttendEvent {
    /// Worth knowing when it goes on.
    Note(RunId, String),
    /// It stopped, or did not go on.
    Stopped(RunId, Box<Result<Outcome<Value>, Error>>),
}

pub(super) async fn run(
    session: &mut Session<'_>,
    wanted: &Attend,
    arguments: &Arguments,
) -> Result<(), Failure> {
    let config = configuration::load(arguments)?;
    let host = Host::builder(config).store_file(&arguments.store).store(Arc::clone(&session.store));
    let host = Arc::new(host.build()?);
    let (sender, mut events) = mpsc::channel(REPORTS);
    let notes = sender.clone();
    let attendant = host
        .attend_noting(move |run, note| {
            drop(notes.try_send(AttendEvent::Note(run.clone(), note.to_owned())))
        })?
        .at_once(wanted.at_once)
        .report(move |run, outcome| {
            drop(sender.try_send(AttendEvent::Stopped(run.clone(), Box::new(outcome.clone()))));
        });
    if !wanted.once {
        session.output.aside("goes on with runs of this folder as soon as they can; Ctrl-C ends that");
    }
    let mut signals = Signals::listen()?;
    let attending = async {
        match wanted.once {
            true => attendant.attend_once().await,
            false => attendant.attend().await,
        }
    };
    tokio::pin!(attending);
    let mut reporter = Reporter { host, notes: HashMap::new(), failed: None };
    let ended = loop {
        tokio::select! {
            biased;
            Some(event) = events.recv() => reporter.report(session, event).await?,
            ended = &mut attending => break ended,
            // What is under way is left where it is: whoever attends next goes on with it.
            _ = signals.next() => break Ok(()),
        }
    };
    while let Ok(event) = events.try_recv() {
        reporter.report(session, event).await?;
    }
    ended?;
    match reporter.failed.filter(|_| wanted.once) {
        Some(exit) => Err(Failure::Ended(exit)),
        None => Ok(()),
    }
}

/// Says what became of runs.
struct Reporter {
    host: Arc<Host>,
    /// What was said when runs went on that are under way.
    notes: HashMap<RunId, Vec<String>>,
    /// How to end if a run failed, or should have gone on and could not. A store that cannot be used is the worst of it.
    failed: Option<Exit>,
}

impl Reporter {
    async fn report(&mut self, session: &mut Session<'_>, event: AttendEvent) -> Result<(), Failure> {
        match event {
            AttendEvent::Note(run, note) => {
                session.output.note(&format!("{run}: {note}"));
                self.notes.entry(run).or_default().push(note);
                Ok(())
            }
            AttendEvent::Stopped(run, outcome) => {
                let notes = self.notes.remove(&run).unwrap_or_default();
                match *outcome {
                    // Nothing is written of how it ended: it is to be gone on with again.
                    Ok(Outcome { error: Some(error), .. }) if matches!(error.root(), Error::Store(_)) => {
                        self.not_gone_on(session, &run, &notes, error).await
                    }
                    Ok(outcome) => self.stopped(session, &outcome, notes).await,
                    Err(error) => self.not_gone_on(session, &run, &notes, error).await,
                }
            }
        }
    }

    /// What became of a run, as where somebody resumed it.
    async fn stopped(
        &mut self,
        session: &mut Session<'_>,
        outcome: &Outcome<Value>,
        mut notes: Vec<String>,
    ) -> Result<(), Failure> {
        let run = &outcome.run;
        // It may have been deleted since.
        let Some(record) = session.store.run(run).await? else { return Ok(()) };
        let (loaded, manifest) = self.host.restore(&record)?;
        let source = RunSource { definition: &**loaded.valid()?, manifest: &manifest };
        if outcome.totals.usage.is_estimated {
            notes.push(ESTIMATED.to_owned());
            session.output.note(&format!("{run}: {ESTIMATED}"));
        }
        let report = session.report(source, outcome, None).await?;
        if report.failure.is_some() && outcome.status != RunStatus::Cancelled {
            self.failed.get_or_insert(Exit::Failed);
        }
        session.output.notes(report.lacks().iter().map(|lack| format!("{run}: {lack}")));
        if session.json {
            let error = error_json(report.failure.as_ref());
            session.output.json_line(&report.document(None, &notes, error))?;
            return session.output.flush();
        }
        line(session, run, outcome.status.name(), report.failure.as_ref())
    }

    /// A run that did not go on, and why.
    async fn not_gone_on(
        &mut self,
        session: &mut Session<'_>,
        run: &RunId,
        notes: &[String],
        error: Error,
    ) -> Result<(), Failure> {
        // Those that need their user are left alone, which is no failure.
        let is_left_alone = matches!(error, Error::Refused(_) | Error::StepsMissing(_));
        let failure = match session.store.run(run).await?.filter(|_| is_left_alone) {
            None => FailureReport::from(error),
            // Somebody else has gone on with it since, to its end: there is nothing to go on with, and nothing to say.
            Some(record) if record.status.is_final() && !can_go_on(&record) => return Ok(()),
            Some(record) => {
                let unfit = Manifest::of(&record).and_then(|kept| {
                    session.must_fit(&self.host, &record, &kept, &GoOnOptions::default()).err()
                });
                unfit.unwrap_or_else(|| FailureReport::from(error).hint(session.resuming(&record)))
            }
        };
        match failure.kind {
            _ if is_left_alone => {}
            FailureKind::Store => self.failed = Some(Exit::Store),
            _ => drop(self.failed.get_or_insert(Exit::Failed)),
        }
        if session.json {
            let document =
                json!({"run": run, "status": null, "notes": notes, "error": error_json(Some(&failure))});
            session.output.json_line(&document)?;
            return session.output.flush();
        }
        line(session, run, "did not go on", Some(&failure))
    }
}

/// A line about a run, and what can be done about it beside that.
fn line(
    session: &mut Session<'_>,
    run: &RunId,
    status: &str,
    failure: Option<&FailureReport>,
) -> Result<(), Failure> {
    let why = failure.map(|failure| format!(": {}", text::one_line(&failure.message)));
    session.output.plain(&text::clean(&format!("{run}  {status}{}", why.unwrap_or_default())))?;
    session.output.flush()?;
    for hint in failure.iter().flat_map(|failure| &failure.hints) {
        session.output.note(&format!("{run}: {hint}"));
    }
    Ok(())
}
