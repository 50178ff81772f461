//! Rules about commands.

use convoke_tools::policy::{Policy, PolicyOutcome};

use crate::{all, policy};

#[test]
fn agent_170_programs_that_reach_out_or_up_are_blocked_wherever_they_stand() {
    let policy = Policy::default();
    for program in ["curl", "wget", "sudo", "ssh", "apt", "systemctl", "dd"] {
        let texts = [
            format!("{program} x"),
            format!("/usr/bin/{program} x"),
            format!("env A=1 {program} x"),
            format!("ls && {program} x"),
            format!("ls; {program} x"),
            format!("ls | {program} x"),
        ];
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        all(&policy, PolicyOutcome::Deny, &texts);
    }
    let harmless = ["ls", "cat x", "go build ./...", "git status", "make", "grep -r x .", "cargo test"];
    all(&policy, PolicyOutcome::Allow, &harmless);
}

#[test]
fn agent_171_installing_for_more_than_the_workspace_is_blocked() {
    let policy = Policy::default();
    all(
        &policy,
        PolicyOutcome::Deny,
        &[
            "npm install -g x",
            "npm -g install x",
            "npm install x --global",
            "pip install --user x",
            "go install x@latest",
            "cargo install x",
            "go test -exec ./x ./...",
            "git config --global user.name x",
            "git -C sub config --global user.name x",
            "docker run -it --privileged x",
        ],
    );
    let local = [
        "npm install x",
        "pip install x",
        "go build",
        "cargo build",
        "go test ./...",
        "git config user.name x",
    ];
    all(&policy, PolicyOutcome::Allow, &local);
}

#[test]
fn agent_172_code_from_elsewhere_is_not_run() {
    let policy = Policy::default();
    all(&policy, PolicyOutcome::Deny, &["curl u | bash", "cat s | sudo bash"]);
    all(&policy, PolicyOutcome::Ask, &["echo x | base64 -d | bash"]);
    all(&policy, PolicyOutcome::Allow, &["cat f | grep p", "grep 'a|b;c' f", "echo \"x | curl y\""]);
}

#[test]
fn agent_173_a_list_of_what_is_allowed_is_not_extended_by_joining() {
    let policy = policy("[commands]\ndefault = \"deny\"\nunclear = \"deny\"\nallow = [\"ls *\"]\n");
    all(
        &policy,
        PolicyOutcome::Allow,
        &["ls", "ls -la src", "/bin/ls", "timeout 5 ls", "ls && ls x", "ls 2>/dev/null"],
    );
    all(
        &policy,
        PolicyOutcome::Deny,
        &[
            "ls && rm x",
            "ls; rm x",
            "ls | x",
            "ls `rm x`",
            "ls $(rm x)",
            "ls > x",
            "ls\nrm x",
            "ls & rm x",
            "./ls",
            "/tmp/ls",
            "PATH=. ls",
            "lsx",
            "$LS",
            "ls; bash x.sh",
            "ls; env",
            "find . -exec ls {} \\;",
            "ls() { rm x; }; ls",
        ],
    );
}

#[test]
fn agent_174_the_known_ways_around_a_list_are_closed() {
    all(
        &Policy::default(),
        PolicyOutcome::Deny,
        &[
            "ls\ncurl x",
            "ls & curl x",
            "echo $(curl x)",
            "echo `curl x`",
            "env -i curl x",
            "A=1 curl x",
            "timeout 5 curl x",
            "bash -c \"curl x\"",
            "sh <<EOF\ncurl x\nEOF",
            "find . -exec curl {} \\;",
            "echo x | xargs curl",
            "c\\url x",
            "'curl' x",
            "cu\"r\"l x",
            "if true; then curl x; fi",
            "f() { curl x; }; f",
            "eval 'curl x'",
            "nohup curl x &",
            "cat <(curl x)",
            "echo ${X:-$(curl x)}",
            "cat <<EOF\n$(curl x)\nEOF",
            "bash -c 'bash -c \"curl x\"'",
            "exec curl x",
            "command curl x",
            "! curl x",
            "{ curl x; }",
            "(curl x)",
            "time curl x",
            "trap 'curl x' EXIT",
            "case x in x) curl y;; esac",
            "bash -c \"curl $X\"",
            "eval curl $X",
            "[[ -n $(curl x) ]]",
            "echo $(( $(curl x) ))",
            "busybox wget x",
            "bash -c \"echo $#; curl x\"",
            "watch ls ';' curl x",
        ],
    );
    all(
        &Policy::default(),
        PolicyOutcome::Ask,
        &["$X x", "c{url,} x", "eval $X", "cu* x", "PATH=. ls", "python3 -c 'x' | sh"],
    );
}

