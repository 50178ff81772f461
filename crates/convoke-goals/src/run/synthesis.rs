//! The step that makes one answer out of several.

use convoke_core::{BoxFuture, Error, Nature, Scope, Step, Toolset};

use super::called_tools::CalledTools;
use super::fan_out::MemberAnswer;
use super::goal::Pursuit;
use super::worker::{TurnLimit, WorkResult, Worker};
use super::workflow_context::borrowed;
use crate::context::{Guidance, Role, SystemParts, synthesis, system};
use crate::skills::SkillShelf;
use crate::supervise::Product;

/// Makes one answer of several, in declared order.
///
/// Whoever of them has nothing to say but that nothing is left to improve is left out. If that is all of them, there is
/// nothing to put together; if it is all but one, that one is taken at its word, unless the goal has outputs: only whoever
/// puts answers together was asked for them.
pub(super) async fn run(
    pursuit: &Pursuit<'_>,
    scope: &Scope,
    answers: &mut [MemberAnswer],
) -> Result<WorkResult, Error> {
    let with_text: Vec<usize> = (0..answers.len()).filter(|&index| answers[index].has_text()).collect();
    match with_text.as_slice() {
        [] => return Ok(WorkResult::default()),
        [only] if pursuit.goal.outputs.is_empty() => return Ok(std::mem::take(&mut answers[*only].said)),
        _ => {}
    }
    let texts = with_text
        .iter()
        .map(|&index| (answers[index].name.clone(), answers[index].said.product.text.clone()));
    let texts: Vec<(String, String)> = texts.collect();
    let mut said = WorkResult::default();
    let step = Synthesis { pursuit, answers: &texts };
    let child = scope.composing().open(&step)?;
    child
        .composing()
        .enter(&step, &mut said)
        .await
        .map_err(|error| error.in_step("synthesis", child.path()))?;
    for answer in answers.iter() {
        if let Some(reason) = &answer.said.product.incomplete {
            said.product.incomplete.get_or_insert_with(|| format!("`{}`: {reason}", answer.name));
        }
    }
    Ok(said)
}

impl MemberAnswer {
    fn has_text(&self) -> bool {
        !self.said.product.text.trim().is_empty()
    }
}

struct Synthesis<'a> {
    pursuit: &'a Pursuit<'a>,
    answers: &'a [(String, String)],
}

impl Step<WorkResult> for Synthesis<'_> {
    fn name(&self) -> &str {
        "synthesis"
    }

    fn run<'a>(&'a self, scope: &'a Scope, said: &'a mut WorkResult) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let Pursuit { around, goal, description, corrections, .. } = *self.pursuit;
            let answers = around.condensed(&goal.settings, scope, self.answers.to_vec(), description).await?;
            let asked = Worker {
                name: &goal.name,
                model: around.model(&goal.settings, scope)?,
                settings: &goal.settings,
                tools: Toolset::new(),
                on_demand: Vec::new(),
                fence: &around.fence,
                skills: SkillShelf::default(),
                system: system(&SystemParts {
                    role: Role::Synthesis,
                    context: &around.context(&goal.settings),
                    workspace: "",
                    skills: "",
                    guidance: Guidance::default(),
                    research: around.research(),
                    fence: &around.fence,
                }),
                prompt: synthesis(
                    &goal.name,
                    description,
                    &borrowed(&answers),
                    corrections,
                    &goal.outputs,
                    &around.fence,
                    around.equipment.context_budget,
                ),
                outputs: &goal.outputs,
                converging: false,
                max_turns: TurnLimit { turns: 1, raised: None },
                rules: around.rules,
                commands: around.equipment.commands.clone(),
                called: CalledTools::default(),
                watched: None,
            };
            *said = asked.ask(scope).await?;
            let Product { text, tools, incomplete, .. } = &said.product;
            said.product.unassembled = text.trim().is_empty() && incomplete.is_some() && !tools.is_empty();
            Ok(())
        })
    }

    fn kind(&self) -> &'static str {
        "synthesis"
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }
}
