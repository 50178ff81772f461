//! The scripted model.

use std::fmt;
use std::sync::Arc;

use convoke_core::{
    CallContext, IdempotencyKey, Model, ModelError, ModelReply, ModelRequest, Path, Price, Reality,
    ReplyBuilder, ReplyStream, RunId,
};
use futures_util::StreamExt;

use super::condition::IncomingRequest;
use super::log::RequestLog;
use super::rule::Rule;
use super::{Reply, ScriptedModelBuilder, explain, playback};

/// A model that answers from a script.
///
/// Clones are cheap and share everything: keep one, give the other to the runtime, and ask afterwards what it was
/// asked.
///
/// ```
/// use convoke_core::ModelRequest;
/// use convoke_models::ScriptedModel;
///
/// let model = ScriptedModel::replies(["Hello!", "Goodbye!"]);
/// let handle = model.clone();
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// assert_eq!(model.answer(ModelRequest::new("Hi")).await?.text(), "Hello!");
/// assert_eq!(model.answer(ModelRequest::new("Bye")).await?.text(), "Goodbye!");
///
/// let error = model.answer(ModelRequest::new("Wait")).await.unwrap_err();
/// assert!(error.to_string().contains("the script has 2 replies and this is call 3"));
/// assert_eq!(handle.calls(), 3);
/// # Ok::<(), convoke_core::ModelError>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct ScriptedModel {
    script: Arc<Script>,
}

/// The script that all clones share.
pub(super) struct Script {
    pub(super) name: String,
    pub(super) origin: ScriptOrigin,
    pub(super) price: Option<Price>,
    pub(super) rules: Vec<Rule>,
    pub(super) log: RequestLog,
}

impl Script {
    /// How many replies there are, if the script is nothing but a list of them to be used once each.
    pub(super) fn queue_length(&self) -> Option<usize> {
        match &self.rules[..] {
            [only] => only.queue_length(),
            _ => None,
        }
    }
}

/// The origin of a script: it decides in which language its user is told what to add.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ScriptOrigin {
    /// The builder.
    #[default]
    Rust,
    /// A TOML or JSON document.
    File,
}

impl ScriptedModel {
    /// A model that gives these replies in order, whatever it is asked, and then fails.
    #[must_use]
    pub fn replies<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> Self {
        Self::builder().replies(replies).build()
    }

    /// A model for rehearsals: it answers anything, in whatever shape is asked for, and calls no tools.
    #[must_use]
    pub fn rehearsal() -> Self {
        Self::builder().name("rehearsal").otherwise(Reply::fitting()).build()
    }

    /// A script to be written.
    pub fn builder() -> ScriptedModelBuilder {
        ScriptedModelBuilder::default()
    }

    pub(super) fn new(script: Script) -> Self {
        Self { script: Arc::new(script) }
    }

    /// Answers a request outside of any run: for trying out a script.
    ///
    /// # Errors
    /// What the script says, or that it says nothing; a reply that is cut off or empty is an error too.
    pub async fn answer(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let mut builder = ReplyBuilder::new(self.name(), format!("message-{}", request.messages.len() + 1));
        let mut stream = self.begin(request, trial_key);
        while let Some(delta) = stream.next().await {
            builder.add(&delta?);
        }
        builder.finish()
    }

    /// Returns how many calls there have been, failed and abandoned ones included.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.script.log.calls()
    }

    /// The requests so far, in the order they came; none if the script
    /// [forgets](ScriptedModelBuilder::forget_requests).
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.script.log.requests().into_iter().map(Arc::unwrap_or_clone).collect()
    }

    /// The latest request.
    #[must_use]
    pub fn last_request(&self) -> Option<ModelRequest> {
        self.script.log.last_request().map(Arc::unwrap_or_clone)
    }

    /// The idempotency keys of the calls so far. A key that is there twice is a call that was made twice.
    ///
    /// ```
    /// # use convoke_models::ScriptedModel;
    /// # let model = ScriptedModel::replies(["Hello!"]);
    /// let mut keys: Vec<String> = model.call_keys().iter().map(|key| key.as_str().to_owned()).collect();
    /// keys.sort();
    /// keys.dedup();
    /// assert_eq!(keys.len(), model.calls(), "each model call is made once");
    /// ```
    #[must_use]
    pub fn call_keys(&self) -> Vec<IdempotencyKey> {
        self.script.log.keys()
    }

    /// The call is counted and its rule chosen here and now; the stream only plays what was chosen.
    fn begin(
        &self,
        request: ModelRequest,
        key: impl FnOnce(usize) -> IdempotencyKey,
    ) -> ReplyStream<'static> {
        let script = &*self.script;
        let request = Arc::new(request);
        let call = script.log.note(&request, key);
        let asked = IncomingRequest { request: &request, call };
        let reply = script
            .rules
            .iter()
            .find_map(|rule| rule.answer(&asked))
            .unwrap_or_else(|| Reply::error(explain::unanswered(script, &asked)));
        playback::play(reply.resolve(&request), &request)
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        &self.script.name
    }

    fn reply<'a>(&'a self, request: ModelRequest, call: CallContext) -> ReplyStream<'a> {
        self.begin(request, |_| call.key)
    }

    fn reality(&self) -> Reality {
        Reality::Simulated
    }

    fn price(&self) -> Option<Price> {
        self.script.price
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ScriptedModel")
            .field("name", &self.script.name)
            .field("rules", &self.script.rules)
            .field("calls", &self.calls())
            .finish_non_exhaustive()
    }
}

/// The key of a call outside of any run.
fn trial_key(call: usize) -> IdempotencyKey {
    let run: RunId = "trial".parse().expect("a word is a valid run id");
    IdempotencyKey::derive(&run, &Path::from("trial"), u32::try_from(call).unwrap_or(u32::MAX))
}
