//! Cases 94 to 100: conditions.

use convoke_graph::{Board, Condition, ConditionError};
use serde_json::{Value, json};

use super::{Home, graph, passes};

fn board(vars: Value) -> Board {
    serde_json::from_value(json!({"vars": vars})).unwrap()
}

fn holds(condition: &str, vars: Value) -> Result<bool, ConditionError> {
    Condition::new(condition)?.holds(&board(vars), 0)
}

#[test]
fn flowcraft_094_098_conditions_compare_and_ask() {
    for (condition, vars, expected) in [
        ("x > 3", json!({"x": 5}), true),
        ("x > 3", json!({"x": 2}), false),
        ("tool_pending == true", json!({"tool_pending": true}), true),
        ("route_target == \"research\"", json!({"route_target": "research"}), true),
        ("1 == 1.0", json!({}), true),
        ("x == 1.0", json!({"x": 1}), true),
        ("\"a\" in list", json!({"list": ["a", "b"]}), true),
        ("\"c\" not in list", json!({"list": ["a", "b"]}), true),
        ("len(items) > 2", json!({"items": [1, 2, 3]}), true),
        ("name startsWith \"x\"", json!({"name": "xy"}), true),
        ("name matches \"^x.\"", json!({"name": "xy"}), true),
        ("name contains 'y' and not done", json!({"name": "xy", "done": false}), true),
        ("x > 1 ? y : z", json!({"x": 2, "y": true, "z": false}), true),
        ("all(items, # > 0)", json!({"items": [1, 2]}), true),
        ("notes == nil or iffy", json!({"iffy": true, "notes": 1}), true),
        (
            "$env[\"odd name\"] == 1 and $env['tool-x'].ok",
            json!({"odd name": 1, "tool-x": {"ok": true}}),
            true,
        ),
        ("$env[\"missing one\"] == nil", json!({}), true),
        ("x in 1..3", json!({"x": 3}), true),
        ("x in 1..3", json!({"x": 4}), false),
        ("len(1..10) == 10 and sum(map(1..3, # * x)) == 12", json!({"x": 2}), true),
        ("x in 1..n and x not in n..1", json!({"x": 3, "n": 3}), true),
        ("{'v': x, w: -1}.v == 2", json!({"x": 2}), true),
        (
            "any(map(people, {name: .name, old: .age > 60}), .old)",
            json!({"people": [{"name": "x", "age": 61}]}),
            true,
        ),
        ("let half = x / 2; half > 0.5 and half < 2", json!({"x": 2}), true),
    ] {
        assert_eq!(holds(condition, vars.clone()).unwrap(), expected, "{condition} of {vars}");
    }
}

#[test]
fn flowcraft_095_what_is_unset_equals_nothing_and_is_false() {
    assert!(!holds("x == 999", json!({})).unwrap());
    assert!(holds("x == nil", json!({})).unwrap());
    assert!(!holds("x", json!({})).unwrap());
}

#[test]
fn flowcraft_096_097_what_cannot_be_compared_is_an_error() {
    for condition in ["x > 3", "a.b == 1", "x < \"y\""] {
        let error = holds(condition, json!({})).unwrap_err();
        assert!(matches!(&error, ConditionError::Undecided { .. }), "{condition}: {error}");
        assert!(error.to_string().contains(condition), "{error}");
    }
    assert!(holds("a.b == 1", json!({"a": {"b": 1}})).unwrap());
    assert!(!holds("a?.b == 1", json!({})).unwrap());
    assert!(holds("bare", json!({"bare": 7})).unwrap_err().to_string().contains("a number"));
}

#[tokio::test]
async fn flowcraft_096_an_undecided_condition_fails_the_run_and_names_the_node() {
    let error =
        Home::new().failed(graph(json!([passes("a"), passes("b")]), &[("a", "b if x > 3")]), json!({})).await;
    assert!(error.contains("`a`") && error.contains("x > 3"), "{error}");
}

#[test]
fn flowcraft_098_what_is_never_true_or_false_is_no_condition() {
    for condition in ["1 + 2", "\"a\"", "x >>>> 3", "", "   ", "[1, 2]", "len(x", "\"a\" > 1", "nosuch(x)"] {
        let error = Condition::new(condition).unwrap_err();
        assert!(matches!(&error, ConditionError::Invalid { .. }), "{condition}: {error}");
    }
    for condition in ["$env == nil", "$env[name] == 1", "x = 1"] {
        let error = Condition::new(condition).unwrap_err().to_string();
        assert!(error.contains("write"), "it says what to write: {error}");
    }
    assert_eq!(
        Condition::new("$env['odd name'] > x").unwrap().names().collect::<Vec<_>>(),
        ["odd name", "x"]
    );
    let error = Condition::new("lenn(x) > 1").unwrap_err();
    assert!(error.to_string().contains("did you mean `len`?"), "{error}");
}

