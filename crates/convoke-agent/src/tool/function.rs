//! Tools made from functions.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::time::Duration;

use convoke_core::{
    Access, BoxFuture, Error, IdempotencyKey, Invocation, Origin, Preparation, Reconciliation, Repeat, Tool,
    ToolEffect, ToolEffects, ToolSpec, json_text,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Arguments, ToolArguments, ToolContext};
use crate::schema::{InvalidSchema, decode};

type Function = Box<dyn Fn(ToolContext, Value) -> BoxFuture<'static, Result<String, Error>> + Send + Sync>;
type Prepare = Box<dyn Fn(Value) -> BoxFuture<'static, Preparation> + Send + Sync>;
type Reconcile =
    Box<dyn Fn(InterruptedCall, Value) -> BoxFuture<'static, Result<Reconciliation, Error>> + Send + Sync>;
type Undone = Box<dyn Fn(&Value) -> bool + Send + Sync>;
type Noted = Box<dyn Fn(&Value) + Send + Sync>;
type Accesses = Box<dyn Fn(&Value) -> Option<Vec<Access>> + Send + Sync>;
type OriginOf = Box<dyn Fn(&Value) -> Option<Origin> + Send + Sync>;

/// A call that was interrupted, as far as it is known.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct InterruptedCall {
    /// Marks every attempt at the call as the same one.
    pub key: IdempotencyKey,
    /// What was [kept](Preparation::keeping) with it before it began.
    pub before: Option<Value>,
}

/// A tool made from a function.
///
/// The function's argument type gives the schema. It returns anything that can be serialised: a text is given to the
/// model as it is, everything else as JSON. Its errors go to the model too.
///
/// Until it says otherwise, a tool is taken to talk to the world: its calls run side by side, and one that was
/// interrupted is never repeated behind anyone's back. Say what it does with [`effects`](Self::effects),
/// [`pure`](Self::pure) or [`idempotent`](Self::idempotent).
///
/// ```
/// use convoke_agent::FunctionTool;
/// use convoke_core::{Error, Tool, ToolEffect};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use serde_json::json;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct WeatherArgs {
///     /// The city's name.
///     city: String,
/// }
///
/// let weather = FunctionTool::new("weather", "Looks up the weather", |args: WeatherArgs| async move {
///     Ok::<_, Error>(format!("It is sunny in {}.", args.city))
/// })
/// .effects([ToolEffect::Network])
/// .idempotent();
///
/// assert!(weather.check(&json!({"city": "Oslo"})).is_ok());
/// assert_eq!(
///     weather.check(&json!({"town": "Oslo"})).unwrap_err(),
///     "at the top: \"city\" is missing; expected {\"description\":\"The city's name.\",\"type\":\"string\"}",
/// );
/// ```
#[must_use = "a tool does nothing until an agent has it"]
pub struct FunctionTool {
    spec: ToolSpec,
    arguments: Arguments,
    function: Function,
    prepare: Option<Prepare>,
    reconcile: Option<Reconcile>,
    undone: Option<Undone>,
    noted: Option<Noted>,
    accesses: Option<Accesses>,
    origin: Option<OriginOf>,
    said_repeat: bool,
}

