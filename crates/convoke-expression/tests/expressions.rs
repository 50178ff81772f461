//! What expressions do that no other evaluator does for us: bounds, whole numbers that are checked, and errors that help.

use std::time::{Duration, Instant};

use convoke_expression::Expression;
use serde_json::{Value, json};

fn value(text: &str, vars: &Value) -> Result<Value, String> {
    let read = Expression::parse(text).map_err(|error| error.to_string())?;
    read.value(&|name| vars.get(name)).map(|outcome| outcome.value).map_err(|error| error.to_string())
}

#[test]
fn whole_numbers_that_leave_their_range_are_an_error_wherever_they_do() {
    let vars = json!({"big": i64::MAX, "small": i64::MIN, "list": [i64::MAX, 1], "x": 4_000_000_000_i64});
    for text in [
        "9223372036854775807 + 1",
        "9000000000000000000 * 2 % 7",
        "-small",
        "abs(small)",
        "small - 1 < 0",
        "sum(list)",
        "any(list, # + 1 < 0)",
        "map(list, # * 2)",
        "reduce(list, # + #acc)",
        "reduce(1..30, #acc * 10, 1)",
        "groupBy(list, # + 1)",
        "string(x * x * x)",
        "bitshl(1, 63)",
        "bitshl(1, 64)",
        "bitshl(big, 1)",
        "int(2.0 ** 70)",
        "int(2.0 ** 63)",
        "int(0.0 / 0.0)",
        "len(small..big)",
    ] {
        let error = value(text, &vars).unwrap_err();
        assert!(error.contains("become larger than") && error.contains("`1.0 * x`"), "{text}: {error}");
    }
    for (text, expected) in [
        ("1.0 * big + 1 > 0", json!(true)),
        ("small % -1", json!(0)),
        ("bitshl(0, 99)", json!(0)),
        ("bitshl(-1, 63)", json!(i64::MIN)),
        ("int(2.0 ** 62)", json!(1_i64 << 62)),
        ("x * 2", json!(8_000_000_000_i64)),
        ("max(big, 1.0)", json!(i64::MAX)),
    ] {
        assert_eq!(value(text, &vars), Ok(expected), "{text}");
    }
}

#[test]
fn objects_hold_whatever_an_expression_can_say() {
    let vars = json!({"x": 1, "list": [1, 2]});
    for (text, expected) in [
        (
            "{'v': x, w: -1, \"odd name\": {n: [x, not true]}}",
            json!({"v": 1, "w": -1, "odd name": {"n": [1, false]}}),
        ),
        ("map(list, {'v': # * 2})", json!([{"v": 2}, {"v": 4}])),
        ("list | map({v: #index})", json!([{"v": 0}, {"v": 1}])),
        (
            "map(list, {let double = # * 2; {d: double, is: double > 2}})",
            json!([{"d": 2, "is": false}, {"d": 4, "is": true}]),
        ),
        ("{a: 1, a: 2}.a", json!(2)),
        ("groupBy(list, # > 1)", json!({"false": [1], "true": [2]})),
        ("groupBy(list, #)[2]", json!([2])),
    ] {
        assert_eq!(value(text, &vars), Ok(expected), "{text}");
    }
}

#[test]
fn ranges_stand_between_any_whole_numbers_and_take_no_memory() {
    let vars = json!({"n": 4, "none": 0});
    for (text, expected) in [
        ("1..n", json!([1, 2, 3, 4])),
        ("-1..none + 1", json!([-1, 0, 1])),
        ("n..1", json!([])),
        ("len(1..9000000000)", json!(9_000_000_000_i64)),
        ("8999999999 in 1..9000000000", json!(true)),
        ("2.0 in 1..n", json!(true)),
        ("2.5 in 1..n", json!(false)),
        ("(1..9000000000)[-1]", json!(9_000_000_000_i64)),
        ("(1..9000000000)[2:4]", json!([3, 4])),
        ("any(1..9000000000, # > 3)", json!(true)),
        ("sum(map(1..n, 1..#), len(#))", json!(10)),
    ] {
        assert_eq!(value(text, &vars), Ok(expected), "{text}");
    }
    assert!(value("1.5..3", &vars).unwrap_err().contains("`..` takes two whole numbers"));
}

