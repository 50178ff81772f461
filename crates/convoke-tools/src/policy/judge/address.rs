//! Decisions about hosts and about tools of MCP servers.

use super::{Call, OTHER_TOOL, built_in, denied};
use crate::policy::explain::Trail;
use crate::policy::pattern::DomainPattern;
use crate::policy::{Decision, Outcome, Policy, RuleRef, ToolRules};

const OTHER_HOST: &str =
    "Use what is on this machine or on hosts that are allowed, or say what you need and why.";

impl Policy {
    pub(super) fn url(
        &self,
        call: &Call<'_>,
        rules: Option<&ToolRules>,
        text: &str,
        trail: &mut Trail,
    ) -> Decision {
        let Some(host) = host(text) else {
            let because = format!("`{text}` is no address of a host on the web");
            return denied(
                built_in("tools"),
                because,
                "Give an address that begins with https:// or http://.",
            );
        };
        let Some(rules) = rules else { return self.base(call, None) };
        let key = format!("tools.{}.domains", call.tool);
        let about = format!("the host `{host}`");
        for (list, outcome) in [(&rules.domains.deny, Outcome::Deny), (&rules.domains.ask, Outcome::Ask)] {
            let key = || format!("{key}.{outcome}");
            let matches = |pattern: &DomainPattern| pattern.matches(&host);
            if let Some(written) = trail.find(self, list, key, outcome, &about, matches) {
                let because =
                    format!("{about} is {}", if outcome == Outcome::Deny { "denied" } else { "asked about" });
                return Decision { outcome, rule: self.rule(key(), written), because, instead: OTHER_HOST };
            }
        }
        let matches = |pattern: &DomainPattern| pattern.matches(&host);
        self.permitted(call, Some(rules), &rules.domains, &key, &about, OTHER_HOST, &matches, trail)
    }

    /// What is allowed to a built-in tool is not allowed to a server's tool of the same name: only `[mcp]` is asked.
    pub(super) fn mcp(&self, server: &str, tool: &str, trail: &mut Trail) -> Decision {
        let lists = &self.mcp.lists;
        let about = format!("the tool `{server}:{tool}`");
        for (list, outcome) in
            [(&lists.deny, Outcome::Deny), (&lists.ask, Outcome::Ask), (&lists.allow, Outcome::Allow)]
        {
            let key = || format!("mcp.{outcome}");
            if let Some(written) =
                trail.find(self, list, key, outcome, &about, |pattern| pattern.matches(server, tool))
            {
                let said = match outcome {
                    Outcome::Allow => "allowed",
                    Outcome::Ask => "asked about",
                    Outcome::Deny => "denied",
                };
                let because = format!("{about} is {said}");
                return Decision { outcome, rule: self.rule(key(), written), because, instead: OTHER_TOOL };
            }
        }
        let (outcome, line, why) = match (self.mcp.default, lists.allow.first()) {
            (Some(setting), _) => (setting.value, setting.line, "no rule is about it"),
            (None, Some((first, _))) => {
                (Outcome::Deny, first.line, "it is not on the list of what is allowed")
            }
            (None, None) => (Outcome::Ask, None, "no rule is about it, and what servers do is not known"),
        };
        let (key, text) = ("mcp.default".to_owned(), outcome.name().to_owned());
        let rule = RuleRef { key, text, place: self.place(line) };
        Decision { outcome, rule, because: format!("{about}: {why}"), instead: OTHER_TOOL }
    }
}

/// The host of an address on the web.
pub(in crate::policy) fn host(text: &str) -> Option<String> {
    let url = url::Url::parse(text).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    Some(url.host_str()?.trim_end_matches('.').to_owned())
}
