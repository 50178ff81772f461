//! The SQLite store: all runs in one file.
//!
//! One thread owns the only connection that writes ([`writer`]); whatever was queued while it committed goes into
//! its next transaction, so many runs share one `fsync`. Reads go to a few threads of their own ([`reader`]) and see
//! what is committed. Nothing here needs an async runtime, and no async thread ever waits for the disk.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`store`] | the handle, and the `Store` trait in terms of jobs and queries |
//! | [`inspect`] | looking at a file before touching it |
//! | [`create`] | making it, complete or not at all |
//! | [`open`] | opening it and bringing it up to date |
//! | [`schema`] | the tables and their versions |
//! | [`threads`] | the threads of one handle, and their end |
//! | [`writer`], [`maintenance`] | the thread that commits, and what it does from time to time |
//! | [`job`], [`promise`], [`wait_mode`] | one piece of work for the writer, and how to wait for it |
//! | [`lease`] | which leases this handle has given, and whether they may still write |
//! | [`journal`], [`run`], [`question`], [`mail`], [`launch`], [`outline`] | what jobs write: batches, runs, questions, mail, outlines |
//! | [`file_identity`], [`overwritten`] | whether the file is still the one that others find, with what was written in it |
//! | [`reader`], [`glance`] | the threads that read, and reading without leaving a trace |
//! | [`query`] | what they read |
//! | [`row`], [`entry_key`] | how values and addresses look in the tables |
//! | [`failure`] | what went wrong, and what the user can do |

mod create;
mod entry_key;
mod failure;
mod file_identity;
mod generation;
mod glance;
mod inspect;
mod job;
mod journal;
mod launch;
mod lease;
mod mail;
mod maintenance;
mod open;
mod outline;
mod overwritten;
mod pieces;
mod promise;
mod query;
mod question;
mod reader;
mod row;
mod run;
mod schema;
mod store;
mod threads;
mod wait_mode;
mod writer;

pub use store::SqliteStore;
