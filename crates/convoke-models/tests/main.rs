//! Tests of everything that is promised of models, topic by topic.
//!
//! One program: one per file would take minutes to link. A new file is named here.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod anthropic;
mod asking;
mod cassette;
mod chat;
mod choose;
mod common;
mod counterparts;
mod crowd;
mod deferred;
mod embedding;
mod fallback;
mod faults;
mod gate;
mod gemini;
mod limited;
mod nothing_said;
mod ollama;
mod price;
mod recording;
mod refused_waits;
mod response_cache;
mod responses;
mod retry;
mod rules;
mod script_errors;
mod script_files;
mod scripted_page;
mod server;
mod streaming;
mod transport;
mod unanswered;
mod wire;
