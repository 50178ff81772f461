//! Tests of prices.

use convoke_core::{Money, Price, Usage};
use convoke_models::PriceTable;
use convoke_models::price::PriceError;

fn micros(price: Price) -> [u64; 4] {
    [price.input, price.output, price.cached_input, price.cache_write].map(Money::as_micros)
}

#[test]
fn the_table_that_is_built_in_can_be_read_and_is_dated() {
    let prices = PriceTable::builtin();
    let quote = prices.quote("anthropic/claude-sonnet-4-5-20250929").unwrap();
    assert_eq!(quote.pattern, "anthropic/claude-sonnet-4-5");
    assert_eq!(quote.as_of.as_deref(), Some("2026-11-15"));
    assert_eq!(micros(quote.price), [3_000_000, 15_000_000, 300_000, 3_750_000]);
    let usage = Usage { cached_input_tokens: 900_000, ..Usage::tokens(1_000_000, 10_000) };
    assert_eq!(quote.price.of(&usage), Money::from_cents(30 + 27 + 15));
}

#[test]
fn every_provider_with_prices_has_some() {
    let prices = PriceTable::builtin();
    for model in [
        "anthropic/claude-opus-5-5",
        "anthropic/claude-haiku-4-5-20251001",
        "openai/gpt-5-mini-2025-08-07",
        "openai/gpt-4o",
        "openai/text-embedding-3-small",
        "gemini/gemini-2.5-pro",
        "gemini/gemini-2.5-flash-001",
        "gemini/gemini-embedding-001",
    ] {
        let price = prices.price(model).unwrap_or_else(|| panic!("{model} has no price"));
        assert!(price.input > Money::ZERO && price.cached_input <= price.input, "{model}: {price:?}");
    }
}

#[test]
fn what_is_not_known_is_unknown_and_not_free() {
    let prices = PriceTable::builtin();
    for model in [
        "anthropic/claude-opus-99",
        "anthropic/claude-opus-5-turbo",
        "anthropic/claude-opus-5-99",
        "openai/gpt-5-mega",
        "openai/gpt-5-mini-high",
        "compatible/gpt-5",
        "gpt-5",
        "local",
        "",
    ] {
        assert_eq!(prices.price(model), None, "{model}");
    }
    for model in ["local/smollm2", "ollama/llama3:8b", "local/"] {
        assert_eq!(prices.price(model), Some(Price::FREE), "{model}");
    }
}

#[test]
fn a_short_name_is_not_mistaken_for_a_longer_one() {
    let prices = PriceTable::builtin();
    let of = |model| micros(prices.price(model).unwrap())[0];
    assert_eq!(of("anthropic/claude-opus-5"), 5_000_000);
    assert_eq!(of("anthropic/claude-opus-5-5"), 4_000_000);
    assert_eq!(of("openai/gpt-5"), 1_250_000);
    assert_eq!(of("openai/gpt-5-latest"), 1_250_000);
    assert_eq!(of("openai/gpt-5-nano"), 50_000);
}

#[test]
fn the_longest_name_that_fits_is_taken() {
    let table = PriceTable::parse(
        r#"
        [prices]
        "a/*" = { input = 1, output = 1 }
        "a/big*" = { input = 2, output = 2 }
        "a/big-one" = { input = 3, output = 3 }
        "a/big-one*" = { input = 4, output = 4 }
        "a/big-one-2*" = { input = 5, output = 5 }
        "#,
    )
    .unwrap();
    let of = |model| micros(table.price(model).unwrap())[0] / 1_000_000;
    assert_eq!([of("a/x"), of("a/bigger"), of("a/big-one"), of("a/big-one-more")], [1, 2, 3, 4]);
    assert_eq!([of("a/big-one-latest"), of("a/big-one-20250101")], [3, 5]);
    assert_eq!(table.quote("a/x").unwrap().as_of, None);
}

