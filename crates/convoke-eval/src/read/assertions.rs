//! Assertions as they are written, in scenarios and as evals of packs.

use convoke_machine::pack::model::Eval;
use convoke_text::document;
use convoke_text::finding::Finding;
use serde_json::json;

use super::reader::{Place, Reader};
use crate::assertion::{Assertion, Check, Precondition, Subject, Threshold};
use crate::kind::{About, Form, Kind, SCORES, named, names};

/// The score from which on a judge is content, unless something else is said.
const CONTENT: f64 = 0.7;

const KEYS: [&str; 6] = ["type", "of", "params", "message", "when", "pass_threshold"];

/// Where an assertion stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    Turn,
    End,
}

impl Reader {
    pub(super) fn assertions(&mut self, place: &Place<'_>, moment: Moment) -> Vec<Assertion> {
        self.list(place).iter().filter_map(|item| self.assertion(item, moment)).collect()
    }

    fn assertion(&mut self, place: &Place<'_>, moment: Moment) -> Option<Assertion> {
        if !self.object(place, &KEYS) {
            return None;
        }
        let message = place.get("message").and_then(|message| self.text(&message));
        let when = place.get("when").map(|when| self.precondition(&when)).unwrap_or_default();
        let pass_threshold = place.get("pass_threshold").and_then(|share| self.share(&share));
        let of = match place.get("of") {
            Some(of) => Some((self.subject(&of)?, of.path)),
            None => None,
        };
        let written = self.required(place, "type", "content_includes")?;
        let kind = self.kind(&written)?;
        let params = place.get("params");
        let empty = super::empty();
        let params = params.unwrap_or(Place { node: &empty, path: place.path.clone() });
        let (kind, check, threshold, said) = self.check(kind, &params)?;
        if moment == Moment::Turn && kind.about == About::Run {
            self.error("misplaced", &written.path, format!("`{}` is about the whole run", kind.names[0]))
                .help = Some("write it in `spec.assertions`".to_owned());
        }
        let subject = match (of, kind.about) {
            (None, About::Conversation) => Subject::Conversation,
            (None, _) => Subject::Said,
            (Some((_, path)), About::Events | About::Run) => {
                let message = format!("`{}` is not about a text: leave `of` out", kind.names[0]);
                self.error("misplaced", &path, message);
                return None;
            }
            (Some((Subject::Output(_) | Subject::Artifact(_), path)), _) if moment == Moment::Turn => {
                self.error("misplaced", &path, "outputs and artifacts are known at the end only").help =
                    Some("write it in `spec.assertions`".to_owned());
                return None;
            }
            (Some((subject, _)), _) => subject,
        };
        let (name, message) = (self.text(&written)?, message.or(said));
        let path = place.path.clone();
        Some(Assertion { name, path, message, subject, check, threshold, when, pass_threshold })
    }

