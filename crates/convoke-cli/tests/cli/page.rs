//! `convoke replay --html`

use convoke_core::{Answer, EffectKind, Message, Phase, Question, RunStatus};
use insta::assert_snapshot;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::examples::{crashed, failed, forked, letter, odd, refund, supervised};
use crate::journal::{Reply, Run};
use crate::place::{Place, stderr, stdout};

fn page(place: &Place, run: &str) -> String {
    let output = place.convoke(&["replay", run, "--html", "-"]);
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output)
}

/// What is between two marks.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    text.split_once(start).unwrap().1.split_once(end).unwrap().0
}

/// The page without our style, our script and the time it was made.
fn content(page: &str) -> String {
    // Drawings have tests of their own.
    let shown = |line: &str| match line
        .split_once("base64,")
        .and_then(|(head, tail)| Some((head, tail.split_once('"')?.1)))
    {
        Some((head, tail)) => format!("{head}base64,[DRAWING]\"{tail}\n"),
        None => format!("{line}\n"),
    };
    format!("{}</main>", between(page, "<body>\n", "</main>")).lines().map(shown).collect()
}

#[test]
fn a_page_has_the_run_its_steps_and_everything_that_happened() {
    let place = Place::with([letter(), supervised(), failed(), refund(), crashed(), forked()]);
    assert_snapshot!("page_letter", content(&page(&place, "letter-1")));
    assert_snapshot!("page_supervised", content(&page(&place, "report-4")));
    assert!(page(&place, "letter-2").contains("<span class=\"status bad\">failed</span>"));
    assert!(page(&place, "refund-7").contains("It waits for an answer: Refund order 17?"));
    assert!(page(&place, "payment-9").contains("<span class=\"fact caution\">in doubt</span>"));
    assert!(page(&place, "letter-1b").contains("forked from <code>letter-1</code> at #2"));
}

const EVIL: &str =
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\" onclick=\"x' {{items}} <!--";

/// A run with markup wherever a run can have text.
fn evil() -> Run {
    let path = "main/</span><img src=x onerror=alert(3)>\" onload=\"y";
    let mut run = Run::new("evil", EVIL);
    run.input = json!({EVIL: EVIL});
    run.made_of(json!({"name": "main", "kind": EVIL}))
        .model((path, 0), &[Message::system(EVIL), Message::user(EVIL)], Reply::text(EVIL).thinking(EVIL))
        .model((path, 1), &[Message::user(EVIL.repeat(60))], Reply::text(&EVIL.repeat(60)))
        .begin_tool((path, 2), EVIL, json!({EVIL: EVIL}))
        .end_tool_badly((path, 2), EVIL)
        .ask((path, 3), Question::choice(EVIL, [EVIL]).details(EVIL).about(json!(EVIL)))
        .answered((path, 3), Answer::choose(EVIL).by(EVIL))
        .entry(
            (path, 4),
            EffectKind::Custom,
            Phase::Finished,
            Some(json!({"name": EVIL, "request": EVIL})),
            Some(json!({"err": {"type": "failed", "message": EVIL, "category": "permanent"}})),
        )
        .ask((path, 5), Question::approval(EVIL))
        .ends(RunStatus::Failed, json!({"error": EVIL, "failed_at": [path], "state": {EVIL: EVIL}}))
}

/// Every tag of a page with the names of its attributes. Reads as strictly as a browser does leniently: whatever looks
/// like the beginning of a tag is one.
fn tags(page: &str) -> Vec<(String, Vec<String>)> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once('<') {
        let name: String = after.chars().take_while(|c| !c.is_whitespace() && *c != '>').collect();
        let mut attributes = Vec::new();
        rest = &after[name.len()..];
        loop {
            rest = rest.trim_start();
            let attribute: String =
                rest.chars().take_while(|c| !c.is_whitespace() && *c != '=' && *c != '>').collect();
            rest = &rest[attribute.len()..];
            if let Some(value) = rest.strip_prefix("=\"") {
                rest = value.split_once('"').unwrap().1;
            }
            if attribute.is_empty() {
                break;
            }
            attributes.push(attribute);
        }
        rest = rest.strip_prefix('>').unwrap_or_else(|| panic!("<{name} does not end: {:.80}", rest));
        tags.push((name, attributes));
    }
    tags
}

