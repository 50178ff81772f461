//! The judge of loops: decides whether work is finished where those who do it do not say.

use convoke_agent::{AnswerShape, UnmarshalError};
use convoke_core::{Error, Message, ModelRequest, Scope, Visibility};
use schemars::JsonSchema;
use serde::Deserialize;

use super::events;
use super::workflow_context::{WorkflowContext, borrowed};
use crate::context::{fit, quoted};
use crate::plan::WorkerSettings;

/// Whether another round would make a difference.
#[derive(Debug, Deserialize, JsonSchema)]
struct RoundVerdict {
    /// Whether another round would improve the results in a way that matters.
    improvable: bool,
}

/// Results with names.
type Results = [(String, String)];

/// Asks whether another round would help, given what came of the one before and of the latest.
pub(super) async fn improvable(
    around: &WorkflowContext,
    settings: &WorkerSettings,
    name: &str,
    (before, now): (&Results, &Results),
    scope: &Scope,
) -> Result<bool, Error> {
    let all = before.iter().chain(now).cloned().collect();
    let all = around.condensed_everywhere(settings, scope, all, "").await?;
    let (kept, cuts) = fit(&borrowed(&all), around.equipment.context_budget);
    events::context_cut(scope, name, &cuts).await;
    let (before_kept, now_kept) = kept.split_at(before.len());
    let mut text = format!("<loop name={}>\n", quoted(name));
    for (round, results, kept) in [("previous", before, before_kept), ("latest", now, now_kept)] {
        if results.is_empty() {
            continue;
        }
        text.push_str(&format!("<round which=\"{round}\">\n"));
        for ((name, _), result) in results.iter().zip(kept) {
            let result = around.fence.wrap(result);
            text.push_str(&format!("<goal id={}>\n{result}\n</goal>\n", quoted(name)));
        }
        text.push_str("</round>\n");
    }
    text.push_str(
        "</loop>\n\nThis is done again and again, each time with what came of it before. Would another round improve the \
         results in a way that matters?",
    );
    let system = format!("You judge whether work is finished.\n\n{}", around.fence.explanation());
    let messages = [Message::system(system), Message::user(text)].into_iter().collect();
    let request = ModelRequest { messages, params: settings.params.clone(), ..ModelRequest::default() };
    let shape = AnswerShape::<RoundVerdict>::of().map_err(Error::failed)?;
    let model = around.model(settings, scope)?;
    let judge = scope.composing().leaf_child("verdict");
    match shape.ask(&judge, &model, request, Visibility::Hidden, name).await {
        Ok(verdict) => Ok(verdict.value.improvable),
        // A judge nobody understands ends nothing; there is a limit.
        Err(error) if error.downcast_ref::<UnmarshalError>().is_some() => Ok(true),
        Err(error) => Err(error),
    }
}
