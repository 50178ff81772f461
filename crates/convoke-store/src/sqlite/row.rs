//! Conversions between values and rows.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use convoke_core::ask::PendingQuestion;
use convoke_core::store::{ForkPoint, Generation, Launch, RunRecord, Totals};
use convoke_core::{
    Digest, EffectKind, Entry, Labels, Path, Phase, QuestionId, RunId, RunStatus, StoreError, Timestamp,
};
use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::failure::Fault;
use super::outline::Outlines;
use super::pieces::PieceReader;
use super::{entry_key, schema};
use crate::lease_owner::LeaseOwner;

/// What [`run`] reads, in its order, from a database of this version.
pub(super) fn run_columns(version: i64) -> String {
    let (columns, launches) = match version >= schema::WITH_LAUNCHES {
        true => ("worked, latest", " LEFT JOIN launches ON launches.run = runs.key"),
        false => ("0, NULL", ""),
    };
    let (launch, depth) = match version {
        schema::WITH_LAUNCH_PIECES.. => ("launches.content", "launches.depth"),
        schema::WITH_LAUNCHES.. => ("CAST(launches.content AS BLOB)", "0"),
        _ => ("NULL", "0"),
    };
    let waits = match version >= schema::WITH_MAIL {
        true => "wake, (SELECT json_group_array(channel) FROM waits WHERE waits.run = runs.key)",
        false => "NULL, '[]'",
    };
    let (generation, carried) = match version >= schema::WITH_GENERATIONS {
        true => ("generation, begins_at, carried.content", " LEFT JOIN carried ON carried.run = runs.key"),
        false => ("0, 1, NULL", ""),
    };
    let (until, holders) = holders(version);
    format!(
        "runs.id, workflow, version, status, created, updated, seed, epoch, runs.holder, forked_from, forked_at, totals, \
         inputs.content, outcomes.content, outline, {launch}, {columns}, {until}, {waits}, {generation}, {depth} \
         FROM runs JOIN inputs ON inputs.run = runs.key LEFT JOIN outcomes ON outcomes.run = runs.key{launches}{holders}{carried}"
    )
}

/// Until when the holder of a run counts as alive, and where that is read, from a database of this version.
pub(super) fn holders(version: i64) -> (&'static str, &'static str) {
    match version >= schema::WITH_MAIL {
        true => ("holders.until", " LEFT JOIN holders ON holders.holder = runs.holder"),
        false => ("NULL", ""),
    }
}

/// A run's record.
pub(super) fn run(
    row: &Row<'_>,
    outlines: &mut Outlines<'_>,
    pieces: &mut PieceReader<'_>,
) -> Result<RunRecord, Fault> {
    let forked_from: Option<String> = row.get(9)?;
    let totals: Option<String> = row.get(11)?;
    let version: u32 = row.get(2)?;
    let launch = match bytes(row, 15)? {
        Some(stored) => json(pieces.whole(stored, row.get(24)?)?)?,
        None => Launch::default(),
    };
    Ok(RunRecord {
        id: run_id(&text(row, 0)?)?,
        workflow: text(row, 1)?,
        version,
        latest: row.get::<_, Option<u32>>(17)?.unwrap_or(version),
        status: status_of(row.get(3)?)?,
        created: Timestamp::from_micros(row.get(4)?),
        updated: Timestamp::from_micros(row.get(5)?),
        seed: unsigned(row, 6)?,
        epoch: unsigned(row, 7)?,
        holder: living_holder(row.get(8)?, row.get(18)?),
        forked_from: match forked_from {
            Some(id) => Some(ForkPoint { run: run_id(&id)?, at: unsigned(row, 10)? }),
            None => None,
        },
        totals: totals.as_deref().map(json).transpose()?.unwrap_or_default(),
        input: bytes(row, 12)?.unwrap_or_default(),
        outcome: bytes(row, 13)?,
        outline: outlines.get(row.get(14)?)?,
        launch,
        worked: Duration::from_micros(unsigned(row, 16)?),
        wake: row.get::<_, Option<i64>>(19)?.map(Timestamp::from_micros),
        channels: json(&text(row, 20)?)?,
        generation: Generation {
            number: row.get(21)?,
            begins_at: unsigned(row, 22)?,
            carried: bytes(row, 23)?,
        },
    })
}

/// What [`EntryReader::entry`] reads, in its order, from a database of this version.
pub(super) fn entry_columns(version: i64) -> String {
    let labels = if version >= schema::WITH_LABELS { "labels" } else { "NULL" };
    format!("place, path, ordinal, effect, phase, digest, at, request, outcome, {labels}")
}

/// What fits into this many bytes shares its memory with its neighbours.
const SMALL: usize = 1 << 10;
/// The least and the most memory that is shared.
const SHARED: std::ops::Range<usize> = SMALL..64 << 10;

/// Reads entries one after the other. Neighbours often have the same path, and small contents; they then share them: to
/// ask for memory for each takes as long as to read it.
#[derive(Default)]
pub(super) struct EntryReader {
    last_path: Option<Path>,
    shared: BytesMut,
    shared_size: usize,
}

fn labels(row: &Row<'_>, column: usize) -> Result<Labels, Fault> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(Labels::new()),
        value => {
            let text = value.as_str().map_err(rusqlite::Error::from)?;
            text.parse().map_err(|error| Fault::Damaged(format!("an entry has invalid labels: {error}")))
        }
    }
}

