//! Content-defined chunks of long content.
//!
//! A prompt often says everything that the one before it said, and a little more. So long content is cut where its own
//! bytes say so, not at fixed places: what two contents have in common is then cut alike wherever it stands in them, and
//! each piece is kept once for a run. The list of a content's pieces is content too, and cut again if it is long.
//!
//! Where content is cut is no part of the format. Whoever reads puts together what the lists name.

use std::borrow::Cow;
use std::collections::HashMap;

use bytes::Bytes;
use convoke_core::Digest;
use rusqlite::{Connection, OptionalExtension, params};

use super::failure::Fault;
use super::row;

/// What is shorter stays whole.
const LONG: usize = 1 << 10;
/// The shortest and the longest piece, but for a content's last.
const SHORTEST: usize = 128;
const LONGEST: usize = 4 << 10;
/// One place in so many is the end of a piece: the number of bits that must be zero there.
const END_BITS: u64 = ((1 << 9) - 1) << 40;
/// Lists of lists of lists hold more than a disk does.
const DEEPEST: i64 = 16;

/// A random number for every byte; the same for ever, so that equal texts are cut alike by all versions.
const NUMBERS: [u64; 256] = {
    let mut numbers = [0; 256];
    let (mut state, mut index) = (0x436e_766b_u64, 0);
    while index < numbers.len() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        numbers[index] = mixed ^ (mixed >> 31);
        index += 1;
    }
    numbers
};

/// Content as it goes into a row.
pub(super) struct StoredContent<'a> {
    pub(super) content: Cow<'a, [u8]>,
    pub(super) depth: i64,
}

/// Keeps the pieces of a run's content that the run does not have yet.
pub(super) fn keep<'a>(
    connection: &Connection,
    run: i64,
    content: &'a [u8],
) -> Result<StoredContent<'a>, Fault> {
    let mut stored = StoredContent { content: Cow::Borrowed(content), depth: 0 };
    while stored.content.len() >= LONG {
        let mut list = Vec::new();
        for piece in Pieces(&stored.content) {
            write_number(&mut list, keep_piece(connection, run, piece)?);
        }
        stored = StoredContent { content: Cow::Owned(list), depth: stored.depth + 1 };
    }
    Ok(stored)
}

fn keep_piece(connection: &Connection, run: i64, piece: &[u8]) -> Result<i64, Fault> {
    let digest = Digest::of_parts(&[piece]);
    let known = connection
        .prepare_cached("SELECT key FROM pieces WHERE run = ?1 AND digest = ?2")?
        .query_row(params![run, digest.as_bytes()], |row| row.get(0))
        .optional()?;
    if let Some(key) = known {
        return Ok(key);
    }
    connection
        .prepare_cached("INSERT INTO pieces (run, digest, content) VALUES (?1, ?2, ?3)")?
        .execute(params![run, digest.as_bytes(), piece])?;
    Ok(connection.last_insert_rowid())
}

/// Puts content together again. Pieces that several contents have in common are read once.
pub(super) struct PieceReader<'a> {
    connection: &'a Connection,
    known: HashMap<i64, Bytes>,
}

impl<'a> PieceReader<'a> {
    pub(super) fn of(connection: &'a Connection) -> Self {
        Self { connection, known: HashMap::new() }
    }

    /// The content that was kept like this.
    pub(super) fn whole(&mut self, mut content: Bytes, depth: i64) -> Result<Bytes, Fault> {
        if depth > DEEPEST {
            return Err(Fault::Damaged(format!("content is said to be {depth} lists deep")));
        }
        for _ in 0..depth {
            let mut whole = Vec::new();
            let mut list = &content[..];
            while let Some(key) = read_number(&mut list)? {
                whole.extend_from_slice(self.piece(key)?);
            }
            content = whole.into();
        }
        Ok(content)
    }

    fn piece(&mut self, key: i64) -> Result<&Bytes, Fault> {
        use std::collections::hash_map::Entry;
        match self.known.entry(key) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => {
                let sql = "SELECT content FROM pieces WHERE key = ?1";
                let mut statement = self.connection.prepare_cached(sql)?;
                let mut rows = statement.query([key])?;
                let piece = rows.next()?.map(|row| row::bytes(row, 0)).transpose()?.flatten();
                let piece =
                    piece.ok_or_else(|| Fault::Damaged(format!("piece {key} of a content is missing")))?;
                Ok(unknown.insert(piece))
            }
        }
    }
}

/// The pieces of a content, in order.
struct Pieces<'a>(&'a [u8]);

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let (piece, rest) = self.0.split_at(end_of_first(self.0));
        self.0 = rest;
        Some(piece)
    }
}

/// Where the first piece ends: where the bytes before that place, some sixty of them, add up to the right number.
fn end_of_first(content: &[u8]) -> usize {
    let most = content.len().min(LONGEST);
    let mut sum = 0_u64;
    for (index, byte) in content.iter().enumerate().take(most).skip(SHORTEST - 1) {
        sum = (sum << 1).wrapping_add(NUMBERS[usize::from(*byte)]);
        if sum & END_BITS == 0 {
            return index + 1;
        }
    }
    most
}

