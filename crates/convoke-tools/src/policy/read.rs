//! Parses `policy.toml` into a policy, or into everything that is wrong with it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use convoke_text::keyed::{called, in_order, joined, listed};
use convoke_text::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::command::CommandPattern;
use super::folder::folder;
use super::foreign::foreign;
use super::keys::{KEYS, Key, KeyKind, children};
use super::line_index::LineIndex;
use super::pattern::{DomainPattern, HostPattern, McpPattern, PathPattern, PatternText};
use super::problem::{PolicyErrors, PolicyProblem};
use super::subject::SubjectKind;
use super::{CommandNetwork, Policy, PolicyOutcome, Sandboxing, Setting};
use crate::workspace::Protected;

/// The only version there is.
const VERSION: u64 = 1;

pub(super) fn policy(text: &str, name: &str, home: Option<&Path>) -> Result<Policy, PolicyErrors> {
    let (table, faults) = DeTable::parse_recoverable(text);
    if !faults.is_empty() {
        let problem = |fault: toml::de::Error| {
            let span = fault.span().unwrap_or(0..0);
            PolicyProblem::at(span, format!("not valid TOML: {}", fault.message().trim()))
        };
        return Err(PolicyErrors::new(name, text, faults.into_iter().map(problem).collect()));
    }
    if let Some(foreign) = foreign(table.get_ref(), name) {
        return Err(PolicyErrors::new(name, text, vec![foreign]));
    }
    let policy = Policy { source: Arc::from(name), ..Policy::default() };
    let lines = LineIndex::of(text);
    let mut reader =
        Reader { lines, home, policy, problems: Vec::new(), versioned: false, spans: BTreeMap::new() };
    reader.table(table.get_ref(), "", &[]);
    if !reader.versioned && reader.problems.is_empty() {
        let problem = PolicyProblem::at(0..0, "the policy does not say which version of the format it is in");
        reader.problems.push(problem.help("write `version = 1` at its top"));
    }
    reader.look_for_idle_hosts();
    reader.look_for_what_takes_a_view();
    if reader.problems.is_empty() {
        Ok(reader.policy)
    } else {
        Err(PolicyErrors::new(name, text, reader.problems))
    }
}

struct Reader<'t> {
    lines: LineIndex,
    home: Option<&'t Path>,
    policy: Policy,
    problems: Vec<PolicyProblem>,
    versioned: bool,
    /// Where the values of keys stand, by their names.
    spans: BTreeMap<String, Range<usize>>,
}

type TomlValue<'a, 't> = &'a Spanned<DeValue<'t>>;

