//! Errors of opening a local model.

use std::io;
use std::path::PathBuf;

/// Errors of opening a local model. What goes wrong with a request is a [`ModelError`](convoke_core::ModelError).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalError {
    /// The file cannot be read.
    #[error("cannot read the model file {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{} is not a GGUF file; convert the model to GGUF, or download it in that format", path.display())]
    NotGguf {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged, or of a kind the engine does not know.
    #[error("cannot load the model {}: {reason}; check that the file is complete, and that its kind is known", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What the engine says.
        reason: String,
    },
    /// The file does not say how texts become tokens, or in a way that is not known.
    #[error("cannot use the tokenizer {}: {reason}; take the `tokenizer.json` that belongs to the model, which must be a BERT with a WordPiece vocabulary", path.display())]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file does not say how a conversation is written.
    #[error("the model {} has no chat template: use one that was trained on instructions, or set `chat_template`", path.display())]
    NoTemplate {
        /// The file.
        path: PathBuf,
    },
    /// The chat template is not a template.
    #[error("the chat template is invalid: {reason}; set `chat_template` to use another")]
    Template {
        /// What is wrong with it.
        reason: String,
    },
    /// The machine has too little memory.
    #[error(
        "the model needs about {needed} MiB of memory and {available} MiB are free; lower `context_tokens` or `parallel`"
    )]
    Memory {
        /// What it needs, in MiB.
        needed: u64,
        /// What is there, in MiB.
        available: u64,
    },
    /// This program was built for a newer processor.
    #[error(
        "this build needs a processor with {feature}, which this one lacks; build it with GGML_{feature}=OFF set"
    )]
    Processor {
        /// What the processor lacks.
        feature: &'static str,
    },
    /// A setting makes no sense.
    #[error("the setting `{setting}` {problem}")]
    Settings {
        /// Which.
        setting: &'static str,
        /// Why not.
        problem: String,
    },
    /// The engine cannot be started.
    #[error("cannot start the engine: {reason}")]
    Engine {
        /// Why not.
        reason: String,
    },
}
