//! Problems of a policy file: what is wrong, where, and what to write instead.

use convoke_tools::policy::Policy;

fn told(text: &str) -> String {
    Policy::parse_at_home(text, "policy.toml", None).unwrap_err().to_string()
}

#[test]
fn everything_is_reported_at_once_with_its_place_and_a_suggestion() {
    insta::assert_snapshot!(told(
        "version = 1\nsandbox = \"of\"\n\n[defaults]\nnetwrok = \"allow\"\nwrites = \"yes\"\n\n[tools.write]\nallow = [\"x\"]\ncalls = 0\n\
         paths.deny = [\"../x\", \"a**/b\", 3]\n\n[tools.web_fetch]\ndomains.allow = [\"https://example.com/\", \"a.*.b\"]\n\n\
         [commands]\nunclear = \"allow\"\nallow = [\"ls; rm\", \"ls | x\", \"\"]\ndeny = \"curl\"\nnetwork = \"on\"\n\n\
         [mcp]\nallow = [\"files\"]\n\n[limits]\nmemory = 3\n"
    ));
}

#[test]
fn agent_176_other_dialects_and_unknown_sections_are_errors_that_say_what_to_do() {
    insta::assert_snapshot!(told(
        "default_deny = true\nworkspace = \"/x\"\nallowed_dirs = [\"/tmp\"]\n[bash]\nenabled = false\n[tools.write]\ndenylist = []\n[what]\never = 1\n"
    ));
    insta::assert_snapshot!(
        "unknown_keys",
        told(
            "version = 1\nworkspace = \"/x\"\n[bash]\nenabled = false\n[tools.write]\ndenylist = []\n[what]\never = 1\n"
        )
    );
}

#[test]
fn a_policy_of_the_go_program_is_one_mistake_that_names_the_command_for_it() {
    for text in [
        "allowed_dirs = [\".\"]\n",
        "[tools.bash]\nenabled = true\nallowlist = [\"go *\"]\n",
        "[mcp]\nallowed_tools = [\"files:*\"]\n",
        "[web_fetch]\nrate_limit = 30\n[bash]\nenabled = true\ndenylist = [\"rm -rf *\"]\n",
    ] {
        let errors = Policy::parse(text, "policy.toml").unwrap_err();
        assert_eq!(errors.iter().count(), 1, "{errors}");
        assert!(errors.to_string().contains("`convoke policy import policy.toml`"), "{errors}");
    }
    let ours =
        Policy::parse("[commands]\nallow = [\"ls\"]\n[tools.write]\ncalls = 3\n", "policy.toml").unwrap_err();
    assert!(ours.to_string().contains("version = 1"), "{ours}");
}

/// A file that says something of so many commands that counting lines from its top for each would take minutes.
fn many(rule: impl Fn(usize) -> String) -> String {
    let rules: String = (0..50_000).map(|number| format!("  {},\n", rule(number))).collect();
    format!("version = 1\n[commands]\ndeny = [\n{rules}]\n")
}

#[test]
fn tens_of_thousands_of_rules_are_read_without_counting_lines_for_each() {
    let policy = Policy::parse(&many(|number| format!("\"tool{number}\"")), "policy.toml").unwrap();
    let decision = policy.command("tool49999 x");
    assert!(decision.to_string().contains("policy.toml:50003"), "{decision}");
}

#[test]
fn of_very_many_mistakes_the_first_are_told_and_the_others_counted() {
    let errors = Policy::parse(&many(|number| number.to_string()), "policy.toml").unwrap_err();
    assert_eq!(errors.iter().count(), 50_000);
    assert!(errors.to_string().ends_with("policy.toml: there are 49950 more mistakes"), "{errors}");
}

#[test]
fn a_file_says_which_version_it_is_in() {
    insta::assert_snapshot!(told("[defaults]\nreads = \"allow\"\n"));
    insta::assert_snapshot!("another_version", told("version = 2\n"));
    insta::assert_snapshot!("no_toml", told("version = 1\n[commands\nallow = [\n"));
}

#[test]
fn nothing_in_a_file_or_in_its_name_moves_the_cursor() {
    let name = "evil\u{1b}[2J\u{7}.toml";
    let errors = Policy::parse("version = 1\n\"\\u001b[2J\\u0007\" = \"\u{e9}\"\n", name).unwrap_err();
    let plain = errors.render(false, 100);
    assert!(plain.contains("evil\u{fffd}[2J\u{fffd}.toml"), "{plain:?}");
    assert!(!plain.chars().any(|letter| letter.is_control() && letter != '\n'), "{plain:?}");
    let colored = errors.render(true, 100);
    assert!(colored.contains("\u{1b}[1m") && !colored.contains('\u{7}'), "{colored:?}");
    let mut lines = Vec::new();
    for problem in errors.iter() {
        lines.push(problem.line);
    }
    assert_eq!(lines, [Some(2)]);
}

#[test]
fn a_file_of_a_mebibyte_is_read_and_a_longer_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.toml");
    let mut text = "version = 1\n#".to_owned();
    text.push_str(&"x".repeat((1 << 20) - text.len()));
    std::fs::write(&path, &text).unwrap();
    Policy::load_existing(&path).unwrap();
    text.push('x');
    std::fs::write(&path, &text).unwrap();
    let error = Policy::load_existing(&path).unwrap_err().to_string();
    assert!(error.contains("it is larger than 1 MiB"), "{error}");
}

#[test]
fn a_file_that_is_not_there_is_the_default_and_one_that_cannot_be_read_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let policy = Policy::load(&folder.path().join("policy.toml")).unwrap();
    assert_eq!(policy.source(), "the defaults");
    let error = Policy::load(folder.path()).unwrap_err();
    assert!(error.to_string().contains("cannot be read"), "{error}");
    std::fs::write(folder.path().join("policy.toml"), [0xff, 0xfe]).unwrap();
    assert!(Policy::load(&folder.path().join("policy.toml")).is_err());
    #[cfg(unix)]
    for (name, target) in [("nowhere.toml", "absent.toml"), ("itself.toml", "itself.toml")] {
        let link = folder.path().join(name);
        std::os::unix::fs::symlink(target, &link).unwrap();
        let error = Policy::load(&link).unwrap_err().to_string();
        assert!(error.contains("a link that cannot be followed"), "{error}");
    }
}

#[test]
fn what_takes_a_view_is_a_mistake_where_the_same_file_does_without() {
    let told = |sandbox: &str, commands: &str| {
        let text = format!("version = 1\nsandbox = \"{sandbox}\"\n[commands]\n{commands}\n");
        Policy::parse(&text, "p").err().map(|errors| errors.to_string())
    };
    for (sandbox, commands) in [
        ("off", "review = \"changes\""),
        ("off", "network = \"hosts\""),
        ("off", "network = \"hosts\"\nhosts.allow = [\"a.org\"]"),
        ("landlock", "review = \"changes\""),
    ] {
        let told = told(sandbox, commands).unwrap_or_else(|| panic!("{sandbox}, {commands}: it was taken"));
        assert!(told.contains("has no effect") && told.contains(sandbox), "{told}");
    }
    for (sandbox, commands) in [
        ("required", "review = \"changes\"\nnetwork = \"hosts\""),
        ("off", "review = \"nothing\"\nnetwork = true"),
        // Where there are namespaces it holds.
        ("landlock", "network = \"hosts\""),
    ] {
        assert_eq!(told(sandbox, commands), None, "{sandbox}, {commands}");
    }
}