impl FunctionTool {
    /// A tool that calls this function with its arguments.
    pub fn new<A, T, E, F, Fut>(name: impl Into<String>, description: impl Into<String>, function: F) -> Self
    where
        A: ToolArguments,
        T: Serialize,
        E: Into<Box<dyn StdError + Send + Sync>>,
        F: Fn(A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
    {
        Self::with_context(name, description, move |_: ToolContext, arguments: A| function(arguments))
    }

    /// A tool whose function also gets the call's scope and idempotency key.
    ///
    /// ```
    /// use convoke_agent::{FunctionTool, ToolContext};
    /// use convoke_core::{Error, Repeat};
    /// # use schemars::JsonSchema;
    /// # use serde::Deserialize;
    /// # #[derive(Deserialize, JsonSchema)]
    /// # struct Payment { amount: u32 }
    /// # async fn pay(_: &str, _: u32) -> Result<String, Error> { Ok("paid".into()) }
    ///
    /// // The bank makes one payment per key, so a repeated call does no harm.
    /// let pay = FunctionTool::with_context("pay", "Pays", |context: ToolContext, payment: Payment| async move {
    ///     pay(context.key.as_str(), payment.amount).await
    /// })
    /// .idempotent();
    /// ```
    pub fn with_context<A, T, E, F, Fut>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: F,
    ) -> Self
    where
        A: ToolArguments,
        T: Serialize,
        E: Into<Box<dyn StdError + Send + Sync>>,
        F: Fn(ToolContext, A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
    {
        let function: Function = Box::new(move |context, arguments| {
            let work = decode(arguments).map(|arguments| function(context, arguments));
            Box::pin(async move { output(work.map_err(Error::failed)?.await) })
        });
        Self::assemble(name.into(), description.into(), Arguments::of::<A>(), function)
    }

    /// A tool whose arguments are known only at run time: a JSON Schema, and a function over JSON.
    ///
    /// ```
    /// use convoke_agent::FunctionTool;
    /// use convoke_core::Error;
    /// use serde_json::{Value, json};
    ///
    /// let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    /// let double = FunctionTool::dynamic("double", "Doubles a number", schema, |_, arguments: Value| async move {
    ///     Ok::<_, Error>(arguments["n"].as_i64().unwrap_or(0) * 2)
    /// })?;
    /// # Ok::<(), convoke_agent::InvalidSchema>(())
    /// ```
    ///
    /// # Errors
    /// If the schema is not one.
    pub fn dynamic<T, E, F, Fut>(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
        function: F,
    ) -> Result<Self, InvalidSchema>
    where
        T: Serialize,
        E: Into<Box<dyn StdError + Send + Sync>>,
        F: Fn(ToolContext, Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
    {
        let arguments = Arguments::with_schema(schema)?;
        let function: Function = Box::new(move |context, arguments| {
            let work = function(context, arguments);
            Box::pin(async move { output(work.await) })
        });
        Ok(Self::assemble(name.into(), description.into(), arguments, function))
    }

    fn assemble(name: String, description: String, arguments: Arguments, function: Function) -> Self {
        let spec = ToolSpec::new(name, description, ToolEffect::Network.into())
            .parameters(arguments.schema().clone());
        Self {
            spec,
            arguments,
            function,
            prepare: None,
            reconcile: None,
            undone: None,
            noted: None,
            accesses: None,
            origin: None,
            said_repeat: false,
        }
    }

    /// Says what it does to the world. Whether it may be repeated follows, unless that was said.
    pub fn effects(mut self, effects: impl Into<ToolEffects>) -> Self {
        self.spec.effects = effects.into();
        if !self.said_repeat {
            self.spec.repeat =
                if self.spec.effects.changes_the_world() { Repeat::Never } else { Repeat::Safe };
        }
        self
    }

    /// Says that it does nothing to the world: its result follows from its arguments.
    pub fn pure(self) -> Self {
        self.effects(ToolEffects::NONE)
    }

    /// Says what may happen to a call that was interrupted.
    pub fn repeat(mut self, repeat: Repeat) -> Self {
        self.spec.repeat = repeat;
        self.said_repeat = true;
        self
    }

    /// Says that calling it twice, with the same key, does no harm.
    pub fn idempotent(self) -> Self {
        self.repeat(Repeat::Safe)
    }

    /// Limits how long a call may take. What the agent says holds otherwise.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.spec = self.spec.timeout(limit);
        self
    }

    /// Lets a call take as long as it takes.
    pub fn unbounded(mut self) -> Self {
        self.spec = self.spec.unbounded();
        self
    }

    /// Sets the longest result, in bytes; a longer one is an error.
    pub fn max_output(mut self, bytes: usize) -> Self {
        self.spec = self.spec.max_output(bytes);
        self
    }

    /// Makes a failure end the agent instead of going to the model.
    pub fn fatal(mut self) -> Self {
        self.spec = self.spec.fatal();
        self
    }

    /// Says that it keeps what it is told, for later calls or runs: no secret reaches it.
    pub fn keeps(mut self) -> Self {
        self.spec = self.spec.keeps();
        self
    }

    /// Makes ready for a call that must not be repeated blindly, before it counts as begun: see [`Tool::prepare`].
    pub fn prepare<A, F, Fut>(mut self, prepare: F) -> Self
    where
        A: DeserializeOwned,
        F: Fn(A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Preparation> + Send + 'static,
    {
        self.prepare = Some(Box::new(move |arguments| match decode(arguments) {
            Ok(arguments) => Box::pin(prepare(arguments)),
            // What is wrong with them is told when it is called.
            Err(_) => Box::pin(async { Preparation::default() }),
        }));
        self
    }

    /// Says what became of a call that was interrupted, asked by its key. Without it a person is asked.
    pub fn reconcile<A, E, F, Fut>(self, reconcile: F) -> Self
    where
        A: DeserializeOwned,
        E: Into<Box<dyn StdError + Send + Sync>>,
        F: Fn(IdempotencyKey, A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Reconciliation, E>> + Send + 'static,
    {
        self.reconcile_from(move |interrupted, arguments| reconcile(interrupted.key, arguments))
    }

    /// Says what became of a call that was interrupted, also by what was kept before it. Without it a person is asked.
    pub fn reconcile_from<A, E, F, Fut>(mut self, reconcile: F) -> Self
    where
        A: DeserializeOwned,
        E: Into<Box<dyn StdError + Send + Sync>>,
        F: Fn(InterruptedCall, A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Reconciliation, E>> + Send + 'static,
    {
        self.reconcile = Some(Box::new(move |interrupted, arguments| {
            let work = decode(arguments).map(|arguments| reconcile(interrupted, arguments));
            Box::pin(async move { work.map_err(Error::failed)?.await.map_err(Error::failed) })
        }));
        self
    }

    /// Says of which questions of its own a call has done nothing as long as they have no answer: see
    /// [`Tool::is_undone_while_asking`].
    pub fn undone_while_asking(mut self, undone: impl Fn(&Value) -> bool + Send + Sync + 'static) -> Self {
        self.undone = Some(Box::new(undone));
        self
    }

    /// Hears what calls leave with their outcomes: see [`Tool::noted`].
    pub fn noted(mut self, noted: impl Fn(&Value) + Send + Sync + 'static) -> Self {
        self.noted = Some(Box::new(noted));
        self
    }

    /// Says what a call with these arguments touches, so that calls that do not conflict may run side by side.
    ///
    /// ```
    /// use convoke_agent::FunctionTool;
    /// use convoke_core::{Access, AccessMode, Error, ToolEffect};
    /// # use schemars::JsonSchema;
    /// # use serde::Deserialize;
    /// # #[derive(Deserialize, JsonSchema)]
    /// # struct Write { file: String, text: String }
    ///
    /// // Two files may be written at once; one file may not.
    /// let write = FunctionTool::new("write", "Writes a file", |_: Write| async { Ok::<_, Error>("written") })
    ///     .effects([ToolEffect::Writes])
    ///     .accesses(|call: Write| vec![Access { resource: call.file, mode: AccessMode::Write }]);
    /// ```
    pub fn accesses<A: DeserializeOwned>(
        mut self,
        accesses: impl Fn(A) -> Vec<Access> + Send + Sync + 'static,
    ) -> Self {
        self.accesses = Some(Box::new(move |arguments| decode(arguments.clone()).ok().map(&accesses)));
        self
    }

    /// Says where the result of a call with these arguments comes from.
    pub fn origin<A: DeserializeOwned>(
        mut self,
        origin: impl Fn(A) -> Origin + Send + Sync + 'static,
    ) -> Self {
        self.origin = Some(Box::new(move |arguments| decode(arguments.clone()).ok().map(&origin)));
        self
    }
}

/// What the model gets to read.
fn output<T: Serialize, E: Into<Box<dyn StdError + Send + Sync>>>(
    result: Result<T, E>,
) -> Result<String, Error> {
    match serde_json::to_value(result.map_err(Error::failed)?)? {
        Value::String(text) => Ok(text),
        json => Ok(json_text(&json)),
    }
}

impl Tool for FunctionTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        self.arguments.check(arguments)
    }

    fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<String, Error>> {
        (self.function)(ToolContext::of(&call), self.arguments.meant(call.arguments))
    }

    fn prepare<'a>(&'a self, arguments: &'a Value) -> BoxFuture<'a, Preparation> {
        match &self.prepare {
            Some(prepare) => prepare(self.arguments.meant(arguments)),
            None => Box::pin(async { Preparation::default() }),
        }
    }

    fn reconcile<'a>(
        &'a self,
        key: &'a IdempotencyKey,
        arguments: &'a Value,
        before: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<Reconciliation, Error>> {
        match &self.reconcile {
            Some(reconcile) => {
                let interrupted = InterruptedCall { key: key.clone(), before: before.cloned() };
                reconcile(interrupted, self.arguments.meant(arguments))
            }
            None => Box::pin(async { Ok(Reconciliation::Unknown) }),
        }
    }

    fn is_undone_while_asking(&self, about: &Value) -> bool {
        self.undone.as_ref().is_some_and(|undone| undone(about))
    }

    fn noted(&self, note: &Value) {
        self.noted.iter().for_each(|noted| noted(note));
    }

    fn accesses(&self, arguments: &Value) -> Vec<Access> {
        let said = self.accesses.as_ref().and_then(|accesses| accesses(&self.arguments.meant(arguments)));
        said.unwrap_or_else(|| self.spec.effects.default_accesses())
    }

    fn origin(&self, arguments: &Value) -> Origin {
        let said = self.origin.as_ref().and_then(|origin| origin(&self.arguments.meant(arguments)));
        said.unwrap_or_else(|| Origin::Tool(self.spec.name().to_owned()))
    }
}

impl fmt::Debug for FunctionTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FunctionTool").field("spec", &self.spec).finish_non_exhaustive()
    }
}
