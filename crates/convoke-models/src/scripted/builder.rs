//! The builder of scripts in Rust.

use convoke_core::Price;

use super::log::{RequestLog, Retention};
use super::model::{Script, ScriptOrigin};
use super::rule::Rule;
use super::{Match, Replies, Reply, ScriptedModel};

/// A script being written. See [`ScriptedModel::builder`].
#[derive(Debug)]
#[must_use]
pub struct ScriptedModelBuilder {
    name: String,
    origin: ScriptOrigin,
    price: Option<Price>,
    rules: Vec<Rule>,
    otherwise: Option<Rule>,
    retention: Retention,
}

impl Default for ScriptedModelBuilder {
    fn default() -> Self {
        Self {
            name: "scripted".to_owned(),
            origin: ScriptOrigin::default(),
            price: None,
            rules: Vec::new(),
            otherwise: None,
            retention: Retention::default(),
        }
    }
}

impl ScriptedModelBuilder {
    /// Adds a rule: requests that match get these replies, in turn. Rules are tried in the order they are added.
    ///
    /// ```
    /// use convoke_models::{Match, Reply, ScriptedModel};
    ///
    /// let model = ScriptedModel::builder()
    ///     .when(Match::call(1), Reply::empty())
    ///     .when(Match::system_contains("judge"), ["reject", "approve"])
    ///     .when(Match::last_contains("weather"), Reply::text("sunny").times(2))
    ///     .otherwise("I don't know.")
    ///     .build();
    /// ```
    pub fn when(mut self, condition: Match, replies: impl Into<Replies>) -> Self {
        self.rules.push(Rule::new(condition, replies.into()));
        self
    }

    /// Adds a rule that gives each of these replies once, in order, whatever is asked.
    ///
    /// ```
    /// use convoke_models::ScriptedModel;
    ///
    /// let model = ScriptedModel::builder().name("queue").replies(["first", "second"]).otherwise("more").build();
    /// ```
    pub fn replies<R: Into<Reply>>(self, replies: impl IntoIterator<Item = R>) -> Self {
        self.when(Match::any(), Replies::in_turn(replies).once())
    }

    /// Sets the replies to requests that no rule answers. Without it such requests fail. The last call counts.
    pub fn otherwise(mut self, replies: impl Into<Replies>) -> Self {
        self.otherwise = Some(Rule::new(Match::any(), replies.into()));
        self
    }

    /// Sets the model's name; `scripted` otherwise.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets what tokens cost. The kernel makes the cost of a call from it.
    pub fn price(mut self, price: Price) -> Self {
        self.price = Some(price);
        self
    }

    /// Counts calls but keeps neither requests nor keys: for benchmarks and other long runs.
    pub fn forget_requests(mut self) -> Self {
        self.retention = Retention::Count;
        self
    }

    pub(super) fn origin(mut self, origin: ScriptOrigin) -> Self {
        self.origin = origin;
        self
    }

    /// The model.
    #[must_use]
    pub fn build(mut self) -> ScriptedModel {
        self.rules.extend(self.otherwise);
        ScriptedModel::new(Script {
            name: self.name,
            origin: self.origin,
            price: self.price,
            rules: self.rules,
            log: RequestLog::new(self.retention),
        })
    }
}