/// Whatever is written, and whatever it is about: it ends soon, here in a build without optimisation.
#[test]
fn an_expression_ends_by_what_it_may_do() {
    let numbers: Vec<u32> = (0..20_000).collect();
    let mut seed = 1_u64;
    let mut coin = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if seed >> 63 == 0 { 'a' } else { 'b' }
    };
    let vars = json!({
        "noise": (0..8 << 20).map(|_| coin()).collect::<String>(),
        "L": numbers,
        "texts": numbers.iter().map(|number| format!("{number:020}")).collect::<Vec<_>>(),
        "long": "ab".repeat(4 << 20),
        "letters": ('a'..='z').collect::<String>().repeat(10_000),
    });
    for text in [
        "map(L, {map(1..10000, {1})})",
        "len(filter(L, len(filter(L, # > 5)) > #))",
        "len(filter(L, # in L))",
        "filter(L, L == L)",
        "sum(map(L, len(sort(L))))",
        "reduce(1..40, #acc + #acc, 'x')",
        "reduce(1..40, concat(#acc, #acc), [1])",
        "reduce(1..40, [#acc, #acc], 1) == reduce(1..40, [#acc, #acc], 1)",
        "reduce(1..2000, [#acc], 1)",
        "string(reduce(1..40, [#acc, #acc], 1))",
        "len(reduce(1..40, {a: #acc, b: #acc}, 1)) == string(reduce(1..40, {a: #acc, b: #acc}, 1))",
        "reduce(1..9, replace(#acc, 'a', long), long)",
        "map(L, replace(long, 'a', 'b'))",
        "map(L, split(long, ''))",
        "map(L, join(texts, long))",
        "map(L, upper(long))",
        "map(L, lower(long) contains 'zz')",
        "map(L, trim(letters, letters))",
        "map(L, long contains 'ba' and long endsWith 'q' or long > letters)",
        "map(L, indexOf(long, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaab'))",
        "map(L, hasPrefix(long, long) and hasSuffix(long, long))",
        "map(L, long[1:2])",
        "map(L, flatten([L, L]))",
        "map(L, uniq(L))",
        "uniq(map(L, [#]))",
        "map(L, toPairs({a: L}))",
        "map(L, median(L))",
        "map(L, string(L))",
        "map(L, long matches '(a|b)*c')",
        "noise matches 'a[ab]{1000}c'",
        "map(L, noise matches 'a[ab]{1000}c' + string(#))",
        "map(L, string(#) matches '[\\\\w.]{500}' + string(#))",
        "map(L, long matches string(#) + 'b{50}')",
        "sum(1..9000000000)",
        "1..9000000000 == 1..9000000000",
        "sort(1..9000000000)",
        "string(1..9000000000)",
        "1..9000000000",
    ] {
        let begun = Instant::now();
        let ended = value(text, &vars);
        let took = begun.elapsed();
        let error = ended.expect_err(text);
        assert!(
            error.contains("it does too much") || error.contains("deep in one another"),
            "{text}: {error}"
        );
        // Much more than it takes: other work may be done on the machine.
        assert!(took < Duration::from_secs(30), "{text} took {took:?}");
    }
    for (text, expected) in [
        ("any(L, any(1..20, # == 20))", json!(true)),
        ("len(filter(L, len(L) > #))", json!(20_000)),
        ("len(uniq(concat(L, L)))", json!(20_000)),
        ("len(groupBy(L, #))", json!(20_000)),
        ("len(reduce(L[:5000], #acc + '.', ''))", json!(5000)),
        ("len(split(letters, 'b'))", json!(10_001)),
        ("long matches '(?i)abc|b{2}' or long matches 'c$'", json!(false)),
        ("noise matches '(?:a|b|ab|ba|aba|bab){100}c'", json!(false)),
        ("count(texts, # matches `^0+\\d{3}$`)", json!(1000)),
        ("sortBy(texts, #, 'desc')[0]", json!("00000000000000019999")),
    ] {
        assert_eq!(value(text, &vars), Ok(expected), "{text}");
    }
}

