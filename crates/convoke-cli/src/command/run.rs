//! `convoke run`

use convoke_config::Config;
use convoke_core::WhenBusy;
use convoke_goals::SkillShelf;
use convoke_goals::agentfile::model::Input;
use convoke_goals::agentfile::outline;
use convoke_goals::workspace::summary;
use serde_json::json;

use crate::agentfiles::{Checked, check_keeping, counted, is_standard_input, tell};
use crate::arguments::Arguments;
use crate::configuration;
use crate::failure::Failure;
use crate::run::{
    Fingerprints, Format, Given, Hands, Job, Kept, Manifest, Place, Prompt, RunArguments, Servers, Source,
};
use crate::session::Session;
use crate::terminal::{Output, text};

/// What to do about inputs that are missing.
const HOW_TO_GIVE: &str = "give inputs with `-i name=value`, `-i name=@file` or `--inputs file.json`";

pub(crate) async fn run(
    arguments: &Arguments,
    wanted: &RunArguments,
    output: &mut Output,
) -> Result<(), Failure> {
    let config = configuration::load(arguments)?;
    let skills = configuration::skills(&config, &wanted.skills, output)?;
    let (checked, beside) = check_keeping(&wanted.file, &skills)?;
    if !wanted.common.quiet || checked.file.is_none() {
        tell(&checked.source, &checked.diagnostics, output);
    }
    for note in checked.notes() {
        output.note(&note);
    }
    let mut source = source(wanted, checked, beside, Place::here(arguments, &config), &config)?;
    let may_ask = !wanted.common.no_input && !is_standard_input(&wanted.file);
    let mut prompt = Prompt::new(may_ask);
    let mut given = Given::read(&wanted.inputs, Some(&wanted.file));
    let missing: Vec<Input> = given.missing(&source.file.inputs).into_iter().cloned().collect();
    prompt.fill(&mut given, missing, output).await?;
    let values = given.values(&source.file.inputs, HOW_TO_GIVE)?;
    source.manifest.fingerprints = Fingerprints::of(&values, &source.file.inputs);
    let servers = if wanted.dry_run { Servers::LeaveAlone } else { Servers::Start };
    let hands = Hands::prepare(arguments, &config, wanted.common.policy.as_deref(), servers, output);
    let hands = prompt.unless_interrupted(hands).await?;
    source.manifest.tools = hands.tools.definitions();
    let shelf = SkillShelf::find_in(&skills);
    for (folder, why) in shelf.passed_over() {
        output.note(&format!("{} is passed over: {why}", folder.display()));
    }
    source.manifest.skills = shelf.iter().cloned().collect();
    let mut job = prompt.unless_interrupted(Job::prepare(source, values, config, hands, output)).await?;
    let state = job.state()?;
    if wanted.dry_run {
        job.check_model()?;
        return describe(arguments, wanted, &job, &state, output);
    }
    // Last of all: it may have a gigabyte to fetch.
    prompt.unless_interrupted(job.load(output)).await?;
    let mut session = Session::open_or_make(arguments, output)?;
    let run = job.create(&session, &state, wanted.id.clone()).await?;
    job.go_on(&mut session, run, &wanted.common, WhenBusy::Refuse, prompt, arguments.color).await
}

fn source(
    wanted: &RunArguments,
    checked: Checked,
    beside: Kept,
    place: Place,
    config: &Config,
) -> Result<Source, Failure> {
    let Some(file) = checked.file else {
        let found = counted(checked.diagnostics.errors(), checked.diagnostics.warnings());
        return Err(Failure::failed(format!("the Agentfile is not valid: {found}")));
    };
    let path = std::path::absolute(&wanted.file).unwrap_or_else(|_| wanted.file.clone());
    let path = if is_standard_input(&wanted.file) { &wanted.file } else { &path };
    let workspace = config.workspace();
    let manifest = Manifest {
        path: path.display().to_string(),
        text: checked.source.text().to_owned(),
        beside,
        place: Some(place),
        model: wanted.common.model.clone(),
        model_asked: wanted.common.model.is_some(),
        workspace: if workspace.summary { summary(&workspace.path) } else { String::new() },
        tools: Vec::new(),
        skills: Vec::new(),
        answers: Some((&config.supervision()).into()),
        policy: wanted.common.policy.clone(),
        limits: wanted.common.budget.clone(),
        timeout: wanted.common.timeout,
        fingerprints: Fingerprints::default(),
    };
    Ok(Source { file, manifest })
}

/// Says what would be done.
fn describe(
    arguments: &Arguments,
    wanted: &RunArguments,
    job: &Job,
    state: &convoke_goals::GoalState,
    output: &mut Output,
) -> Result<(), Failure> {
    let model = job.manifest().model.as_deref();
    if arguments.json || wanted.common.output != Format::Text {
        let description = json!({
            "dry_run": true,
            "model": model,
            "inputs": state.inputs,
            "outline": outline::to_json(job.file()),
        });
        return output.json(&description);
    }
    output.plain(&format!("model  {}", text::clean(model.unwrap_or("as the file says"))))?;
    for (name, value) in state.inputs.iter() {
        output.plain(&format!("input  {} = {}", text::one_line(name), text::one_line(&value.to_string())))?;
    }
    output.plain("")?;
    outline::to_text(job.file()).lines().try_for_each(|line| output.plain(&text::clean(line)))
}
