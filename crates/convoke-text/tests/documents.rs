//! Texts as trees: what is wrong with them is said in words for those who write files, in its place.
#![allow(clippy::unwrap_used, reason = "a test")]

use convoke_text::document::{Content, Gaps, Node, is_json, looks_like, parse, parse_strictly};
use convoke_text::finding::Finding;

fn read(text: &str) -> (Option<Node>, Vec<Finding>) {
    let mut findings = Vec::new();
    (parse(text, &mut findings), findings)
}

/// What is said of a text that has one mistake: its place, the message, and what to do.
fn said(text: &str) -> (usize, String, String) {
    let (_, findings) = read(text);
    let [finding] = &findings[..] else { panic!("{text:?}: {findings:#?}") };
    let line = text[..finding.place.clone().unwrap().start].matches('\n').count() + 1;
    (line, finding.message.clone(), finding.help.clone().unwrap_or_default())
}

#[test]
fn every_name_that_stands_twice_is_found_in_yaml_as_in_json() {
    let yaml = "a: 1\nb:\n  - x: 1\n    x: 2\na: 3\na: 4\n";
    let json = "{\"a\": 1,\n\"b\": [{\"x\": 1,\n\"x\": 2}],\n\"a\": 3,\n\"a\": 4}";
    for (text, lines) in [(yaml, [4, 5, 6]), (json, [3, 4, 5])] {
        let (tree, mut findings) = read(text);
        findings.sort_by_key(|finding| finding.place.clone().unwrap().start);
        let line = |place: usize| text[..place].matches('\n').count() + 1;
        let found: Vec<_> = findings
            .iter()
            .map(|finding| (finding.code, finding.path.as_str(), line(finding.place.clone().unwrap().start)))
            .collect();
        assert_eq!(
            found,
            [
                ("duplicate-name", "/b/0/x", lines[0]),
                ("duplicate-name", "/a", lines[1]),
                ("duplicate-name", "/a", lines[2])
            ]
        );
        assert_eq!(findings[0].message, "`x` is here twice");
        assert_eq!(findings[0].help.as_deref(), Some("remove one of them"));
        // The first of each is what else is looked at.
        assert_eq!(tree.unwrap().to_value(), serde_json::json!({"a": 1, "b": [{"x": 1}]}));
    }
    // Numbers are compared as numbers.
    assert_eq!(said("1: a\n0x1: b\n").1, "`0x1` is here twice");
}

#[test]
fn names_that_are_taken_from_elsewhere_stand_once() {
    let (tree, findings) = read("x: &x {p: 1, q: 1}\ny: {<<: *x, p: 2}\nx2: 1\nx2: 2\n");
    assert_eq!(findings.len(), 1);
    assert_eq!(tree.unwrap().get("y").unwrap().to_value(), serde_json::json!({"p": 2, "q": 1}));
}

#[test]
fn of_several_documents_the_first_is_read_and_the_others_are_a_mistake() {
    for text in ["a: 1\n---\nb: 2\n---\nc: 3\n", "a: 1\n...\nb: 2\n", "---\na: 1\n---\n"] {
        let (tree, findings) = read(text);
        let [finding] = &findings[..] else { panic!("{findings:#?}") };
        assert_eq!(finding.code, "several-documents");
        assert!(["---", "..."].contains(&&text[finding.place.clone().unwrap()]), "{finding:?}");
        assert!(finding.help.as_deref().unwrap().contains("a file of its own"));
        assert_eq!(tree.unwrap().to_value(), serde_json::json!({"a": 1}));
    }
    // What is wrong with the first is said as well.
    let (_, findings) = read("a: 1\na: 2\n---\nb: 2\n");
    let codes: Vec<_> = findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["several-documents", "duplicate-name"]);
}

#[test]
fn tabs_are_shown_where_they_are() {
    for text in ["a:\n\tb: 1\n", "a:\n  b: 1\n\tc: 2\n", "a:\n- x\n-\ty: 1\n\tz: 2\n"] {
        let (_, findings) = read(text);
        let finding = &findings[0];
        assert!(finding.message.contains("a tab here"), "{text:?} {finding:?}");
        assert_eq!(finding.help.as_deref(), Some("write blanks instead"));
        assert_eq!(&text[finding.place.clone().unwrap()], "\t", "{text:?}");
    }
}

#[test]
fn too_many_aliases_are_a_mistake_of_their_own() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..7 {
        let before = level - 1;
        bomb += &format!("a{level}: &a{level} [{}]\n", vec![format!("*a{before}"); 9].join(", "));
    }
    let (line, message, help) = said(&bomb);
    assert!(line >= 6, "{line}");
    assert!(message.contains("aliases (`*name`)") && help.contains("without aliases"), "{message} {help}");
}

#[test]
fn a_long_text_without_aliases_is_read_up_to_the_size_that_is_named() {
    let long = "- {}\n- [1, 2]\n- a: b\n".repeat(105_000);
    assert!(long.len() > 2 << 20);
    let (tree, findings) = read(&long);
    assert_eq!(findings, []);
    assert!(matches!(tree.unwrap().content, Content::List(items) if items.len() == 315_000));
}

