//! The lexer.

use convoke_goals::agentfile::Source;
use convoke_goals::agentfile::lexer::{Illegal, Keyword, TokenKind, lex};

use TokenKind::{Arrow, Comma, End, Ident, Newline, Number, Path, String as Text, Variable};

fn kinds(text: &str) -> Vec<TokenKind> {
    lex(text).tokens.iter().map(|token| token.kind).collect()
}

/// Kinds and texts, without the end.
fn tokens(text: &str) -> Vec<(TokenKind, String)> {
    let tokens = lex(text).tokens;
    tokens[..tokens.len() - 1].iter().map(|token| (token.kind, token.text.to_string())).collect()
}

fn keyword(word: &str) -> TokenKind {
    TokenKind::Keyword(Keyword::from_word(word).unwrap())
}

fn string(text: &str) -> String {
    let tokens = tokens(text);
    assert_eq!(tokens.len(), 1, "{tokens:?}");
    assert_eq!(tokens[0].0, Text);
    tokens[0].1.clone()
}

/// Every keyword, by its word.
const WORDS: [(&str, Keyword); 15] = [
    ("NAME", Keyword::Name),
    ("INPUT", Keyword::Input),
    ("AGENT", Keyword::Agent),
    ("GOAL", Keyword::Goal),
    ("CONVERGE", Keyword::Converge),
    ("RUN", Keyword::Run),
    ("FROM", Keyword::From),
    ("USING", Keyword::Using),
    ("WITHIN", Keyword::Within),
    ("DEFAULT", Keyword::Default),
    ("REQUIRES", Keyword::Requires),
    ("SUPERVISED", Keyword::Supervised),
    ("HUMAN", Keyword::Human),
    ("UNSUPERVISED", Keyword::Unsupervised),
    ("SECURITY", Keyword::Security),
];

#[test]
fn agent_001_keywords_are_tokens_of_their_own() {
    assert_eq!(Keyword::ALL.len(), WORDS.len());
    for (word, keyword) in WORDS {
        assert_eq!(tokens(word), [(TokenKind::Keyword(keyword), word.to_owned())]);
    }
}

#[test]
fn agent_002_names_have_letters_digits_and_underscores() {
    let text = "my_workflow feature_request analyze123 _private";
    assert_eq!(kinds(text), [Ident, Ident, Ident, Ident, End]);
    let names: Vec<String> = tokens(text).into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["my_workflow", "feature_request", "analyze123", "_private"]);
}

#[test]
fn agentcore_201_keywords_and_names() {
    for (word, keyword) in WORDS {
        assert_eq!(tokens(word), [(TokenKind::Keyword(keyword), word.to_owned())]);
    }
    let names = ["with_under", "a1", "_lead"].map(|name| (Ident, name.to_owned()));
    assert_eq!(tokens("with_under a1 _lead"), names);
}