#[test]
fn nothing_a_run_has_in_it_becomes_markup() {
    let page = page(&Place::with([evil(), odd()]), "evil");
    let body = between(&page, "<body>\n", "<script>");
    let known = "header div h1 span p code dl dt dd small details summary pre nav ul li a svg rect/ main input button \
                 output ol time footer img";
    let attributes = "class hidden open aria-label aria-hidden aria-pressed role type id placeholder autocomplete \
                      spellcheck data-kind data-kinds data-path data-step href datetime title x width height src alt";
    assert_eq!(body.matches("<img").count(), body.matches("<img src=\"data:image/svg+xml;base64,").count());
    let mut seen = 0;
    for (name, named) in tags(body) {
        let name = name.trim_start_matches('/');
        assert!(known.split_whitespace().any(|known| known.trim_end_matches('/') == name), "<{name}>");
        for attribute in named {
            let attribute = attribute.trim_end_matches('/');
            assert!(
                attribute.is_empty() || attributes.split_whitespace().any(|known| known == attribute),
                "<{name} {attribute}>"
            );
        }
        seen += 1;
    }
    assert!(seen > 100, "{seen} tags");
    assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (1, 1));
    assert_eq!(page.matches("<!--").count(), 0);
    assert!(body.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
    assert!(body.contains("{{items}}"), "what looks like a place in the template stays text");
}

#[test]
fn the_policy_of_a_page_allows_our_style_script_and_drawing_and_nothing_else() {
    let page = page(&Place::with([letter()]), "letter-1");
    let policy = between(&page, "<meta http-equiv=\"Content-Security-Policy\" content=\"", "\">");
    let digest = |text: &str| {
        let bytes = Sha256::digest(text.as_bytes());
        bytes.iter().map(|byte| format!("{byte:08b}")).collect::<String>()
    };
    // Base64 is six bits a digit; the last digit of 32 bytes has four of them, and one sign fills it up.
    let bits = |source: &str| {
        let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let bits: String = source
            .trim_end_matches('=')
            .chars()
            .map(|digit| format!("{:06b}", digits.find(digit).unwrap()))
            .collect();
        bits[..256].to_owned()
    };
    let mut directives = policy.split("; ");
    assert_eq!(directives.next(), Some("default-src 'none'"));
    for (directive, start, end) in
        [("style-src", "<style>", "</style>"), ("script-src", "<script>", "</script>")]
    {
        let source = directives.next().unwrap().strip_prefix(directive).unwrap();
        let source = source.strip_prefix(" 'sha256-").unwrap().strip_suffix('\'').unwrap();
        assert_eq!(bits(source), digest(between(&page, start, end)), "{directive}");
    }
    assert_eq!(directives.collect::<Vec<_>>(), ["img-src data:", "base-uri 'none'", "form-action 'none'"]);
    let content = content(&page);
    assert!(!content.contains(" style=") && !content.contains(" on"), "nothing the policy would forbid");
    for address in ["http:", "https:", "src=", "url(", "@import"] {
        let ours =
            format!("{}{}", between(&page, "<style>", "</style>"), between(&page, "<script>", "</script>"));
        assert!(!ours.contains(address), "{address}");
    }
}

#[test]
fn a_page_is_written_to_a_file_and_replaces_only_pages() {
    let place = Place::with([letter()]);
    assert_snapshot!("page_written", place.seen(&["replay", "letter-1", "--html"]));
    let first = place.read("letter-1.html");
    assert!(first.starts_with("<!doctype html>\n") && first.ends_with("</html>\n"));
    assert!(place.convoke(&["replay", "letter-1", "--html"]).status.success(), "a page of ours is replaced");

    place.write("diary.html", "<p>Dear diary,");
    assert_snapshot!("page_refused", place.seen(&["replay", "letter-1", "--html", "diary.html"]));
    assert_eq!(place.read("diary.html"), "<p>Dear diary,");
    assert!(place.convoke(&["replay", "letter-1", "--html", "diary.html", "--force"]).status.success());
    assert!(place.read("diary.html").starts_with("<!doctype html>"));

    assert_snapshot!("page_folder", place.seen(&["replay", "letter-1", "--html", "."]));
    assert_snapshot!("page_nowhere", place.seen(&["replay", "letter-1", "--html", "no/such/folder.html"]));
    let files = std::fs::read_dir(place.path()).unwrap().map(|file| file.unwrap().file_name());
    let left: Vec<_> = files.filter(|name| name.to_string_lossy().starts_with('.')).collect();
    assert!(left.is_empty(), "nothing half written is left: {left:?}");
}

#[test]
fn a_page_may_have_a_part_of_a_run_only_and_says_so() {
    let place = Place::with([supervised()]);
    let page = stdout(&place.convoke(&["replay", "report-4", "--html", "-", "--kind", "tool"]));
    assert_eq!(page.matches("<li class=\"item ").count(), 1);
    assert!(page.contains("This page has a part of the run: 10 of 11 events were left out."));
    for anchor in page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(page.contains(&format!("id=\"{anchor}\"")), "{anchor} leads nowhere");
    }
}

#[test]
fn long_texts_are_folded_and_nothing_of_them_is_missing() {
    let long = "All work and no play. ".repeat(500);
    let run = Run::new("long", "essays").model(("main", 0), &[Message::user("Write.")], Reply::text(&long));
    let page = page(&Place::with([run]), "long");
    assert!(page.contains("<span class=\"more\">10,759 more characters</span>"), "{}", content(&page));
    assert!(page.contains(&format!("<pre>{}</pre></details>", long.trim_end())));
}
