//! Goals: say what you want, and under whose eyes it is to be done.
//!
//! A workflow of goals is a description: inputs, agents, goals that agents pursue, and the order the goals are pursued
//! in. It is written as an *Agentfile*, a small language of one statement per line, or (later) built in Rust.
//!
//! # Where to find what
//! | module | what it is for |
//! |---|---|
//! | [`agentfile`] | the language: from text to a checked [`Agentfile`](agentfile::Agentfile), with every mistake explained |

pub mod agentfile;
