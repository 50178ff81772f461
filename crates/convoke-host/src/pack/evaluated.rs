//! Facts about a pack and its runs, for scenarios.

use std::collections::BTreeSet;

use convoke_eval::{Facts, Vocabulary};
use convoke_machine::conversation::MachineState;
use convoke_machine::finding::{Finding, child};
use convoke_machine::pack::composition::{Action, Step};
use convoke_machine::pack::model::Eval;
use convoke_machine::pack::{AGENT, CompiledPack};
use convoke_machine::workflow::{CompiledState, Orchestration, SET_ARTIFACT, Status, TRANSITION};
use convoke_text::diagnostic::Severity;
use convoke_text::nearest;
use serde_json::{Map, Value};

use super::STATE;

/// The names that scenarios may use of a pack.
pub(super) fn vocabulary(pack: &CompiledPack) -> Vocabulary {
    let model = pack.model();
    let workflow = pack.workflow();
    let states = || workflow.into_iter().flat_map(|workflow| workflow.states());
    let of_kind = |is: fn(&Action) -> bool| {
        distinct(steps(pack).iter().filter(|step| is(&step.action)).map(|step| step.id.as_str()))
    };
    let of_states = |is: &dyn Fn(&CompiledState) -> bool| {
        let states = states().filter(|state| is(state) && !state.is_terminal());
        states.flat_map(|state| state.events().map(ToString::to_string)).collect()
    };
    let own = || pack.entry().map(str::to_owned).into_iter();
    Vocabulary {
        turns: true,
        states: match workflow {
            Some(_) => states().map(|state| state.name.to_string()).collect(),
            None => own().chain(pack.only_composition().map(str::to_owned)).collect(),
        },
        entry: model.workflow.as_ref().map(|workflow| workflow.entry.clone()),
        terminal: states().filter(|state| state.is_terminal()).map(|state| state.name.to_string()).collect(),
        events: of_states(&|state| state.orchestration != Orchestration::Internal),
        model_events: of_states(&|state| state.orchestration == Orchestration::Internal),
        artifacts: workflow
            .into_iter()
            .flat_map(|workflow| workflow.artifacts().map(|artifact| artifact.name.to_string()))
            .collect(),
        outputs: Some(Vec::new()),
        client_tools: model.tools.keys().cloned().collect(),
        tools: own_tools(pack),
        rules: distinct(
            pack.prompts()
                .values()
                .flat_map(|prompt| &prompt.validators)
                .filter(|rule| rule.makes_sense())
                .map(|rule| rule.kind()),
        ),
        skills: None,
        steps: distinct(steps(pack).iter().map(|step| step.id.as_str())),
        branches: of_kind(|action| matches!(action, Action::Branch { .. })),
        parallels: of_kind(|action| matches!(action, Action::Parallel { .. })),
    }
}

/// What its models may call that is no tool: those of the workflow, and its agents.
fn own_tools(pack: &CompiledPack) -> Vec<String> {
    let workflow = [TRANSITION, SET_ARTIFACT].into_iter().filter(|_| pack.workflow().is_some());
    let agents = pack.model().agents.iter().flat_map(|agents| agents.members.keys());
    workflow.map(str::to_owned).chain(agents.map(|member| format!("{AGENT}{member}"))).collect()
}

/// The steps of all compositions, those that run side by side included.
fn steps(pack: &CompiledPack) -> Vec<Step> {
    let steps = pack.model().compositions.values().flat_map(|composition| &composition.steps);
    let all = steps.flat_map(|step| match &step.action {
        Action::Parallel { branches, .. } => [std::slice::from_ref(step), branches].concat(),
        _ => vec![step.clone()],
    });
    all.collect()
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names.collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect()
}