#[test]
fn agent_003_escapes() {
    assert_eq!(string(r#""with \"quotes\"""#), "with \"quotes\"");
    assert_eq!(string(r#""line1\nline2""#), "line1\nline2");
    assert_eq!(string(r#""tab\there""#), "tab\there");
    assert_eq!(string(r#""back\\slash""#), "back\\slash");
    assert_eq!(string(r#""""#), "");
}

#[test]
fn agent_004_unknown_escapes_stay() {
    assert_eq!(string(r#""a\qb""#), r"a\qb");
}

#[test]
fn a_backslash_before_the_end_of_a_line_continues_a_string() {
    assert_eq!(string("\"a\\\nb\""), "a\\\nb");
}

#[test]
fn agent_005_a_path_follows_from() {
    let expected = [(keyword("FROM"), "FROM".to_owned()), (Path, "agents/creative.md".to_owned())];
    assert_eq!(tokens("FROM agents/creative.md"), expected);
}

#[test]
fn agent_006_after_a_path_all_is_as_usual() {
    after_a_path_all_is_as_usual();
}

#[test]
fn agentcore_203_after_a_path_all_is_as_usual() {
    after_a_path_all_is_as_usual();
}

fn after_a_path_all_is_as_usual() {
    let text = "AGENT critic FROM agents/critic.md REQUIRES \"reasoning-heavy\"";
    assert_eq!(kinds(text), [keyword("AGENT"), Ident, keyword("FROM"), Path, keyword("REQUIRES"), Text, End]);
    let texts: Vec<String> = tokens(text).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["AGENT", "critic", "FROM", "agents/critic.md", "REQUIRES", "reasoning-heavy"]);
}

#[test]
fn agent_007_variables_are_named_without_the_dollar() {
    let expected = [(Variable, "feature_request".to_owned()), (Variable, "WORKSPACE".to_owned())];
    assert_eq!(tokens("$feature_request $WORKSPACE"), expected);
}

#[test]
fn agent_008_numbers() {
    let numbers = ["10", "123", "0", "999"].map(|number| (Number, number.to_owned()));
    assert_eq!(tokens("10 123 0 999"), numbers);
    assert_eq!(tokens("10abc"), [(Number, "10".to_owned()), (Ident, "abc".to_owned())]);
}

#[test]
fn agent_009_commas() {
    assert_eq!(kinds("creative, devils_advocate"), [Ident, Comma, Ident, End]);
}

#[test]
fn agentcore_204_variables_numbers_commas_arrows() {
    let expected = [(Variable, "max_iterations".to_owned()), (Number, "7".to_owned())];
    assert_eq!(tokens("$max_iterations 7"), expected);
    assert_eq!(kinds(", ->"), [Comma, Arrow, End]);
}

#[test]
fn agent_010_comments_vanish() {
    let expected = [keyword("NAME"), Ident, Newline, keyword("INPUT"), Ident, End];
    assert_eq!(kinds("NAME test # c\nINPUT x # d"), expected);
}

#[test]
fn agent_011_blank_lines_are_one_line_end() {
    assert_eq!(kinds("NAME a\n\n\nINPUT b"), [keyword("NAME"), Ident, Newline, keyword("INPUT"), Ident, End]);
}

#[test]
fn agent_012_comment_lines_are_one_line_end_and_the_last_ones_none() {
    let expected = [keyword("NAME"), Ident, Newline, keyword("INPUT"), Ident, End];
    assert_eq!(kinds("NAME a\n# one\n  # two\n\nINPUT b\n\n# three\n\n"), expected);
}

#[test]
fn agent_013_lines_and_columns() {
    let source = Source::new("x", "NAME test\nINPUT x\nGOAL g \"y\"");
    let lexed = lex(source.text());
    let lines: Vec<usize> = lexed.tokens.iter().map(|token| source.position(token.span.start).line).collect();
    assert_eq!(lines, [1, 1, 1, 2, 2, 2, 3, 3, 3, 3]);
    let columns = lexed.tokens[..2].iter().map(|token| source.position(token.span.start).column);
    assert_eq!(columns.collect::<Vec<_>>(), [1, 6]);
}

#[test]
fn agentcore_205_comments_blank_lines_and_places() {
    let source = Source::new("x", "NAME test # it\n\n\nINPUT x\nINPUT y");
    let lexed = lex(source.text());
    let (name, input) = (keyword("NAME"), keyword("INPUT"));
    let expected = [name, Ident, Newline, input, Ident, Newline, input, Ident, End];
    assert_eq!(kinds(source.text()), expected);
    let places: Vec<_> = lexed.tokens[..2].iter().map(|token| source.position(token.span.start)).collect();
    assert_eq!((places[0].column, places[1].column), (1, 6));
    let inputs = lexed.tokens.iter().filter(|token| token.kind == keyword("INPUT"));
    assert_eq!(inputs.map(|token| source.position(token.span.start).line).collect::<Vec<_>>(), [4, 5]);

    let source = Source::new("x", "NAME test\nINPUT x\nINPUT y");
    let statements =
        lex(source.text()).tokens.into_iter().filter(|token| [name, input].contains(&token.kind));
    let lines: Vec<usize> = statements.map(|token| source.position(token.span.start).line).collect();
    assert_eq!(lines, [1, 2, 3]);
}

#[test]
fn agent_014_what_means_nothing_is_illegal() {
    assert_eq!(kinds("@illegal")[0], TokenKind::Illegal(Illegal::Character('@')));
    assert_eq!(kinds("-"), [TokenKind::Illegal(Illegal::Character('-')), End]);
    assert_eq!(kinds("-> a, b"), [Arrow, Ident, Comma, Ident, End]);
}

#[test]
fn agent_015_strings_end_in_their_line() {
    assert_eq!(kinds("\"unterminated"), [TokenKind::Illegal(Illegal::OpenString), End]);
    assert_eq!(kinds("\"one\ntwo\"")[0], TokenKind::Illegal(Illegal::OpenString));
}

#[test]
fn agentcore_202_strings() {
    assert_eq!(string(r#""a\nb\t\r\\\"""#), "a\nb\t\r\\\"");
    assert_eq!(string("\"\""), "");
    assert_eq!(kinds("\"open"), [TokenKind::Illegal(Illegal::OpenString), End]);
    assert_eq!(kinds("@"), [TokenKind::Illegal(Illegal::Character('@')), End]);
}

#[test]
fn agent_016_strings_of_several_lines() {
    assert_eq!(string("\"\"\"\nFirst\nSecond\n\"\"\""), "First\nSecond");
    assert_eq!(string("\"\"\"\r\nFirst\r\n\"\"\""), "First");
    assert_eq!(string("\"\"\"\n\nFirst\n\n\"\"\""), "\nFirst\n");
}

#[test]
fn agent_017_they_may_be_in_one_line_and_have_no_escapes() {
    assert_eq!(string("\"\"\"inline content\"\"\""), "inline content");
    assert_eq!(string(r#""""a\nb "c" \""""#), r#"a\nb "c" \"#);
}

#[test]
fn agent_018_they_must_end() {
    assert_eq!(kinds("\"\"\"never\nclosed"), [TokenKind::Illegal(Illegal::OpenTripleString), End]);
}

#[test]
fn agentcore_206_triple_quotes() {
    assert_eq!(string("\"\"\"\na\n\nb\n\"\"\""), "a\n\nb");
    assert_eq!(string("\"\"\"a\"\"\""), "a");
    assert_eq!(kinds("\"\"\"a"), [TokenKind::Illegal(Illegal::OpenTripleString), End]);
}

#[test]
fn agent_019_keywords_are_in_capitals() {
    assert_eq!(kinds("name Name"), [Ident, Ident, End]);
}

#[test]
fn agent_020_an_arrow_needs_a_space_before_it() {
    let expected = [
        (Ident, "foo-".to_owned()),
        (TokenKind::Illegal(Illegal::BrokenArrow), ">".to_owned()),
        (Ident, "bar".to_owned()),
    ];
    assert_eq!(tokens("foo->bar"), expected);
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    assert_eq!(kinds("\u{feff}NAME a"), [keyword("NAME"), Ident, End]);
}
