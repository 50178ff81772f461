//! Whole numbers, however they are written: `2` and `2.0` are the same in JSON.

use serde_json::Number;

/// A number without a fraction; nothing if it has one.
pub(crate) fn whole(number: &Number) -> Option<i128> {
    let integer = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    integer.or_else(|| {
        let number = number.as_f64().filter(|number| number.fract() == 0.0)?;
        // What is further away than an `i128` is as far away as it gets: nobody asks how far.
        #[allow(clippy::cast_possible_truncation)]
        Some(number as i128)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_is_one_however_it_is_written() {
        let read = |text: &str| whole(&serde_json::from_str(text).unwrap());
        assert_eq!(
            [read("2"), read("2.0"), read("2e0"), read("-3.0")],
            [Some(2), Some(2), Some(2), Some(-3)]
        );
        assert_eq!(read("9223372036854775808"), Some(9_223_372_036_854_775_808));
        assert_eq!(read("1e40"), Some(i128::MAX));
        assert_eq!(read("1.5"), None);
    }
}