/// The inputs with which a run begins with the prompt of a task. Packs with a variable of its name cannot be told the state.
pub(super) fn beginning_with(
    pack: &CompiledPack,
    task: &str,
    takes_state: bool,
) -> Result<Map<String, Value>, String> {
    if pack.entry() == Some(task) {
        return Ok(Map::new());
    }
    let workflow = pack.workflow();
    let states = || workflow.into_iter().flat_map(|workflow| workflow.states());
    let own: Vec<&str> =
        states().filter(|state| state.prompt_task == task).map(|state| &*state.name).collect();
    match own.as_slice() {
        [state] if takes_state => Ok(Map::from_iter([(STATE.to_owned(), Value::from(*state))])),
        [_] => Err(format!("the pack has a variable `{STATE}`, so a run cannot be told where to begin")),
        [] => {
            let tasks = states().map(|state| state.prompt_task.as_str()).chain(pack.entry());
            let tasks: BTreeSet<&str> = tasks.filter(|task| !task.is_empty()).collect();
            let known = tasks.into_iter().collect::<Vec<_>>().join(", ");
            Err(format!("a run cannot begin with `{task}`; there are: {known}"))
        }
        several => Err(format!("several states have the prompt `{task}`: {}", several.join(", "))),
    }
}

/// What a run has come to.
pub(super) fn facts(state: &Value) -> Facts {
    let state: MachineState = serde_json::from_value(state.clone()).unwrap_or_default();
    let Some(context) = &state.context else { return Facts::default() };
    let artifacts = context.artifacts().map(|(name, value)| (name.to_owned(), value.into()));
    Facts {
        state: Some(context.current_state().to_owned()),
        workflow: Some(state.status.to_string()),
        artifacts: artifacts.collect(),
        ..Facts::default()
    }
}

/// The limit of its own budget that a workflow ended at.
pub(super) fn exhausted(pack: &CompiledPack, state: &MachineState) -> Option<String> {
    if state.status != Status::BudgetExhausted {
        return None;
    }
    let (context, workflow) = (state.context.as_ref()?, pack.workflow()?);
    let counted = workflow.check_budget(context, context.updated_at()).err().map(|error| error.to_string());
    // When it ended is not kept: what no count says was said by the clock.
    let timed = || {
        let seconds = workflow.budget().max_wall_time_sec?;
        Some(format!("workflow budget exhausted: max_wall_time_sec reached limit {seconds}"))
    };
    let known = counted.or_else(timed);
    Some(known.unwrap_or_else(|| "the budget of its workflow is used up".to_owned()))
}

/// The evals of the pack that a step of a composition names.
pub(super) fn step_evals(pack: &CompiledPack, step: &str) -> Vec<Eval> {
    let named = steps(pack).into_iter().filter(|known| known.id == step).flat_map(|step| step.modifiers.eval);
    named.filter_map(|id| pack.model().evals.iter().find(|eval| eval.id == id).cloned()).collect()
}

/// Warns of evals whose settings make no sense to whoever knows their type.
pub(super) fn misfits(pack: &CompiledPack, findings: &mut Vec<Finding>) {
    let model = pack.model();
    let own = model.prompts.iter().map(|(task, prompt)| (child("/prompts", task), &prompt.evals));
    for (place, evals) in std::iter::once((String::new(), &model.evals)).chain(own) {
        for (index, eval) in evals.iter().enumerate() {
            let Some(mut finding) = convoke_eval::misfit(eval) else { continue };
            finding.severity = Severity::Warning;
            finding.path = format!("{place}/evals/{index}{}", finding.path);
            findings.push(finding);
        }
    }
}

/// The evals that are declared for a state, or for the prompt of a pack without states.
pub(super) fn evals(pack: &CompiledPack, state: &str) -> Vec<Eval> {
    let task = pack.workflow().and_then(|workflow| workflow.named(state));
    let task = task.map_or(state, |state| &state.prompt_task);
    pack.prompt(task).map(|prompt| prompt.evals.clone()).unwrap_or_default()
}

/// Whether a workflow can begin there.
pub(super) fn check_state(pack: &CompiledPack, name: &str) -> Result<(), String> {
    let states = || pack.workflow().into_iter().flat_map(|workflow| workflow.states());
    if states().any(|state| *state.name == *name) {
        return Ok(());
    }
    let known: Vec<&str> = states().map(|state| &*state.name).collect();
    let advice = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", known.join(", ")),
    };
    Err(format!("the workflow has no state `{name}` to begin in; {advice}"))
}