#[test]
fn an_object_in_braces_whose_names_have_no_quotes_is_yaml() {
    for text in [
        "{name: x, nodes: [{id: a}], entry: a}",
        "{ # a comment\n  name: x, nodes: [{id: a}],\n  entry: 'a'\n}\n",
    ] {
        let (tree, findings) = read(text);
        assert_eq!(findings, [], "{text}");
        let wanted = serde_json::json!({"name": "x", "nodes": [{"id": "a"}], "entry": "a"});
        assert_eq!(tree.unwrap().to_value(), wanted);
        assert!(looks_like(text, &["nodes", "entry"]) && !looks_like(text, &["edges"]), "{text}");
    }
    for text in ["{\"a\": 1, b: 2}", "{\"a\": 1,}", "{", "[a]"] {
        assert!(is_json(text), "{text}");
        assert!(read(text).0.is_none(), "what begins as JSON is held to its rules");
    }
}

#[test]
fn what_is_wrong_with_yaml_is_said_in_our_words_with_what_to_do() {
    for (text, line, message, help) in [
        ("a: b: c\n", 1, "a `:` cannot stand here", "in quotes"),
        ("a: 1\n b: 2\n", 2, "a `:` cannot stand here", "alike"),
        ("a: [1, 2\nb: 3\n", 2, "does not end as it begins", "close every bracket"),
        ("a: {b: 1\n", 1, "does not end as it begins", "close every bracket"),
        ("a: }\n", 1, "does not end as it begins", "close every bracket"),
        ("a: \"x\nb: 3\n", 2, "a text in quotes does not end", "close its quotes"),
        ("a: 'x\nb: 3\n", 2, "a text in quotes does not end", "close its quotes"),
        ("a: 'it's'\n", 1, "something follows the quotes", "`''`"),
        ("a: \"\\q\"\n", 1, "a `\\` with something after it", "single quotes"),
        ("a: *x\n", 1, "there is no anchor of this name", "in quotes"),
        ("a: *\n", 1, "needs a name after it", "in quotes"),
        ("a: @x\n", 1, "cannot begin with this sign", "in quotes"),
        ("a: `x`\n", 1, "cannot begin with this sign", "in quotes"),
        ("  a: 1\nb: 2\n", 2, "fits nothing that stands before", "indent"),
        ("- a\nb: 1\n", 2, "fits nothing that stands before", "begin every item"),
        ("a: |\n x\ny\n", 3, "fits nothing that stands before", "`:` after every name"),
        ("? [a, b]\n: c\n", 1, "a name is a text", "in quotes"),
        ("null: 1\n", 1, "a name is a text", "in quotes"),
        ("a: .nan\n", 1, "`.nan` is no number", "in quotes"),
        ("a: &x [1, *x]\n", 1, "`*x` stands for something that it is in", "what is meant"),
        ("a: !!int x\n", 1, "what its tag", "leave the tag out"),
        ("%YAML 3.0\n---\na: 1\n", 1, "no such sign here", "begin with `%`"),
    ] {
        let (at, found, advice) = said(text);
        assert!(
            found.contains(message) && advice.contains(help) && at == line,
            "{text:?}: {at} {found} ({advice})"
        );
    }
}

proptest::proptest! {
    /// Nobody who writes a file is told of scalars, tokens or functions of a library.
    #[test]
    fn no_words_of_the_library_are_shown(text in "[a-b:{}\\[\\]\"'&*!|>%@`\\-?,#\\\\ \t\n]{0,40}") {
        for finding in read(&format!("x: 1\n{text}")).1 {
            let said = format!("{} {}", finding.message, finding.help.unwrap_or_default());
            for word in ["scalar", "token", "mapping", "sequence", "Policy", "from_str", "deserialize", "did not find"] {
                assert!(!said.contains(word), "{text:?}: {said}");
            }
        }
    }
}

#[test]
fn a_text_within_another_is_refused_with_its_line() {
    assert_eq!(parse_strictly("a: 1\n").unwrap().to_value(), serde_json::json!({"a": 1}));
    assert_eq!(parse_strictly("a: 1\na: 2\n").unwrap_err(), "line 2: `a` is here twice: remove one of them");
}

#[test]
fn what_cannot_be_read_hides_what_is_said_of_it_and_of_names_that_may_be_in_it() {
    let mut gaps = Gaps::default();
    gaps.add("/tools", Content::Map(Vec::new()));
    gaps.add("/steps/1/id", Content::Text(String::new()));
    gaps.add("/prompts/a/name", Content::Text(String::new()));
    let finding = |path: &str, sought: &str| Finding::error("unknown", path, "").sought_in(sought);
    assert!(gaps.explain(&finding("/tools/x", "/x")), "it is in a gap");
    assert!(gaps.explain(&finding("/a", "/tools")), "what was looked at is a gap");
    assert!(gaps.explain(&finding("/a", "/tools/x/y")), "it is in one");
    assert!(gaps.explain(&finding("/a", "/steps")), "the name of an item is one");
    assert!(!gaps.explain(&finding("/a", "/prompts")), "names are known, whatever is in them");
    assert!(!gaps.explain(&finding("/toolsmith", "/states")));
    assert!(gaps.explain(&finding("/a", "/b").needs("/prompts/a")), "part of what it needs is a gap");
    assert!(!gaps.explain(&finding("/a", "/b").needs("/prompts/b")));
    let (tree, _) =
        read("{\"tools\": 5, \"steps\": [{\"id\": \"a\"}, {}], \"prompts\": {\"a\": {\"name\": 1}}}");
    let filled = gaps.filled(&tree.unwrap()).to_value();
    assert_eq!(
        filled,
        serde_json::json!({"tools": {}, "steps": [{"id": "a"}, {"id": ""}], "prompts": {"a": {"name": ""}}})
    );
}
