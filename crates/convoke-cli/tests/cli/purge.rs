//! `convoke purge`

use insta::assert_snapshot;
use serde_json::Value;

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
    for limits in [&["--keep", "1"][..], &["--older-than", "30d"], &["--older-than", "30d", "--keep", "2"]] {
        let place = place();
        let with = |more: &[&'static str]| [&["purge"], limits, more].concat();
        let listed: Value =
            serde_json::from_str(&stdout(&place.convoke(&with(&["--dry-run", "--json"])))).unwrap();
        let deleted: Value =
            serde_json::from_str(&stdout(&place.convoke(&with(&["--yes", "--json"])))).unwrap();
        assert_eq!(listed["runs"], deleted["runs"]);
        let count = deleted["runs"].as_array().unwrap().len();
        assert!(count > 0 && deleted["deleted"] == count, "{deleted}");
        let left = stdout(&place.convoke(&["runs"]));
        assert_eq!(left.lines().count(), 6 - count);
        assert!(left.contains("refund-7") && left.contains("payment-9"), "{left}");
    }
}

#[test]
fn a_run_goes_only_if_it_is_both_old_and_beyond_the_newest() {
    let place = place();
    let would = |limits: &[&str]| {
        let output = place.convoke(&[&["purge", "--dry-run", "--json"], limits].concat());
        let listed: Value = serde_json::from_str(&stdout(&output)).unwrap();
        listed["runs"].as_array().unwrap().len()
    };
    assert_eq!(would(&["--older-than", "30d"]), 3);
    assert_eq!(
        would(&["--older-than", "30d", "--keep", "2"]),
        1,
        "both are old, and one is beyond the newest"
    );
    assert_eq!(would(&["--older-than", "1000w", "--keep", "0"]), 0, "beyond the newest, and none is so old");
}

#[test]
fn nothing_is_deleted_without_a_yes() {
    let place = place();
    assert_snapshot!("purge_unasked", place.seen(&["purge", "--older-than", "30d"]));
    assert_eq!(stdout(&place.convoke(&["runs"])).lines().count(), 6);
}

#[test]
fn deleting_says_how_many() {
    let place = place();
    assert_snapshot!("purge", place.seen(&["purge", "--older-than", "30d", "--yes"]));
    assert_snapshot!("purge_again", place.seen(&["purge", "--older-than", "30d"]));
}

#[test]
fn a_purge_without_limits_or_with_a_bad_age_is_a_wrong_command_line() {
    let place = place();
    assert_snapshot!("purge_without_limits", place.seen(&["purge"]));
    assert_snapshot!("purge_bad_age", place.seen(&["purge", "--older-than", "soon"]));
}
