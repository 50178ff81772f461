//! The scripted model: answers written down beforehand.
//!
//! A script is a list of rules. Each has a [`Match`], which says what requests it answers, and [`Replies`], which it
//! gives in turn. The first rule that matches and is not used up answers; if there is none, the call fails with an
//! error that shows what was asked, which rules there are and what rule to add. The same script and the same requests
//! give the same pieces, byte for byte.
//!
//! How often a rule has answered is known to the model and its clones only. A process that resumes a run after a crash
//! has a new model, whose lists begin anew: there, let rules depend on what is asked.
//!
//! | to have | write |
//! | --- | --- |
//! | answers in order, whatever is asked | [`ScriptedModel::replies`] |
//! | answers by what is asked | [`ScriptedModel::builder`], [`Match`] |
//! | an answer made from the request | [`Reply::with`] |
//! | an answer that fits whatever shape is asked for | [`Reply::fitting`], [`ScriptedModel::rehearsal`] |
//! | tool calls, JSON, reasoning | [`Reply::tool`], [`Reply::json`], [`Reply::reasoning`] |
//! | a failing, slow, broken or stuck provider | [`Reply::error`], [`Reply::delay`], [`Reply::hangs`] |
//! | the script in a file | [`ScriptedModel::from_file`] |
//! | what the model was asked | [`ScriptedModel::requests`], [`ScriptedModel::call_keys`] |
//!
//! # The file
//!
//! TOML or JSON, with the same names as in Rust. All conditions under `when` must hold; a rule without `when` answers
//! everything. `reply` is a text, a table, or a list of them, used in turn; what stands beside it holds for each of
//! its replies that does not say otherwise. Unknown keys are errors.
//!
//! ```
//! # use convoke_models::ScriptedModel;
//! let model = ScriptedModel::from_toml_str(r#"
//! name = "demo"
//! price = { input = 3.0, output = 15.0, cached_input = 0.3 }  # dollars per million tokens
//!
//! [[rule]]                                                    # fails twice, then works
//! when.last_contains = "weather"
//! reply = [
//!     { error = { status = 429, message = "slow down", retry_after = "2s" } },
//!     { error = { kind = "network", message = "reset" }, delay = "100ms" },
//!     { text = "Let me look.", tool_calls = [{ name = "weather", arguments = { city = "Oslo" } }] },
//! ]
//!
//! [[rule]]
//! when = { has_tool_result = true, tool_result_of = "weather" }
//! reply = "It is sunny in Oslo."
//! delay = "200ms"                                             # before the first piece
//! delay_per_chunk = "20ms"                                    # before each further piece
//! chunks = "words"                                            # or "whole", or a number of characters
//!
//! [[rule]]
//! when.output = "Verdict"                                     # the name of the output schema
//! json = { approved = true }
//! reasoning = "All figures add up."
//! usage = { input_tokens = 900, output_tokens = 12, cached_input_tokens = 800 }
//!
//! [[rule]]
//! when.call = 7                                               # the seventh call of all
//! reply = "I was about to say"
//! cut_after = 2                                               # or fail_after with error, or hangs, or hangs_after
//! once = true                                                 # or times = 3
//!
//! [[rule]]
//! when.last_contains = "rehearse"
//! fits = true                                                 # the shape that is asked for, or else some text
//!
//! [[rule]]
//! reply = "I don't know."
//! finish = "length"
//! "#)?;
//! # Ok::<(), convoke_models::ScriptError>(())
//! ```
//!
//! Conditions: `last_contains`, `last_equals`, `user_contains`, `user_equals`, `any_contains`, `system_contains`,
//! `has_tool_result`, `tool_result_of`, `tool_result_contains`, `offers_tool`, `offers_tools`, `output`, `call`.

mod builder;
mod chunks;
mod condition;
mod error;
mod explain;
mod fault;
mod file;
mod fit;
mod log;
mod model;
mod playback;
mod replies;
mod reply;
mod rule;
mod usage;

pub use builder::ScriptedModelBuilder;
pub use chunks::Chunks;
pub use condition::Match;
pub use error::{ScriptError, ScriptLocation};
pub use model::ScriptedModel;
pub use replies::Replies;
pub use reply::Reply;