#[test]
fn flowcraft_099_the_second_half_is_not_looked_at_if_the_first_decides() {
    assert!(!holds("false && x.y", json!({})).unwrap());
    assert!(holds("true || x.y", json!({})).unwrap());
    assert!(!holds("x != nil and x.y > 1", json!({})).unwrap());
    assert!(holds("x == nil or x.y > 1", json!({})).unwrap());
}

#[tokio::test]
async fn flowcraft_100_iterations_are_the_engines() {
    let home = Home::new();
    let nodes = json!([passes("a"), passes("b")]);
    let looping = graph(nodes, &[("a", "b"), ("b", "a if __iterations < 3")]);
    home.done(looping, json!({})).await;
    assert_eq!(home.ran().iter().filter(|id| id.starts_with('a') || id.starts_with('b')).count(), 4);
    let shadowed = board(json!({"__iterations": 99}));
    assert!(Condition::new("__iterations < 3").unwrap().holds(&shadowed, 2).unwrap());
}

#[test]
fn what_takes_too_long_to_read_is_refused_at_once() {
    for condition in [
        "(".repeat(60),
        "x".repeat(3_000),
        format!("{}x", "not ".repeat(900)),
        "sum(1..9000000000) > 1".into(),
    ] {
        let error = Condition::new(&condition).unwrap_err();
        assert!(matches!(error, ConditionError::Invalid { .. }));
    }
}

#[test]
fn no_expression_panics_or_takes_for_ever() {
    let all = json!({"a": 1, "b": [1, "x", null], "c": {"d": true}, "s": "text", "big": i64::MAX, "small": i64::MIN});
    let long = |piece: &str, times: usize| piece.repeat(times);
    for condition in [
        "1 / 0 == 1".to_owned(),
        "1 % 0 == 1".to_owned(),
        "a / 0 == 1".to_owned(),
        "a % 0 == 1".to_owned(),
        "9223372036854775807 + 1 > 0".to_owned(),
        "big + 1 > 0".to_owned(),
        "small - 1 < 0".to_owned(),
        "big * 2 > 0".to_owned(),
        "-small > 0".to_owned(),
        "abs(small) > 0".to_owned(),
        "2 ** 1000 > 0".to_owned(),
        "a ** 1000 > 0".to_owned(),
        "big ** 9 > 0".to_owned(),
        "bitshl(1, 100) > 0".to_owned(),
        "bitshr(1, -1) > 0".to_owned(),
        "b[99] == nil".to_owned(),
        "b[-99] == nil".to_owned(),
        "s[1:99] == nil".to_owned(),
        "s[3:1] == nil".to_owned(),
        "b[2:1] == nil".to_owned(),
        "b[-9:9] == nil".to_owned(),
        "first([]) == nil".to_owned(),
        "min([]) == nil".to_owned(),
        "mean([]) == 1".to_owned(),
        "median([]) == 1".to_owned(),
        "take(b, -1) == nil".to_owned(),
        "take(b, 99) == nil".to_owned(),
        "s matches \"(\"".to_owned(),
        "s matches \"a{1000}{1000}{1000}\"".to_owned(),
        "int(\"x\") == 1".to_owned(),
        "small % -1 == 0".to_owned(),
        "small / -1 == 0".to_owned(),
        "reduce([], #acc + #) == 1".to_owned(),
        "c.d.e.f == nil".to_owned(),
        "s.x == nil".to_owned(),
        "toPairs(a) == nil".to_owned(),
        "len(a) == 1".to_owned(),
        "sum([big, big]) > 0".to_owned(),
        "99999999999999999999 > 0".to_owned(),
        "1e999 > 0".to_owned(),
        long("!", 1_900) + "c",
        long("-", 1_900) + "a > 0",
        long("not ", 450) + "c",
        long("a + ", 450) + "a > 0",
        long("a ** ", 350) + "a > 0",
        long("c and ", 300) + "c",
        long("c?.d ?? ", 200) + "c",
        long("\u{00e4}", 90),
        "let x = b; let y = concat(x, x); let z = concat(y, y); len(z) > 1".to_owned(),
        "\"\\u12\" == s".to_owned(),
        "'unterminated".to_owned(),
        "/* open".to_owned(),
        "#".to_owned(),
        "a.".to_owned(),
    ] {
        if let Ok(condition) = Condition::new(&condition) {
            let _ = (condition.holds(&board(all.clone()), 0), condition.holds(&Board::new(), u64::MAX));
        }
    }
}

