//! Functions that do something with every item of a list: what they do with it is an expression in which `#` is the item.

use super::index::Index;
use super::lists::sorted;
use super::{Evaluated, Fault, List, Work};
use crate::evaluate::Evaluation;
use crate::syntax::{Block, Expression};
use crate::value::{Keys, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OverItems {
    All,
    Any,
    One,
    None,
    Map,
    Filter,
    Find,
    FindIndex,
    FindLast,
    FindLastIndex,
    GroupBy,
    SortBy,
    Count,
    Sum,
    Reduce,
}

const NAMES: &[(&str, OverItems)] = &[
    ("all", OverItems::All),
    ("any", OverItems::Any),
    ("one", OverItems::One),
    ("none", OverItems::None),
    ("map", OverItems::Map),
    ("filter", OverItems::Filter),
    ("find", OverItems::Find),
    ("findIndex", OverItems::FindIndex),
    ("findLast", OverItems::FindLast),
    ("findLastIndex", OverItems::FindLastIndex),
    ("groupBy", OverItems::GroupBy),
    ("sortBy", OverItems::SortBy),
    ("count", OverItems::Count),
    ("sum", OverItems::Sum),
    ("reduce", OverItems::Reduce),
];

impl OverItems {
    pub(crate) fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, over)| *over)
    }

    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    pub(crate) fn name(self) -> &'static str {
        NAMES.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }

    /// What it takes, for messages.
    pub(crate) fn takes(self) -> &'static str {
        match self {
            Self::All | Self::Any | Self::One | Self::None | Self::Filter => {
                "a list and what is true of an item, `# > 1`"
            }
            Self::Find | Self::FindIndex | Self::FindLast | Self::FindLastIndex => {
                "a list and what is true of an item, `# > 1`"
            }
            Self::Map => "a list and what is made of an item, `# * 2`",
            Self::GroupBy => "a list and what an item is grouped by, `#.kind`, a text, a number or a boolean",
            Self::SortBy => "a list, what it is sorted by, `#.age`, and perhaps \"desc\"",
            Self::Count => "a list and what is true or false of an item, or a list of true and false",
            Self::Sum => "a list and a number that is made of an item, or a list of numbers",
            Self::Reduce => {
                "a list, what is made of an item and what was made before, `# + #acc`, and what is there first"
            }
        }
    }

    /// What is known of an item: it, its place, and what was made before. What has no name is not for this function, but for one
    /// around it.
    pub(crate) fn items(self) -> &'static [&'static str] {
        match self {
            Self::Map => &["#", "#index"],
            Self::Reduce => &["#", "#index", "#acc"],
            _ => &["#", ""],
        }
    }

    /// How many values it takes at most, without what is done with every item.
    pub(crate) fn most_values(self) -> usize {
        if matches!(self, Self::SortBy | Self::Reduce) { 2 } else { 1 }
    }

    /// Whether it may be called with a list alone.
    pub(crate) fn may_be_alone(self) -> bool {
        matches!(self, Self::Count | Self::Sum)
    }
}

