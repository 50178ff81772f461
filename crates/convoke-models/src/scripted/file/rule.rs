//! Reads one rule of a script.

use serde_json::Value;

use super::section::{self, Section};
use super::{reply, when};
use crate::scripted::{Match, Replies, Reply, ScriptError, ScriptLocation};

/// A rule as the file has it.
pub(super) struct Rule {
    pub(super) condition: Option<Match>,
    pub(super) replies: Replies,
}

pub(super) fn read(place: ScriptLocation, value: Value) -> Result<Rule, ScriptError> {
    let known: Vec<&str> = ["when", "reply", "once", "times"].into_iter().chain(reply::rule_keys()).collect();
    let mut section = Section::open(place, "", value, &known)?;
    let condition = match section.section("when", &when::KEYS)? {
        Some(conditions) => when::read(conditions)?,
        None => None,
    };
    let limit = Limit::read(&mut section)?;
    Ok(Rule { condition, replies: limit.of(replies(&mut section)?) })
}

/// How often a rule answers.
enum Limit {
    None,
    Once,
    Times(usize),
}

impl Limit {
    fn read(section: &mut Section) -> Result<Self, ScriptError> {
        match (section.switch("once")?, section.positive("times")?) {
            (true, Some(_)) => Err(section.conflict("once", "times", "keep one of them")),
            (true, None) => Ok(Self::Once),
            (false, Some(times)) => Ok(Self::Times(times)),
            (false, None) => Ok(Self::None),
        }
    }

    fn of(self, replies: Vec<Reply>) -> Replies {
        let replies = Replies::in_turn(replies);
        match self {
            Self::None => replies,
            Self::Once => replies.once(),
            Self::Times(times) => replies.times(times),
        }
    }
}

/// What the rule says: what stands beside `reply` is the default for each reply in it.
fn replies(section: &mut Section) -> Result<Vec<Reply>, ScriptError> {
    if section.has("reply") && section.has("json") {
        let remedy = "keep one of them; in a list of replies, `{ json = … }` is one in JSON";
        return Err(section.conflict("reply", "json", remedy));
    }
    let written = section.take("reply");
    let beside = reply::read(section)?;
    let place = section.place.clone();
    match written {
        None => Ok(vec![reply::completed(&place, beside, Reply::default())?]),
        Some(Value::Array(list)) if list.is_empty() => Err(ScriptError::NoReply { place }),
        Some(Value::Array(list)) => {
            let numbered =
                (1..).map(|number| ScriptLocation { reply: Some(number), ..place.clone() }).zip(list);
            numbered.map(|(place, value)| one(place, "", value, &beside)).collect()
        }
        Some(value) => Ok(vec![one(place, "reply", value, &beside)?]),
    }
}

fn one(place: ScriptLocation, name: &str, value: Value, defaults: &Reply) -> Result<Reply, ScriptError> {
    let reply = match value {
        Value::String(text) => Reply::text(text),
        Value::Object(_) => reply::read(&mut Section::open(place.clone(), name, value, &reply::KEYS)?)?,
        other => return Err(section::wrong(&place, name, &other, "a text in quotes or a table")),
    };
    reply::completed(&place, reply, defaults.clone())
}
