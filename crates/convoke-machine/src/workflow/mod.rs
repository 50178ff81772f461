//! The state machine of a pack as pure functions: the same context and command always give the same context and events.
