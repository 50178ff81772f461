//! Kills a run with SIGKILL at every point where it could hurt, resumes it, and looks at what the world has seen.
//!
//! The run happens in a child process (this very test binary, started again); the parent kills it when it reports that
//! it has come to the point, then starts it anew until the run is done, and answers its questions in between.
//!
//! `cargo test -p convoke --test kill_matrix -- --nocapture` prints the table of `docs/reliability.md`.

#![allow(
    clippy::print_stdout,
    reason = "the processes talk to each other through it, and the table is printed"
)]

mod child;
mod interceptors;
mod parent;
mod points;
mod report;
mod workflow;
mod world;

use parent::{Kill, Observed, Trial};
use report::Table;

/// Only does something when the parent starts this binary again; otherwise it is an empty test.
#[test]
fn child() {
    child::run_if_asked();
}

#[test]
fn a_run_killed_at_any_labelled_point_ends_as_if_it_had_not_been() {
    let undisturbed = Trial::new().run(None);
    assert!(undisturbed.effects >= 30, "the workflow must have at least 30 effects: {}", undisturbed.effects);
    let mut table = Table::new();
    // The first process comes as far as the question, the second to the sleep, the third to the end.
    for (process, points) in (1..).zip(&undisturbed.points) {
        for (label, reached) in points {
            for occurrence in 1..=*reached {
                let kill = Kill::AtPoint { process, label: label.clone(), occurrence };
                let observed = Trial::new().run(Some(kill));
                assert_eq!(observed.kills, 1, "process {process} does not come to {label} {occurrence}");
                must_agree(&observed, &undisturbed, &format!("process {process}, {label} {occurrence}"));
                table.add(label, &observed);
            }
        }
    }
    table.print();
}

#[test]
fn a_run_killed_at_random_moments_again_and_again_ends_as_if_it_had_not_been() {
    let undisturbed = Trial::new().run(None);
    let mut table = Table::new();
    for seed in 1..=12 {
        let observed = Trial::new().run(Some(Kill::AtRandomMoments { seed, times: 4 }));
        must_agree(&observed, &undisturbed, &format!("random moments, seed {seed}"));
        table.add("random moments (4 kills each)", &observed);
    }
    table.print();
}

fn must_agree(observed: &Observed, undisturbed: &Observed, what: &str) {
    assert_eq!(observed.state, undisturbed.state, "{what}: the result differs");
    assert_eq!(observed.keyed, undisturbed.keyed, "{what}: effects with a key lost or duplicated");
    assert_eq!(observed.reconciled, undisturbed.reconciled, "{what}: reconciled effects lost or duplicated");
    assert_eq!(observed.blind, undisturbed.blind, "{what}: effects without a key lost or duplicated");
    assert_eq!(observed.duplicated, 0, "{what}: something was done twice");
    assert_eq!(
        observed.distinct_model_calls, undisturbed.distinct_model_calls,
        "{what}: model calls lost or made for something else"
    );
    assert!(
        observed.unknown <= observed.kills,
        "{what}: at most one unknown per kill, got {}",
        observed.unknown
    );
    // A reply that was received and not yet written down when the process died is the one call that must be made
    // again; a provider that honours the call's key does not charge for it.
    assert!(
        observed.repeated_model_calls <= observed.kills * workflow::MODEL_CALLS_AT_ONCE,
        "{what}: {} model calls were made twice",
        observed.repeated_model_calls
    );
}
