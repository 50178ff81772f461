//! The stack of interceptors around a scope, applied to what goes out and comes in.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::{Interceptor, SideOutput};
use crate::ask::Question;
use crate::model::{Model, ModelRequest, ReplyStream};
use crate::tool::{Tool, ToolSpec};
use crate::{Error, Scope};

/// The interceptors around a scope, outermost first; never none.
#[derive(Clone)]
pub(crate) struct InterceptorStack {
    interceptors: Vec<Arc<dyn Interceptor>>,
    /// The tool that speaks here.
    speaker: Option<Arc<dyn Tool>>,
}

impl InterceptorStack {
    pub(crate) fn of(interceptors: Vec<Arc<dyn Interceptor>>) -> Option<Arc<Self>> {
        (!interceptors.is_empty()).then(|| Arc::new(Self { interceptors, speaker: None }))
    }

    /// Whether each has a name of its own.
    ///
    /// # Errors
    /// If not: what was approved for one would be approved for the other.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let names = self.iter().map(|interceptor| interceptor.name());
        for (number, name) in names.clone().enumerate() {
            if name.is_empty() || names.clone().take(number).any(|other| other == name) {
                return Err(Error::Refused(
                    format!("duplicate or empty interceptor name `{name}`: give each a name of its own")
                        .into(),
                ));
            }
        }
        Ok(())
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<dyn Interceptor>> + Clone {
        self.interceptors.iter()
    }

    /// These but one, where no tool speaks.
    pub(super) fn without(&self, name: &str) -> Option<Arc<Self>> {
        Self::of(self.iter().filter(|other| other.name() != name).cloned().collect())
    }

    /// Whether listeners are told a reply only when all of it was judged.
    pub(crate) fn holds_replies(&self) -> bool {
        self.iter().any(|interceptor| interceptor.holds_replies())
    }

    /// A reply on its way back; who is next to the world has it first.
    pub(crate) fn reply<'a>(&'a self, request: &'a ModelRequest, pieces: ReplyStream<'a>) -> ReplyStream<'a> {
        self.iter().rev().fold(pieces, |pieces, interceptor| interceptor.reply(request, pieces))
    }

    fn side_output(&self, tool: &ToolSpec, mut said: SideOutput) -> SideOutput {
        self.iter().rev().for_each(|interceptor| interceptor.side_output(tool, &mut said));
        said
    }
}

impl Scope {
    /// The same scope, in which this interceptor is told about every effect too, and in all scopes below it. It stands
    /// next to the world, inside those that are there already.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is one of its name.
    pub fn intercepted(&self, interceptor: Arc<dyn Interceptor>) -> Result<Self, Error> {
        let (mut interceptors, speaker) = match self.around.as_deref() {
            Some(around) => (around.interceptors.clone(), around.speaker.clone()),
            None => (Vec::new(), None),
        };
        interceptors.push(interceptor);
        let around = InterceptorStack { interceptors, speaker };
        around.check()?;
        Ok(Self { around: Some(Arc::new(around)), ..self.clone() })
    }

    /// The same scope, in which a tool speaks. One that is a workflow says nothing but what its own effects are.
    pub(crate) fn with_speaker(&self, tool: &Arc<dyn Tool>) -> Self {
        let spoken = |around: &Arc<InterceptorStack>| {
            Arc::new(InterceptorStack { speaker: Some(Arc::clone(tool)), ..InterceptorStack::clone(around) })
        };
        let around = match tool.spec().repeat {
            crate::Repeat::Reenter => self.around.clone(),
            _ => self.around.as_ref().map(spoken),
        };
        Self { around, ..self.clone() }
    }

    /// What a model is really asked.
    pub(crate) fn outward_request<'a>(
        &self,
        model: &dyn Model,
        request: &'a ModelRequest,
    ) -> Cow<'a, ModelRequest> {
        self.outward(request, |interceptor, request| interceptor.request(model, request))
    }

    /// The arguments that a tool really gets.
    pub(crate) fn outward_arguments<'a>(&self, tool: &dyn Tool, arguments: &'a Value) -> Cow<'a, Value> {
        self.outward(arguments, |interceptor, arguments| interceptor.arguments(tool.spec(), arguments))
    }

    /// What people are really asked.
    pub(crate) fn outward_question<'a>(&self, question: &'a Question) -> Cow<'a, Question> {
        self.outward(question, |interceptor, question| interceptor.question(question))
    }

    fn outward<'a, T: Clone>(
        &self,
        known: &'a T,
        change: impl Fn(&dyn Interceptor, &T) -> Option<T>,
    ) -> Cow<'a, T> {
        let mut outward = Cow::Borrowed(known);
        for interceptor in self.around.iter().flat_map(|around| around.iter()) {
            if let Some(changed) = change(&**interceptor, &outward) {
                outward = Cow::Owned(changed);
            }
        }
        outward
    }

    /// What is said by the tool that speaks here, as it may be heard; `None` if no tool does.
    pub(super) fn screened(&self, said: impl FnOnce() -> SideOutput) -> Option<SideOutput> {
        let around = self.around.as_deref()?;
        around.speaker.as_ref().map(|tool| around.side_output(tool.spec(), said()))
    }

    /// What a tool keeps with a call, as it may be kept.
    pub(crate) fn screened_note(&self, tool: &dyn Tool, kept: Value) -> Value {
        match self.screened_from(tool, SideOutput::Note(kept)) {
            SideOutput::Note(kept) => kept,
            _ => Value::Null,
        }
    }

    /// What a tool says of its arguments, or of a call, as it may be heard.
    pub(crate) fn screened_remark(&self, tool: &dyn Tool, remark: String) -> String {
        match self.screened_from(tool, SideOutput::Remark(remark)) {
            SideOutput::Remark(remark) => remark,
            _ => String::new(),
        }
    }

    fn screened_from(&self, tool: &dyn Tool, said: SideOutput) -> SideOutput {
        match self.around.as_deref() {
            Some(around) => around.side_output(tool.spec(), said),
            None => said,
        }
    }
}
