//! The outline of a pack, for people and for programs: its inputs, its states and where events lead. Its picture is in `diagram.rs`.

use serde_json::{Map, Value, json};

use super::composition::{Action, waits};
use super::{CompiledPack, Dialect, PackInput, Refusal};
use crate::workflow::{Spec, StateSpec};

/// Returns what a pack is made of, as JSON.
#[must_use]
pub fn to_json(pack: &CompiledPack) -> Value {
    let model = pack.model();
    let dialects: Map<String, Value> = Dialect::ALL
        .into_iter()
        .map(|dialect| {
            let refusals: Vec<_> = pack.compatibility().refusals_of(dialect).collect();
            (dialect.name().to_owned(), json!({"accepted": refusals.is_empty(), "refusals": refusals}))
        })
        .collect();
    let prompts: Map<String, Value> = model
        .prompts
        .iter()
        .map(|(task, prompt)| {
            let variables = pack.prompt(task).map(super::CompiledPrompt::undeclared).unwrap_or_default();
            let outline = json!({"name": prompt.name, "version": prompt.version, "tools": prompt.tools, "undeclared": variables});
            (task.clone(), outline)
        })
        .collect();
    json!({
        "kind": "pack",
        "id": model.id,
        "name": model.name,
        "version": model.version,
        "description": model.description,
        "dialects": dialects,
        "inputs": inputs(pack),
        "prompts": prompts,
        "tools": model.tools.keys().collect::<Vec<_>>(),
        "workflow": model.workflow,
        "compositions": model.compositions.keys().collect::<Vec<_>>(),
        "agents": pack.agent_cards(),
    })
}

/// Returns what a pack is made of, to be read.
#[must_use]
pub fn to_text(pack: &CompiledPack) -> String {
    let model = pack.model();
    let mut text = format!("{} {} ({})\n", model.name, model.version, model.id);
    if !model.description.is_empty() {
        text += &format!("{}\n", model.description);
    }
    for dialect in Dialect::ALL {
        let refusals: Vec<_> = pack.compatibility().refusals_of(dialect).collect();
        match refusals.first() {
            None => text += &format!("\nversion {dialect} of the format: accepted"),
            Some(Refusal { path, message, .. }) => {
                let others = refusals.len() - 1;
                let more = if others > 0 { format!(", and {others} more") } else { String::new() };
                text += &format!("\nversion {dialect} of the format: refused at {path}: {message}{more}");
            }
        }
    }
    text.push('\n');
    let inputs = inputs(pack);
    if !inputs.is_empty() {
        text.push_str("\ninputs\n");
    }
    for input in &inputs {
        let note = match &input.default {
            None => ", must be given".to_owned(),
            Some(Value::Null) => String::new(),
            Some(default) => format!(" = {default}"),
        };
        text += &format!("  {}: {}{note}\n", input.name, input.ty);
    }
    match &model.workflow {
        Some(workflow) => self::workflow(workflow, &mut text),
        None => {
            text.push_str("\nprompts\n");
            for (task, prompt) in &model.prompts {
                let entry = if pack.entry() == Some(task) { "> " } else { "  " };
                text += &format!("{entry}{task}: {}\n", prompt.name);
            }
        }
    }
    for (name, composition) in &model.compositions {
        text += &format!("\ncomposition {name}\n");
        let waits = waits(&composition.steps);
        for step in &composition.steps {
            let before: Vec<&str> = waits.get(&*step.id).into_iter().flatten().copied().collect();
            let after =
                if before.is_empty() { String::new() } else { format!(" after {}", before.join(", ")) };
            text += &format!("  {}: {}{after}\n", step.id, does(&step.action));
        }
    }
    if let Some(agents) = &model.agents {
        text.push_str("\nagents\n");
        for (name, card) in pack.agent_cards() {
            let mark = if name == agents.entry { ">" } else { " " };
            text += &format!("{mark} {name}: {}\n", card.description);
            for other in pack.delegates_of(&name) {
                text += &format!("    asks {other}\n");
            }
        }
    }
    text
}

/// The inputs of a pack, with the prompt where somebody has to say which.
fn inputs(pack: &CompiledPack) -> Vec<PackInput<'_>> {
    let mut inputs = pack.inputs();
    if pack.chooses_prompt() && !inputs.iter().any(|input| input.name == "prompt") {
        let default = (!pack.model().compositions.is_empty()).then_some(Value::Null);
        inputs.insert(0, PackInput { name: "prompt", ty: "string", default });
    }
    inputs
}

/// What a step of a composition does.
pub(super) fn does(action: &Action) -> String {
    match action {
        Action::Prompt { prompt_task, .. } => format!("prompt {prompt_task}"),
        Action::Agent { prompt_task, .. } => format!("agent {prompt_task}"),
        Action::Tool { tool, .. } => format!("tool {tool}"),
        Action::Branch { then, otherwise, .. } => {
            let otherwise = otherwise.iter().map(|otherwise| format!(" or {otherwise}")).collect::<String>();
            format!("branch to {then}{otherwise}")
        }
        Action::Parallel { branches, .. } => {
            let branches: Vec<&str> = branches.iter().map(|branch| branch.id.as_str()).collect();
            format!("parallel {}", branches.join(", "))
        }
    }
}

fn workflow(workflow: &Spec, text: &mut String) {
    text.push_str("\nstates\n");
    let budget = workflow.engine.as_ref().and_then(|engine| engine.get("budget")?.as_object());
    for (limit, value) in budget.into_iter().flatten() {
        *text += &format!("  {limit}: {value}\n");
    }
    for (name, state) in &workflow.states {
        let mark = match (*name == workflow.entry, state.terminal) {
            (true, _) => ">",
            (false, true) => "#",
            (false, false) => " ",
        };
        *text += &format!("{mark} {name}{}\n", speaks(state));
        for (event, target) in &state.on_event {
            *text += &format!("    {event} -> {target}\n");
        }
        if state.max_visits > 0 {
            let onward = &state.on_max_visits;
            let then = if onward.is_empty() { String::new() } else { format!(", then {onward}") };
            *text += &format!("    at most {} visits{then}\n", state.max_visits);
        }
        for (artifact, spec) in &state.artifacts {
            let mode = if spec.mode == "append" { ", appended to" } else { "" };
            *text += &format!("    fills {artifact} ({}{mode})\n", spec.media_type);
        }
    }
}

/// What happens in a state.
fn speaks(state: &StateSpec) -> String {
    let mut words = if state.composition.is_empty() {
        format!(": prompt {}", state.prompt_task)
    } else {
        format!(": composition {}", state.composition)
    };
    if ["external", "hybrid"].contains(&state.orchestration.as_str()) {
        words += &format!(", {}", state.orchestration);
    }
    if state.terminal {
        words.push_str(", the end");
    }
    words
}
