//! The outline as JSON.

use serde::Serialize;
use serde_json::Value;

use super::{condition, template, within};
use crate::agentfile::model::{
    Agent, Agentfile, Goal, Output, Overrides, Persona, SecurityMode, Step, StepKind, Supervision, Text,
    Tools,
};

/// The whole file, to be written as JSON: durations in seconds, costs in dollars, texts with their variables as `${name}`,
/// types as they are written.
#[must_use]
pub fn to_json(file: &Agentfile) -> impl Serialize + use<'_> {
    whole(file)
}

#[derive(Serialize)]
struct OutlineJson<'a> {
    name: &'a str,
    supervision: &'static str,
    needs_human: bool,
    security: Option<SecurityJson<'a>>,
    profiles: Vec<&'a str>,
    overrides: OverridesJson<'a>,
    inputs: Vec<InputJson<'a>>,
    agents: Vec<AgentJson<'a>>,
    goals: Vec<GoalJson<'a>>,
    steps: Vec<StepJson<'a>>,
}

#[derive(Serialize)]
struct SecurityJson<'a> {
    mode: &'static str,
    scope: Option<&'a str>,
}

#[derive(Serialize)]
struct InputJson<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    ty: String,
    required: bool,
    default: Option<&'a Value>,
    secret: bool,
}

#[derive(Serialize)]
struct AgentJson<'a> {
    name: &'a str,
    persona: SourceJson<'a>,
    outputs: Vec<OutputJson<'a>>,
    requires: Option<&'a str>,
    supervision: &'static str,
    overrides: OverridesJson<'a>,
}

/// Where a text, a skill or a workflow is from, and what it says.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum SourceJson<'a> {
    Text { path: Option<&'a str>, text: String },
    Skill { name: &'a str, description: &'a str, folder: &'a str, scripts: &'a [String] },
    Workflow { path: &'a str, task: &'a str, workflow: Box<OutlineJson<'a>> },
    Embedded { path: Option<&'a str>, of: &'a str, name: &'a str },
}

#[derive(Serialize)]
struct GoalJson<'a> {
    name: &'a str,
    text: SourceJson<'a>,
    uses: Vec<&'a str>,
    outputs: Vec<OutputJson<'a>>,
    agents: Vec<&'a str>,
    converge_within: Option<String>,
    when: Option<String>,
    supervision: &'static str,
    overrides: OverridesJson<'a>,
}

#[derive(Serialize)]
struct StepJson<'a> {
    name: &'a str,
    kind: &'static str,
    within: Option<String>,
    goals: Vec<&'a str>,
    when: Option<String>,
    supervision: &'static str,
    overrides: OverridesJson<'a>,
}

#[derive(Serialize)]
struct OutputJson<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    ty: String,
}

#[derive(Serialize)]
struct OverridesJson<'a> {
    model: Option<&'a str>,
    tools: Option<&'a [String]>,
    timeout_seconds: Option<f64>,
    retry: Option<RetryJson>,
    budget: Option<BudgetJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<&'a str>,
}

#[derive(Serialize)]
struct RetryJson {
    times: u32,
    after_seconds: Option<f64>,
}

#[derive(Serialize)]
struct BudgetJson {
    tokens: Option<u64>,
    model_calls: Option<u64>,
    tool_calls: Option<u64>,
    turns: Option<u64>,
    cost_usd: Option<f64>,
}

fn whole(file: &Agentfile) -> OutlineJson<'_> {
    OutlineJson {
        name: &file.name,
        supervision: supervision(file.supervision),
        needs_human: file.needs_human(),
        security: file.security.as_ref().map(|mode| SecurityJson {
            mode: mode.name(),
            scope: match mode {
                SecurityMode::Research { scope } => Some(scope),
                _ => None,
            },
        }),
        profiles: file.profiles(),
        overrides: overrides(&file.overrides),
        inputs: file
            .inputs
            .iter()
            .map(|input| InputJson {
                name: &input.name,
                ty: input.ty.to_string(),
                required: input.default.is_none(),
                default: input.default.as_ref(),
                secret: input.secret,
            })
            .collect(),
        agents: file.agents.iter().map(|one| agent(file, one)).collect(),
        goals: file.goals.iter().map(|one| goal(file, one)).collect(),
        steps: file.steps.iter().map(|one| step(file, one)).collect(),
    }
}

