//! JSON whose long texts are not copied when it is read: whoever keeps one has a part of the very bytes that were read.
//!
//! Serde gives readers no way to the bytes they are reading, so these are known to the thread as long as it reads them. What is not a
//! part of them, such as a text with escapes in it, is copied; nothing ever fails for that.

use std::cell::RefCell;

use bytes::Bytes;
use serde::de::DeserializeOwned;

thread_local! {
    /// What this thread is reading.
    static SOURCE: RefCell<Bytes> = const { RefCell::new(Bytes::new()) };
}

/// Reads a value. What it keeps of these bytes, it [shares](shared).
pub(crate) fn read<T: DeserializeOwned>(json: &Bytes) -> Result<T, serde_json::Error> {
    /// Puts back what was being read, also if the reader panics.
    struct Outer(Bytes);
    impl Drop for Outer {
        fn drop(&mut self) {
            SOURCE.set(std::mem::take(&mut self.0));
        }
    }
    let _outer = Outer(SOURCE.replace(json.clone()));
    serde_json::from_slice(json)
}

/// A text that was just read, as a part of what is being read if it is one.
pub(crate) fn shared(text: &str) -> Bytes {
    SOURCE.with_borrow(|source| {
        let (all, part) = (source.as_ptr_range(), text.as_bytes().as_ptr_range());
        match all.start <= part.start && part.end <= all.end {
            true => source.slice_ref(text.as_bytes()),
            false => Bytes::copy_from_slice(text.as_bytes()),
        }
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
        let (Kept(kept), number): (Kept, u8) = read(&json).unwrap();
        assert_eq!((kept.as_ptr(), &*kept, number), (json[1..].as_ptr(), &b"\"here\""[..], 1));
        assert_eq!(shared("elsewhere"), "elsewhere");
    }
}
