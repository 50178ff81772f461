#![doc = include_str!("../README.md")]
//!
//! | module | what it is for |
//! |---|---|
//! | `knowledge` | what can be done: list, search, remove |
//! | `adding` | taking documents in, and seeing what has changed |
//! | `files` | which files there are below what was added, and why some are left out |
//! | `document` | a file as text, by its kind |
//! | `pdf` | the text of PDFs, read in a process of its own |
//! | `chunk` | texts in passages, with their headings and lines |
//! | `store`, `search` | documents in the database, and finding passages in it |
//! | `tool` | `knowledge_search`, for agents |
//!
//! **What it must never do.** Take in what [`Protected`](convoke_tools::workspace::Protected) calls secret; follow links out of
//! what was added; read a PDF in the process that asked for it; send a text anywhere but to the embedder it was given; take a
//! query for anything but words.

mod adding;
mod chunk;
mod document;
mod error;
mod files;
mod knowledge;
mod markdown;
pub mod pdf;
mod search;
mod store;
mod tool;

pub use adding::Added;
pub use error::KnowledgeError;
pub use files::LeftOut;
pub use knowledge::{CollectionRetriever, Knowledge, SearchedBy};
pub use search::FoundPassages;
pub use store::{Collection, StoredDocument};
pub use tool::{KNOWLEDGE_SEARCH, knowledge_search, knowledge_search_in};