fn agent<'a>(file: &'a Agentfile, agent: &'a Agent) -> AgentJson<'a> {
    let persona = match &agent.persona {
        Persona::Prompt(text) => self::text(file, text),
        Persona::Skill { skill, .. } => SourceJson::Skill {
            name: &skill.name,
            description: &skill.description,
            folder: &skill.folder,
            scripts: &skill.scripts,
        },
        Persona::Workflow { path, file, task } => {
            SourceJson::Workflow { path, task, workflow: Box::new(whole(file)) }
        }
    };
    AgentJson {
        name: &agent.name,
        persona,
        outputs: outputs(&agent.outputs),
        requires: agent.requires.as_deref(),
        supervision: supervision(agent.supervision),
        overrides: overrides(&agent.overrides),
    }
}

fn goal<'a>(file: &'a Agentfile, goal: &'a Goal) -> GoalJson<'a> {
    let mut uses: Vec<&str> = Vec::new();
    for id in goal.text.template.variables() {
        let name = file.variable(*id).name.as_str();
        if !uses.contains(&name) {
            uses.push(name);
        }
    }
    GoalJson {
        name: &goal.name,
        text: goal.embedded.as_ref().map_or_else(
            || text(file, &goal.text),
            |workflow| SourceJson::Embedded {
                path: goal.text.path.as_deref(),
                of: workflow.kind(),
                name: workflow.name(),
            },
        ),
        uses,
        outputs: outputs(&goal.outputs),
        agents: goal.agents.iter().map(|agent| file.agent(*agent).name.as_str()).collect(),
        converge_within: goal.converge.map(|times| within(file, times)),
        when: goal.when.as_ref().map(|when| condition(file, when)),
        supervision: supervision(goal.supervision),
        overrides: overrides(&goal.overrides),
    }
}

fn step<'a>(file: &'a Agentfile, step: &'a Step) -> StepJson<'a> {
    let (kind, times) = match step.kind {
        StepKind::Sequence => ("sequence", None),
        StepKind::Parallel => ("parallel", None),
        StepKind::Loop(times) => ("loop", Some(within(file, times))),
    };
    StepJson {
        name: &step.name,
        kind,
        within: times,
        goals: step.goals.iter().map(|goal| file.goal(*goal).name.as_str()).collect(),
        when: step.when.as_ref().map(|when| condition(file, when)),
        supervision: supervision(step.supervision),
        overrides: overrides(&step.overrides),
    }
}

fn text<'a>(file: &Agentfile, text: &'a Text) -> SourceJson<'a> {
    SourceJson::Text { path: text.path.as_deref(), text: template(file, &text.template) }
}

fn outputs(outputs: &[Output]) -> Vec<OutputJson<'_>> {
    outputs.iter().map(|output| OutputJson { name: &output.name, ty: output.ty.to_string() }).collect()
}

fn supervision(supervision: Supervision) -> &'static str {
    match supervision {
        Supervision::Inherit => "inherit",
        Supervision::Off => "off",
        Supervision::Llm => "llm",
        Supervision::Human => "human",
    }
}

fn overrides(overrides: &Overrides) -> OverridesJson<'_> {
    OverridesJson {
        model: overrides.model.as_deref(),
        tools: overrides.tools.as_ref().map(|tools| match tools {
            Tools::None => &[][..],
            Tools::Named(names) => names,
        }),
        timeout_seconds: overrides.timeout.map(|timeout| timeout.as_secs_f64()),
        retry: overrides.retry.map(|retry| RetryJson {
            times: retry.times,
            after_seconds: retry.after.map(|after| after.as_secs_f64()),
        }),
        budget: overrides.budget.as_ref().map(|budget| BudgetJson {
            tokens: budget.tokens,
            model_calls: budget.model_calls,
            tool_calls: budget.tool_calls,
            turns: budget.turns,
            cost_usd: budget.cost.map(|cost| cost.as_micros() as f64 / 1e6),
        }),
        memory: overrides.memory.as_deref(),
    }
}