#[test]
fn what_costs_nothing_extra_costs_what_input_costs() {
    let table = PriceTable::parse("[prices]\n\"a/b\" = { input = 0.005, output = 2 }").unwrap();
    assert_eq!(micros(table.price("a/b").unwrap()), [5_000, 2_000_000, 5_000, 5_000]);
}

#[test]
fn a_table_laid_over_another_goes_first_even_where_it_says_less() {
    let ours = PriceTable::parse(
        r#"
        as_of = 2027-01-01
        [prices]
        "anthropic/*" = { input = 1, output = 2 }
        "openai/gpt-5" = "unknown"
        "#,
    )
    .unwrap();
    let prices = PriceTable::builtin().overridden_by(ours);
    let quote = prices.quote("anthropic/claude-opus-5").unwrap();
    assert_eq!((micros(quote.price)[0], quote.as_of.as_deref()), (1_000_000, Some("2027-01-01")));
    assert_eq!(prices.price("openai/gpt-5-2025-08-07"), None);
    assert_eq!(prices.quote("openai/gpt-5-mini").unwrap().as_of.as_deref(), Some("2026-11-15"));
    let again = prices.overridden_by(PriceTable::parse("[prices]\n\"openai/gpt-5\" = \"free\"").unwrap());
    assert_eq!(again.price("openai/gpt-5"), Some(Price::FREE));
}

#[test]
fn what_is_wrong_is_said_with_line_key_and_remedy() {
    let told = |text: &str| PriceTable::parse(text).unwrap_err().to_string();
    let cases = [
        ("as_of = 2026-11-15\nprice = {}", "line 2: unknown key `price`; did you mean `prices`?"),
        ("\nnotes = 1", "line 2: unknown key `notes`; known keys are `as_of`, `prices`"),
        ("as_of = 'today'\n[prices]", "line 1: `as_of` is 'today'; write a day, such as 2026-11-15"),
        (
            "as_of = 2026-11-15T00:00:00Z\n[prices]",
            "line 1: `as_of` is 2026-11-15T00:00:00Z; write a day, such as 2026-11-15",
        ),
        ("as_of = 2026-11-15", "line 1: `prices` is missing; write a table: [prices]"),
        ("prices = 3", "line 1: `prices` is 3; write a table: [prices]"),
        (
            "[prices]\n\n\"a/b\" = { input = 1, ouput = 2 }",
            "line 3: unknown key `prices.\"a/b\".ouput`; did you mean `prices.\"a/b\".output`?",
        ),
        (
            "[prices]\n\"a/b\" = { input = 1 }",
            "line 2: `prices.\"a/b\".output` is missing; write dollars per million tokens, such as 3 or 0.25",
        ),
        (
            "[prices]\n\"a/b\" = { input = -1, output = 1 }",
            "line 2: `prices.\"a/b\".input` is -1; write dollars per million tokens, such as 3 or 0.25",
        ),
        (
            "[prices.\"a/b\"]\ninput = 1\noutput = '$2'",
            "line 3: `prices.\"a/b\".output` is '$2'; write dollars per million tokens, such as 3 or 0.25",
        ),
        (
            "[prices]\n\"a/b\" = inf",
            "line 2: `prices.\"a/b\"` is inf; write { input = 3, output = 15 }, \"free\" or \"unknown\"",
        ),
        (
            "[prices]\ngpt = 'free'",
            "line 2: `gpt` is not a model's name; put the provider and a slash before it, as in \"anthropic/claude-opus-5\"",
        ),
        (
            "[prices]\n'a/' = 'free'",
            "line 2: `a/` is not a model's name; put the model after the slash, or a `*` for all of them",
        ),
        (
            "[prices]\n'a/*b' = 'free'",
            "line 2: `a/*b` is not a model's name; a `*` can stand at the end only",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(told(text), expected);
    }
    assert!(
        told("[prices]\n\"a/b\" = { input = 1 }\n\"a/b\" = 2")
            .starts_with("line 3: the price table is not valid TOML: ")
    );
    assert!(matches!(PriceTable::parse("x ="), Err(PriceError::Syntax { line: 1, .. })));
}
