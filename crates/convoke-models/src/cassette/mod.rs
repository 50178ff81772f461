//! Cassettes: real traffic, written down once and played back ever after.
//!
//! **What it is for.** A [`Cassette`] is a [`Transport`](crate::Transport): give it to a provider's settings and a test
//! asks the real provider once, and a file from then on. The file is made to be read and reviewed: JSON, one exchange
//! after the other, a stream's events one to a line.
//!
//! | to have | write |
//! | --- | --- |
//! | a new recording | [`Cassette::record`] |
//! | the recording and nothing else | [`Cassette::replay`] |
//! | the recording, and what is missing added when `CONVOKE_RECORD=1` is set | [`Cassette::auto`] |
//!
//! **How requests find their answer.** By method, path with query, and body; not by host, so that a recording serves
//! wherever the provider is said to be, and not by headers. Bodies are compared as JSON: the order of keys does not
//! matter. Equal requests get their answers in the order of the file, each answer once: a request made more often than
//! it was recorded is not recorded. Different requests may come in any order and at the same time.
//!
//! **What comes back.** The same status, the headers that mean something to a client, and the same events with the same
//! bytes in them, those together that came together. Of a JSON document the blanks between tokens are not kept. A
//! reply that broke off when it was recorded breaks off again; so does one that its reader did not read to the end,
//! should somebody now read on.
//!
//! **What it must never do.** Write a secret: no request headers are written at all, no cookies, no credentials in
//! addresses; what a sensitive header carries is hidden wherever it turns up in a body. It cannot recognise a secret
//! that a model spells out over several events: hide what you put into prompts with [`Cassette::hiding`] before it gets
//! there, or [rewrite](Cassette::rewriting) the bodies.
//!
//! ```
//! use std::sync::Arc;
//! use convoke_models::cassette::Cassette;
//! use convoke_models::{ApiKey, Provider, ProviderModel, ProviderSettings};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("greeting.json");
//! # std::fs::write(&path, r#"{"cassette": 1, "exchanges": []}"#)?;
//! let cassette = Cassette::replay(&path)?;
//! let settings = ProviderSettings::new(Provider::Anthropic)
//!     .key(ApiKey::new("not-needed-for-replay"))
//!     .transport(Arc::new(cassette));
//! let model = ProviderModel::new("claude-sonnet-4-5", settings)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod body_collector;
mod difference;
mod error;
mod exchange;
mod file;
mod layout;
mod player;
mod recorder;
mod redaction;
mod tape;
mod transport;

pub use error::CassetteError;
pub use transport::{Cassette, OnUnrecorded};
