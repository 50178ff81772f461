//! Effective settings of a policy, for people to look at.

use serde::Serialize;

use super::keys::KEYS;
use super::pattern::PatternText;
use super::{CommandNetwork, Policy, RulePlace, Sandboxing, builtin};

/// One effective setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EffectiveSetting {
    /// The key: `tools.write.paths.deny`.
    pub key: String,
    /// What it is: a value, or one pattern of a list.
    pub value: String,
    /// Where that is said.
    #[serde(flatten)]
    pub place: RulePlace,
}

impl Policy {
    /// Returns everything that holds: what the file says, and the defaults where it says nothing, in the order of [`KEYS`].
    #[must_use]
    pub fn settings(&self) -> Vec<EffectiveSetting> {
        KEYS.iter().flat_map(|key| self.of_key(key.path, key.default)).collect()
    }

    fn of_key(&self, path: &str, default: &str) -> Vec<EffectiveSetting> {
        let one = |key: &str, value: String, line| EffectiveSetting {
            key: key.to_owned(),
            value,
            place: self.place(line),
        };
        let by_default = || vec![one(path, default.trim_matches('"').to_owned(), None)];
        let parts: Vec<&str> = path.split('.').collect();
        match parts.as_slice() {
            ["version"] => Vec::new(),
            ["sandbox"] => vec![one(path, self.sandbox.value.name().to_owned(), self.sandbox.line)],
            ["readable"] => self.listed(path, &texts(&self.readable)),
            ["protected"] => self.plain(path, &self.protected),
            ["read_only"] => self.plain(path, &self.read_only),
            ["defaults", effect] => {
                let all = self.defaults.by_effect();
                let setting =
                    all.into_iter().find(|(_, name, ..)| name == effect).map(|(.., setting)| setting);
                setting
                    .map(|setting| one(path, setting.value.to_string(), setting.line))
                    .into_iter()
                    .collect()
            }
            ["tools", _, key @ ..] => self.of_tools(key),
            ["paths", list] => {
                let list = match *list {
                    "within" => texts(&self.paths.allow),
                    "ask" => texts(&self.paths.ask),
                    _ => texts(&self.paths.deny),
                };
                self.listed(path, &list)
            }
            ["commands", "default"] => match self.commands.default {
                Some(setting) => vec![one(path, setting.value.to_string(), setting.line)],
                None if self.sandbox.value == Sandboxing::Off => {
                    vec![one(path, "ask".to_owned(), self.sandbox.line)]
                }
                None => vec![one(path, "allow".to_owned(), None)],
            },
            ["commands", "unclear"] => {
                vec![one(path, self.commands.unclear.value.to_string(), self.commands.unclear.line)]
            }
            ["commands", "review"] => {
                let review = self.commands.review;
                vec![one(path, if review.value { "changes" } else { "nothing" }.to_owned(), review.line)]
            }
            ["commands", "network"] => {
                vec![one(path, self.commands.network.value.name().to_owned(), self.commands.network.line)]
            }
            // It holds for nothing where the network is closed, or open.
            ["commands", "hosts", "default"] if self.commands.network.value != CommandNetwork::Hosts => {
                Vec::new()
            }
            ["commands", "hosts", "default"] => {
                let setting = self.commands.hosts.default;
                vec![one(path, setting.value.to_string(), setting.line)]
            }
            ["commands", "hosts", list] => {
                let lists = &self.commands.hosts.lists;
                let list = match *list {
                    "allow" => texts(&lists.allow),
                    "ask" => texts(&lists.ask),
                    _ => texts(&lists.deny),
                };
                self.listed(path, &list)
            }
            ["commands", list] => {
                let lists = &self.commands.lists;
                let own = match *list {
                    "allow" => texts(&lists.allow),
                    "ask" => texts(&lists.ask),
                    _ => texts(&lists.deny),
                };
                let mut all = self.listed(path, &own);
                all.extend(builtin::texts(list).map(|text| one(path, text.to_owned(), None)));
                all
            }
            ["mcp", "default"] => match self.mcp.default {
                Some(setting) => vec![one(path, setting.value.to_string(), setting.line)],
                None if self.mcp.lists.allow.is_empty() => vec![one(path, "ask".to_owned(), None)],
                None => vec![one(path, "deny".to_owned(), None)],
            },
            ["mcp", list] => {
                let lists = &self.mcp.lists;
                let list = match *list {
                    "allow" => texts(&lists.allow),
                    "ask" => texts(&lists.ask),
                    _ => texts(&lists.deny),
                };
                self.listed(path, &list)
            }
            ["limits", name] => match self.limits.get(name) {
                Some(limit) => vec![self.somewhere(path, limit.to_string())],
                None => by_default(),
            },
            _ => by_default(),
        }
    }

    fn of_tools(&self, key: &[&str]) -> Vec<EffectiveSetting> {
        let mut all = Vec::new();
        for (tool, rules) in &self.tools {
            let path = format!("tools.{tool}.{}", key.join("."));
            match key {
                ["decision"] => all.extend(rules.decision.map(|setting| EffectiveSetting {
                    key: path,
                    value: setting.value.to_string(),
                    place: self.place(setting.line),
                })),
                ["calls"] => all.extend(rules.calls.map(|calls| self.somewhere(&path, calls.to_string()))),
                ["arguments", _] => all.extend(rules.arguments.iter().map(|(argument, kind)| {
                    self.somewhere(&format!("tools.{tool}.arguments.{argument}"), kind.name().to_owned())
                })),
                ["paths", "allow"] => all.extend(self.listed(&path, &texts(&rules.paths.allow))),
                ["paths", "ask"] => all.extend(self.listed(&path, &texts(&rules.paths.ask))),
                ["paths", _] => all.extend(self.listed(&path, &texts(&rules.paths.deny))),
                ["domains", "allow"] => all.extend(self.listed(&path, &texts(&rules.domains.allow))),
                ["domains", "ask"] => all.extend(self.listed(&path, &texts(&rules.domains.ask))),
                _ => all.extend(self.listed(&path, &texts(&rules.domains.deny))),
            }
        }
        all
    }

    fn listed(&self, key: &str, patterns: &[&PatternText]) -> Vec<EffectiveSetting> {
        let one = |written: &&PatternText| EffectiveSetting {
            key: key.to_owned(),
            value: written.text.clone(),
            place: self.place(written.line),
        };
        patterns.iter().map(one).collect()
    }

    fn plain(&self, key: &str, values: &[String]) -> Vec<EffectiveSetting> {
        values.iter().map(|value| self.somewhere(key, value.clone())).collect()
    }

    /// Something the file says.
    fn somewhere(&self, key: &str, value: String) -> EffectiveSetting {
        let line = self.lines.get(key).copied();
        EffectiveSetting { key: key.to_owned(), value, place: self.place(line) }
    }
}

fn texts<P>(list: &[(PatternText, P)]) -> Vec<&PatternText> {
    list.iter().map(|(written, _)| written).collect()
}