impl Reader<'_> {
    /// Goes through a table. `pattern` is what the schema calls the place, `names` what the file does.
    fn table(&mut self, table: &DeTable<'_>, pattern: &str, names: &[&str]) {
        for (key, value) in in_order(table) {
            self.entry(key, value, pattern, names);
        }
    }

    fn entry(
        &mut self,
        key: &Spanned<Cow<'_, str>>,
        value: TomlValue<'_, '_>,
        pattern: &str,
        names: &[&str],
    ) {
        let own = key.get_ref().as_ref();
        let known = children(pattern);
        let is_any = known == ["*"];
        if !is_any && !known.contains(&own) {
            return self.problems.push(unknown(key.span(), own, names, &known));
        }
        let child = if is_any { "*" } else { own };
        let pattern = joined(pattern, child);
        let names: Vec<&str> = names.iter().copied().chain([own]).collect();
        match (KEYS.iter().find(|key| key.path == pattern), value.get_ref()) {
            (Some(key), _) => self.leaf(key, &names, value),
            (None, DeValue::Table(inner)) => {
                self.table(inner, &pattern, &names);
            }
            (None, other) => {
                let (name, below) = (names.join("."), listed(&children(&pattern)));
                let problem =
                    PolicyProblem::at(key.span(), format!("`{name}` is a section, not {}", called(other)));
                self.problems.push(problem.help(format!("write [{name}] and below it {below}")));
            }
        }
    }

    fn leaf(&mut self, key: &Key, names: &[&str], value: TomlValue<'_, '_>) {
        let name = names.join(".");
        self.spans.insert(name.clone(), value.span());
        self.policy.lines.insert(name.clone(), self.lines.line(value.span().start));
        if let Err(mut problem) = self.value(key, names, value) {
            problem.message = format!("`{name}`: {}", problem.message);
            self.problems.push(problem);
        }
    }

    fn value(&mut self, key: &Key, names: &[&str], value: TomlValue<'_, '_>) -> Result<(), PolicyProblem> {
        let line = Some(self.lines.line(value.span().start));
        match key.kind {
            KeyKind::Version => {
                self.versioned = true;
                match number(value)? {
                    VERSION => Ok(()),
                    other => Err(PolicyProblem::at(
                        value.span(),
                        format!("version {other} is not known; this program knows 1"),
                    )
                    .help("update this program, or write the policy in version 1")),
                }
            }
            KeyKind::Outcome => {
                let outcome = one_of(value, &PolicyOutcome::ALL, PolicyOutcome::name)?;
                self.outcome(names, Setting { value: outcome, line });
                Ok(())
            }
            KeyKind::Restriction => {
                let outcome = one_of(value, &[PolicyOutcome::Ask, PolicyOutcome::Deny], PolicyOutcome::name)?;
                self.policy.commands.unclear = Setting { value: outcome, line };
                Ok(())
            }
            KeyKind::Sandbox => {
                let sandbox = one_of(value, &Sandboxing::ALL, Sandboxing::name)?;
                self.policy.sandbox = Setting { value: sandbox, line };
                Ok(())
            }
            KeyKind::Subject => {
                let kind = one_of(value, &SubjectKind::ALL, SubjectKind::name)?;
                self.policy
                    .tools
                    .entry(names[1].to_owned())
                    .or_default()
                    .arguments
                    .insert(names[3].to_owned(), kind);
                Ok(())
            }
            KeyKind::Review => {
                let reviewed =
                    one_of(value, &[false, true], |reviewed| if reviewed { "changes" } else { "nothing" })?;
                self.policy.commands.review = Setting { value: reviewed, line };
                Ok(())
            }
            KeyKind::Network => {
                let network = match value.get_ref() {
                    DeValue::Boolean(false) => CommandNetwork::None,
                    DeValue::Boolean(true) => CommandNetwork::Open,
                    DeValue::String(text) if text == "hosts" => CommandNetwork::Hosts,
                    other => return Err(expected(value, "false, true or \"hosts\"", other)),
                };
                self.policy.commands.network = Setting { value: network, line };
                Ok(())
            }
            KeyKind::Number => {
                let number = number(value)?;
                match names {
                    ["tools", tool, _] => {
                        self.policy.tools.entry((*tool).to_owned()).or_default().calls = Some(number)
                    }
                    _ => self.policy.limits.set(names[1], number),
                }
                Ok(())
            }
            KeyKind::Paths => {
                let home = self.home;
                let patterns = self.patterns(value, |text| PathPattern::parse(text, home))?;
                let list = match names {
                    ["tools", tool, _, list] => {
                        let paths = &mut self.policy.tools.entry((*tool).to_owned()).or_default().paths;
                        paths.named(list)
                    }
                    [_, "within"] => &mut self.policy.paths.allow,
                    [_, "ask"] => &mut self.policy.paths.ask,
                    _ => &mut self.policy.paths.deny,
                };
                *list = patterns;
                Ok(())
            }
            KeyKind::Folders => {
                let home = self.home;
                self.policy.readable = self.patterns(value, |text| folder(text, home))?;
                Ok(())
            }
            KeyKind::Domains => {
                let patterns = self.patterns(value, DomainPattern::parse)?;
                let domains = &mut self.policy.tools.entry(names[1].to_owned()).or_default().domains;
                *domains.named(names[3]) = patterns;
                Ok(())
            }
            KeyKind::Hosts => {
                let patterns = self.patterns(value, HostPattern::parse)?;
                *self.policy.commands.hosts.lists.named(names[2]) = patterns;
                Ok(())
            }
            KeyKind::Commands => {
                let parse = match names[1] {
                    "allow" => CommandPattern::parse,
                    _ => CommandPattern::parse_open,
                };
                let patterns = self.patterns(value, parse)?;
                *self.policy.commands.lists.named(names[1]) = patterns;
                Ok(())
            }
            KeyKind::McpTools => {
                let patterns = self.patterns(value, McpPattern::parse)?;
                *self.policy.mcp.lists.named(names[1]) = patterns;
                Ok(())
            }
            KeyKind::Files => {
                let check = |text: &str| Protected::check_pattern(text).map_err(|invalid| invalid.why);
                let patterns = self.patterns(value, check)?;
                let texts = patterns.into_iter().map(|(written, ())| written.text).collect();
                *(if names[0] == "protected" {
                    &mut self.policy.protected
                } else {
                    &mut self.policy.read_only
                }) = texts;
                Ok(())
            }
        }
    }

    /// A list of hosts says nothing while commands reach none of them, or all.
    fn look_for_idle_hosts(&mut self) {
        if self.policy.commands.network.value == CommandNetwork::Hosts {
            return;
        }
        let about_hosts = self.spans.iter().filter(|(name, _)| name.starts_with("commands.hosts."));
        if let Some(span) = about_hosts.map(|(_, span)| span.clone()).min_by_key(|span| span.start) {
            let problem = "`commands.hosts` has no effect while `commands.network` is not \"hosts\"";
            let problem = PolicyProblem::at(span, problem);
            self.problems.push(problem.help("write `network = \"hosts\"` in [commands]"));
        }
    }

    /// What only a view can hold says nothing where the same file does without views.
    fn look_for_what_takes_a_view(&mut self) {
        let sandbox = self.policy.sandbox.value;
        let is_off = sandbox == Sandboxing::Off;
        let has_hosts = self.policy.commands.network.value == CommandNetwork::Hosts;
        let is_reviewed = self.policy.commands.review.value;
        let without_views = format!("`sandbox` is \"{}\"", sandbox.name());
        let mut idle = |key: &str, problem: String, help: &str| {
            let span = self.spans.get(key).cloned().unwrap_or(0..0);
            self.problems.push(PolicyProblem::at(span, problem).help(help));
        };
        if is_off && has_hosts {
            idle(
                "commands.network",
                format!(
                    "`commands.network = \"hosts\"` has no effect while {without_views}: nothing holds commands to hosts"
                ),
                "leave `sandbox` out, or write `network = true`",
            );
        }
        if is_off && is_reviewed {
            idle(
                "commands.review",
                format!(
                    "`commands.review = \"changes\"` has no effect while {without_views}: changes are made at once"
                ),
                "leave `sandbox` out, or write `review = \"nothing\"`",
            );
        }
        if sandbox == Sandboxing::Landlock && is_reviewed {
            idle(
                "sandbox",
                "`sandbox = \"landlock\"` has no effect while `commands.review` is \"changes\": without a view nothing can be \
                 reviewed, and bash is refused".to_owned(),
                "leave `sandbox` out, or write `review = \"nothing\"` in [commands]",
            );
        }
    }

    fn outcome(&mut self, names: &[&str], setting: Setting<PolicyOutcome>) {
        match names {
            ["defaults", effect] => self.policy.defaults.set(effect, setting),
            ["tools", tool, _] => {
                self.policy.tools.entry((*tool).to_owned()).or_default().decision = Some(setting);
            }
            ["commands", "hosts", _] => self.policy.commands.hosts.default = setting,
            ["commands", _] => self.policy.commands.default = Some(setting),
            _ => self.policy.mcp.default = Some(setting),
        }
    }

    /// The patterns of a list. All that are none are told.
    fn patterns<P>(
        &mut self,
        value: TomlValue<'_, '_>,
        parse: impl Fn(&str) -> Result<P, String>,
    ) -> Result<Vec<(PatternText, P)>, PolicyProblem> {
        let DeValue::Array(items) = value.get_ref() else {
            let problem = expected(value, "a list", value.get_ref());
            let replacement = value.get_ref().as_str().map(|text| format!("[\"{text}\"]"));
            return Err(problem.instead(replacement));
        };
        let mut patterns = Vec::new();
        for item in items.iter() {
            match item.get_ref() {
                DeValue::String(text) => match parse(text) {
                    Ok(pattern) => {
                        let line = Some(self.lines.line(item.span().start));
                        patterns.push((PatternText { text: text.to_string(), line }, pattern));
                    }
                    Err(why) => self
                        .problems
                        .push(PolicyProblem::at(item.span(), format!("`{text}` is not understood: {why}"))),
                },
                other => self.problems.push(expected(item, "a text", other)),
            }
        }
        Ok(patterns)
    }
}

