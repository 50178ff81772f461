//! Replies cleaned and checked: wrappings taken off, empty ones and those that repeat how the prompt was put found.
//!
//! Small models do both. Asking the same again gets the same; being told what was wrong helps most of them.

use crate::context::Fence;
use crate::context::convergence::{ConvergenceVerdict, verdict};
use crate::rules::Rules;
use crate::supervise::Product;

/// A reply without what belongs to the prompt and not to the answer: our marks, and a frame around the whole that says it is text.
pub(super) fn readable(text: &str, fence: &Fence, rules: Rules) -> String {
    let text = match rules.take_out_all_marks() {
        true => fence.without_repeated_marks(text),
        false => without_lines_of_marks(text, fence),
    };
    unframed(&text).unwrap_or(text)
}

fn without_lines_of_marks(text: &str, fence: &Fence) -> String {
    let marked = |line: &&str| fence.is_mark(line.trim());
    match text.lines().any(|line| marked(&line)) {
        true => text.lines().filter(|line| !marked(line)).collect::<Vec<_>>().join("\n"),
        false => text.to_owned(),
    }
}

/// What stands in a frame of back quotes that is the whole text, if the frame says that it is text.
fn unframed(text: &str) -> Option<String> {
    let inner = text.trim().strip_prefix("```")?.strip_suffix("```")?;
    let (kind, inner) = inner.split_once('\n')?;
    let is_text = matches!(kind.trim(), "text" | "plaintext" | "markdown" | "md");
    (is_text && !inner.contains("```")).then(|| inner.trim_end().to_owned())
}

/// What to say about a reply that is no answer; nothing if it is one. Nor if tools were called on the way: whoever begins anew
/// knows nothing of that, and would do it again.
pub(super) fn no_answer(product: &Product, converging: bool) -> Option<&'static str> {
    let text = product.text.trim();
    if product.incomplete.is_some()
        || !product.tools.is_empty()
        || (converging && matches!(verdict(text), ConvergenceVerdict::Converged { .. }))
    {
        return None;
    }
    if text.is_empty() {
        return Some("\n\nYour last reply was empty. Give the result now.");
    }
    repeats_prompt(text).then_some(
        "\n\nYour last reply repeated this request instead of answering it. Give only the result, in your own words.",
    )
}

/// Whether a reply has lines that only prompts have.
pub(super) fn repeats_prompt(text: &str) -> bool {
    const LINES: [&str; 4] =
        ["<current-goal id=", "<workflow name=", "<task role=", "<convergence-instruction>"];
    text.lines().any(|line| LINES.iter().any(|tag| line.trim_start().starts_with(tag)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Product {
        Product { text: text.to_owned(), ..Product::default() }
    }

    #[test]
    fn marks_and_a_frame_that_says_text_are_not_part_of_the_answer() {
        let fence = Fence::new(7);
        let readable = |text: &str| readable(text, &fence, Rules::CURRENT);
        assert_eq!(readable(&fence.wrap("9:00 mail")), "9:00 mail");
        assert_eq!(readable("```plaintext\n9:00 mail\n```"), "9:00 mail");
        for whole in ["9:00 mail", "```python\nprint()\n```", "```text\na\n```\nand\n```text\nb\n```"] {
            assert_eq!(readable(whole), whole);
        }
    }

    #[test]
    fn marks_are_taken_out_wherever_they_stand_and_runs_that_began_before_keep_theirs() {
        let (fence, old) = (Fence::new(7), serde_json::from_str("5").unwrap());
        let said =
            format!("  {}  {}\nas 0000000000000007 says", fence.wrap("9:00 mail"), fence.wrap("10:00 tea"));
        let clean = readable(&said, &fence, Rules::CURRENT);
        assert_eq!(clean.trim(), "9:00 mail\n  \n10:00 tea\nas (mark) says");
        let shape = r#"{"plan":"[data 0000000000000007] 9:00 mail [end 0000000000000007]"}"#;
        assert_eq!(readable(shape, &fence, Rules::CURRENT), r#"{"plan":" 9:00 mail "}"#);
        assert_eq!(readable(shape, &fence, old), shape);
    }

    #[test]
    fn what_is_empty_or_repeats_the_prompt_is_no_answer() {
        assert!(no_answer(&said(" \n"), false).is_some());
        assert!(no_answer(&said("<workflow name=\"x\">\nGo"), false).is_some());
        assert!(
            no_answer(&said("[workflow]\n<current-goal id=\"plan\">\nGo\n</current-goal>"), true).is_some()
        );
        assert!(no_answer(&said("<b>9:00</b> mail"), false).is_none());
        assert!(no_answer(&said("CONVERGED"), true).is_none(), "whoever improves may say nothing else");
        let cut = Product { incomplete: Some("its time was up".to_owned()), ..Product::default() };
        assert!(no_answer(&cut, false).is_none());
        let acted = Product { tools: vec!["bash".to_owned()], ..Product::default() };
        assert!(no_answer(&acted, false).is_none(), "it would act again");
    }
}
