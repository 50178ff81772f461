#![doc = include_str!("../README.md")]
//!
//! A database is a program as much as it is data: triggers and views run when it is used, a journal beside it is rolled into it
//! when it is opened, and a link makes it another file. Whoever can write where a database is can therefore say what Convoke
//! believes. So every file of ours, the store of runs, the notes and the memories of agents, is opened in one way:
//!
//! 1. [`place`] gives the real folder, and refuses a file that is a link;
//! 2. [`examine`] refuses what somebody else owns or anybody may write, and a rollback journal: ours have none;
//! 3. [`open`] opens it without following links, with everything off that would execute what the file says;
//! 4. [`Schema`] says whether its tables are exactly those that our own steps make.
//!
//! [`Database`] does all that for small files. [`any_word`], [`PackedVector`] and [`fuse`] are how texts in such files are found
//! again, by their words and by what they mean.
//!
//! A log (`-wal`) that is not ours cannot be told from one that is. That is why these files are kept where only the user can
//! write, and not in the folder that agents work in.
//!
//! **What it must never do.** Know what is in a file: tables, versions and their meaning belong to those who call it. Change a
//! file that it refuses.

mod connection;
mod database;
mod exclusive;
mod file;
mod schema;
mod search;

pub use connection::{Triggers, keep_journal_in_memory, open, switch_log_on};
pub use database::{Database, FileSchema, StorageError};
pub use exclusive::{ExclusiveDatabase, OnExisting};
pub use file::{UntrustedFile, beside, create_folder, examine, place, refuse_journal};
pub use schema::Schema;
pub use search::{PackedVector, any_word, fuse};
