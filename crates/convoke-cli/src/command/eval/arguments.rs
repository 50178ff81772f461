//! The command line of `convoke eval`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use convoke_core::{Limits, RunId};
use convoke_host::parse_limits;
use convoke_host::stored::new_run_id;

use crate::run::time_limit;

#[derive(Debug, Args)]
pub(crate) struct EvalArguments {
    /// The Agentfile, pack or graph.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Scenarios: files, or folders with files that end in .scenario.yaml, .scenario.yml or .scenario.json.
    #[arg(value_name = "SCENARIO", required = true)]
    pub(crate) scenarios: Vec<PathBuf>,
    /// The model that replies, whatever the scenarios say.
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The model that judges, whatever the scenarios say.
    #[arg(long, value_name = "MODEL")]
    pub(crate) judge: Option<String>,
    /// Replies for the scenarios by their names, whatever these say: a file as PromptKit's mock provider has it.
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    pub(crate) replies: Option<PathBuf>,
    /// Of the evals that a pack declares, only those of this group; can be given several times.
    #[arg(long = "group", value_name = "GROUP")]
    pub(crate) groups: Vec<String>,
    /// How often to run each scenario that does not say so itself.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Which share of these runs must pass, above 0 and up to 1.
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = share)]
    pub(crate) require: f64,
    /// How many runs there may be at once.
    #[arg(long, value_name = "N", default_value = "1", value_parser = jobs)]
    pub(crate) jobs: usize,
    /// The name of this eval. What was begun under it is gone on with, and nothing is paid twice; what another process is at is
    /// waited for.
    #[arg(long, value_name = "NAME", value_parser = new_run_id)]
    pub(crate) id: Option<RunId>,
    /// What tools may do, instead of the folder's policy.toml. Your own policy.toml holds, too.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// What each run may use, such as `1.50 usd, 200000 tokens, 20 tool-calls`.
    #[arg(long, value_name = "LIMITS", value_parser = parse_limits, allow_hyphen_values = true)]
    pub(crate) budget: Option<Limits>,
    /// How long each run may be at work: 90s, 30min. Otherwise what is configured, or ten minutes.
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    pub(crate) timeout: Option<Duration>,
    /// As what to give the report.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: ReportFormat,
    /// Also write the report as JUnit XML. That it can be written is found out before anything is run.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Say what got better, worse, is new and is gone since an earlier report, as `--output json` gives it.
    #[arg(long, value_name = "FILE")]
    pub(crate) compare: Option<PathBuf>,
}

/// What a report is given as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// A table, and what did not hold.
    Text,
    /// JSON, which `--compare` reads later.
    Json,
    /// JUnit XML.
    Junit,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| *share > 0.0 && *share <= 1.0);
    share
        .ok_or_else(|| "give a number above 0 and up to 1, such as 0.8: with 0 nothing could fail".to_owned())
}

fn jobs(text: &str) -> Result<usize, String> {
    let jobs = text.parse().ok().filter(|jobs| (1..=64).contains(jobs));
    jobs.ok_or_else(|| "give a number from 1 to 64".to_owned())
}
