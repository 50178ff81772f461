//! Queries of the database.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use convoke_core::ask::PendingQuestion;
use convoke_core::store::{DueRun, Mail, Retention, RunQuery, RunRecord};
use convoke_core::{Answer, Digest, Entry, RunId, RunStatus, Timestamp};
use rusqlite::{Connection, OptionalExtension, Params, Row, ToSql, params};

use super::failure::Fault;
use super::outline::Outlines;
use super::pieces::PieceReader;
use super::row::{self, EntryReader, QUESTION_COLUMNS, run_columns};
use super::{entry_key, mail, schema};

/// So many contents are looked for one by one.
const MANY: usize = 32;

/// One run's record.
pub(super) fn run(connection: &Connection, run: &RunId) -> Result<Option<RunRecord>, Fault> {
    let sql = format!("SELECT {} WHERE runs.id = ?1", run_columns(schema::version(connection)?));
    let (mut outlines, mut pieces) = (Outlines::of(connection), PieceReader::of(connection));
    Ok(all(connection, &sql, [run.as_str()], |row| row::run(row, &mut outlines, &mut pieces))?.pop())
}

/// Records of runs, newest first.
pub(super) fn runs(connection: &Connection, query: &RunQuery) -> Result<Vec<RunRecord>, Fault> {
    let version = schema::version(connection)?;
    let is_found_by_launch = query.parent.is_some() || query.thread.is_some() || !query.labels.is_empty();
    if is_found_by_launch && version < schema::WITH_LAUNCHES {
        return Ok(Vec::new());
    }
    let mut conditions = vec!["TRUE"];
    let mut values: Vec<(&str, Box<dyn ToSql>)> = Vec::new();
    if let Some(parent) = &query.parent {
        conditions.push("parent = :parent");
        values.push((":parent", Box::new(parent.as_str().to_owned())));
    }
    if let Some(thread) = &query.thread {
        conditions.push("thread = :thread");
        values.push((":thread", Box::new(thread.clone())));
    }
    if !query.labels.is_empty() {
        conditions.push(
            "runs.key IN (SELECT run FROM labels JOIN json_each(:labels) AS wanted \
             ON name = wanted.key AND labels.value = wanted.value GROUP BY run HAVING count(*) = :wanted)",
        );
        values.push((":labels", Box::new(row::json_text(&query.labels)?)));
        values.push((":wanted", Box::new(limit(query.labels.len()))));
    }
    if let Some(workflow) = &query.workflow {
        conditions.push("workflow = :workflow");
        values.push((":workflow", Box::new(workflow.clone())));
    }
    if let Some(status) = query.status {
        conditions.push("status = :status");
        values.push((":status", Box::new(row::status_code(status))));
    }
    if let Some(prefix) = &query.id_prefix {
        // Ids are ASCII, so all that begin like this lie between the prefix and the prefix followed by DEL.
        conditions.push("runs.id >= :first AND runs.id < :last");
        values.push((":first", Box::new(prefix.clone())));
        values.push((":last", Box::new(format!("{prefix}\u{7f}"))));
    }
    values.push((":limit", Box::new(limit(query.limit.unwrap_or(usize::MAX)))));
    let sql = format!(
        "SELECT {} WHERE {} ORDER BY runs.key DESC LIMIT :limit",
        run_columns(version),
        conditions.join(" AND ")
    );
    let values: Vec<(&str, &dyn ToSql)> = values.iter().map(|(name, value)| (*name, &**value)).collect();
    let (mut outlines, mut pieces) = (Outlines::of(connection), PieceReader::of(connection));
    all(connection, &sql, &values[..], |row| row::run(row, &mut outlines, &mut pieces))
}

/// A run's entries from a number on.
pub(super) fn entries(
    connection: &Connection,
    run: &RunId,
    from: u64,
    most: usize,
) -> Result<Vec<Entry>, Fault> {
    let Some(key) = key(connection, run)? else { return Ok(Vec::new()) };
    let Ok(first) = entry_key::of(key, from) else { return Ok(Vec::new()) };
    let columns = row::entry_columns(schema::version(connection)?);
    let sql = format!("SELECT {columns} FROM entries WHERE place BETWEEN ?1 AND ?2 ORDER BY place LIMIT ?3");
    let mut reader = EntryReader::default();
    all(connection, &sql, params![first, entry_key::last(key), limit(most)], |row| reader.entry(row))
}

