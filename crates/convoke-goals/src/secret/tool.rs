//! A tool that gets secrets and never gives one back.

use std::sync::Arc;

use convoke_core::{
    Access, BoxFuture, Categorised, Error, Execution, IdempotencyKey, Invocation, Origin, Preparation,
    Reconciled, Repeat, Tool, ToolSpec, Toolset, Veil,
};
use serde_json::Value;

use super::seals::Seals;

/// Tools around which marks become secrets on their way in, and secrets marks on their way out.
///
/// Tools that are workflows or agents themselves are left as they are: what they are given they tell models, and that is
/// written down. Tools that somebody else executes do not get secrets either, nor do those that keep what they are told:
/// a later run would find it there.
pub(super) fn sealed(tools: &Toolset, seals: &Arc<Seals>) -> Toolset {
    let mut all = Toolset::new();
    for tool in tools.iter() {
        let open = tool.spec().repeat == Repeat::Reenter || tool.spec().execution == Execution::Client;
        let tool: Arc<dyn Tool> = match open {
            true => Arc::clone(tool),
            false => Arc::new(SealedTool { inner: Arc::clone(tool), seals: Arc::clone(seals) }),
        };
        // They have the names they had, and those were different.
        let added = all.add(tool);
        debug_assert!(added.is_ok());
    }
    all
}

struct SealedTool {
    inner: Arc<dyn Tool>,
    seals: Arc<Seals>,
}

impl Tool for SealedTool {
    fn spec(&self) -> &ToolSpec {
        self.inner.spec()
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        self.inner.check(&self.told(arguments)).map_err(|problem| self.seals.seal_cut(&problem))
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        Box::pin(async move {
            let arguments = self.told(call.arguments);
            let scope = call.scope.veiled(Arc::clone(&self.seals) as Arc<dyn Veil>);
            let call = Invocation { scope: &scope, arguments: &arguments, ..call };
            match self.inner.call(call).await {
                Ok(result) => Ok(self.seals.seal_cut(&result)),
                Err(error) => Err(self.error(error)),
            }
        })
    }

    fn prepare<'a>(&'a self, arguments: &'a Value) -> BoxFuture<'a, Preparation> {
        Box::pin(async move { self.inner.prepare(&self.told(arguments)).await })
    }

    fn reconcile<'a>(
        &'a self,
        key: &'a IdempotencyKey,
        arguments: &'a Value,
        before: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<Reconciled, Error>> {
        Box::pin(async move {
            match self.inner.reconcile(key, &self.told(arguments), before).await {
                Ok(Reconciled::Done(result)) => Ok(Reconciled::Done(self.seals.seal_cut(&result))),
                Ok(Reconciled::Ask(remark)) => Ok(Reconciled::Ask(self.seals.seal_cut(&remark))),
                Ok(other) => Ok(other),
                Err(error) => Err(self.error(error)),
            }
        })
    }

    fn noted(&self, note: &Value) {
        self.inner.noted(note);
    }

    fn accesses(&self, arguments: &Value) -> Vec<Access> {
        self.inner.accesses(&self.told(arguments))
    }

    /// It is written down, so it is told with marks in place of secrets.
    fn origin(&self, arguments: &Value) -> Origin {
        self.inner.origin(arguments)
    }
}

/// What a tool asks people and reports while it works has marks in it too.
impl Veil for Seals {
    fn text(&self, text: &str) -> String {
        self.seal_cut(text)
    }

    fn value(&self, value: &Value) -> Value {
        self.seal_cut_value(value)
    }
}

impl SealedTool {
    /// What the tool is told: secrets, unless it keeps what it is told.
    fn told(&self, arguments: &Value) -> Value {
        match self.spec().keeps {
            true => arguments.clone(),
            false => self.seals.unseal_value(arguments),
        }
    }

    /// The error, or one that says the same with marks in it.
    fn error(&self, error: Error) -> Error {
        // Its questions were asked through the veil, and whoever waits for answers must find them.
        if matches!(error, Error::Suspended(_)) {
            return error;
        }
        let tells = |text: String| self.seals.seal_cut(&text) != text;
        if !error.causes().any(|cause| tells(cause.to_string()) || tells(format!("{cause:?}"))) {
            return error;
        }
        match error {
            Error::Denied(reason) => Error::Denied(self.seals.seal_cut(&reason).into()),
            Error::Halted(reason) => Error::Halted(self.seals.seal_cut(&reason).into()),
            Error::Cancelled(reason) => Error::Cancelled(self.seals.seal_cut(&reason).into()),
            Error::Model(mut inner) => {
                inner.message = self.seals.seal_cut(&inner.message);
                inner.request_id = inner.request_id.map(|id| self.seals.seal_cut(&id));
                Error::Model(inner)
            }
            other => {
                let text = self.seals.seal_cut(&other.to_string());
                Error::failed(Categorised::new(other.category(), text))
            }
        }
    }
}
