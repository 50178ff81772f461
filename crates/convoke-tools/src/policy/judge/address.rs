//! Decisions about hosts and about tools of MCP servers.

use super::{OTHER_TOOL, PolicyCall, built_in, denied};
use crate::network::Destination;
use crate::policy::explain::Trail;
use crate::policy::pattern::DomainPattern;
use crate::policy::{CommandNetwork, Decision, Policy, PolicyOutcome, RuleRef, ToolRules};

const OTHER_HOST: &str =
    "Use what is on this machine or on hosts that are allowed, or say what you need and why.";

impl Policy {
    pub(super) fn url(
        &self,
        call: &PolicyCall<'_>,
        rules: Option<&ToolRules>,
        text: &str,
        trail: &mut Trail,
    ) -> Decision {
        let Some(host) = host(text) else {
            let because = format!("`{text}` is not the address of a host on the web");
            return denied(
                built_in("tools"),
                because,
                "Give an address that begins with https:// or http://.",
            );
        };
        let Some(rules) = rules else { return self.base(call, None) };
        let key = format!("tools.{}.domains", call.tool);
        let about = format!("the host `{host}`");
        for (list, outcome) in
            [(&rules.domains.deny, PolicyOutcome::Deny), (&rules.domains.ask, PolicyOutcome::Ask)]
        {
            let key = || format!("{key}.{outcome}");
            let matches = |pattern: &DomainPattern| pattern.matches(&host);
            if let Some(written) = trail.find(self, list, key, outcome, &about, matches) {
                let because = format!("{about} is {}", participle(outcome));
                return Decision { outcome, rule: self.rule(key(), written), because, instead: OTHER_HOST };
            }
        }
        let matches = |pattern: &DomainPattern| pattern.matches(&host);
        self.permitted(call, Some(rules), &rules.domains, &key, &about, OTHER_HOST, &matches, trail)
    }

    /// What holds for commands, whichever tool runs them.
    pub(super) fn host(&self, destination: &Destination, trail: &mut Trail) -> Decision {
        let network = self.commands.network;
        let about = format!("the host `{destination}`");
        let whole = |outcome, why: &str| {
            let (key, text) = ("commands.network".to_owned(), network.value.name().to_owned());
            let rule = RuleRef { key, text, place: self.place(network.line) };
            Decision { outcome, rule, because: format!("{about}: {why}"), instead: OTHER_HOST }
        };
        match network.value {
            CommandNetwork::None => return whole(PolicyOutcome::Deny, "commands reach no other machine"),
            CommandNetwork::Open => return whole(PolicyOutcome::Allow, "commands reach every machine"),
            CommandNetwork::Hosts => {}
        }
        let hosts = &self.commands.hosts;
        for (list, outcome) in [
            (&hosts.lists.deny, PolicyOutcome::Deny),
            (&hosts.lists.ask, PolicyOutcome::Ask),
            (&hosts.lists.allow, PolicyOutcome::Allow),
        ] {
            let key = || format!("commands.hosts.{outcome}");
            if let Some(written) =
                trail.find(self, list, key, outcome, &about, |pattern| pattern.matches(destination))
            {
                let because = format!("{about} is {}", participle(outcome));
                return Decision { outcome, rule: self.rule(key(), written), because, instead: OTHER_HOST };
            }
        }
        let (key, text) = ("commands.hosts.default".to_owned(), hosts.default.value.name().to_owned());
        let rule = RuleRef { key, text, place: self.place(hosts.default.line) };
        let because = format!("{about}: no rule is about it");
        Decision { outcome: hosts.default.value, rule, because, instead: OTHER_HOST }
    }

    /// Whether the policy names this address by its number, or lets commands reach everything: then it is meant, public or not.
    pub(crate) fn names_address(&self, destination: &Destination) -> bool {
        match self.commands.network.value {
            CommandNetwork::None => false,
            CommandNetwork::Open => true,
            CommandNetwork::Hosts => {
                let allowed = &self.commands.hosts.lists.allow;
                allowed.iter().any(|(_, pattern)| pattern.is_exactly(destination))
            }
        }
    }

    /// Whether a person may be asked about some hosts.
    pub(crate) fn asks_about_hosts(&self) -> bool {
        let hosts = &self.commands.hosts;
        self.commands.network.value == CommandNetwork::Hosts
            && (hosts.default.value == PolicyOutcome::Ask || !hosts.lists.ask.is_empty())
    }

    /// What is allowed to a built-in tool is not allowed to a server's tool of the same name: only `[mcp]` is asked.
    pub(super) fn mcp(&self, server: &str, tool: &str, trail: &mut Trail) -> Decision {
        let lists = &self.mcp.lists;
        let about = format!("the tool `{server}:{tool}`");
        for (list, outcome) in [
            (&lists.deny, PolicyOutcome::Deny),
            (&lists.ask, PolicyOutcome::Ask),
            (&lists.allow, PolicyOutcome::Allow),
        ] {
            let key = || format!("mcp.{outcome}");
            if let Some(written) =
                trail.find(self, list, key, outcome, &about, |pattern| pattern.matches(server, tool))
            {
                let because = format!("{about} is {}", participle(outcome));
                return Decision { outcome, rule: self.rule(key(), written), because, instead: OTHER_TOOL };
            }
        }
        let (outcome, line, why) = match (self.mcp.default, lists.allow.first()) {
            (Some(setting), _) => (setting.value, setting.line, "no rule is about it"),
            (None, Some((first, _))) => {
                (PolicyOutcome::Deny, first.line, "it is not on the list of what is allowed")
            }
            (None, None) => {
                (PolicyOutcome::Ask, None, "no rule is about it, and what servers do is not known")
            }
        };
        let (key, text) = ("mcp.default".to_owned(), outcome.name().to_owned());
        let rule = RuleRef { key, text, place: self.place(line) };
        Decision { outcome, rule, because: format!("{about}: {why}"), instead: OTHER_TOOL }
    }
}

fn participle(outcome: PolicyOutcome) -> &'static str {
    match outcome {
        PolicyOutcome::Allow => "allowed",
        PolicyOutcome::Ask => "asked about",
        PolicyOutcome::Deny => "denied",
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
