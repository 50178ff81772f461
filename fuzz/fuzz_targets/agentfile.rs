//! Agentfiles: no text makes the parser, the checks or the formatter panic, and a formatted file means the same.
#![no_main]

use convoke::goals::agentfile::diagnostic::{Style, render, to_json};
use convoke::goals::agentfile::load::NoFiles;
use convoke::goals::agentfile::parser::parse;
use convoke::goals::agentfile::{Source, format, outline, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let source = Source::new("x.agent", text);
    let (file, diagnostics) = read(&source, &NoFiles);
    assert_eq!(file.is_some(), diagnostics.errors() == 0);
    let _ = render(&source, &diagnostics, Style { color: true, width: 80 });
    let _ = to_json(&source, &diagnostics);
    if let Some(file) = file {
        let drawn = outline::to_diagram(&file);
        let _ = (outline::to_text(&file), outline::to_json(&file), drawn.to_mermaid(), drawn.to_svg());
    }
    if let Ok(formatted) = format(text) {
        let ((before, _), (after, mistakes)) = (parse(text), parse(&formatted));
        assert_eq!(mistakes.errors(), 0, "{text:?} became {formatted:?}");
        assert_eq!(before, after, "{text:?} became {formatted:?}");
        assert_eq!(format(&formatted).as_deref(), Ok(formatted.as_str()), "{text:?}");
    }
});
