//! `convoke eval`

mod arguments;

use std::path::Path;

use convoke_host::eval::{
    EvalOptions, LoadedScenario, Replies, Report, compare, junit, load_replies, load_scenarios,
};
use convoke_host::view::{ComparedReport, View, scenario_line};
use convoke_host::{FailureReport, FileProblems, LoadedFile, counted, user_name};

use crate::arguments::Arguments;
use crate::diagnostics::tell;
use crate::failure::Failure;
use crate::files;
use crate::host;
use crate::run::Signals;
use crate::terminal::Output;

use arguments::ReportFormat;

pub(crate) use arguments::EvalArguments;

/// So many runs may be over before somebody is told.
const UNTOLD: usize = 64;

pub(crate) async fn run(
    arguments: &Arguments,
    wanted: &EvalArguments,
    output: &mut Output,
) -> Result<(), Failure> {
    if let Some(path) = &wanted.junit {
        files::check_place(path)?;
    }
    let earlier = wanted.compare.as_deref().map(earlier).transpose()?;
    let host = host::load(arguments)?;
    let loaded = host.load(&wanted.file)?;
    tell(&loaded.source, &loaded.diagnostics, output);
    loaded.checked()?;
    let scenarios = checked(wanted, &loaded, output)?;
    let mut options = options(wanted);
    options.replies = wanted.replies.as_deref().map(|path| replies(path, output)).transpose()?;
    options.check(&loaded, &scenarios)?;
    let (sender, mut over) = tokio::sync::mpsc::channel(UNTOLD);
    options.observer = Some(std::sync::Arc::new(move |scenario, run| {
        // Whoever is not told of it finds it in the report.
        let _ = sender.try_send((scenario.name.clone(), scenario_line(scenario, run)));
    }));
    output.aside(&format!("eval {}: should it be interrupted, `--id {0}` goes on with it", options.id));
    let mut done = Vec::new();
    let mut signals = Signals::listen()?;
    let report = {
        let evaluating = host.evaluate(loaded, &scenarios, &options);
        tokio::pin!(evaluating);
        loop {
            tokio::select! {
                biased;
                Some((name, line)) = over.recv() => {
                    output.aside(&line);
                    done.push(name);
                }
                by = signals.next() => break Err(by),
                report = &mut evaluating => break Ok(report?),
            }
        }
    };
    while let Ok((name, line)) = over.try_recv() {
        output.aside(&line);
        done.push(name);
    }
    let report = report.map_err(|by| options.interrupted(by, &scenarios, &done))?;
    let unused = options.unused_replies(&scenarios);
    if !unused.is_empty() {
        output.note(&format!(
            "of `--replies`, what is for no scenario here is not used: {}",
            unused.join(", ")
        ));
    }
    let comparison = earlier.map(|earlier| compare(&earlier, &report));
    let compared = ComparedReport { report: &report, comparison: comparison.as_ref() };
    match wanted.output {
        ReportFormat::Text if !arguments.json => output.lines(&compared.lines(output.width()))?,
        ReportFormat::Junit => output.plain(junit(&report).trim_end())?,
        _ => output.json(&compared)?,
    }
    // What was paid for is told even if this cannot be written.
    if let Some(path) = &wanted.junit {
        files::replace(path, &junit(&report))?;
    }
    if report.passed {
        return Ok(());
    }
    let failed = report.scenarios.len() - report.passed_count();
    let failure = Failure::failed(format!("{failed} of {} failed", count(report.scenarios.len())));
    Err(failure
        .hint("`convoke show RUN` shows what a run did, `convoke replay RUN --full` what was said in it"))
}

/// "1 scenario", "3 scenarios".
fn count(number: usize) -> String {
    format!("{number} scenario{}", if number == 1 { "" } else { "s" })
}

/// The scenarios, if nothing is wrong with any of them.
fn checked(
    wanted: &EvalArguments,
    loaded: &LoadedFile,
    output: &mut Output,
) -> Result<Vec<LoadedScenario>, Failure> {
    let mut scenarios = load_scenarios(&wanted.scenarios)?;
    let (mut invalid, mut errors, mut warnings) = (0, 0, 0);
    for scenario in &mut scenarios {
        scenario.check(loaded)?;
        let found = &scenario.diagnostics;
        tell(&scenario.source, found, output);
        errors += found.errors();
        warnings += found.warnings();
        invalid += usize::from(found.errors() > 0);
    }
    match invalid {
        0 => Ok(scenarios),
        _ => {
            let all = count(scenarios.len());
            let counts = counted(errors, warnings);
            let files = scenarios.iter().map(|one| (&one.source, &one.diagnostics));
            let failure = FailureReport::failed(format!("{invalid} of {all} cannot be run: {counts}"));
            Err(failure.about(FileProblems::of_files(files)).into())
        }
    }
}

fn options(wanted: &EvalArguments) -> EvalOptions {
    let mut options = EvalOptions::new(wanted.id.clone());
    options.model.clone_from(&wanted.model);
    options.judge.clone_from(&wanted.judge);
    options.groups.clone_from(&wanted.groups);
    options.policy.clone_from(&wanted.policy);
    options.limits.clone_from(&wanted.budget);
    options.timeout = wanted.timeout;
    options.repeat = wanted.repeat;
    options.require = wanted.require;
    options.jobs = wanted.jobs;
    options.started_by = Some(user_name());
    options
}

/// Replies for scenarios, if nothing is wrong with them.
fn replies(path: &Path, output: &mut Output) -> Result<Replies, Failure> {
    let (replies, source, diagnostics) = load_replies(path)?;
    tell(&source, &diagnostics, output);
    let problems = counted(diagnostics.errors(), diagnostics.warnings());
    replies.ok_or_else(|| Failure::failed(format!("{} has no replies to give: {problems}", path.display())))
}

/// An earlier report.
fn earlier(path: &Path) -> Result<Report, Failure> {
    let (name, text) = files::read(path)?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::failed(format!("{name} is not a report of an eval: {error}"))
            .hint("`convoke eval … --output json > FILE` writes one")
    })
}
