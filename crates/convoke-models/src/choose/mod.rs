//! Chooses a model: names, keys, and the one order in which they are looked for.
//!
//! **What it is for.** [`Chooser`] finds the model to use, in this order:
//!
//! 1. the one that is asked for: a command's flag;
//! 2. the one that the configuration names: `convoke.toml` in this folder, then the user's own;
//! 3. the environment: `CONVOKE_MODEL`;
//! 4. a key that is found, in the environment or the credentials file: that service's usual model;
//! 5. an Ollama that is running and has a model;
//! 6. the local model, which needs neither key nor network.
//!
//! It keeps account of what it looked at, so that `convoke doctor` can say why. [`Connector`] makes a [`Model`] of a
//! name: the right protocol, the key, the price, the gate, and retries around it. Where the configuration is kept and how
//! it is written is `convoke-config`'s business.
//!
//! **What it must never do.** Show a key. Fall back silently: a model that is asked for by name is used or is an error.
//!
//! [`Model`]: convoke_core::Model

mod chooser;
mod config;
mod connector;
mod credentials;
mod environment;
pub mod header;
mod name;
mod ollama;
mod service;

pub use chooser::{Chooser, LookupResult, LookupStep, ModelChoice};
pub use config::{ModelConfig, ServiceConfig};
pub use connector::{ConnectError, Connector};
pub use convoke_http::address;
pub use credentials::{Credentials, CredentialsError, KeySource};
pub use environment::Environment;
pub use name::{LOCAL, ModelName, REHEARSAL, SCRIPTED, UnknownModel};
pub use service::Service;
