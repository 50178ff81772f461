//! Connects to models with the configuration and the keys there are.

use std::sync::Arc;

use convoke_core::Model;
use convoke_models::UnknownModel;
use convoke_models::choose::{ConnectError, CredentialsError};

use crate::{Config, Problems};

/// A model that cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] Problems),
    /// The keys cannot be read.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// Its name says nothing.
    #[error(transparent)]
    Unknown(#[from] UnknownModel),
    /// It cannot be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
}

/// The model with this name, with the configuration and the keys there are: `anthropic/claude-sonnet-5-5`,
/// `gpt-5.4-mini`, `ollama/qwen3`, `scripted/replies.toml`.
///
/// ```no_run
/// let model = convoke_config::connect("anthropic/claude-sonnet-5-5")?;
/// # Ok::<(), convoke_config::OpenError>(())
/// ```
///
/// # Errors
/// See [`OpenError`].
pub fn connect(name: &str) -> Result<Arc<dyn Model>, OpenError> {
    Ok(Config::load()?.connector()?.connect(&name.parse()?)?)
}
