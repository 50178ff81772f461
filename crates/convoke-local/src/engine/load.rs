//! Loads a model from its file.

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread::available_parallelism;

use llama_cpp_2::LogOptions;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;

use super::vocabulary::Vocabulary;
use super::{file, load_errors, memory, processor};
use crate::{ChatTemplate, LocalError, LocalSettings};

/// How many tokens the engine computes in one step. More would read prompts no faster on a processor, and would make
/// every other request, and whoever wants to stop this one, wait longer.
pub(super) const STEP_TOKENS: u32 = 128;

/// The engine gives every conversation room in pieces of this many tokens.
const ROOM: u32 = 256;

/// The room every conversation has at first. It is doubled until it suffices.
const FIRST_CAPACITY: u32 = 4096;

/// A model and what is known of it.
pub(super) struct LoadedModel {
    pub(super) model: Arc<LlamaModel>,
    pub(super) vocabulary: Arc<Vocabulary>,
    pub(super) template: ChatTemplate,
    /// How many tokens a conversation may have at most.
    pub(super) context_tokens: u32,
}

/// The capacity of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EngineCapacity {
    /// Tokens of a conversation.
    pub(super) tokens: u32,
    /// Conversations at once.
    pub(super) conversations: u32,
}

impl EngineCapacity {
    /// Room for conversations of this many tokens, as the model allows and doubled from the first room on.
    pub(super) fn of(needed: u32, most: u32, conversations: u32) -> Self {
        let mut tokens = FIRST_CAPACITY;
        while tokens < needed {
            tokens = tokens.saturating_mul(2);
        }
        Self { tokens: tokens.min(most).next_multiple_of(ROOM), conversations }
    }
}

/// Loads a model. Its weights are mapped from the file, not copied.
pub(super) fn load(path: &Path, settings: &LocalSettings) -> Result<LoadedModel, LocalError> {
    settings.check()?;
    processor::check()?;
    let backend = backend()?;
    file::check(path)?;
    let parameters = LlamaModelParams::default().with_use_mmap(true).with_n_gpu_layers(0);
    let (model, complaint) = load_errors::capture(|| LlamaModel::load_from_file(backend, path, &parameters));
    let model =
        Arc::new(model.map_err(|error| file::refused(path, complaint.unwrap_or_else(|| error.to_string())))?);
    let vocabulary = Arc::new(Vocabulary::new(Arc::clone(&model)));
    let template = template(path, &model, &vocabulary, settings)?;
    let trained = model.n_ctx_train();
    let context_tokens = settings.context_tokens.map_or(trained, |tokens| tokens.min(trained));
    Ok(LoadedModel { model, vocabulary, template, context_tokens })
}

/// What the model computes with: room for conversations of equal size, for fewer at once where memory is short. Gives the room
/// there is.
///
/// Each conversation has its room to itself. One pool for all would use memory better, but then a request that was let in
/// could run out of room because of another.
pub(super) fn context<'a>(
    model: &'a LlamaModel,
    wanted: EngineCapacity,
    settings: &LocalSettings,
) -> Result<(LlamaContext<'a>, EngineCapacity), LocalError> {
    let room = memory::fitting(model, wanted, STEP_TOKENS)?;
    let threads = threads(settings);
    let parameters = LlamaContextParams::default()
        .with_n_ctx(NonZeroU32::new(room.tokens * room.conversations))
        .with_n_seq_max(room.conversations)
        .with_kv_unified(false)
        .with_n_batch(STEP_TOKENS)
        .with_n_ubatch(STEP_TOKENS)
        .with_n_threads(threads)
        .with_n_threads_batch(threads)
        .with_no_perf(true);
    let (context, complaint) = load_errors::capture(|| {
        model
            .new_context(backend()?, parameters)
            .map_err(|error| LocalError::Engine { reason: error.to_string() })
    });
    let context = context.map_err(|error| complaint.map_or(error, |reason| LocalError::Engine { reason }))?;
    Ok((context, room))
}

/// The processors that nobody else uses, at least one: the engine's threads wait for each other at every step, and if one of
/// them has to share its processor, all do.
fn threads(settings: &LocalSettings) -> i32 {
    let idle = || {
        let all = available_parallelism().map_or(1, |all| u32::try_from(all.get()).unwrap_or(1));
        all.saturating_sub(busy_processors()).max(1)
    };
    i32::try_from(settings.threads.unwrap_or_else(idle)).unwrap_or(1)
}

/// How many processors others use right now, where the system says so. An average over time would count the build that made
/// this program.
fn busy_processors() -> u32 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let running = load.split(' ').nth(3).and_then(|tasks| tasks.split('/').next()?.parse::<u32>().ok());
    // Whoever reads this runs, too.
    running.unwrap_or(1).saturating_sub(1)
}

fn template(
    path: &Path,
    model: &LlamaModel,
    vocabulary: &Vocabulary,
    settings: &LocalSettings,
) -> Result<ChatTemplate, LocalError> {
    let own = || model.chat_template(None).ok().and_then(|template| template.to_string().ok());
    let source = settings.chat_template.clone().or_else(own);
    let source = source.ok_or_else(|| LocalError::NoTemplate { path: path.to_owned() })?;
    let vocab = model.vocab();
    let template = ChatTemplate::new(&source, &vocabulary.name(vocab.bos()), &vocabulary.name(vocab.eos()))?;
    Ok(template.tell_results_in_words(settings.results_in_words.unwrap_or_else(|| wants_words(model))))
}

/// Whether this is one of the models that are known to make nothing of results between tags.
fn wants_words(model: &LlamaModel) -> bool {
    let name = model.meta_val_str("general.name").unwrap_or_default().to_lowercase();
    name.replace([' ', '_'], "-").contains("qwen2.5-coder")
}

/// The engine's state for the whole process, set up once. Its log goes to `tracing`.
pub(crate) fn backend() -> Result<&'static LlamaBackend, LocalError> {
    static BACKEND: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
    let backend = BACKEND.get_or_init(|| {
        llama_cpp_2::send_logs_to_tracing(LogOptions::default());
        LlamaBackend::init().map_err(|error| error.to_string())
    });
    backend.as_ref().map_err(|reason| LocalError::Engine { reason: reason.clone() })
}
