//! Interceptors: hooks between a run and the world.
//!
//! An [`Interceptor`] is told about every effect that is really performed: before, when it can deny it or have a person
//! asked, and after, when it can change or deny what came back and say what is known of it ([`Labels`]). It can also
//! give the world something else than the run knows: then the journal, digests and events have what the run knows, and
//! only the world has the other. A policy is an interceptor, and so is what keeps secrets out of journals.
//!
//! Interceptors belong to the runtime, so no step, agent or tool can go round them; a scope may have more. Each has a
//! name, and a scope of its own below every effect: what it asks there, and what it was answered, is its alone.

mod consult;
mod effect;
mod interceptor_scope;
mod label;
mod side_output;
mod stack;
mod verdict;

pub(crate) use effect::OutcomeOfKind;
pub use effect::{EffectOutcome, EffectRequest, InterceptedEffect, SideOutput};
pub(crate) use interceptor_scope::{asked_by, guarded_by};
pub use label::{InvalidLabel, Label, Labels};
pub(crate) use stack::InterceptorStack;
pub use verdict::Verdict;

use serde_json::Value;

use crate::Error;
use crate::ask::Question;
use crate::model::{Model, ModelRequest, ReplyStream};
use crate::step::BoxFuture;
use crate::tool::ToolSpec;

/// Stands before and after every effect: calls of models and tools, questions, mail, and what the user's own code does.
///
/// It is told only about what is really performed. What the journal answers is as it was, whatever an interceptor would
/// say now; an effect that was interrupted is told about again when it is made again. Of several interceptors the first
/// is told first before, and last after an effect: the last one is next to the world.
///
/// ```
/// use convoke_core::{BoxFuture, EffectRequest, Error, InterceptedEffect, Interceptor, ToolEffect, Verdict};
///
/// /// Nothing leaves this machine.
/// struct Offline;
///
/// impl Interceptor for Offline {
///     fn name(&self) -> &str {
///         "offline"
///     }
///
///     fn before<'a>(&'a self, about: InterceptedEffect<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
///         Box::pin(async move {
///             Ok(match about.request {
///                 EffectRequest::Tool { spec, .. } if spec.effects.contains(ToolEffect::Network) => {
///                     Verdict::deny("there is no network here; work with what is on this machine")
///                 }
///                 _ => Verdict::Allow,
///             })
///         })
///     }
/// }
/// ```
pub trait Interceptor: Send + Sync {
    /// Its name. No two of a run have the same, and it must stay what it is: what a person has approved is kept under it.
    fn name(&self) -> &str;

    /// Decides whether an effect may be performed. What it decides is written down with the effect.
    ///
    /// # Errors
    /// Whatever keeps it from deciding: the effect is then not performed, and the step that wanted it fails.
    fn before<'a>(&'a self, about: InterceptedEffect<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
        let _ = about;
        Box::pin(async { Ok(Verdict::Allow) })
    }

    /// Judges what came of an effect before anybody else sees it, the journal included. It may change it; to deny it, it
    /// puts an [`Error::Denied`] in its place, which the caller of a tool gets to read. The labels it gives are kept with
    /// the outcome, and the scope has learnt them.
    ///
    /// What was performed cannot wait here for a person: should the run be suspended, what came of it is lost.
    ///
    /// # Errors
    /// Whatever keeps it from judging: that is then what the effect came to.
    fn after<'a>(
        &'a self,
        about: InterceptedEffect<'a>,
        outcome: &'a mut Result<EffectOutcome, Error>,
    ) -> BoxFuture<'a, Result<Labels, Error>> {
        let _ = (about, outcome);
        Box::pin(async { Ok(Labels::new()) })
    }

    /// What a model is asked in the place of what the run asks; `None` means the same. Like the next two it must be a
    /// function of what it is given: nothing of it is written down.
    fn request(&self, model: &dyn Model, request: &ModelRequest) -> Option<ModelRequest> {
        let _ = (model, request);
        None
    }

    /// The arguments that a tool gets in the place of those the run knows; `None` means the same. The tool is told of
    /// nothing else: neither when it checks them nor when it says what a call touches or what became of it.
    fn arguments(&self, tool: &ToolSpec, arguments: &Value) -> Option<Value> {
        let _ = (tool, arguments);
        None
    }

    /// What people are asked in the place of what the run asks; `None` means the same. The options of a choice must stay
    /// in their order.
    fn question(&self, question: &Question) -> Option<Question> {
        let _ = question;
        None
    }

    /// A model's reply on its way back, piece by piece: whatever must not be seen in it is taken out here, because the
    /// pieces are told to listeners as they come.
    fn reply<'a>(&'a self, request: &'a ModelRequest, pieces: ReplyStream<'a>) -> ReplyStream<'a> {
        let _ = request;
        pieces
    }

    /// Whether [`after`](Self::after) must have seen a whole reply before listeners are told any of it.
    fn holds_replies(&self) -> bool {
        false
    }

    /// Changes what a tool says beside its result, before anybody hears it.
    fn side_output(&self, tool: &ToolSpec, said: &mut SideOutput) {
        let _ = (tool, said);
    }

    /// Whether approvals are its own that were given when nobody who asked had a name.
    #[doc(hidden)]
    fn inherits_unnamed_approvals(&self) -> bool {
        false
    }
}