fn number(value: TomlValue<'_, '_>) -> Result<u64, PolicyProblem> {
    let DeValue::Integer(integer) = value.get_ref() else {
        return Err(expected(value, "a whole number, 1 or more", value.get_ref()));
    };
    let wrong = || PolicyProblem::at(value.span(), "expected a whole number, 1 or more");
    let number = u64::from_str_radix(integer.as_str(), integer.radix()).map_err(|_| wrong())?;
    if number == 0 { Err(wrong()) } else { Ok(number) }
}

fn one_of<T: Copy>(
    value: TomlValue<'_, '_>,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, PolicyProblem> {
    let names: Vec<&str> = all.iter().map(|one| name(*one)).collect();
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let Some(text) = value.get_ref().as_str() else {
        return Err(expected(value, &quoted.join(", "), value.get_ref()));
    };
    all.iter().copied().find(|one| name(*one) == text).ok_or_else(|| {
        let problem = PolicyProblem::at(value.span(), format!("expected one of {}", quoted.join(", ")));
        problem.instead(nearest(text, names.iter().copied()).map(|near| format!("\"{near}\"")))
    })
}

fn expected(value: TomlValue<'_, '_>, what: &str, found: &DeValue<'_>) -> PolicyProblem {
    PolicyProblem::at(value.span(), format!("expected {what}, found {}", called(found)))
}

fn unknown(span: Range<usize>, own: &str, names: &[&str], known: &[&str]) -> PolicyProblem {
    let name: Vec<&str> = names.iter().copied().chain([own]).collect();
    let problem = PolicyProblem::at(span, format!("there is no key `{}`", name.join(".")));
    if let Some(near) = nearest(own, known.iter().copied()) {
        return problem.instead(Some(near));
    }
    let in_tools = matches!(names, ["tools", _]) && matches!(own, "allow" | "ask" | "deny");
    if in_tools {
        return problem.help(format!("say what it is about: `paths.{own}` or `domains.{own}`"));
    }
    let is_tool = names.is_empty() && super::subject::is_built_in(own);
    if is_tool {
        return problem.help(format!("tools have a section of their own: [tools.{own}]"));
    }
    problem.help(format!("there is {}", listed(known)))
}
