//! Checks of a pack whose parts are well-formed: names that nothing has, rules between fields, and what has
//! no effect.

use std::collections::{BTreeMap, BTreeSet};

use convoke_core::store::NewMail;

use super::compiled::means;
use super::composition::{self, Names, Surroundings};
use super::document::Node;
use super::eval::TRIGGERS;
use super::model::{Agents, Eval, Pack, SkillSource, ToolChoice};
use crate::conversation::TOOL_RESULTS;
use crate::finding::{Finding, child};
use crate::workflow::{StateSpec, is_media_type};

/// Tools whose names begin so are the runtime's, or come from a server.
const NAMESPACES: [&str; 7] = ["a2a__", "mcp__", "workflow__", "memory__", "skill__", "image__", "video__"];

/// Those of which the conversation itself makes some.
const OWN: [&str; 3] = ["a2a__", "workflow__", "skill__"];

pub(super) fn check(document: &Node, pack: &Pack, findings: &mut Vec<Finding>) {
    evals(&pack.evals, "/evals", findings);
    for (key, prompt) in &pack.prompts {
        let path = child("/prompts", key);
        evals(&prompt.evals, &child(&path, "evals"), findings);
        tools(pack, key, findings);
    }
    for (name, tool) in &pack.tools {
        if pack.agents.as_ref().is_some_and(|agents| agents.members.contains_key(name)) {
            let message = format!("an agent is called `{name}` too, and prompts that name it have the agent");
            let finding = Finding::warning("hidden-tool", child("/tools", name), message);
            findings.push(finding.help("give one of them another name"));
        }
        if let Some(space) = OWN.iter().find(|space| name.starts_with(**space)) {
            let message = format!(
                "tools whose names begin with `{space}` are made here, so a pack cannot have `{name}`"
            );
            let finding = Finding::error("reserved-name", child("/tools", name), message);
            findings.push(finding.help("give it another name"));
        }
        if let Some(Err(error)) = tool.parameters.as_ref().map(jsonschema::validator_for) {
            let place = child(&child("/tools", name), "parameters");
            findings.push(Finding::error("bad-schema", place, format!("this is not a JSON Schema: {error}")));
        }
    }
    if let Some(agents) = &pack.agents {
        self::agents(pack, agents, findings);
    }
    skills(&pack.skills, findings);
    events(document, pack, findings);
    compositions(pack, findings);
    features(document, findings);
}

fn evals(evals: &[Eval], path: &str, findings: &mut Vec<Finding>) {
    let mut seen = BTreeSet::new();
    for (index, eval) in evals.iter().enumerate() {
        let place = child(path, index);
        if !seen.insert(&eval.id) {
            let message = format!("there is another eval `{}` here", eval.id);
            findings.push(Finding::error("duplicate-name", child(&place, "id"), message));
        }
        if !TRIGGERS.contains(&eval.trigger.as_str()) {
            let message = format!("`{}` is none of {}", eval.trigger, TRIGGERS.join(", "));
            let finding = Finding::error("bad-value", child(&place, "trigger"), message);
            findings.push(finding.suggest(&eval.trigger, TRIGGERS));
        }
        let Some(metric) = &eval.metric else { continue };
        let bound = |name: &str| metric.get("range").and_then(|range| range.get(name)?.as_f64());
        if let (Some(least), Some(most)) = (bound("min"), bound("max"))
            && least > most
        {
            let message = format!("a range from {least} to {most} has nothing in it");
            findings.push(Finding::error("bad-value", format!("{place}/metric/range"), message));
        }
        let labels = metric.get("labels").and_then(|labels| labels.as_object());
        for label in labels.into_iter().flat_map(|labels| labels.keys()) {
            let is_name = !label.is_empty()
                && !label.starts_with("__")
                && !label.starts_with(|first: char| first.is_ascii_digit())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if !is_name {
                let message = format!("`{label}` cannot name a label");
                let finding = Finding::error("bad-value", format!("{place}/metric/labels"), message);
                findings.push(finding.help("write letters, digits and `_`, not two `_` first"));
            }
        }
    }
}