/// Writes a number, seven bits to a byte, the lowest first.
fn write_number(list: &mut Vec<u8>, number: i64) {
    let mut left = number.cast_unsigned();
    while left >= 0x80 {
        list.push((left & 0x7f) as u8 | 0x80);
        left >>= 7;
    }
    list.push(left as u8);
}

/// Reads a number off the beginning of a list; `None` at its end.
fn read_number(list: &mut &[u8]) -> Result<Option<i64>, Fault> {
    if list.is_empty() {
        return Ok(None);
    }
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let Some((byte, rest)) = list.split_first() else { break };
        *list = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(Some(number.cast_signed()));
        }
    }
    Err(Fault::Damaged("a list of pieces ends in the middle of a number".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::schema::{STEPS, migrate};

    fn database() -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, STEPS).unwrap();
        connection
    }

    fn stored_bytes(connection: &Connection) -> u32 {
        connection
            .query_row("SELECT coalesce(sum(length(content)), 0) FROM pieces", [], |row| row.get(0))
            .unwrap()
    }

    /// A text that does not repeat itself.
    fn text(bytes: usize, seed: u64) -> Vec<u8> {
        let words =
            (seed..).flat_map(|number| format!("word {} ", number.wrapping_mul(0x9e37_79b9)).into_bytes());
        words.take(bytes).collect()
    }

    #[test]
    fn content_comes_back_whatever_its_length() {
        let connection = database();
        let mut reader = PieceReader::of(&connection);
        for length in [0, 1, LONG - 1, LONG, LONG + 1, 5_000, 100_000, 3_000_000] {
            let content = text(length, 7);
            let stored = keep(&connection, 1, &content).unwrap();
            assert_eq!(stored.depth > 0, length >= LONG, "{length}");
            assert!(stored.content.len() < LONG, "{length}");
            let whole = reader.whole(Bytes::copy_from_slice(&stored.content), stored.depth).unwrap();
            assert!(whole == content, "{length}");
        }
        let zeros = vec![0; 1 << 20];
        let stored = keep(&connection, 1, &zeros).unwrap();
        assert!(reader.whole(Bytes::copy_from_slice(&stored.content), stored.depth).unwrap() == zeros);
    }

    #[test]
    fn what_is_said_again_costs_little_wherever_it_stands() {
        let connection = database();
        let content = text(200_000, 1);
        keep(&connection, 1, &content).unwrap();
        let once = stored_bytes(&connection);
        for change in 0..20_u8 {
            let mut changed = vec![change; 50 + usize::from(change)];
            changed.extend_from_slice(&content);
            changed.extend_from_slice(&text(100, 1_000_000 + u64::from(change) * 1_000));
            keep(&connection, 1, &changed).unwrap();
        }
        let more = stored_bytes(&connection) - once;
        assert!(more < 20 * 8_000, "{more} bytes for what was there but for 200 bytes, twenty times");
    }

    /// What is kept by one version is shared by the next only if it goes on cutting where this one does.
    #[test]
    fn equal_texts_are_cut_alike_by_all_versions() {
        let lengths: Vec<usize> = Pieces(&text(6_000, 7)).map(<[u8]>::len).collect();
        assert_eq!(lengths, [2057, 693, 448, 433, 182, 979, 557, 513, 138]);
        let zeros: Vec<usize> = Pieces(&[0; 9_000]).map(<[u8]>::len).collect();
        assert_eq!(zeros, [LONGEST, LONGEST, 9_000 - 2 * LONGEST]);
        // The first two bytes that are looked at can be the end already.
        let first = |pair: [u8; 2]| {
            let mut content = [0; 2 * SHORTEST];
            content[SHORTEST - 1..=SHORTEST].copy_from_slice(&pair);
            end_of_first(&content)
        };
        let shortest = (0..4_096_u16).map(|pair| first(pair.to_le_bytes())).min().unwrap();
        assert!((SHORTEST..=SHORTEST + 1).contains(&shortest), "{shortest}");
    }

    #[test]
    fn content_that_is_said_to_be_deeper_than_any_is_damaged() {
        let connection = database();
        let mut reader = PieceReader::of(&connection);
        assert!(reader.whole(Bytes::new(), DEEPEST).is_ok());
        assert!(reader.whole(Bytes::new(), DEEPEST + 1).is_err());
    }

    #[test]
    fn numbers_come_back() {
        let numbers = [0, 1, 127, 128, 300, 1 << 40, i64::MAX];
        let mut list = Vec::new();
        numbers.iter().for_each(|number| write_number(&mut list, *number));
        let mut rest = &list[..];
        for number in numbers {
            assert_eq!(read_number(&mut rest).unwrap(), Some(number));
        }
        assert!(matches!(read_number(&mut rest), Ok(None)));
        assert!(read_number(&mut &[0x80_u8][..]).is_err());
        assert!(read_number(&mut &[0xff_u8; 12][..]).is_err());
    }
}