#[test]
fn a_predicate_within_a_predicate_is_about_its_own_items() {
    let vars =
        || json!({"items": [{"tags": ["x"]}, {"tags": []}], "tags": [1, 2, 3], "n": [[1, 2], [3]], "max": 5});
    for condition in [
        "any(items, any(tags, # > 2))",
        "all(items, any(tags, # in [1]))",
        "any(items, any(#.tags, # == 'x'))",
        "len(filter(n, any(#, # > 2))) == 1",
        "any(n, {any(#, {# == 2})})",
        "all(map(n, len(filter(tags, # > 2))), # == 1)",
        "reduce(tags, # + #acc, 0) == 6",
        "sum(map(n, len(#))) == 3",
        "tags | any(# > 2)",
        "count(tags, # > 1 and # < max) == 2",
    ] {
        assert_eq!(holds(condition, vars()), Ok(true), "{condition}");
    }
}

#[test]
fn whole_numbers_that_become_too_large_are_an_error() {
    let vars = || json!({"big": 9_223_372_036_854_775_807_i64, "x": 4_000_000_000_i64, "id": 9_007_199_254_740_993_i64});
    for condition in ["big + 1 > 0", "x * x * x > 0", "sum([big, big]) > 0", "-big - 2 < 0"] {
        let error = holds(condition, vars()).unwrap_err().to_string();
        assert!(error.contains("become larger than") && error.contains("1.0 * x"), "{condition}: {error}");
    }
    for condition in
        ["1.0 * x * x * x > 0", "x * 2 + 1 == 8000000001", "id == 9007199254740993", "id - 1 < id", "big > 1"]
    {
        assert_eq!(holds(condition, vars()), Ok(true), "{condition}");
    }
}

#[test]
fn functions_that_know_the_time_are_refused_with_what_to_do_instead() {
    let error = Condition::new("now().Hour() > 12").unwrap_err().to_string();
    assert!(error.contains("knows no clock") && error.contains("`tool` node"), "{error}");
}

#[test]
fn only_a_condition_that_is_about_nil_says_that_what_is_not_there_is_nil() {
    let advice = "What is not on the board is nil: test for that first, or write `?.` and `??`";
    for (condition, is_about_nil) in
        [("x > 3", true), ("x.y == 1", true), ("name > 3", false), ("name", false)]
    {
        let error = holds(condition, json!({"name": "a"})).unwrap_err().to_string();
        assert_eq!(error.contains(advice), is_about_nil, "{error}");
    }
}

/// Evaluating them one after the other takes much longer than the node has.
#[tokio::test(flavor = "multi_thread")]
async fn a_limit_of_time_holds_between_the_expressions_of_a_node() {
    let long = json!({"target": "x", "expression": "count(1..70, any(1..1000, # == 0))"});
    let assigns =
        json!({"id": "a", "type": "assigner", "timeout": "1s", "config": {"assignments": vec![long; 400]}});
    let begun = std::time::Instant::now();
    let error = Home::new().failed(graph(json!([assigns]), &[]), json!({})).await;
    assert!(!error.contains("blocks its thread"), "{error}");
    assert!(error.contains("1s"), "{error}");
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}

#[test]
fn what_goes_over_lists_for_too_long_or_makes_too_much_of_them_is_an_error() {
    let numbers: Vec<u32> = (0..20_000).collect();
    for condition in [
        "len(filter(L, len(filter(L, # > 5)) > #)) > 3",
        "len(filter(L, L == L)) > 3",
        "len(map(L, {map(1..10000, {1})})) > 3",
        "len(reduce(1..40, #acc + #acc, 'x')) > 3",
        "len(reduce(1..40, {let a = #acc; a + a}, 'x')) > 3",
        "len(reduce(1..40, concat(#acc, #acc), [1])) > 3",
    ] {
        let error = holds(condition, json!({"L": numbers})).unwrap_err().to_string();
        assert!(error.contains("it does too much") && error.contains(condition), "{error}");
    }
    for condition in [
        "len(filter(L, # > 5)) == 19994",
        "len(filter(L, {let all = L; len(all) > #})) == 20000",
        "any(L, any(1..20, # == 20)) and $env[\"L\"][3] == 3",
        "reduce(1..100, #acc + '.' + string(#), '') startsWith '.1.2'",
        "reduce(L, #acc > # ? #acc : #) == 19999",
        "map([{'a': 2}], #.a)[0] == 2",
        "reduce(1..3, #acc + #index, 0) == 3",
        "count(L, {let half = # / 2; half < 1}) == 2",
    ] {
        let made = holds(condition, json!({"L": numbers}));
        assert!(made == Ok(true), "{condition}: {made:?}");
    }
}
