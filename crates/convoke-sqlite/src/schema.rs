//! Comparison of a database's schema with the one our own migrations make.

use std::collections::BTreeMap;

use rusqlite::{Connection, Result};

/// The schema of a database: tables, indexes, triggers, views. What SQLite makes for itself does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// By kind and name: the table it belongs to, and how it is defined.
    objects: BTreeMap<(String, String), (String, String)>,
}

impl Schema {
    /// The schema that these migrations make of an empty database.
    ///
    /// # Errors
    /// If a step cannot be done.
    pub fn after(steps: &[&str]) -> Result<Self> {
        let connection = Connection::open_in_memory()?;
        steps.iter().try_for_each(|step| connection.execute_batch(step))?;
        Self::of(&connection)
    }

    /// Reads the schema of a database.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(connection: &Connection) -> Result<Self> {
        // How the tables behind a virtual table are written is SQLite's affair; that they are these, and no others, is ours.
        let objects = "SELECT type, name, tbl_name, iif(name IN (SELECT name FROM pragma_table_list WHERE type = 'shadow'), \
                       '', coalesce(sql, '')) FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
        let mut statement = connection.prepare(objects)?;
        let objects = statement.query_map([], |row| {
            let definition: String = row.get(3)?;
            Ok(((row.get(0)?, row.get(1)?), (row.get(2)?, normalised(&definition))))
        })?;
        Ok(Self { objects: objects.collect::<Result<_>>()? })
    }

    /// Describes the first difference of another schema from this one, if there is one.
    #[must_use]
    pub fn difference(&self, found: &Self) -> Option<String> {
        let extra = found.objects.keys().find(|key| !self.objects.contains_key(*key));
        if let Some((kind, name)) = extra {
            return Some(format!("it has the {kind} {name:?}, which Convoke does not make"));
        }
        self.objects.iter().find_map(|(key @ (kind, name), ours)| match found.objects.get(key) {
            None => Some(format!("it lacks the {kind} {name:?}")),
            Some(theirs) if theirs != ours => Some(format!("its {kind} {name:?} is not as Convoke makes it")),
            Some(_) => None,
        })
    }
}

/// A definition without comments, and with single spaces. SQLite keeps both as they were written, and when columns are added or
/// dropped it leaves some of them behind. No name or value of ours has blanks or dashes in a row.
fn normalised(definition: &str) -> String {
    let lines = definition.lines().map(|line| line.split("--").next().unwrap_or_default());
    let words = lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
    words.replace(" ,", ",").replace(" )", ")").replace("( ", "(")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &[&str] =
        &["CREATE TABLE runs (id TEXT -- a name\n, size INTEGER)", "CREATE INDEX i ON runs (id)"];

    fn difference(more: &str) -> Option<String> {
        let connection = Connection::open_in_memory().unwrap();
        OURS.iter().for_each(|step| connection.execute_batch(step).unwrap());
        connection.execute_batch(more).unwrap();
        Schema::after(OURS).unwrap().difference(&Schema::of(&connection).unwrap())
    }

    #[test]
    fn whatever_is_more_less_or_other_than_ours_is_named() {
        assert_eq!(difference(""), None);
        let cases = [
            ("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END", "trigger \"t\""),
            ("CREATE VIEW v AS SELECT * FROM runs", "view \"v\""),
            ("CREATE TABLE more (x)", "table \"more\""),
            ("CREATE UNIQUE INDEX other ON runs (size)", "index \"other\""),
            ("DROP INDEX i", "lacks the index \"i\""),
            ("ALTER TABLE runs ADD COLUMN x DEFAULT (abs(-1))", "not as Convoke makes it"),
        ];
        for (more, told) in cases {
            let found = difference(more).unwrap_or_default();
            assert!(found.contains(told), "{more}: {found}");
        }
    }

    #[test]
    fn comments_and_line_breaks_are_no_difference() {
        assert_eq!(difference("ALTER TABLE runs ADD COLUMN x; ALTER TABLE runs DROP COLUMN x"), None);
    }
}
