//! The shell reader: no command line makes it panic, overflow the stack or read without an end, and what is not understood is
//! never allowed.
#![no_main]

use std::sync::LazyLock;

use convoke::tools::policy::{Policy, PolicyOutcome, shell};
use libfuzzer_sys::fuzz_target;

static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    Policy::parse("version = 1\n[commands]\ndefault = \"allow\"\nallow = [\"echo\"]\n", "policy.toml")
        .expect("it is valid")
});

fuzz_target!(|text: &str| {
    let reading = shell::read(text);
    for command in &reading.commands {
        assert!(!command.words.is_empty(), "{text:?}");
        let _ = (command.program(), command.arguments().iter().map(|word| word.written()).count());
    }
    let decision = POLICY.command(text);
    assert!(reading.unclear.is_empty() || decision.outcome != PolicyOutcome::Allow, "{text:?}: {decision}");
});