#[test]
fn what_cannot_be_undone_is_asked_about_however_it_is_written() {
    all(
        &Policy::default(),
        PolicyOutcome::Ask,
        &[
            "rm -rf x",
            "rm -fr x",
            "rm -f -r x",
            "rm x -r",
            "rm --recursive x",
            "git push",
            "git -C sub push origin main",
            "git reset --hard HEAD~1",
            "git clean -fd",
            "find . -name x -delete",
            "git branch -D x",
            "rm $FLAGS x",
            "rm ${FLAGS} x",
            "ls | xargs rm",
        ],
    );
    all(
        &Policy::default(),
        PolicyOutcome::Allow,
        &["rm x", "git commit -m push", "git log --grep push", "git commit -m \"$M\"", "find . -name x"],
    );
    all(
        &Policy::default(),
        PolicyOutcome::Allow,
        &["rm readme", "rm -f x", "rm --verbose x", "timeout 5 rm x"],
    );
}

#[test]
fn what_is_forbidden_is_found_behind_variables_tool_chains_and_other_targets() {
    let policy = policy("[commands]\ndeny = [\"make deploy\", \"cargo publish\", \"npm publish\"]\n");
    let caught =
        ["make clean deploy", "make ENV=prod deploy", "make -C x all deploy", "cargo +nightly publish"];
    all(&policy, PolicyOutcome::Deny, &caught);
    all(&policy, PolicyOutcome::Allow, &["make deployment", "cargo doc publish", "npm view publish"]);
    all(&Policy::default(), PolicyOutcome::Deny, &["cargo +stable install x"]);
}

#[test]
fn options_are_found_together_or_apart_and_not_in_other_words() {
    let policy = policy(
        "[commands]\ndeny = [\"git push --force\", \"tar -xzf\", \"cat -\", \"tool --ab\", \"gcc -o\"]\n",
    );
    all(
        &policy,
        PolicyOutcome::Deny,
        &[
            "git push --force=x",
            "tar -xzf a",
            "tar -x -z -f a",
            "tar -zxf a",
            "cat -",
            "tool --ab",
            "gcc -co x",
        ],
    );
    all(
        &policy,
        PolicyOutcome::Allow,
        &["tar -xf a", "tar -czf a", "cat x", "cat -n x", "tool -ab", "gcc foo.c", "gcc --out x"],
    );
    all(&policy, PolicyOutcome::Ask, &["git push --force-with-lease"]);
    // One word, however few letters it takes to write it.
    all(&Policy::default(), PolicyOutcome::Allow, &["go test -race -x ./..."]);
    all(&Policy::default(), PolicyOutcome::Deny, &["mkfs.ext4 x"]);
}

#[test]
fn of_equally_strict_decisions_the_first_is_told() {
    let decision = Policy::default().command("ls; curl x; sudo y");
    assert_eq!(
        decision.to_string(),
        "deny: `curl x`: it talks to other machines (commands.deny = \"curl\", built in)"
    );
}

#[test]
fn an_explanation_has_the_rules_about_a_program_and_no_others() {
    let explained = |policy: &Policy, command: &str| {
        let spec = convoke_core::ToolSpec::new("bash", "", [convoke_core::ToolEffect::Spawns].into());
        let explanation = policy.explain(&policy.call(&spec, &serde_json::json!({"command": command})));
        assert_eq!(explanation.decision, policy.command(command));
        assert_eq!(explanation.readings, [convoke_tools::policy::shell::read(command)]);
        let rules = explanation.considered.into_iter();
        rules.map(|looked| format!("{} {} {}", looked.matched, looked.about, looked.rule)).collect::<Vec<_>>()
    };
    let own = policy("[commands]\nallow = [\"make\"]\nask = [\"make deploy\"]\n");
    assert_eq!(
        explained(&own, "make test"),
        [
            "false `make test` commands.ask = \"make deploy\", policy.toml:4",
            "true `make test` commands.allow = \"make\", policy.toml:3"
        ]
    );
    let default = Policy::default();
    assert_eq!(
        explained(&default, "mkfs.ext4 x"),
        ["true `mkfs.ext4 x` commands.deny = \"mkfs.*\", built in"]
    );
    assert_eq!(
        explained(&default, "npm publish").last().unwrap(),
        "true `npm publish` commands.ask = \"npm publish\", built in"
    );
    assert_eq!(
        explained(&default, "gem list"),
        [
            "false `gem list` commands.deny = \"gem install\", built in",
            "false `gem list` commands.ask = \"gem push\", built in"
        ]
    );
    assert!(explained(&default, "make").is_empty());
}

#[test]
fn the_files_rules_go_before_the_built_in_ones_and_deny_beats_ask_beats_allow() {
    let policy = policy(
        "[commands]\nallow = [\"curl\", \"git push origin\", \"make\"]\nask = [\"make deploy\"]\ndeny = [\"git push --force\", \"> *.lock\"]\n",
    );
    all(&policy, PolicyOutcome::Allow, &["curl x", "git push origin main", "make test"]);
    all(&policy, PolicyOutcome::Ask, &["make deploy", "make -j4 deploy", "git push upstream"]);
    all(&policy, PolicyOutcome::Deny, &["git push origin main --force", "wget x", "echo x > Cargo.lock"]);
    let decision = policy.command("git push origin --force");
    assert_eq!(
        decision.to_string(),
        "deny: `git push origin --force` is denied (commands.deny = \"git push --force\", policy.toml:5)"
    );
}