/// Whether a tool cannot be the pack's.
pub(super) fn is_elsewhere(tool: &str) -> bool {
    NAMESPACES.iter().any(|space| tool.starts_with(space))
}

/// Names of tools that nothing has. The host may have them, so they are no mistakes.
fn tools(pack: &Pack, task: &str, findings: &mut Vec<Finding>) {
    let members = pack.agents.as_ref().map(|agents| &agents.members);
    let is_member = |name: &str| members.is_some_and(|members| members.contains_key(name));
    let prompt = &pack.prompts[task];
    if prompt.tool_policy.as_ref().is_some_and(|policy| policy.tool_choice == ToolChoice::Required) {
        let place = format!("{}/tool_policy/tool_choice", child("/prompts", task));
        let message = "models decide for themselves whether to use a tool, so this has no effect";
        findings.push(Finding::warning("no-effect", place, message));
    }
    let mut states = pack.workflow.iter().flat_map(|workflow| &workflow.states);
    let is_left = |state: &StateSpec| {
        !state.terminal
            && !matches!(&*state.orchestration, "external" | "composition")
            && !state.on_event.is_empty()
    };
    if prompt.tool_policy.as_ref().is_some_and(|policy| policy.max_rounds == 1)
        && let Some((state, _)) = states.find(|(_, state)| state.prompt_task == task && is_left(state))
    {
        let place = format!("{}/tool_policy/max_rounds", child("/prompts", task));
        let message =
            format!("the only round is the last one, without tools: the model never leaves state `{state}`");
        findings.push(Finding::warning("too-few-rounds", place, message).help("write at least 2"));
    }
    let blocked = prompt.tool_policy.iter().flat_map(|policy| policy.blocklist.iter().enumerate());
    for (index, name) in blocked.filter(|(_, name)| !is_elsewhere(name)) {
        if !prompt.tools.iter().any(|tool| means(name, tool) || means(tool, name)) {
            let place = format!("{}/tool_policy/blocklist/{index}", child("/prompts", task));
            let message = format!("`{name}` is none of the prompt's tools, so nothing is kept from it");
            let finding = Finding::warning("unknown-tool", place, message);
            findings.push(finding.suggest(name, prompt.tools.iter().map(String::as_str)));
        }
    }
    for (index, name) in prompt.tools.iter().enumerate() {
        let place = format!("{}/tools/{index}", child("/prompts", task));
        if pack.tools.contains_key(name) || name.ends_with('*') || is_elsewhere(name) || is_member(name) {
            if name == task && is_member(name) {
                let message = format!("`{name}` would talk to itself");
                findings.push(Finding::warning("self-reference", place, message));
            }
            continue;
        }
        let message = if pack.prompts.contains_key(name) && members.is_some() {
            format!("`{name}` is a prompt that is not among the agents")
        } else {
            format!("the pack has no tool `{name}`")
        };
        let known = pack.tools.keys().chain(members.into_iter().flat_map(|members| members.keys()));
        let finding = Finding::warning("unknown-tool", place, message)
            .help("it is left out where nobody else has it")
            .suggest(name, known.map(String::as_str));
        findings.push(finding.sought_in("/tools").sought_in("/agents/members"));
    }
}

fn agents(pack: &Pack, agents: &Agents, findings: &mut Vec<Finding>) {
    if !agents.members.contains_key(&agents.entry) {
        let message = format!("the entry `{}` is not among the members", agents.entry);
        let finding = Finding::error("unknown-entry", "/agents/entry", message);
        let members = agents.members.keys().map(String::as_str);
        findings.push(finding.suggest_or_list(&agents.entry, members).sought_in("/agents/members"));
    }
    let prompts = Names::new("prompt", pack.prompts.keys().map(String::as_str), ["/prompts".to_owned()]);
    let prompts = prompts.coded("unknown-prompt");
    let states = pack.workflow.iter().flat_map(|workflow| workflow.states.keys().map(String::as_str));
    let states = Names::new("state", states, ["/workflow/states".to_owned()]).coded("unknown-state");
    for (key, agent) in &agents.members {
        let place = child("/agents/members", key);
        findings.extend(prompts.unknown(key, &place));
        let own = child(&place, "state");
        match (&agent.state, &pack.workflow) {
            (Some(_), None) => {
                let message = "an agent has a state only where there is a workflow";
                findings.push(Finding::error("no-workflow", own, message));
            }
            (Some(state), Some(_)) => findings.extend(states.unknown(state, &own)),
            _ => {}
        }
        for (field, modes) in [("input_modes", &agent.input_modes), ("output_modes", &agent.output_modes)] {
            for (index, mode) in modes.iter().enumerate() {
                if !is_media_type(mode) {
                    let message = format!("`{mode}` is not a media type");
                    let finding =
                        Finding::warning("bad-media-type", format!("{place}/{field}/{index}"), message);
                    findings.push(finding.help("write two words with a slash between them: text/plain"));
                }
            }
        }
    }
}

