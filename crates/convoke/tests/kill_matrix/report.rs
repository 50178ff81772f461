//! The table for `docs/reliability.md`.

use std::collections::BTreeMap;

use crate::parent::Observed;

#[derive(Default)]
struct Row {
    kills: usize,
    unknown: usize,
    repeated_model_calls: usize,
}

pub(crate) struct Table(BTreeMap<String, Row>);

impl Table {
    pub(crate) fn new() -> Self {
        Self(BTreeMap::new())
    }

    pub(crate) fn add(&mut self, label: &str, observed: &Observed) {
        let row = self.0.entry(label.to_owned()).or_default();
        row.kills += observed.kills;
        row.unknown += observed.unknown;
        row.repeated_model_calls += observed.repeated_model_calls;
    }

    /// Every row has passed: same result, nothing duplicated, lost or stuck.
    pub(crate) fn print(&self) {
        println!("\n| killed | times | duplicated, lost, stuck | asked about | model calls made again |");
        println!("| --- | --- | --- | --- | --- |");
        for (label, row) in &self.0 {
            println!(
                "| {label} | {} | 0, 0, 0 | {} | {} |",
                row.kills, row.unknown, row.repeated_model_calls
            );
        }
    }
}
