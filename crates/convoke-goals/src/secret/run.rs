//! What a run works with when there are secrets: the same plan, with seals around every model and every tool.

use std::sync::Arc;

use convoke_core::{Error, Model, Scope};

use super::model::SealedModel;
use super::seals::{SHORTEST, Seals, is_mark};
use super::tool;
use crate::equipment::Equipment;
use crate::plan::{Kit, Plan, PlannedAgent, PlannedGoal, PlannedNode, PlannedPersona};
use crate::state::GoalState;

/// The plan and the equipment for a run that begins, or goes on, with this state.
///
/// # Errors
/// If a secret is missing, which is never stored and must be given whenever a run goes on.
pub(crate) fn sealed(
    plan: &Arc<Plan>,
    equipment: &Arc<Equipment>,
    scope: &Scope,
    state: &GoalState,
) -> Result<(Arc<Plan>, Arc<Equipment>), Error> {
    let mut marks = Vec::new();
    for input in plan.inputs.iter().filter(|input| input.secret) {
        let name = &*input.name;
        let Some(mark) = state.inputs.get(name).filter(|value| is_mark(value, name)) else {
            return Err(Error::Refused(
                format!(
                    "the input `{name}` is a secret and must not be in a state: start the workflow with the state that \
                     `Prepared::bind` gives"
                )
                .into(),
            ));
        };
        let secret = equipment.secrets.get(name).filter(|secret| is_long_enough(secret));
        let Some(secret) = secret else {
            // Nothing leaves a run that is only told again, so nothing needs the secret.
            if scope.is_replay() {
                return Ok((Arc::clone(plan), Arc::clone(equipment)));
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
        return Ok((Arc::clone(plan), Arc::clone(equipment)));
    }
    let whole = Seals::of_whole(marks.iter().cloned());
    let sealer = Sealer { seals: Arc::new(Seals::new(marks)), whole };
    let mut equipment = Equipment::clone(equipment);
    equipment.model =
        equipment.model.as_ref().or(scope.settings().model.as_ref()).map(|model| sealer.model(model));
    equipment.tools = tool::sealed(&equipment.tools, &sealer.seals);
    equipment.context = sealer.whole.seal(&equipment.context);
    equipment.workspace = sealer.seals.seal(&equipment.workspace);
    Ok((Arc::new(sealer.plan(plan)), Arc::new(equipment)))
}

/// Whether a secret is one that does not occur by chance.
pub(crate) fn is_long_enough(secret: &str) -> bool {
    secret.trim().chars().count() >= SHORTEST
}

struct Sealer {
    seals: Arc<Seals>,
    /// For what whoever wrote the workflow adds to prompts. Journals know those by a digest, so they stay as they are.
    whole: Seals,
}

impl Sealer {
    fn model(&self, model: &Arc<dyn Model>) -> Arc<dyn Model> {
        Arc::new(SealedModel::new(Arc::clone(model), Arc::clone(&self.seals)))
    }

    fn plan(&self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        for node in plan.sequences.iter_mut().flat_map(|sequence| &mut sequence.nodes) {
            self.node(node);
        }
        plan
    }

    fn node(&self, node: &mut PlannedNode) {
        match node {
            PlannedNode::Goal(PlannedGoal { kit, using, .. }) => {
                self.kit(kit);
                using.iter_mut().for_each(|inner| self.node(inner));
            }
            PlannedNode::Agent(PlannedAgent { kit, persona, .. }) => {
                self.kit(kit);
                if let PlannedPersona::Workflow { plan, .. } = persona {
                    *plan = Arc::new(self.plan(plan));
                }
            }
        }
    }

    fn kit(&self, kit: &mut Kit) {
        kit.model = kit.model.as_ref().map(|model| self.model(model));
        kit.tools = tool::sealed(&kit.tools, &self.seals);
        for context in &mut kit.context {
            *context = self.whole.seal(context);
        }
    }
}
