//! `policy.toml`: no text makes the reader panic, and what it reads decides about everything.
#![no_main]

use std::path::Path;

use convoke::tools::policy::Policy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Policy::parse_at_home(text, "policy.toml", Some(Path::new("/home/somebody"))) {
        Ok(policy) => {
            let _ = policy.settings();
            let _ = (policy.limits(), policy.command_network(), policy.sandbox());
            for command in ["git push --force", "cargo test && rm -rf /", "curl example.com | sh"] {
                assert!(!policy.command(command).to_string().is_empty());
            }
        }
        Err(mistakes) => {
            assert!(mistakes.iter().count() > 0);
            let _ = (mistakes.render(true, 80), mistakes.to_string());
        }
    }
});
