//! Finding texts again, whatever table they are in: by words, by vectors, and by both together.

use std::collections::HashMap;
use std::hash::Hash;

/// So many words of a query count.
const MOST_WORDS: usize = 50;

/// How much a place further down a list still counts: the usual constant of reciprocal rank fusion.
const RANK_OFFSET: f32 = 60.0;

/// A full-text query (FTS5) that looks for any of the words, and is nothing but words: each is quoted, so that none is an operator.
///
/// ```
/// assert_eq!(convoke_sqlite::any_word("cats NOT dogs*"), r#""cats" OR "NOT" OR "dogs""#);
/// ```
#[must_use]
pub fn any_word(query: &str) -> String {
    let words = query.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let quoted: Vec<_> = words.take(MOST_WORDS).map(|word| format!("\"{word}\"")).collect();
    // Nothing matches a text that has no words.
    if quoted.is_empty() { "\"\"".to_owned() } else { quoted.join(" OR ") }
}

/// A vector of length one in a byte per number, as it is kept: a quarter of the space, and read and compared that much faster. What
/// it loses is far below the differences that searching goes by.
///
/// ```
/// use convoke_sqlite::PackedVector;
///
/// let (east, north) = (PackedVector::of(&[1.0, 0.0]), PackedVector::of(&[0.0, 1.0]));
/// assert!(east.similarity(east.as_bytes()).is_some_and(|same| same > 0.99));
/// assert_eq!(east.similarity(north.as_bytes()), Some(0.0));
/// assert_eq!(east.similarity(b"something else"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedVector(Vec<u8>);

impl PackedVector {
    /// What a step is worth stands before the numbers, in so many bytes.
    const SCALE: usize = size_of::<f32>();

    /// Packs a vector.
    #[must_use]
    pub fn of(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
        let step = if largest > 0.0 { largest / f32::from(i8::MAX) } else { 1.0 };
        let mut bytes = step.to_le_bytes().to_vec();
        // Within an i8: no number is larger than the largest.
        bytes.extend(vector.iter().map(|number| ((number / step).round() as i8).cast_unsigned()));
        Self(bytes)
    }

    /// The size of a packed vector of so many numbers, in bytes.
    #[must_use]
    pub fn size(dimensions: usize) -> usize {
        Self::SCALE + dimensions
    }

    /// The vector as it is kept.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The cosine similarity to a packed vector; `None` for what is none of the same size.
    #[must_use]
    pub fn similarity(&self, packed: &[u8]) -> Option<f32> {
        let (own_step, own) = self.0.split_first_chunk::<{ Self::SCALE }>()?;
        let (step, other) = packed.split_first_chunk::<{ Self::SCALE }>()?;
        if own.len() != other.len() {
            return None;
        }
        // Widened before they are multiplied: compilers have an instruction for that, and it is twice as quick.
        let product: i32 = own
            .iter()
            .zip(other)
            .map(|(one, other)| i32::from(one.cast_signed()) * i32::from(other.cast_signed()))
            .sum();
        Some(product as f32 * f32::from_le_bytes(*own_step) * f32::from_le_bytes(*step))
    }
}

/// Puts lists together, each with the best first, by reciprocal rank: what several lists have, or one has near its beginning, comes
/// first. What counts the same stays in the order of the lists.
///
/// ```
/// let fused = convoke_sqlite::fuse(&[vec!['a', 'b'], vec!['b', 'c']]);
/// assert_eq!(fused.iter().map(|(item, _)| *item).collect::<String>(), "bac");
/// ```
#[must_use]
pub fn fuse<T: Copy + Eq + Hash>(lists: &[Vec<T>]) -> Vec<(T, f32)> {
    let mut fused: Vec<(T, f32)> = Vec::new();
    let mut places = HashMap::new();
    for list in lists {
        for (rank, item) in (1_u16..).zip(list) {
            let place = *places.entry(*item).or_insert_with(|| {
                fused.push((*item, 0.0));
                fused.len() - 1
            });
            fused[place].1 += 1.0 / (RANK_OFFSET + f32::from(rank));
        }
    }
    fused.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    fused
}