#[test]
fn how_much_was_done_is_the_same_every_time() {
    let vars = json!({"L": [1, 2, 3]});
    let read = Expression::parse("sum(map(L, # * 2)) > 3").unwrap();
    let work = || read.truth(&|name| vars.get(name)).unwrap().work;
    assert_eq!((work(), work()), (work(), work()));
    assert!(work() > 10 && work() < 40, "{}", work());
}

#[test]
fn what_is_as_deep_as_can_be_read_is_evaluated_on_a_small_stack() {
    let deep = json!({"a": (0..90).fold(json!(1), |value, _| json!({"a": value})), "c": true, "l": [[[1]]]});
    let run = move || {
        for text in [
            format!("{}c{}", "(".repeat(48), ")".repeat(48)),
            format!("{}c", "!".repeat(80)),
            format!("{}c", "not (".repeat(47)) + &")".repeat(47),
            format!("{}1", "1 + ".repeat(80)),
            format!("{}1", "1 ** ".repeat(80)),
            format!("{}1", "nil ?? ".repeat(47)),
            format!("{}1", "c ? ".repeat(24)) + &" : 1".repeat(24),
            format!("a{}", ".a".repeat(90)),
            format!("{}1{}", "[".repeat(48), "]".repeat(48)),
            format!("{}1{}", "{a: ".repeat(48), "}".repeat(48)),
            format!("{}l{}", "map(".repeat(40), ", [#])".repeat(40)),
            "if c { ".repeat(40) + "1" + &" } else { 2 }".repeat(40),
        ] {
            assert!(value(&text, &deep).is_ok(), "{text}: {:?}", value(&text, &deep));
        }
        for text in [
            format!("{}c{}", "(".repeat(49), ")".repeat(49)),
            format!("{}c", "!".repeat(81)),
            format!("a{}", ".a".repeat(201)),
            "x".repeat(2_001),
        ] {
            assert!(value(&text, &deep).unwrap_err().contains("than"), "{text}");
        }
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn what_cannot_be_read_is_said_with_its_place_and_what_to_write() {
    for (text, parts) in [
        ("x = 1", ["before `= 1`", "write `==`"]),
        ("x > ", ["ends too early", "a value is missing"]),
        ("x >>>> 3", ["a value is missing", "before `>>> 3`"]),
        ("len(x", ["ends too early", "`,` is missing"]),
        ("x > 1)", ["before `)`", "a bracket too many"]),
        ("x adn y", ["before `adn y`", "did you mean `and`?"]),
        ("x startswith 'a'", ["an operator is missing", "did you mean `startsWith`?"]),
        ("lenn(x) > 1", ["no function `lenn`", "did you mean `len`?"]),
        ("x | filtre(# > 1)", ["no function `filtre`", "did you mean `filter`?"]),
        ("x.len() > 1", ["`len` is called as a method", "write `len(value)`"]),
        ("now().Hour() > 12", ["knows no clock", "`tool` node"]),
        ("'open", ["a text is not closed", "with '"]),
        ("'\\d'", ["no such escape", "`\\\\`"]),
        ("x & y", ["`&` means nothing", "write `and`"]),
        ("äpfel > 1", ["`ä` means nothing", "$env[\"…\"]"]),
        ("$env.x", ["$env[\"odd name\"]", "not a word"]),
        ("# > 1", ["`#` is an item", "known only in"]),
        ("map(l, #acc)", ["`#acc`", "`reduce`"]),
        ("map(l, #name)", ["no `#name`", "write `#.name`"]),
        ("any(l)", ["`any` takes a list", "what is true of an item"]),
        ("split(x)", ["`split` takes a text", "called with 1 value"]),
        ("99999999999999999999 > x", ["is too large", "9,223,372,036,854,775,807"]),
        ("x matches '('", ["`(` is not a regular expression", "unclosed group"]),
        ("x matches 'a{1000}{1000}{1000}'", ["regular expression", "too large"]),
        ("let = 1; x", ["`let` names a value", "before `= 1"]),
        ("/* open", ["comment is not closed", "*/"]),
        ("{a 1}", ["`:` is missing", "before `1}`"]),
        ("if x { 1 }", ["`else` is missing", "if a { b } else { c }"]),
    ] {
        let error = Expression::parse(text).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{text}: {error}");
    }
}

#[test]
fn only_what_is_about_nil_says_so() {
    let vars = json!({"x": 1, "s": "a", "list": [1, "a"]});
    for (text, expected, is_about_nil) in [
        ("missing > 3", "`>` takes two numbers or two texts, not nil and a number", true),
        ("missing.a", "`.a` takes an object before it, not nil", true),
        ("not missing", "`not` takes true or false, not nil", true),
        ("len(missing)", "`len` takes a list, a text or an object, not nil", true),
        ("sum(list, #.q)", "`.q` takes an object before it, not a number", false),
        ("x > s", "`>` takes two numbers or two texts, not a number and a text", false),
        ("join(list)", "`join` takes a list that holds texts only, not a number", false),
        ("any(x, # > 1)", "`any` takes a list and what is true of an item, `# > 1`, not a number", false),
        ("x % 0 == 1", "it divides by zero, with `%`", false),
        ("x + 1", "it is a number, neither true nor false", false),
    ] {
        let read = Expression::parse(text).unwrap();
        let error = read.truth(&|name| vars.get(name)).unwrap_err();
        assert_eq!((error.problem.as_str(), error.is_about_nil), (expected, is_about_nil), "{text}");
    }
}

#[test]
fn what_is_escaped_in_a_text_is_read_once() {
    for (text, expected) in [
        (r#"'it\'s'"#, "it's"),
        (r#""C:\\new""#, "C:\\new"),
        (r#""\u00e4\ud83d\ude00\/\b""#, "ä😀/\u{8}"),
        (r"`\d+`", r"\d+"),
    ] {
        assert_eq!(value(text, &json!({})), Ok(json!(expected)), "{text}");
    }
}

#[test]
fn names_are_those_of_variables_and_no_others() {
    let names = |text: &str| Expression::parse(text).unwrap().names().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(names("$env['odd name'] > x and x > notes"), ["odd name", "x", "notes"]);
    assert_eq!(names("let half = x / 2; map(list, {half: half, y: #.y})"), ["x", "list"]);
    assert_eq!(names("map(people, .name)"), ["people"]);
    assert_eq!(value("map(l, .a + 1)", &json!({"l": [{"a": 1}]})), Ok(json!([2])));
}

#[test]
fn texts_are_cut_and_searched_in_characters() {
    let vars = json!({"s": "äöü😀!"});
    for (text, expected) in [
        ("s[0:len(s)] == s", json!(true)),
        ("s[0:1]", json!("ä")),
        ("s[1:-2] + s[-1:] + s[:-9] + s[4:2] + s[3:99]", json!("öü!😀!")),
        ("indexOf(s, '😀')", json!(3)),
        ("lastIndexOf(s + 'ä', 'ä')", json!(5)),
        ("[indexOf(s, 'q'), lastIndexOf(s, 'q'), indexOf(s, '')]", json!([-1, -1, 0])),
        ("s[indexOf(s, '😀'):]", json!("😀!")),
    ] {
        assert_eq!(value(text, &vars), Ok(expected), "{text}");
    }
}

#[test]
fn a_text_that_is_split_at_nothing_gives_its_characters() {
    for (text, expected) in [
        ("split('äbc', '')", json!(["ä", "b", "c"])),
        ("split('', '')", json!([])),
        ("split('äbc', '', 2)", json!(["ä", "bc"])),
        ("split('abc', '', 0)", json!([])),
        ("split('abc', '', -1)", json!(["a", "b", "c"])),
        ("splitAfter('abc', '')", json!(["a", "b", "c"])),
        ("splitAfter('abc', '', 2)", json!(["a", "bc"])),
    ] {
        assert_eq!(value(text, &json!({})), Ok(expected), "{text}");
    }
}

#[test]
fn not_may_stand_before_every_operator_of_words_that_compares() {
    let vars = json!({"s": "abc", "l": [1, 2]});
    for (text, expected) in [
        ("s not contains 'q' and s not startsWith 'b' and s not endsWith 'b' and s not matches '^b'", true),
        (
            "s not contains 'b' or s not startsWith 'a' or s not endsWith 'c' or s not matches 'b' + '.'",
            false,
        ),
        ("3 not in l and l not contains 3", true),
        ("not (s not contains 'b')", true),
    ] {
        assert_eq!(value(text, &vars), Ok(json!(expected)), "{text}");
    }
    assert!(value("s not and s", &vars).is_err());
}

#[test]
fn a_number_that_is_infinite_or_none_is_an_error_where_a_variable_would_hold_it() {
    let vars = json!({"zero": 0});
    for text in
        ["5 / zero", "2.0 ** 1024", "1.5e308 * 10", "float('NaN')", "float('1e999')", "[1, {a: -5 / zero}]"]
    {
        let error = value(text, &vars).unwrap_err();
        assert!(error.contains("no variable can hold that"), "{text}: {error}");
    }
    assert_eq!(value("5 / zero > 3", &vars), Ok(json!(true)), "it may be compared");
}

#[test]
fn texts_are_repeated_and_written_for_other_programs_and_read_again() {
    let vars = json!({"x": {"b": [1, 2.5, null], "a": "\"é\u{1}"}, "text": "{\"z\": 1, \"a\": [true, {}]}"});
    for (text, expected) in [
        ("repeat('ab', 3)", json!("ababab")),
        ("repeat('ab', 0)", json!("")),
        ("toJSON(x)", json!("{\"a\":\"\\\"é\\u0001\",\"b\":[1,2.5,null]}")),
        ("toJSON({'b': 1, a: 2})", json!("{\"a\":2,\"b\":1}")),
        ("toJSON([])", json!("[]")),
        ("fromJSON(text)", json!({"z": 1, "a": [true, {}]})),
        ("fromJSON(text).a[0]", json!(true)),
        ("keys(fromJSON(text))", json!(["a", "z"])),
        ("fromJSON('18446744073709551615') > 1", json!(true)),
        ("fromJSON(toJSON(x)) == x", json!(true)),
        ("toBase64('Hello, é')", json!("SGVsbG8sIMOp")),
        ("fromBase64(toBase64('Hello, é'))", json!("Hello, é")),
    ] {
        assert_eq!(value(text, &vars), Ok(expected), "{text}");
    }
    for (text, problem) in [
        ("repeat('ab', -1)", "`repeat` takes a text, and how often"),
        ("repeat('ab', 1000000000)", "it does too much"),
        ("repeat('ab', 9223372036854775807)", "it does too much"),
        ("fromJSON('[1')", "`fromJSON` takes JSON in a text, and this is none: EOF"),
        ("fromJSON(repeat('[', 101) + repeat(']', 101))", "more than 100 deep"),
        ("fromJSON('[' + repeat('1,', 4000000) + '1]') == 1", "it does too much"),
        ("toJSON(1 / 0)", "an infinite number"),
        ("fromBase64('%')", "`fromBase64` takes Base64 in a text, not \"%\""),
        ("fromBase64('/w==')", "bytes that are no text"),
        ("toBase64(1)", "`toBase64` takes a text, not a number"),
    ] {
        let error = value(text, &vars).unwrap_err();
        assert!(error.contains(problem), "{text}: {error}");
    }
}
