//! Numbers and times for people, as every part of Convoke shows them.

pub(crate) use convoke_history::human::*;