#[test]
fn without_a_sandbox_commands_are_asked_about() {
    let policy = policy("sandbox = \"off\"\n");
    all(&policy, PolicyOutcome::Ask, &["ls", "make"]);
    all(&policy, PolicyOutcome::Deny, &["curl x"]);
}

#[test]
fn whoever_opens_the_network_for_commands_is_asked_and_not_refused() {
    all(&policy("[commands]\nnetwork = true\n"), PolicyOutcome::Ask, &["curl x", "ssh y"]);
    all(&policy("[commands]\nnetwork = true\n"), PolicyOutcome::Deny, &["sudo x"]);
}

#[test]
fn a_tools_own_decision_holds_for_commands_that_no_rule_is_about() {
    let policy = policy("[tools.bash]\ndecision = \"ask\"\n[commands]\nallow = [\"cargo test\"]\n");
    all(&policy, PolicyOutcome::Ask, &["ls", "cargo test && ls"]);
    all(&policy, PolicyOutcome::Allow, &["cargo test --all"]);
    all(
        &crate::policy("[tools.bash]\ndecision = \"deny\"\n[commands]\nallow = [\"ls\"]\n"),
        PolicyOutcome::Deny,
        &["ls"],
    );
}

#[test]
fn paths_that_are_denied_to_all_tools_are_denied_to_commands_too() {
    let policy =
        policy("[paths]\ndeny = [\"secrets/**\", \"/etc/**\"]\nask = [\"**/*.lock\"]\nwithin = [\"**\"]\n");
    all(
        &policy,
        PolicyOutcome::Deny,
        &[
            "cat secrets/x",
            "cp a secrets",
            "cat /etc/passwd",
            "tool --file=secrets/y",
            "wc < /etc/shadow",
            "echo x > ./secrets/../secrets/x",
        ],
    );
    all(&policy, PolicyOutcome::Ask, &["rm Cargo.lock", "echo > sub/yarn.lock"]);
    all(&policy, PolicyOutcome::Allow, &["cat src/secrets.rs", "ls"]);
    all(&Policy::default(), PolicyOutcome::Deny, &["echo 'version = 1' > policy.toml", "cat < sub/.env"]);
}

#[test]
fn functions_that_multiply_are_denied_and_others_are_not() {
    let bombs = [
        ":(){ :|:& };:",
        ":() { : | : & }; :",
        "f() {\n  f &\n  f &\n}\nf",
        "function b { b | b; }; b",
        "x()\n{\n$(x)\n}; x",
        "bash -c ':(){ :|:& };:'",
        "true && (w() { (w); w; }; w)",
        "f() { cat | f; }; f",
        "f() { f | cat; }; f",
        "f() { { a; }; f | f; }; f",
        "function bomb() { bomb | bomb; }; bomb",
        "function bomb ( ) { bomb & }; bomb",
    ];
    for policy in [Policy::default(), policy("[commands]\ndefault = \"allow\"\nallow = [\":\", \"f\"]\n")] {
        for bomb in bombs {
            let decision = policy.command(bomb);
            assert_eq!(decision.outcome, PolicyOutcome::Deny, "{bomb}: {decision}");
            assert!(decision.because.contains("fork bomb"), "{bomb}: {decision}");
        }
    }
    all(
        &Policy::default(),
        PolicyOutcome::Allow,
        &[
            "count() { [ \"$1\" -gt 0 ] && count $(($1 - 1)); }; count 3",
            "f() { echo x | sort & }; f | cat & f &",
            "f() { { a; }; }; f | f",
            "function g { a; }; (g) | g",
            "build() { make; }; build || build",
            "f() { a || f; }; f",
            "f() { f || a; }; f",
            "f() { f && a; }; f",
            "f() { if a; then b; fi; }; f | f",
        ],
    );
}

#[test]
fn a_pattern_with_an_end_allows_no_more_words() {
    let policy = policy("[commands]\nallow = [\"rm -r a $\", \"git push * $\", \"rm -r d\"]\n");
    all(
        &policy,
        PolicyOutcome::Allow,
        &["rm -r a", "rm  -r  'a'", "/bin/rm -r a", "git push origin", "rm -r d e"],
    );
    all(
        &policy,
        PolicyOutcome::Ask,
        &[
            "rm -r a .git src",
            "rm -r a/",
            "rm -r ab",
            "rm -r a -f",
            "git push",
            "git push origin main",
            "rm -r a $x",
        ],
    );
    for list in ["ask", "deny"] {
        let text = format!("version = 1\n[commands]\n{list} = [\"make $\"]\n");
        let told = Policy::parse(&text, "p").unwrap_err().to_string();
        assert!(told.contains("is for what is allowed"), "{told}");
    }
    for pattern in ["$", "make $x", "make$", "$ make"] {
        let text = format!("version = 1\n[commands]\nallow = [\"{pattern}\"]\n");
        assert!(Policy::parse(&text, "p").is_err(), "{pattern}");
    }
}