/// The digests of a run's content.
pub(super) fn blob_digests(connection: &Connection, run: &RunId) -> Result<Vec<Digest>, Fault> {
    let Some(key) = key(connection, run)? else { return Ok(Vec::new()) };
    all(connection, "SELECT digest FROM blobs WHERE run = ?1", [key], |row| row::digest(row, 0))
}

/// A run's content.
pub(super) fn blobs(
    connection: &Connection,
    run: &RunId,
    digests: &[Digest],
) -> Result<HashMap<Digest, Bytes>, Fault> {
    let mut found = HashMap::new();
    let Some(key) = key(connection, run)? else { return Ok(found) };
    let depth = if schema::version(connection)? >= schema::WITH_PIECES { "depth" } else { "0" };
    let mut pieces = PieceReader::of(connection);
    let mut take = |row: &Row<'_>| {
        let content = row::bytes(row, 1)?.unwrap_or_default();
        found.insert(row::digest(row, 0)?, pieces.whole(content, row.get(2)?)?);
        Ok(())
    };
    let sql = format!("SELECT digest, content, {depth} FROM blobs WHERE run = ?1");
    if digests.len() > MANY {
        // One look at everything is faster than one for each.
        let wanted: HashSet<&Digest> = digests.iter().collect();
        all(connection, &sql, [key], |row| match wanted.contains(&row::digest(row, 0)?) {
            true => take(row),
            false => Ok(()),
        })?;
    } else {
        let sql = format!("{sql} AND digest = ?2");
        for digest in digests {
            all(connection, &sql, params![key, digest.as_bytes()], &mut take)?;
        }
    }
    Ok(found)
}

/// Questions that wait, oldest first.
pub(super) fn questions(connection: &Connection, run: Option<&RunId>) -> Result<Vec<PendingQuestion>, Fault> {
    let order = "ORDER BY asked, questions.run, questions.id";
    match run {
        None => {
            let sql = format!("SELECT {QUESTION_COLUMNS} FROM questions JOIN runs ON key = run {order}");
            all(connection, &sql, [], row::question)
        }
        Some(run) => {
            let sql = format!(
                "SELECT {QUESTION_COLUMNS} FROM runs JOIN questions ON run = key WHERE runs.id = ?1 {order}"
            );
            all(connection, &sql, [run.as_str()], row::question)
        }
    }
}

/// What a run was sent under a key. Answers to questions, which are all that stores of earlier versions have, are kept under none.
pub(super) fn mail_by_key(connection: &Connection, run: &RunId, id: &str) -> Result<Vec<Mail>, Fault> {
    match key(connection, run)? {
        Some(key) if schema::version(connection)? >= schema::WITH_MAIL => mail::by_key(connection, key, id),
        _ => Ok(Vec::new()),
    }
}

/// What a run was sent on a channel, after a number. What stores of earlier versions have are answers to questions.
pub(super) fn mail(
    connection: &Connection,
    run: &RunId,
    channel: &str,
    after: u64,
    most: usize,
) -> Result<Vec<Mail>, Fault> {
    let Some(key) = key(connection, run)? else { return Ok(Vec::new()) };
    if schema::version(connection)? >= schema::WITH_MAIL {
        return mail::read(connection, key, channel, after, limit(most));
    }
    let sql = "SELECT number, answer FROM answers \
               WHERE run = ?1 AND 'convoke:reply:' || question = ?2 AND number > ?3 ORDER BY number LIMIT ?4";
    all(connection, sql, params![key, channel, limit(after), limit(most)], |row| {
        let payload: String = row.get(1)?;
        let answer: Answer = row::json(&payload)?;
        let (number, channel) = (row::unsigned(row, 0)?, channel.to_owned());
        Ok(Mail { number, channel, sender: answer.by, at: answer.at, payload: payload.into() })
    })
}

