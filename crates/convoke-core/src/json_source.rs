//! JSON whose long texts are not copied when it is read: whoever keeps one has a part of the very bytes that were read.
//!
//! Serde gives readers no way to the bytes they are reading, so these are known to the thread as long as it reads them. What is not a
//! part of them, such as a text with escapes in it, is copied; nothing ever fails for that.

use std::cell::RefCell;
use std::ops::Range;

use bytes::Bytes;
use serde::de::DeserializeOwned;

/// Texts shorter than this are read again as quickly as they are passed over.
const LONG: usize = 1024;

/// What a thread is reading.
#[derive(Default)]
struct Source {
    json: Bytes,
    /// Where the long texts stand that were shared.
    long: Vec<Range<usize>>,
    /// Texts that are not in it: in their place it has their numbers.
    elsewhere: Vec<Bytes>,
    /// How many of them were asked for.
    taken: usize,
}

thread_local! {
    static SOURCE: RefCell<Source> = RefCell::default();
}

/// Reads a value. What it keeps of these bytes, it [shares](shared). Gives where the long texts stand that it keeps: whoever [knows](read_knowing)
/// that need not look for their ends again.
pub(crate) fn read<T: DeserializeOwned>(json: &Bytes) -> Result<(T, Vec<Range<usize>>), serde_json::Error> {
    let (value, source) = read_from(Source { json: json.clone(), ..Source::default() })?;
    Ok((value, source.long))
}

/// Reads a value whose long texts stand here, without looking at them: it costs the same however long they are.
pub(crate) fn read_knowing<T: DeserializeOwned>(
    json: &Bytes,
    long: &[Range<usize>],
) -> Result<T, serde_json::Error> {
    if let Some(source) = without(json, long)
        && let Ok((value, read)) = read_from(source)
        && read.taken == long.len()
    {
        return Ok(value);
    }
    Ok(read(json)?.0)
}

/// A JSON with numbers in the place of long texts; nothing if these are not texts of it.
fn without(json: &Bytes, long: &[Range<usize>]) -> Option<Source> {
    let (mut rest, mut done) = (Vec::new(), 0);
    for (number, text) in long.iter().enumerate() {
        let is_quoted =
            json.get(text.start.checked_sub(1)?) == Some(&b'"') && json.get(text.end) == Some(&b'"');
        rest.extend_from_slice(json.get(done..text.start).filter(|_| is_quoted && text.start <= text.end)?);
        rest.extend_from_slice(number.to_string().as_bytes());
        done = text.end;
    }
    rest.extend_from_slice(&json[done..]);
    let elsewhere = long.iter().map(|text| json.slice(text.clone())).collect();
    Some(Source { json: rest.into(), elsewhere, ..Source::default() })
}

fn read_from<T: DeserializeOwned>(source: Source) -> Result<(T, Source), serde_json::Error> {
    /// Puts back what was being read, also if the reader panics.
    struct Outer(Source);
    impl Drop for Outer {
        fn drop(&mut self) {
            SOURCE.set(std::mem::take(&mut self.0));
        }
    }
    let json = source.json.clone();
    let _outer = Outer(SOURCE.replace(source));
    let value = serde_json::from_slice(&json)?;
    Ok((value, SOURCE.take()))
}

/// A text that was just read, as a part of what is being read if it is one. Whoever asks has no texts that are numbers.
pub(crate) fn shared(text: &str) -> Bytes {
    SOURCE.with_borrow_mut(|source| {
        let number = text.parse().ok();
        if let Some(known) = number.and_then(|number: usize| source.elsewhere.get(number)) {
            source.taken += 1;
            return known.clone();
        }
        let (all, part) = (source.json.as_ptr_range(), text.as_bytes().as_ptr_range());
        if all.start > part.start || part.end > all.end {
            return Bytes::copy_from_slice(text.as_bytes());
        }
        let begins = part.start.addr() - all.start.addr();
        source.long.extend((text.len() >= LONG).then(|| begins..begins + text.len()));
        source.json.slice(begins..begins + text.len())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn a_text_is_shared_with_what_is_being_read_and_with_nothing_else() {
        let json = Bytes::from_static(b"[\"here\", 1]");
        let text = || std::str::from_utf8(&json[2..6]).unwrap();
        assert_ne!(shared(text()).as_ptr(), text().as_ptr());
        struct Kept(Bytes);
        impl<'de> serde::Deserialize<'de> for Kept {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                // Something that is read within does not end the reading of what is around it.
                read::<u8>(&Bytes::from_static(b"1")).unwrap();
                <&RawValue>::deserialize(deserializer).map(|raw| Self(shared(raw.get())))
            }
        }
        let ((Kept(kept), number), long): ((Kept, u8), _) = read(&json).unwrap();
        assert!(long.is_empty());
        assert_eq!((kept.as_ptr(), &*kept, number), (json[1..].as_ptr(), &b"\"here\""[..], 1));
        assert_eq!(shared("elsewhere"), "elsewhere");
    }

    #[derive(Debug)]
    struct Text(Bytes);

    impl<'de> serde::Deserialize<'de> for Text {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            <&str>::deserialize(deserializer).map(|text| Self(shared(text)))
        }
    }

    #[test]
    fn texts_whose_places_are_known_are_not_looked_at() {
        let (one, other) = ("[a".repeat(LONG), "[b".repeat(LONG));
        let json = Bytes::from(format!("[\"{one}\", [\"[short\", \"{other}\"]]"));
        type Texts = (Text, (Text, Text));
        let (_, places) = read::<Texts>(&json).unwrap();
        assert_eq!(places, [2..2 + 2 * LONG, 17 + 2 * LONG..17 + 4 * LONG]);
        // Nobody would read a text with this in it.
        let mut spoilt = json.to_vec();
        spoilt[20] = b'\n';
        let spoilt = Bytes::from(spoilt);
        assert!(read::<Texts>(&spoilt).is_err());
        let (Text(first), (Text(short), Text(last))) = read_knowing(&spoilt, &places).unwrap();
        assert_eq!(first, spoilt[places[0].clone()]);
        assert_eq!(
            (first.as_ptr(), last.as_ptr()),
            (spoilt[2..].as_ptr(), spoilt[places[1].start..].as_ptr())
        );
        assert_eq!((&*short, &*last), (&b"[short"[..], other.as_bytes()));
    }

    #[test]
    fn places_that_are_none_and_values_that_keep_no_text_are_read_as_ever() {
        let long = "[a".repeat(LONG);
        let json = Bytes::from(format!("[\"{long}\"]"));
        let whole = serde_json::from_slice::<serde_json::Value>(&json).unwrap();
        let whole_text = 2..2 + 2 * LONG;
        // Whoever reads it as something else would have a number for a text.
        assert_eq!(
            read_knowing::<serde_json::Value>(&json, std::slice::from_ref(&whole_text)).unwrap(),
            whole
        );
        #[expect(clippy::reversed_empty_ranges, reason = "that is what is wrong with it")]
        let wrong = [0..3, 3..9, 2..1, 2..9_000, whole_text.end..whole_text.end, 9_000..9_001];
        for place in wrong {
            let [Text(text)] = read_knowing(&json, &[place]).unwrap();
            assert_eq!(text, long);
        }
    }
}