fn skills(skills: &[SkillSource], findings: &mut Vec<Finding>) {
    for (index, skill) in skills.iter().enumerate() {
        let SkillSource::Inline { name, .. } = skill else { continue };
        let is_word = |word: &str| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        if name.len() > 64 || !name.split('-').all(is_word) {
            let message = format!("`{name}` is not a usual name of a skill");
            let finding = Finding::warning("bad-skill-name", format!("/skills/{index}/name"), message);
            findings.push(finding.help("write lowercase words with `-` between them, at most 64 characters"));
        }
    }
}

/// Events that nobody could send, where others send them.
fn events(document: &Node, pack: &Pack, findings: &mut Vec<Finding>) {
    for (name, state) in pack.workflow.iter().flat_map(|workflow| &workflow.states) {
        if state.terminal || !matches!(&*state.orchestration, "external" | "hybrid") {
            continue;
        }
        for event in state.on_event.keys() {
            let is_for_results = event.split('/').next() == Some(TOOL_RESULTS);
            let why = match NewMail::json(event.as_str(), &()) {
                Ok(_) if is_for_results => format!("on `{event}` clients send the results of calls"),
                Ok(_) => continue,
                Err(error) => error.to_string(),
            };
            let path = child(&child(&child("/workflow/states", name), "on_event"), event);
            let place = document.name_place_of(&path);
            let shown = convoke_text::one_line_of(event, 40);
            let message = format!("nobody can send event `{shown}` to state `{name}`: {why}");
            let mut finding =
                Finding::error("bad-event-name", path, message).help("write a name like `NeedsReview`");
            finding.place = place;
            findings.push(finding);
        }
    }
}

fn compositions(pack: &Pack, findings: &mut Vec<Finding>) {
    let evals = pack.evals.iter().chain(pack.prompts.values().flat_map(|prompt| &prompt.evals));
    let prompts = pack.prompts.keys().map(String::as_str);
    let eval_lists = prompts.clone().map(|task| child(&child("/prompts", task), "evals"));
    let around = Surroundings {
        evals: Names::new(
            "eval",
            evals.map(|eval| eval.id.as_str()),
            eval_lists.chain(["/evals".to_owned()]),
        ),
        prompts: Names::new("prompt", prompts, ["/prompts".to_owned()]),
        tools: pack.tools.keys().map(String::as_str).collect(),
        events: events_by_composition(pack),
    };
    for (name, composition) in &pack.compositions {
        composition::check(name, composition, &around, findings);
    }
}

/// The events of the states that run a composition, by its name.
fn events_by_composition(pack: &Pack) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut events: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for state in pack.workflow.iter().flat_map(|workflow| workflow.states.values()) {
        let known = events.entry(&state.composition).or_default();
        known.extend(state.on_event.keys().map(String::as_str));
    }
    events
}

/// Features of templates that the format knows and that are not to be had here.
fn features(document: &Node, findings: &mut Vec<Finding>) {
    let features = document.get("template_engine").and_then(|engine| engine.get("features"));
    for (index, feature) in features.into_iter().flat_map(Node::items).enumerate() {
        if let Some(name @ ("conditionals" | "loops" | "filters")) = feature.text() {
            let place = format!("/template_engine/features/{index}");
            findings.push(Finding::warning("no-effect", place, format!("templates have no {name} here")));
        }
    }
}
