//! The tools that spawn agents.

use std::sync::Arc;

use convoke_core::{
    Access, BoxFuture, Error, Execution, Invocation, Repeat, Scope, Tool, ToolEffect, ToolEffects, ToolSpec,
};
use convoke_steps::{Join, Parallel};
use serde_json::Value;

use super::request::{SpawnRequest, schema_of_one, schema_of_several};
use super::spawned_agent::SpawnedAgent;
use super::{SPAWN_AGENT, SPAWN_AGENTS, Spawner};
use crate::run::called_tools::CalledTools;

/// Calls in an agent, or several at once.
pub(super) struct SpawnTool {
    spec: ToolSpec,
    by: Arc<Spawner>,
    /// At most so many at once; `None`: it is for one.
    several: Option<u32>,
}

impl SpawnTool {
    pub(super) fn one(by: &Spawner) -> Self {
        let description = "Spawns a sub-agent that does a task and answers. It knows nothing but its task.";
        Self::new(by, ToolSpec::new(SPAWN_AGENT, description, effects(by)).parameters(schema_of_one()), None)
    }

    pub(super) fn several(by: &Spawner, at_once: u32) -> Self {
        let description = format!(
            "Spawns several sub-agents, {at_once} at most, that work at the same time. Gives a list of their answers in \
             the order they were asked for; an answer that begins with `Error:` says why there is none."
        );
        let spec = ToolSpec::new(SPAWN_AGENTS, description, effects(by)).parameters(schema_of_several());
        Self::new(by, spec, Some(at_once))
    }

    fn new(by: &Spawner, spec: ToolSpec, several: Option<u32>) -> Self {
        Self { spec: spec.repeat(Repeat::Reenter).unbounded(), by: Arc::new(by.clone()), several }
    }

    pub(super) fn name(&self) -> &str {
        self.spec.name()
    }

    /// Whoever is too deep was not offered this tool; that it is called all the same changes nothing.
    fn allowed(&self) -> Result<(), Error> {
        match self.by.at_once() {
            Some(_) => Ok(()),
            None => Err(Error::Denied("agents that were spawned this deep may not spawn others".into())),
        }
    }

    async fn spawn_one(
        &self,
        scope: &Scope,
        order: SpawnRequest,
        called: &CalledTools,
    ) -> Result<String, Error> {
        let mut said = String::new();
        let spawned =
            SpawnedAgent { name: order.name(), order, by: Arc::clone(&self.by), called: called.clone() };
        scope.run(&spawned, &mut said).await?;
        Ok(self.fitting(scope, vec![(spawned.name, said)]).await?.concat())
    }

    /// Answers of a size that whoever asked for them can read.
    async fn fitting(&self, scope: &Scope, answers: Vec<(String, String)>) -> Result<Vec<String>, Error> {
        let Spawner { around, settings, .. } = &*self.by;
        let answers = around.condensed_everywhere(settings, scope, answers, "").await?;
        Ok(answers.into_iter().map(|(_, answer)| answer).collect())
    }

    async fn spawn_several(
        &self,
        scope: &Scope,
        orders: Vec<SpawnRequest>,
        called: &CalledTools,
    ) -> Result<String, Error> {
        let mut parallel = Parallel::builder("spawned", Join::keep_succeeded());
        let mut names: Vec<String> = Vec::new();
        for (index, order) in orders.into_iter().enumerate() {
            let name = unique(order.name(), &names);
            names.push(name.clone());
            let spawned = SpawnedAgent { name, order, by: Arc::clone(&self.by), called: called.clone() };
            parallel = parallel.project(
                spawned,
                |_: &Vec<String>| String::new(),
                move |answers, said| answers[index] = said,
            );
        }
        let mut answers = vec![String::new(); names.len()];
        let spawned = names.clone();
        let parallel = parallel.finally(move |answers, report| {
            for (name, error) in &report.failed {
                if let Some(index) = names.iter().position(|known| known == name) {
                    answers[index] = format!("Error: {error}");
                }
            }
            Ok::<_, Error>(())
        });
        let parallel = parallel.build().map_err(Error::failed)?;
        scope.composing().inline(&parallel, &mut answers).await?;
        let answers = self.fitting(scope, spawned.into_iter().zip(answers).collect()).await?;
        Ok(serde_json::to_string(&answers)?)
    }
}

/// A name that none of the others is.
fn unique(name: String, others: &[String]) -> String {
    let numbered = (2..).map(|number| format!("{name} {number}"));
    std::iter::once(name.clone()).chain(numbered).find(|name| !others.contains(name)).unwrap_or(name)
}

/// What those called in may do with their tools.
fn effects(by: &Spawner) -> ToolEffects {
    let own =
        by.settings.tools.iter().map(|tool| tool.spec()).filter(|spec| spec.execution == Execution::Server);
    own.flat_map(|spec| Vec::from(spec.effects)).collect::<ToolEffects>().and(ToolEffect::Spawns)
}

impl Tool for SpawnTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        match self.several {
            None => SpawnRequest::read(arguments).map(drop),
            Some(at_once) => SpawnRequest::read_all(arguments, at_once).map(drop),
        }
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            self.allowed()?;
            let called = CalledTools::default();
            let result = match self.several {
                None => self.spawn_one(call.scope, SpawnRequest::read(call.arguments)?, &called).await,
                Some(at_once) => {
                    self.spawn_several(call.scope, SpawnRequest::read_all(call.arguments, at_once)?, &called)
                        .await
                }
            };
            let called = called.names();
            if !called.is_empty() {
                call.scope.leave_note(called.into());
            }
            match result {
                // About the run, not about whoever was called in.
                Err(stop) if stop.passes(call.scope.path()) => Err(stop),
                Err(error) => Err(Error::failed(error.to_string())),
                Ok(answer) => Ok(answer),
            }
        })
    }

    /// The tools that were called by those called in. A call that the journal answers is not made again, but what was
    /// called in it is known all the same.
    fn noted(&self, note: &Value) {
        let tools = note.as_array().into_iter().flatten().filter_map(Value::as_str);
        self.by.called.add(tools.map(str::to_owned));
    }

    /// What they do besides calling in each other: two calls in one turn may be made at the same time.
    fn accesses(&self, _: &Value) -> Vec<Access> {
        let own = self.by.settings.tools.iter().map(|tool| tool.spec());
        let own = own.filter(|spec| spec.execution == Execution::Server);
        own.flat_map(|spec| Vec::from(spec.effects)).collect::<ToolEffects>().default_accesses()
    }
}
