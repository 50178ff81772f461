//! Checks an ONNX file before the engine sees it.
//!
//! ONNX files have no mark to know them by, and the engine believes every length it finds in one: a file of another kind
//! can make it ask for more memory than there is, or read on for ever. So lengths are checked here, as far down as the
//! large parts of a file are.

/// A part of an ONNX file, as a Protocol Buffers message.
#[derive(Clone, Copy, PartialEq)]
enum OnnxPart {
    Model,
    Graph,
    /// An operator or a weight.
    Element,
}

impl OnnxPart {
    /// What is in a field of this part, if it is to be looked at.
    fn inside(self, field: u64) -> Option<Self> {
        match (self, field) {
            (Self::Model, 7) => Some(Self::Graph),
            (Self::Graph, 1 | 5) => Some(Self::Element),
            _ => None,
        }
    }
}

/// Checks that this is an ONNX file, whole as far as can be seen.
pub(super) fn check(file: &[u8]) -> Result<(), &'static str> {
    // Every one has the version of its format, and a graph.
    let wanted = 1 << 1 | 1 << 7;
    if walk(file, OnnxPart::Model)? & wanted == wanted { Ok(()) } else { Err("it is not an ONNX file") }
}

/// Goes through the fields of a message, and gives the numbers of those it has, as bits.
fn walk(mut rest: &[u8], part: OnnxPart) -> Result<u64, &'static str> {
    const BROKEN: &str = "it is not an ONNX file, or not all of one";
    let mut fields = 0;
    while !rest.is_empty() {
        let key = varint(&mut rest).ok_or(BROKEN)?;
        let (field, kind) = (key >> 3, key & 7);
        let length = match kind {
            0 => varint(&mut rest).map(|_| 0),
            1 => Some(8),
            2 => varint(&mut rest),
            5 => Some(4),
            _ => None,
        };
        let length = length.and_then(|length| usize::try_from(length).ok()).filter(|_| field > 0);
        let (value, after) = length.and_then(|length| rest.split_at_checked(length)).ok_or(BROKEN)?;
        rest = after;
        fields |= 1 << field.min(63);
        if let Some(inside) = part.inside(field).filter(|_| kind == 2) {
            walk(value, inside)?;
        }
    }
    Ok(fields)
}

/// A number of as many bytes as it needs.
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_must_lie_within_what_they_are_in() {
        // Version 8; a graph with an operator that has an output of one letter.
        let sound = [0x08, 0x08, 0x3A, 0x05, 0x0A, 0x03, 0x12, 0x01, b'x'];
        assert_eq!(check(&sound), Ok(()));
        for length in 1..sound.len() {
            assert!(check(&sound[..length]).is_err(), "{length}");
        }
        for (place, wrong) in [(3, 0x06), (5, 0x04), (7, 0x02), (0, 0x0B), (0, 0x00), (2, 0x3B)] {
            let mut damaged = sound;
            damaged[place] = wrong;
            assert!(check(&damaged).is_err(), "{place}");
        }
    }

    #[test]
    fn lengths_beyond_all_measure_are_refused() {
        let endless = [&[0x08, 0x08, 0x3A][..], &[0xFF; 9], &[0x01]].concat();
        assert!(check(&endless).is_err());
        assert!(check(&[&[0x08, 0x08, 0x3A][..], &[0xFF; 40]].concat()).is_err());
    }
}
