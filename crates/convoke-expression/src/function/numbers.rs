//! Functions of numbers.

use super::{Evaluated, Fault, Function, Given, Work, function};
use crate::value::{Value, compare_numbers};

const NUMBERS: &str = "numbers, or lists of numbers";
const ONE: &str = "a number";
const WHOLE: &str = "two whole numbers";
const SHIFT: &str = "a whole number, and by how many bits";

pub(crate) const FUNCTIONS: &[Function] = &[
    function("max", 1, usize::MAX, NUMBERS, |given, work| {
        Ok(numbers(given, work)?
            .into_iter()
            .reduce(|one, other| match compare_numbers(&other, &one) {
                std::cmp::Ordering::Greater => other,
                _ => one,
            })
            .unwrap_or(Value::Nil))
    }),
    function("min", 1, usize::MAX, NUMBERS, |given, work| {
        Ok(numbers(given, work)?
            .into_iter()
            .reduce(|one, other| match compare_numbers(&other, &one) {
                std::cmp::Ordering::Less => other,
                _ => one,
            })
            .unwrap_or(Value::Nil))
    }),
    function("mean", 1, usize::MAX, NUMBERS, |given, work| {
        let numbers = floats(given, work)?;
        let sum: f64 = numbers.iter().sum();
        Ok(Value::Float(if numbers.is_empty() { 0.0 } else { sum / numbers.len() as f64 }))
    }),
    function("median", 1, usize::MAX, NUMBERS, |given, work| {
        let mut numbers = floats(given, work)?;
        numbers.sort_by(f64::total_cmp);
        let middle = numbers.len() / 2;
        Ok(Value::Float(match numbers.len() {
            0 => 0.0,
            length if length % 2 == 0 => (numbers[middle - 1] + numbers[middle]) / 2.0,
            _ => numbers[middle],
        }))
    }),
    function("abs", 1, 1, ONE, |given, _| match given.value(0)? {
        Value::Whole(number) => number.checked_abs().map(Value::Whole).ok_or_else(Fault::overflow),
        _ => Ok(Value::Float(given.float(0)?.abs())),
    }),
    function("ceil", 1, 1, ONE, |given, _| Ok(Value::Float(given.float(0)?.ceil()))),
    function("floor", 1, 1, ONE, |given, _| Ok(Value::Float(given.float(0)?.floor()))),
    function("round", 1, 1, ONE, |given, _| Ok(Value::Float(given.float(0)?.round()))),
    function("bitand", 2, 2, WHOLE, |given, _| Ok(Value::Whole(given.whole(0)? & given.whole(1)?))),
    function("bitor", 2, 2, WHOLE, |given, _| Ok(Value::Whole(given.whole(0)? | given.whole(1)?))),
    function("bitxor", 2, 2, WHOLE, |given, _| Ok(Value::Whole(given.whole(0)? ^ given.whole(1)?))),
    function("bitnand", 2, 2, WHOLE, |given, _| Ok(Value::Whole(given.whole(0)? & !given.whole(1)?))),
    function("bitnot", 1, 1, "a whole number", |given, _| Ok(Value::Whole(!given.whole(0)?))),
    function("bitshl", 2, 2, SHIFT, |given, _| {
        let (number, count) = shifted(given)?;
        // Bits that leave at the left are lost, and the number is another one.
        let shifted = number.checked_shl(count).filter(|shifted| shifted >> count == number);
        shifted.or((number == 0).then_some(0)).map(Value::Whole).ok_or_else(Fault::overflow)
    }),
    function("bitshr", 2, 2, SHIFT, |given, _| {
        let (number, count) = shifted(given)?;
        Ok(Value::Whole(number >> count.min(63)))
    }),
    function("bitushr", 2, 2, SHIFT, |given, _| {
        let (number, count) = shifted(given)?;
        Ok(Value::Whole((number as u64).checked_shr(count).unwrap_or(0) as i64))
    }),
];

/// A number, and by how many bits it is moved.
fn shifted(given: Given<'_, '_>) -> Evaluated<'static, (i64, u32)> {
    let (Ok(number), Ok(count)) = (given.whole(0), given.whole(1)) else { return Err(Fault::Unfit) };
    if count < 0 {
        return Fault::problem(format!("a number is moved by {count} bits: write how many, without a minus"));
    }
    Ok((number, u32::try_from(count).unwrap_or(u32::MAX)))
}

fn floats(given: Given<'_, '_>, work: &mut Work) -> Evaluated<'static, Vec<f64>> {
    match numbers(given, work) {
        Ok(numbers) => Ok(numbers.iter().filter_map(Value::as_float).collect()),
        Err(fault) => Err(fault),
    }
}

/// All numbers, those in lists within lists too.
fn numbers<'a>(given: Given<'_, 'a>, work: &mut Work) -> Evaluated<'a, Vec<Value<'a>>> {
    let mut numbers = Vec::new();
    for value in given.0 {
        collect(value, &mut numbers, work)?;
    }
    Ok(numbers)
}

fn collect<'a>(value: &Value<'a>, numbers: &mut Vec<Value<'a>>, work: &mut Work) -> Evaluated<'a, ()> {
    work.touch(1)?;
    match value {
        Value::Whole(_) | Value::Float(_) => numbers.push(value.clone()),
        Value::List(items) => {
            for item in items.iter() {
                collect(&item, numbers, work)?;
            }
        }
        _ => return Err(Fault::Unfit),
    }
    Ok(())
}