/// Runs that can go on by a time, and that nobody holds.
pub(super) fn due(connection: &Connection, by: Timestamp, most: usize) -> Result<Vec<DueRun>, Fault> {
    if schema::version(connection)? < schema::WITH_MAIL {
        return Ok(Vec::new());
    }
    let columns = "runs.holder, until FROM runs LEFT JOIN holders ON holders.holder = runs.holder";
    let suspended = format!("SELECT id, wake, {columns} WHERE wake <= ?1 ORDER BY wake, key LIMIT ?2");
    // Most of these are being worked on: how many there are says nothing about how many are to be looked at.
    let running = format!(
        "SELECT id, updated, {columns} WHERE status = 0 AND updated <= ?1 AND (forked_from IS NULL OR epoch > 1) \
         ORDER BY updated, key"
    );
    let mut due = free(connection, &suspended, params![by.as_micros(), limit(most)], most)?;
    due.extend(free(connection, &running, params![by.as_micros()], most)?);
    due.sort_by_key(|due| due.at);
    due.truncate(most);
    Ok(due)
}

/// The first of the runs that a query gives, with when they can go on and who holds them, that nobody holds.
fn free(connection: &Connection, sql: &str, values: impl Params, most: usize) -> Result<Vec<DueRun>, Fault> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    // Many runs have one holder.
    let mut is_alive: HashMap<String, bool> = HashMap::new();
    let mut found = Vec::new();
    while let Some(row) = rows.next()?
        && found.len() < most
    {
        let holder: Option<String> = row.get(2)?;
        let is_held = match holder {
            None => false,
            Some(holder) => match is_alive.get(&holder) {
                Some(known) => *known,
                None => {
                    let is_held = row::living_holder(Some(holder.clone()), row.get(3)?).is_some();
                    is_alive.insert(holder, is_held);
                    is_held
                }
            },
        };
        if !is_held {
            let (run, at) = (row::run_id(&row.get::<_, String>(0)?)?, Timestamp::from_micros(row.get(1)?));
            found.push(DueRun { run, at });
        }
    }
    Ok(found)
}

/// The claim on a run that is in force.
pub(super) fn epoch(connection: &Connection, run: &RunId) -> Result<Option<u64>, Fault> {
    let sql = "SELECT epoch FROM runs WHERE id = ?1";
    Ok(all(connection, sql, [run.as_str()], |row| row::unsigned(row, 0))?.pop())
}

/// The finished runs that a retention does not keep, newest first, and whether somebody holds them. The same rule as
/// [`Retention::outdated`], without reading what runs began and ended with.
pub(super) fn outdated(connection: &Connection, retention: &Retention) -> Result<Vec<(RunId, bool)>, Fault> {
    let finished: Vec<String> = RunStatus::ALL
        .into_iter()
        .filter(|status| status.is_final())
        .map(|status| row::status_code(status).to_string())
        .collect();
    let (until, holders) = row::holders(schema::version(connection)?);
    let sql = format!(
        "SELECT id, old.holder, {until} FROM (SELECT key, id, updated, holder, \
         row_number() OVER (PARTITION BY workflow ORDER BY key DESC) AS place FROM runs WHERE status IN ({})) AS old{} \
         WHERE coalesce(?1, ?2) IS NOT NULL AND updated <= ifnull(?1, updated) AND place > ifnull(?2, 0) ORDER BY key DESC",
        finished.join(", "),
        holders.replace("runs.", "old.")
    );
    let ended_by = retention.max_age.map(|age| (Timestamp::now() - age).as_micros());
    let keep = retention.keep_per_workflow.map(limit);
    all(connection, &sql, params![ended_by, keep], |row| {
        let is_held = row::living_holder(row.get(1)?, row.get(2)?).is_some();
        Ok((row::run_id(&row.get::<_, String>(0)?)?, is_held))
    })
}

fn key(connection: &Connection, run: &RunId) -> Result<Option<i64>, Fault> {
    Ok(connection
        .prepare_cached("SELECT key FROM runs WHERE id = ?1")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()?)
}

pub(super) fn all<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    mut read: impl FnMut(&Row<'_>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

fn limit(most: impl TryInto<i64>) -> i64 {
    most.try_into().unwrap_or(i64::MAX)
}
