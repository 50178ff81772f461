//! `convoke purge`

use insta::assert_snapshot;

use crate::examples::{crashed, failed, forked, letter, refund};
use crate::place::{Place, stdout};

fn place() -> Place {
    Place::with([letter(), failed(), refund(), crashed(), forked()])
}

#[test]
fn a_dry_run_says_what_would_be_deleted_and_deletes_nothing() {
    let place = place();
    assert_snapshot!("purge_dry_keep", place.seen(&["purge", "--keep", "1", "--dry-run"]));
    assert_snapshot!("purge_dry_age", place.seen(&["purge", "--older-than", "30d", "--dry-run"]));
    assert_snapshot!("purge_dry_json", place.seen(&["purge", "--keep", "2", "--dry-run", "--json"]));
    assert_eq!(stdout(&place.convoke(&["runs"])).lines().count(), 6);
}

#[test]
fn what_a_dry_run_lists_is_what_is_deleted_and_unfinished_runs_stay() {
    for limits in [&["--keep", "1"][..], &["--older-than", "30d"], &["--older-than", "1000w", "--keep", "2"]]
    {
        let place = place();
        let with = |more: &[&'static str]| [&["purge"], limits, more].concat();
        let listed = stdout(&place.convoke(&with(&["--dry-run"]))).lines().count();
        assert_eq!(stdout(&place.convoke(&with(&["--json"]))), format!("{{\n  \"deleted\": {listed}\n}}\n"));
        let left = stdout(&place.convoke(&["runs"]));
        assert_eq!(left.lines().count(), 6 - listed);
        assert!(left.contains("refund-7") && left.contains("payment-9"), "{left}");
    }
}

#[test]
fn deleting_says_how_many() {
    let place = place();
    assert_snapshot!("purge", place.seen(&["purge", "--older-than", "30d"]));
    assert_snapshot!("purge_again", place.seen(&["purge", "--older-than", "30d"]));
}

#[test]
fn a_purge_without_limits_or_with_a_bad_age_is_a_wrong_command_line() {
    let place = place();
    assert_snapshot!("purge_without_limits", place.seen(&["purge"]));
    assert_snapshot!("purge_bad_age", place.seen(&["purge", "--older-than", "soon"]));
}
