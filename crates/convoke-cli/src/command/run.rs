//! `convoke run`

use convoke_core::{StoreError, WhenBusy};
use convoke_goals::GoalState;
use convoke_goals::agentfile::model::Input;
use convoke_host::stored::StoreUse;
use convoke_host::tools::ServerStartup;
use convoke_host::{GivenInputs, HostError, PreparedRun, StartOptions, is_standard_input, user_name};
use serde_json::json;

use crate::arguments::Arguments;
use crate::configuration;
use crate::diagnostics::tell;
use crate::failure::Failure;
use crate::host;
use crate::run::{Format, Prompt, RunArguments, go_on, load, take_secrets_off};
use crate::session::Session;
use crate::terminal::{Output, text};

/// What to do about inputs that are missing.
const HOW_TO_GIVE: &str = "give inputs with `-i name=value`, `-i name=@file` or `--inputs file.json`";

pub(crate) async fn run(
    arguments: &Arguments,
    wanted: &RunArguments,
    output: &mut Output,
) -> Result<(), Failure> {
    let host = host::load(arguments)?;
    let skills = configuration::skills(host.config(), &wanted.skills, output)?;
    let loaded = match &wanted.goal {
        Some(goal) => host.load_goal(goal)?,
        None => host.load_with(&wanted.file, &skills)?,
    };
    if let Some(definition) = &loaded.definition {
        // Before anything is said that would be said again.
        take_secrets_off(&wanted.inputs.input, definition.inputs(), !is_standard_input(&wanted.file))?;
    }
    if !wanted.common.quiet || loaded.definition.is_none() {
        tell(&loaded.source, &loaded.diagnostics, output);
    }
    output.notes(loaded.notes());
    let definition = loaded.checked()?;
    if wanted.common.quiet {
        output.notes(definition.rules_left_out());
    }
    let may_ask = !wanted.common.no_input && !is_standard_input(&wanted.file);
    let mut prompt = Prompt::new(may_ask);
    let inputs = &wanted.inputs;
    let mut given = GivenInputs::read(&inputs.input, inputs.inputs.as_deref(), Some(&wanted.file));
    let missing: Vec<Input> = given.missing(definition.inputs()).into_iter().cloned().collect();
    prompt.fill(&mut given, missing, output).await?;
    let values = given.values_for(&*definition);
    let values = values.map_err(|invalid| Failure::from(invalid).hint(HOW_TO_GIVE))?;
    let options = options(wanted);
    let mut notes = Vec::new();
    let preparing = async {
        let prepared = host.prepare(loaded, values, &options, &mut notes).await;
        prepared.map_err(Failure::from)
    };
    let prepared = prompt.unless_interrupted(preparing).await;
    output.notes(&notes);
    let mut prepared = prepared?;
    let state = prepared.state()?;
    prepared.check_model()?;
    if wanted.dry_run {
        return describe(arguments, wanted, &prepared, &state, output);
    }
    if let Some(earlier) = host.config().locations().old_store.as_ref().filter(|_| !arguments.store.exists())
    {
        let shown = text::clean(&earlier.display().to_string());
        output.note(&format!(
            "earlier versions kept runs in {shown}; `convoke store move` takes them along only before there are new ones, \
             `convoke store move --to PATH` at any time"
        ));
    }
    let mut session = Session::open(arguments, StoreUse::Make, output)?;
    if let Some(run) = &wanted.id
        && session.store.run(run).await?.is_some()
    {
        return Err(session.taken(run).into());
    }
    // Last of all: it may have a gigabyte to fetch.
    prompt.unless_interrupted(load(&mut prepared, session.output)).await?;
    let created = prepared.create(&*session.store, wanted.id.clone(), Some(user_name())).await;
    let run = created.map_err(|error| match error {
        HostError::Store(StoreError::Exists { run }) => session.taken(&run),
        other => other.into(),
    })?;
    go_on(prepared, &mut session, run, &wanted.common, WhenBusy::Refuse, prompt, notes).await
}

fn options(wanted: &RunArguments) -> StartOptions {
    let mut options = StartOptions::default();
    options.model.clone_from(&wanted.common.model);
    options.policy.clone_from(&wanted.common.policy);
    options.limits.clone_from(&wanted.common.budget);
    options.timeout = wanted.common.timeout;
    options.skills.clone_from(&wanted.skills);
    options.servers = if wanted.dry_run { ServerStartup::LeaveAlone } else { ServerStartup::Start };
    options
}

/// Says what would be done.
fn describe(
    arguments: &Arguments,
    wanted: &RunArguments,
    prepared: &PreparedRun,
    state: &[u8],
    output: &mut Output,
) -> Result<(), Failure> {
    let model = prepared.manifest().model.as_deref();
    let state: GoalState = serde_json::from_slice(state).unwrap_or_default();
    let definition = prepared.definition();
    if arguments.json || wanted.common.output != Format::Text {
        let description = json!({
            "dry_run": true,
            "model": model,
            "inputs": state.inputs,
            "outline": definition.outline(),
        });
        return output.json(&description);
    }
    output.plain(&format!("model  {}", text::clean(model.unwrap_or("as the file says"))))?;
    for (name, value) in state.inputs.iter() {
        output.plain(&format!("input  {} = {}", text::one_line(name), text::one_line(&value.to_string())))?;
    }
    output.plain("")?;
    definition.outline_text().lines().try_for_each(|line| output.plain(&text::clean(line)))
}