    fn kind(&mut self, written: &Place<'_>) -> Option<&'static Kind> {
        let name = self.text(written)?;
        let kind = named(&name);
        if kind.is_none() {
            let message = format!("there is no assertion `{name}`");
            let finding = Finding::error("unknown-assertion", &written.path, message);
            self.findings.push(finding.suggest(&name, names()));
        }
        kind
    }

    fn precondition(&mut self, place: &Place<'_>) -> Precondition {
        if !self.object(place, &["tool_called", "tool_called_pattern", "any_tool_called", "min_tool_calls"]) {
            return Precondition::default();
        }
        let read = Precondition {
            tool: place.get("tool_called").and_then(|tool| self.text(&tool)),
            pattern: place.get("tool_called_pattern").and_then(|pattern| self.regex(&pattern)),
            any: place.get("any_tool_called").and_then(|any| self.truth(&any)),
            least: place.get("min_tool_calls").and_then(|least| self.whole(&least)),
        };
        if read.least == Some(0) {
            let finding = self.error("says-nothing", &place.path, "there are always 0 calls or more");
            finding.help = Some("write `min_tool_calls: 1`, or leave it out".to_owned());
        }
        if read.any == Some(false) && (read.tool.is_some() || read.pattern.is_some() || read.least > Some(0))
        {
            self.cannot_hold(&place.path, "without any call no tool is called, so this is never looked at");
        }
        read
    }

    /// Refuses scores that every text has, and those that none has.
    fn bounds(&mut self, params: &Place<'_>, least: Option<f64>, most: Option<f64>) {
        let every = (least.is_some() || most.is_some())
            && least.is_none_or(|least| least <= 0.0)
            && most.is_none_or(|most| most >= 1.0);
        if every {
            let instead = "write a `min_score` above 0, or a `max_score` below 1";
            self.cannot_fail(&params.path, "every score is from 0 to 1", instead);
        }
        if least.zip(most).is_some_and(|(least, most)| least > most) {
            self.cannot_hold(&params.path, "`min_score` is above `max_score`");
        }
    }

    fn subject(&mut self, place: &Place<'_>) -> Option<Subject> {
        let text = self.text(place)?;
        let subject = match (text.split_once('.'), text.as_str()) {
            (Some(("outputs", name)), _) => Some(Subject::Output(name.to_owned())),
            (Some(("artifacts", name)), _) => Some(Subject::Artifact(name.to_owned())),
            (_, "result") => Some(Subject::Said),
            (_, "conversation") => Some(Subject::Conversation),
            _ => None,
        };
        if subject.is_none() {
            let message = format!("`{text}` is nothing that an assertion can be about");
            self.error("bad-value", &place.path, message).help =
                Some("write `result`, `conversation`, `outputs.NAME` or `artifacts.NAME`".to_owned());
        }
        subject
    }

    /// What must hold, from which score on, and what its settings say it is for. A wrapper gives what it wraps.
    fn check(
        &mut self,
        kind: &'static Kind,
        params: &Place<'_>,
    ) -> Option<(&'static Kind, Check, Threshold, Option<String>)> {
        let mut known = kind.settings.to_vec();
        known.push("message");
        known.extend(SCORES.iter().filter(|_| kind.has_scores()));
        if !self.object(params, &known) {
            return None;
        }
        let said = params.get("message").and_then(|message| self.text(&message));
        let mut score = |name: &str| params.get(name).and_then(|place| self.number(&place, 0.0, 1.0));
        let (least, most) = (score("min_score"), score("max_score"));
        if !self.measures {
            self.bounds(params, least, most);
        }
        let bounds = Threshold::between(least, most);
        if matches!(kind.form, Form::Wrapper) {
            let written = self.required(params, "eval_type", "llm_judge")?;
            let inner = self.kind(&written)?;
            if matches!(inner.form, Form::Wrapper) {
                self.error("bad-value", &written.path, "a wrapper cannot wrap a wrapper");
                return None;
            }
            let empty = super::empty();
            let own = params.get("eval_params");
            let own = own.unwrap_or(Place { node: &empty, path: params.path.clone() });
            let (inner, check, threshold, inner_said) = self.check(inner, &own)?;
            return Some((inner, check, bounds.unwrap_or(threshold), said.or(inner_said)));
        }
        let check = self.settings(kind, params)?;
        let usual = if matches!(check, Check::Judge(_)) { CONTENT } else { 1.0 };
        Some((kind, check, bounds.unwrap_or_else(|| Threshold::at_least(usual)), said))
    }
}

/// What is wrong with an eval that a pack declares, at its place in it. Of types that nobody here knows nothing is said: others may.
#[must_use]
pub fn misfit(eval: &Eval) -> Option<Finding> {
    declared(eval).err().filter(|_| named(&eval.kind).is_some()).map(|finding| *finding)
}

/// An eval that a pack declares, as an assertion; with its threshold, if it has one.
pub(crate) fn declared(eval: &Eval) -> Result<(Assertion, Option<Threshold>), Box<Finding>> {
    let unknown = || format!("nobody here knows evals of type `{}`", eval.kind);
    let kind =
        named(&eval.kind).ok_or_else(|| Box::new(Finding::error("unknown-assertion", "/type", unknown())))?;
    let text = json!({"params": eval.params, "when": eval.when}).to_string();
    let unreadable = || Box::new(Finding::error("unreadable", "/params", "its settings cannot be read"));
    let mut reader = Reader { measures: true, ..Reader::default() };
    let node = document::parse(&text, &mut reader.findings).ok_or_else(unreadable)?;
    let place = Place { node: &node, path: String::new() };
    let when = place.get("when").filter(|_| eval.when.is_some());
    let when = when.map(|when| reader.precondition(&when)).unwrap_or_default();
    let params = place.get("params").ok_or_else(unreadable)?;
    let check = reader.check(kind, &params);
    if !reader.findings.is_empty() {
        return Err(Box::new(reader.findings.swap_remove(0)));
    }
    let (kind, check, own, said) = check.ok_or_else(unreadable)?;
    let bounded = SCORES.iter().any(|name| eval.params.contains_key(*name));
    let threshold = match &eval.threshold {
        Some(threshold) => {
            let read = Threshold::declared(threshold);
            Some(read.map_err(|why| Box::new(Finding::error("bad-value", "/threshold", why)))?)
        }
        None => bounded.then(|| own.clone()),
    };
    let message = [eval.message.clone(), said].into_iter().flatten().next();
    let message = message.or_else(|| Some(eval.description.clone()).filter(|text| !text.is_empty()));
    let subject = if kind.about == About::Conversation { Subject::Conversation } else { Subject::Said };
    let (name, pass_threshold) = (eval.id.clone(), None);
    let threshold_or_own = threshold.clone().unwrap_or(own);
    let path = String::new();
    let own =
        Assertion { name, path, message, subject, check, threshold: threshold_or_own, when, pass_threshold };
    Ok((own, threshold))
}