impl<'a> Evaluation<'a> {
    pub(crate) fn over_items(
        &mut self,
        over: OverItems,
        arguments: &'a [Expression],
        predicate: Option<&'a Block>,
    ) -> Evaluated<'a> {
        let given = self.values(arguments)?;
        match given.first() {
            Some(Value::List(items)) => match self.over(over, items, given.get(1), predicate) {
                Err(Fault::Unfit) => Err(Fault::unfit(over.name(), over.takes(), &given[1..])),
                made => made,
            },
            _ => Err(Fault::unfit(over.name(), over.takes(), &given)),
        }
    }

    fn over(
        &mut self,
        over: OverItems,
        items: &List<'a>,
        second: Option<&Value<'a>>,
        predicate: Option<&'a Block>,
    ) -> Evaluated<'a> {
        let found = |place: Option<usize>| Value::Whole(place.map_or(-1, |place| place as i64));
        let item = |place: Option<usize>| place.and_then(|place| items.get(place)).unwrap_or(Value::Nil);
        let places = 0..items.len();
        match over {
            OverItems::All => {
                for place in places {
                    if matches!(self.of(items, place, predicate)?, Value::Bool(false)) {
                        return Ok(Value::Bool(false));
                    }
                }
                Ok(Value::Bool(true))
            }
            OverItems::Any => Ok(Value::Bool(self.first(items, places, predicate)?.is_some())),
            OverItems::None => Ok(Value::Bool(self.first(items, places, predicate)?.is_none())),
            OverItems::One => {
                let Some(first) = self.first(items, places, predicate)? else {
                    return Ok(Value::Bool(false));
                };
                Ok(Value::Bool(self.first(items, first + 1..items.len(), predicate)?.is_none()))
            }
            OverItems::Find => Ok(item(self.first(items, places, predicate)?)),
            OverItems::FindIndex => Ok(found(self.first(items, places, predicate)?)),
            OverItems::FindLast => Ok(item(self.first(items, places.rev(), predicate)?)),
            OverItems::FindLastIndex => Ok(found(self.first(items, places.rev(), predicate)?)),
            OverItems::Map => {
                let mut made = Vec::new();
                for place in places {
                    made.push(self.of(items, place, predicate)?);
                }
                Value::list(made)
            }
            OverItems::Filter => {
                let mut kept = Vec::new();
                for place in places {
                    if matches!(self.of(items, place, predicate)?, Value::Bool(true)) {
                        kept.extend(items.get(place));
                    }
                }
                Value::list(kept)
            }
            OverItems::Count => {
                let mut count = 0;
                for place in places {
                    match self.of(items, place, predicate)? {
                        Value::Bool(is_true) => count += i64::from(is_true),
                        other => return Err(Fault::unfit("count", "true or false of every item", &[other])),
                    }
                }
                Ok(Value::Whole(count))
            }
            OverItems::Sum => {
                let mut sum = Value::Whole(0);
                for place in places {
                    sum = match (sum, self.of(items, place, predicate)?) {
                        (Value::Whole(sum), Value::Whole(more)) => {
                            Value::Whole(sum.checked_add(more).ok_or_else(Fault::overflow)?)
                        }
                        (sum, more) => match sum.as_float().zip(more.as_float()) {
                            Some((sum, more)) => Value::Float(sum + more),
                            None => return Err(Fault::unfit("sum", "a number of every item", &[more])),
                        },
                    };
                }
                Ok(sum)
            }
            OverItems::GroupBy => self.grouped(items, predicate),
            OverItems::SortBy => {
                let is_descending =
                    super::Given(second.map_or(&[], std::slice::from_ref)).is_descending(0)?;
                let mut keyed = Vec::new();
                for place in places {
                    let key = self.of(items, place, predicate)?;
                    keyed.extend(items.get(place).map(|item| (key, item)));
                }
                sorted(keyed, is_descending, &mut self.work)
            }
            OverItems::Reduce => self.reduced(items, second, predicate),
        }
    }

    fn grouped(&mut self, items: &List<'a>, predicate: Option<&'a Block>) -> Evaluated<'a> {
        let (mut groups, mut index): (Vec<(Value<'a>, Vec<Value<'a>>)>, _) = (Vec::new(), Index::default());
        for (place, item) in items.iter().enumerate() {
            let key = self.of(items, place, predicate)?;
            if !key.is_key() {
                return Err(Fault::unfit("groupBy", "texts, numbers and booleans to group by", &[key]));
            }
            let is_it = |place: usize, _: &mut Work| Ok(groups[place].0.is_same_key(&key));
            match index.place(&key, groups.len(), &mut self.work, is_it)? {
                Some(place) => groups[place].1.push(item),
                None => groups.push((key, vec![item])),
            }
        }
        let entries: Result<Vec<_>, Fault> =
            groups.into_iter().map(|(key, group)| Ok((key, Value::list(group)?))).collect();
        Value::object(entries?, Keys::Any)
    }

    fn reduced(
        &mut self,
        items: &List<'a>,
        first: Option<&Value<'a>>,
        predicate: Option<&'a Block>,
    ) -> Evaluated<'a> {
        let (mut made, start) = match first {
            Some(first) => (first.clone(), 0),
            None => match items.get(0) {
                Some(first) => (first, 1),
                None => {
                    return Fault::problem(
                        "`reduce` of an empty list needs a value to begin with: `reduce(list, # + #acc, 0)`",
                    );
                }
            },
        };
        for place in start..items.len() {
            made = self.with(items, place, Some(made), predicate)?;
        }
        Ok(made)
    }

    /// The first of some places at which it is true.
    fn first(
        &mut self,
        items: &List<'a>,
        places: impl Iterator<Item = usize>,
        predicate: Option<&'a Block>,
    ) -> Evaluated<'a, Option<usize>> {
        for place in places {
            if matches!(self.of(items, place, predicate)?, Value::Bool(true)) {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// What is made of an item; the item itself if nothing is done with it.
    fn of(&mut self, items: &List<'a>, place: usize, predicate: Option<&'a Block>) -> Evaluated<'a> {
        self.with(items, place, None, predicate)
    }

    /// The names of [`OverItems::items`] are known in the order in which they stand there.
    fn with(
        &mut self,
        items: &List<'a>,
        place: usize,
        made: Option<Value<'a>>,
        predicate: Option<&'a Block>,
    ) -> Evaluated<'a> {
        self.work.touch(1)?;
        let item = items.get(place).unwrap_or(Value::Nil);
        let Some(predicate) = predicate else { return Ok(item) };
        let outer = self.locals.len();
        self.locals.extend([item, Value::Whole(place as i64)]);
        self.locals.extend(made);
        let value = self.block(predicate);
        self.locals.truncate(outer);
        value
    }
}
