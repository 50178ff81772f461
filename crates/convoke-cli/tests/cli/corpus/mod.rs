//! Attacks on `convoke run`, and the honest work that must go on beside them.
//!
//! Every scenario is an Agentfile and a model that has been talked into it entirely: it makes the calls. What is asserted is
//! not what the model says, but what became of the machine: see [`range::Range::run`], which looks after every single run.

mod range;

mod agents;
mod commands;
mod encoded;
mod files;
mod honest;
mod honest_more;
mod injection;
mod links;
mod resources;
mod secrets;
mod servers;
mod web;
