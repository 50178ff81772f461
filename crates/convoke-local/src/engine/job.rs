//! A request prepared for the engine.

use convoke_core::{ModelError, ModelErrorKind, ModelRequest, ReplyDelta};
use llama_cpp_2::token::LlamaToken;
use llguidance::Matcher;
use tokio::sync::mpsc;

use super::load::LoadedModel;
use super::status::WaitingJob;
use crate::prompt::offered_tools;
use crate::reply::ReplyWriter;
use crate::sampling::Sampling;
use crate::{LocalSettings, grammar};

/// Fewer tokens are no answer.
const SHORTEST_ANSWER: usize = 128;

/// The pieces of a reply, on their way to whoever asked.
pub(super) type Replies = mpsc::Sender<Result<ReplyDelta, ModelError>>;

/// A request, ready to be worked on.
pub(super) struct Job {
    pub(super) prompt: Vec<LlamaToken>,
    pub(super) max_tokens: usize,
    pub(super) sampling: Sampling,
    pub(super) grammar: Option<Matcher>,
    pub(super) writer: ReplyWriter,
    /// Whether what is known of an earlier conversation may be used again.
    pub(super) reuse: bool,
}

/// A job on its way to the engine.
pub(super) struct QueuedJob {
    pub(super) job: Job,
    pub(super) replies: Replies,
    pub(super) waiting: WaitingJob,
}

impl Job {
    /// Makes a job of a request: its prompt in tokens, its grammar compiled. Takes a while for a long conversation.
    pub(super) fn new(
        request: &ModelRequest,
        loaded: &LoadedModel,
        settings: &LocalSettings,
    ) -> Result<Self, ModelError> {
        let params = &request.params;
        if params.extra.as_ref().is_some_and(|extra| !extra.is_null()) {
            return Err(grammar::invalid(
                "a local model has no extra parameters; leave out `extra`".to_owned(),
            ));
        }
        if request.output.is_some() && !params.stop.is_empty() {
            let problem = "a stop word could cut an answer that must fit a schema; leave out one of the two";
            return Err(grammar::invalid(problem.to_owned()));
        }
        let prompt = loaded.vocabulary.tokens(&loaded.template.prompt(request, loaded.vocabulary.control())?);
        let room = (loaded.context_tokens as usize).saturating_sub(prompt.len());
        if room == 0 || prompt.is_empty() {
            return Err(does_not_fit(prompt.len(), loaded.context_tokens));
        }
        let grammar = match grammar::for_request(request, settings.calls_per_reply)? {
            Some(grammar) => Some(loaded.vocabulary.matcher(grammar)?),
            None => None,
        };
        let temperature =
            in_range("temperature", params.temperature.unwrap_or(settings.temperature), 0.0, 10.0)?;
        let top_p = in_range("top_p", params.top_p.unwrap_or(settings.top_p), 0.0, 1.0)?;
        let seed = params.seed.unwrap_or_else(|| getrandom::u64().unwrap_or_default());
        #[expect(clippy::cast_possible_truncation, reason = "small numbers, and a seed of any kind will do")]
        let sampling = Sampling {
            temperature: temperature as f32,
            top_p: top_p as f32,
            top_k: settings.top_k.cast_signed(),
            min_p: settings.min_p as f32,
            repeat_penalty: settings.repeat_penalty as f32,
            dry_multiplier: settings.dry_multiplier as f32,
            seed: seed as u32,
        };
        let tools = offered_tools(request).iter().map(|tool| tool.name.clone());
        Ok(Self {
            max_tokens: (params.max_tokens.unwrap_or(settings.max_tokens) as usize).min(room),
            sampling,
            grammar,
            writer: ReplyWriter::new(tools, params.stop.clone()),
            // Numbers computed in another order differ in their last digits, which may change a choice.
            reuse: params.seed.is_none(),
            prompt,
        })
    }

    /// How much room it needs, prompt and answer together.
    pub(super) fn tokens(&self) -> u32 {
        u32::try_from(self.prompt.len() + self.max_tokens).unwrap_or(u32::MAX)
    }

    /// Has its answer fit into this much room; `false` if nothing worth having would fit.
    pub(super) fn shorten_to(&mut self, room: u32) -> bool {
        let left = (room as usize).saturating_sub(self.prompt.len());
        self.max_tokens = self.max_tokens.min(left);
        left >= SHORTEST_ANSWER
    }

    /// How many pieces its reply can have at most: a few per token, and some for the end.
    pub(super) fn most_pieces(&self) -> usize {
        self.max_tokens * 4 + 16
    }
}

fn does_not_fit(prompt: usize, context: u32) -> ModelError {
    let message = format!(
        "the conversation has {prompt} tokens, and the model's context has {context} for it and the answer together; \
         shorten the conversation, or raise `context_tokens` (of `[local]` in convoke.toml) if the model was trained for more"
    );
    ModelError::new(ModelErrorKind::ContextTooLong, message)
}

fn in_range(name: &str, value: f64, least: f64, most: f64) -> Result<f64, ModelError> {
    if (least..=most).contains(&value) {
        Ok(value)
    } else {
        Err(grammar::invalid(format!("`{name}` is {value}, and must be from {least} to {most}")))
    }
}
