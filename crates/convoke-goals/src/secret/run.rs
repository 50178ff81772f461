//! The scope of a run that has secrets.

use std::sync::Arc;

use convoke_core::{Error, Model, Scope};

use super::interceptor::SecretsInterceptor;
use super::seals::{SHORTEST, Seals, is_mark};
use crate::equipment::Equipment;
use crate::plan::{Plan, PlannedNode, PlannedPersona};
use crate::state::GoalState;

/// The scope for a run that begins, or goes on, with this state, so that no secret is seen of what is done in it. `None` if
/// there are no secrets.
///
/// # Errors
/// If a secret is missing, which is never stored and must be given whenever a run goes on.
pub(crate) fn sealed(
    plan: &Plan,
    equipment: &Equipment,
    scope: &Scope,
    state: &GoalState,
) -> Result<Option<(Scope, SealedEquipment)>, Error> {
    let mut marks = Vec::new();
    for input in plan.inputs.iter().filter(|input| input.secret) {
        let name = &*input.name;
        let Some(mark) = state.inputs.get(name).filter(|value| is_mark(value, name)) else {
            return Err(Error::Refused(
                format!(
                    "the input `{name}` is a secret and must not be in a state: start the workflow with the state that \
                     `PreparedWorkflow::bind` gives"
                )
                .into(),
            ));
        };
        let secret = equipment.secrets.get(name).filter(|secret| is_long_enough(secret));
        let Some(secret) = secret else {
            // Nothing leaves a run that is only told again, so nothing needs the secret.
            if scope.is_replay() {
                return Ok(None);
            }
            return Err(Error::Refused(
                format!(
                    "the secret input `{name}` is missing: secrets are not stored with a run, so it must be given again \
                     to go on, as an input called `{name}` (in Rust: `Equipment::secrets`)"
                )
                .into(),
            ));
        };
        marks.extend(mark.as_str().map(|mark| (mark.to_owned(), secret)));
    }
    if marks.is_empty() {
        return Ok(None);
    }
    let whole = Seals::of_whole(marks.iter().cloned());
    let seals = Seals::new(marks);
    let sealed = SealedEquipment { workspace: seals.seal(&equipment.workspace), whole: Arc::new(whole) };
    // Each of several workflows within one run keeps its own.
    let name = format!("secrets of {}", scope.path());
    let mut models: Vec<_> = equipment.model.iter().chain(&scope.settings().model).cloned().collect();
    add_models_of(plan, &mut models);
    Ok(Some((scope.intercepted(Arc::new(SecretsInterceptor { name, seals, models }))?, sealed)))
}

/// Adds the models that those in a workflow work with.
fn add_models_of(plan: &Plan, models: &mut Vec<Arc<dyn Model>>) {
    let mut nodes: Vec<&PlannedNode> = plan.sequences.iter().flat_map(|sequence| &sequence.nodes).collect();
    while let Some(node) = nodes.pop() {
        match node {
            PlannedNode::Goal(goal) => {
                models.extend(goal.settings.model.clone());
                nodes.extend(&goal.using);
            }
            PlannedNode::Agent(agent) => {
                models.extend(agent.settings.model.clone());
                if let PlannedPersona::Workflow { plan, .. } = &agent.persona {
                    add_models_of(plan, models);
                }
            }
        }
    }
}

/// The author's additions to a workflow's text, without secrets.
pub(crate) struct SealedEquipment {
    /// What is known of the folder that is worked in.
    pub(crate) workspace: String,
    /// For what the author adds to prompts. Journals know those by a digest, so only secrets as they are, as they were
    /// recognised first, are taken out.
    pub(crate) whole: Arc<Seals>,
}

/// Whether a secret is one that does not occur by chance.
pub(crate) fn is_long_enough(secret: &str) -> bool {
    secret.trim().chars().count() >= SHORTEST
}
