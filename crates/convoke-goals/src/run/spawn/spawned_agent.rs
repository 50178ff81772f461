//! The step of a spawned agent.

use std::sync::Arc;

use convoke_core::{BoxFuture, Error, Nature, Scope, Step};

use super::Spawner;
use super::request::SpawnRequest;
use crate::context::{Role, Task};
use crate::run::called_tools::CalledTools;
use crate::run::events;
use crate::run::worker::Worker;

/// How many turns those have who are called in, unless something else is said.
const USUAL_TURNS: u32 = 30;

/// A spawned agent, at work. Its answer is the state it leaves behind.
pub(super) struct SpawnedAgent {
    pub(super) name: String,
    pub(super) order: SpawnRequest,
    /// Whoever called them in.
    pub(super) by: Arc<Spawner>,
    /// Told of the tools they call, and those they call in, whatever becomes of them.
    pub(super) called: CalledTools,
}

impl SpawnedAgent {
    async fn work(&self, scope: &Scope) -> Result<String, Error> {
        let SpawnRequest { role, task, outputs } = &self.order;
        let called = self.called.clone();
        let own = Spawner { level: self.by.level + 1, called: called.clone(), ..(*self.by).clone() };
        let (around, settings) = (&own.around, &own.settings);
        let (tools, spawning) = own.tools()?;
        let on_demand = around.on_demand(settings, &tools);
        let asked = Worker {
            name: &self.name,
            model: around.model(settings, scope)?,
            settings,
            system: around.system(Role::Spawned { role }, settings, &tools, &on_demand, spawning),
            tools,
            on_demand,
            fence: &around.fence,
            skills: around.equipment.skills.clone(),
            prompt: Task::new(role, &own.goal, task)
                .worded(around.rules)
                .outputs(outputs)
                .write(&around.fence, around.equipment.context_budget),
            outputs,
            converging: false,
            max_turns: around.turns_of(settings, USUAL_TURNS),
            rules: around.rules,
            commands: around.equipment.commands.clone(),
            called: called.clone(),
            watched: Some(called),
        };
        let product = asked.ask(scope).await?.product;
        match product.incomplete {
            None => Ok(product.text),
            Some(reason) => {
                let had = if product.text.trim().is_empty() { "nothing" } else { &product.text };
                Err(Error::failed(format!("incomplete: {reason}; what there was by then: {had}")))
            }
        }
    }
}

impl Step<String> for SpawnedAgent {
    fn name(&self) -> &str {
        &self.name
    }

    fn run<'a>(&'a self, scope: &'a Scope, said: &'a mut String) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let goal = &self.by.goal;
            events::subagent_spawned(scope, goal, &self.name, true).await;
            let result = self.work(scope).await;
            events::subagent_completed(scope, goal, &self.name, result.as_deref()).await;
            *said = result?;
            Ok(())
        })
    }

    fn kind(&self) -> &'static str {
        "agent"
    }

    fn nature(&self) -> Nature {
        Nature::Composite
    }
}
