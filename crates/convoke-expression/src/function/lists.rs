//! Functions of lists and objects.

use super::index::Index;
use super::{Evaluated, Fault, Function, Work, function};
use crate::value::{Keys, List, Value, compare_numbers};

const ONE: &str = "a list";
const OBJECT: &str = "an object";

pub(crate) const FUNCTIONS: &[Function] = &[
    function("len", 1, 1, "a list, a text or an object", |given, work| {
        Ok(Value::Whole(match given.value(0)? {
            Value::List(items) => items.len() as i64,
            Value::Object(entries) => entries.len() as i64,
            Value::Text(text) => {
                work.read(text.len())?;
                text.chars().count() as i64
            }
            _ => return Err(Fault::Unfit),
        }))
    }),
    function("first", 1, 1, ONE, |given, _| Ok(given.list(0)?.get(0).unwrap_or(Value::Nil))),
    function("last", 1, 1, ONE, |given, _| Ok(given.list(0)?.at(-1).unwrap_or(Value::Nil))),
    function("take", 2, 2, "a list, and how many items", |given, work| {
        let count = usize::try_from(given.whole(1)?).or_else(|_| {
            Fault::problem(
                "`take` takes how many items there are to be, and that is a number without a minus",
            )
        })?;
        given.list(0)?.slice(0, count, work)
    }),
    function("reverse", 1, 1, ONE, |given, work| {
        let items = given.list(0)?;
        work.touch(items.len())?;
        Value::list(items.iter().rev().collect())
    }),
    function("sort", 1, 2, "a list of numbers or of texts, and perhaps \"desc\"", |given, work| {
        let (items, is_descending) = (given.list(0)?, given.is_descending(1)?);
        work.touch(items.len())?;
        let keyed = items.iter().map(|item| (item.clone(), item)).collect();
        sorted(keyed, is_descending, work)
    }),
    function("uniq", 1, 1, ONE, |given, work| {
        let (mut kept, mut index) = (Vec::new(), Index::default());
        for item in given.list(0)?.iter() {
            work.touch(1)?;
            let is_it = |place: usize, work: &mut Work| item.equals(&kept[place], work);
            if index.place(&item, kept.len(), work, is_it)?.is_none() {
                kept.push(item);
            }
        }
        Value::list(kept)
    }),
    function("concat", 1, usize::MAX, "lists", |given, work| {
        let mut items = Vec::new();
        for place in 0..given.0.len() {
            let more = given.list(place)?;
            work.touch(more.len())?;
            items.extend(more.iter());
        }
        Value::list(items)
    }),
    function("flatten", 1, 1, ONE, |given, work| {
        let mut items = Vec::new();
        flatten(given.list(0)?, &mut items, work)?;
        Value::list(items)
    }),
    function("get", 2, 2, "a list and a place, or an object and a name", |given, work| {
        let found = match (given.value(0)?, given.value(1)?) {
            (Value::List(items), Value::Whole(place)) => items.at(*place),
            (Value::Object(entries), key) if entries.takes_key(key) => entries.get(key, work)?,
            _ => return Err(Fault::Unfit),
        };
        Ok(found.unwrap_or(Value::Nil))
    }),
    function("keys", 1, 1, OBJECT, |given, work| {
        let entries = given.object(0)?;
        work.touch(entries.len())?;
        Value::list(entries.iter().map(|(key, _)| key).collect())
    }),
    function("values", 1, 1, OBJECT, |given, work| {
        let entries = given.object(0)?;
        work.touch(entries.len())?;
        Value::list(entries.iter().map(|(_, value)| value).collect())
    }),
    function("toPairs", 1, 1, OBJECT, |given, work| {
        let entries = given.object(0)?;
        work.touch(entries.len() * 3)?;
        Value::list(
            entries.iter().map(|(key, value)| Value::list(vec![key, value])).collect::<Result<_, _>>()?,
        )
    }),
    function("fromPairs", 1, 1, "a list of lists with a name and a value each", |given, work| {
        let (mut entries, mut index): (Vec<(Value<'_>, Value<'_>)>, _) = (Vec::new(), Index::default());
        for pair in given.list(0)?.iter() {
            work.touch(1)?;
            let Value::List(pair) = pair else { return Err(Fault::Unfit) };
            let (Some(key), Some(value), 2) = (pair.get(0), pair.get(1), pair.len()) else {
                return Err(Fault::Unfit);
            };
            if !key.is_key() {
                return Err(Fault::Unfit);
            }
            let is_it = |place: usize, _: &mut Work| Ok(entries[place].0.is_same_key(&key));
            match index.place(&key, entries.len(), work, is_it)? {
                Some(place) => entries[place].1 = value,
                None => entries.push((key, value)),
            }
        }
        Value::object(entries, Keys::Any)
    }),
];

fn flatten<'a>(list: &List<'a>, items: &mut Vec<Value<'a>>, work: &mut Work) -> Evaluated<'a, ()> {
    for item in list.iter() {
        work.touch(1)?;
        match item {
            Value::List(inner) => flatten(&inner, items, work)?,
            item => items.push(item),
        }
    }
    Ok(())
}

/// Items in the order of their keys, which are all numbers or all texts.
pub(crate) fn sorted<'a>(
    mut keyed: Vec<(Value<'a>, Value<'a>)>,
    is_descending: bool,
    work: &mut Work,
) -> Evaluated<'a> {
    // Each is compared about as often as the length has digits in the binary system.
    let times = (usize::BITS - keyed.len().leading_zeros()) as usize;
    work.touch(keyed.len().saturating_mul(times))?;
    let (mut texts, mut bytes) = (0, 0_usize);
    for (key, _) in &keyed {
        match key {
            Value::Whole(_) => {}
            Value::Float(number) if !number.is_nan() => {}
            Value::Text(text) => (texts, bytes) = (texts + 1, bytes + text.len()),
            other => {
                return Err(Fault::unfit("sort", "numbers only or texts only", std::slice::from_ref(other)));
            }
        }
    }
    if texts != 0 && texts != keyed.len() {
        return Fault::problem("`sort` takes numbers only or texts only, not both");
    }
    work.read(bytes.saturating_mul(times))?;
    keyed.sort_by(|(one, _), (other, _)| {
        let (one, other) = if is_descending { (other, one) } else { (one, other) };
        match (one, other) {
            (Value::Text(one), Value::Text(other)) => (**one).cmp(&**other),
            _ => compare_numbers(one, other),
        }
    });
    Value::list(keyed.into_iter().map(|(_, item)| item).collect())
}
