//! What is wrong with a file, where, and what to write instead.

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
}

#[test]
fn a_file_says_which_version_it_is_in() {
    insta::assert_snapshot!(told("[defaults]\nreads = \"allow\"\n"));
    insta::assert_snapshot!("another_version", told("version = 2\n"));
    insta::assert_snapshot!("no_toml", told("version = 1\n[commands\nallow = [\n"));
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
}