impl EntryReader {
    /// One entry.
    pub(super) fn entry(&mut self, row: &Row<'_>) -> Result<Entry, Fault> {
        let (effect, phase): (u8, u8) = (row.get(3)?, row.get(4)?);
        Ok(Entry {
            seq: entry_key::seq(row.get(0)?),
            path: self.path(row)?,
            ordinal: row.get(2)?,
            effect: EffectKind::from_code(effect)
                .ok_or_else(|| Fault::Damaged(format!("an entry has the unknown effect {effect}")))?,
            phase: Phase::from_code(phase)
                .ok_or_else(|| Fault::Damaged(format!("an entry has the unknown phase {phase}")))?,
            digest: digest(row, 5)?,
            at: Timestamp::from_micros(row.get(6)?),
            request: self.content(row, 7)?,
            outcome: self.content(row, 8)?,
            labels: labels(row, 9)?,
        })
    }

    fn content(&mut self, row: &Row<'_>, column: usize) -> Result<Option<Bytes>, Fault> {
        let content = match row.get_ref(column)? {
            ValueRef::Null => return Ok(None),
            value => value.as_blob().map_err(rusqlite::Error::from)?,
        };
        if content.len() > SMALL {
            return Ok(Some(Bytes::copy_from_slice(content)));
        }
        if self.shared.capacity() < content.len() {
            self.shared_size = (self.shared_size * 2).clamp(SHARED.start, SHARED.end);
            self.shared = BytesMut::with_capacity(self.shared_size);
        }
        self.shared.extend_from_slice(content);
        Ok(Some(self.shared.split().freeze()))
    }

    fn path(&mut self, row: &Row<'_>) -> Result<Path, Fault> {
        let text = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
        match &self.last_path {
            Some(last) if last.as_str() == text => Ok(last.clone()),
            _ => Ok(self.last_path.insert(Path::from(text)).clone()),
        }
    }
}

/// What [`question`] reads, in its order.
pub(super) const QUESTION_COLUMNS: &str = "runs.id, questions.id, path, asked, question";

/// A question that waits.
pub(super) fn question(row: &Row<'_>) -> Result<PendingQuestion, Fault> {
    Ok(PendingQuestion {
        run: run_id(&text(row, 0)?)?,
        id: question_id(text(row, 1)?)?,
        path: Path::from(text(row, 2)?.as_str()),
        asked: Timestamp::from_micros(row.get(3)?),
        question: json(&text(row, 4)?)?,
    })
}

/// A digest.
pub(super) fn digest(row: &Row<'_>, column: usize) -> Result<Digest, Fault> {
    Ok(Digest::from_bytes(row.get(column)?))
}

/// Bytes, or nothing.
pub(super) fn bytes(row: &Row<'_>, column: usize) -> Result<Option<Bytes>, Fault> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        value => Ok(Some(Bytes::copy_from_slice(value.as_blob().map_err(rusqlite::Error::from)?))),
    }
}

/// The id of a run.
pub(super) fn run_id(text: &str) -> Result<RunId, Fault> {
    text.parse().map_err(|error| Fault::Damaged(format!("{error}")))
}

/// A holder that may still write, as people read it. One whose process is gone, or that has not renewed its lease in time,
/// holds nothing any more.
pub(super) fn living_holder(text: Option<String>, until: Option<i64>) -> Option<String> {
    let text = text?;
    let until = until.map(Timestamp::from_micros);
    let is_gone = LeaseOwner::parse(&text).is_some_and(|owner| !owner.is_alive(until));
    (!is_gone).then(|| describe_holder(&text))
}

/// A holder, as people read it.
pub(super) fn describe_holder(text: &str) -> String {
    LeaseOwner::parse(text).map_or_else(|| text.to_owned(), |owner| owner.to_string())
}

/// The number of a status.
pub(super) fn status_code(status: RunStatus) -> u8 {
    status as u8
}

/// Totals as stored; nothing for nothing.
pub(super) fn totals_text(totals: &Totals) -> Result<Option<String>, Fault> {
    (*totals != Totals::default()).then(|| json_text(totals)).transpose()
}

/// A value as JSON.
pub(super) fn json_text<T: serde::Serialize>(value: &T) -> Result<String, Fault> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Failed(format!("a value has no JSON form: {error}")).into())
}

/// The status with this number.
pub(super) fn status_of(code: u8) -> Result<RunStatus, Fault> {
    let status = RunStatus::ALL.get(usize::from(code)).copied();
    status.ok_or_else(|| Fault::Damaged(format!("a run has the unknown status {code}")))
}

fn question_id(text: String) -> Result<QuestionId, Fault> {
    serde_json::from_value(serde_json::Value::String(text)).map_err(|error| Fault::Damaged(error.to_string()))
}

/// A value from its JSON.
pub(super) fn json<T: serde::de::DeserializeOwned>(text: impl AsRef<[u8]>) -> Result<T, Fault> {
    serde_json::from_slice(text.as_ref()).map_err(|error| Fault::Damaged(format!("unreadable JSON: {error}")))
}

/// A number as its bits: the database knows signed ones only.
pub(super) fn unsigned(row: &Row<'_>, column: usize) -> Result<u64, Fault> {
    Ok(row.get::<_, i64>(column)?.cast_unsigned())
}

fn text(row: &Row<'_>, column: usize) -> Result<String, Fault> {
    Ok(row.get(column)?)
}
