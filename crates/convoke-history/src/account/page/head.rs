//! The head of the page: what the run is.

use convoke_core::{RunStatus, Timestamp};

use super::html::Html;
use crate::account::Gist;
use crate::{DisplayStatus, History, Tone, human, run_duration};

/// The name, the status and the sums of a run.
pub(super) fn head(history: &History, gist: &Gist, now: Timestamp) -> String {
    let record = &history.record;
    let mut html = Html::default();
    html.raw("<div class=\"name\">").tagged("h1", "", &record.workflow);
    let status = DisplayStatus::of(record);
    html.raw("<span class=\"status ").raw(status.tone().name()).raw("\">");
    html.text(&status.name().replace('_', " ")).raw("</span></div>\n");
    html.raw("<p class=\"which\">run <code>").text(record.id.as_str()).raw("</code>, version ");
    html.text(&record.version.to_string());
    if let Some(fork) = &record.forked_from {
        html.raw(", forked from <code>")
            .text(fork.run.as_str())
            .raw("</code> at ")
            .text(&format!("#{}", fork.at));
    }
    html.raw("</p>\n<dl class=\"sums\">\n");
    for (label, value, note) in sums(history, gist, now) {
        html.raw("<div>").tagged("dt", "", label).raw("<dd>").text(&value);
        if !note.is_empty() {
            html.raw(" ").tagged("small", "", &note);
        }
        html.raw("</dd></div>\n");
    }
    html.raw("</dl>\n");
    ending(history, &mut html);
    texts(gist, &mut html);
    html.done()
}

fn sums(history: &History, gist: &Gist, now: Timestamp) -> Vec<(&'static str, String, String)> {
    let (record, spent) = (&history.record, history.spent());
    let usage = &spent.usage;
    let mut sums = vec![("started", human::moment(record.created), String::new())];
    if let Some(duration) = run_duration(record, now) {
        let label = if record.status == RunStatus::Running { "running for" } else { "took" };
        let again = match gist.times_taken_up(record) {
            0 | 1 => String::new(),
            times => format!("taken up {}", human::count(times, "time")),
        };
        sums.push((label, human::duration(duration), again));
    }
    sums.push(("model calls", spent.model_calls.to_string(), history.models().join(", ")));
    let parts = [
        (usage.cached_input_tokens, "cached"),
        (usage.cache_write_tokens, "written to the cache"),
        (usage.reasoning_tokens, "thinking"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", human::tokens(count)))
        .collect();
    let (read, written) = (human::tokens(usage.input_tokens), human::tokens(usage.output_tokens));
    let both = format!("{}{read} in, {written} out", human::about(usage));
    sums.push(("tokens", both, parts.join(", ")));
    match (&*human::spent_cost(&spent), spent.unpriced_calls) {
        ("", _) => {}
        (human::UNKNOWN, _) => sums.push(("cost", "unknown".to_owned(), String::new())),
        (cost, 0) => sums.push(("cost", cost.to_owned(), String::new())),
        (cost, unpriced) => sums.push((
            "cost",
            cost.to_owned(),
            format!("{} without a price", human::count(unpriced, "call")),
        )),
    }
    sums.push(("tool calls", spent.tool_calls.to_string(), String::new()));
    if spent.failures > 0 {
        sums.push(("failures", spent.failures.to_string(), String::new()));
    }
    sums
}

/// Why the run did not complete, or what it waits for.
fn ending(history: &History, html: &mut Html) {
    let record = &history.record;
    if let Some(error) = history.ending.as_ref().and_then(|ending| ending.error.as_ref()) {
        html.raw("<p class=\"ending ")
            .raw(Tone::of(record.status).name())
            .raw("\">")
            .text(error)
            .raw("</p>\n");
    }
    if record.status == RunStatus::Running && record.holder.is_none() {
        html.raw("<p class=\"ending caution\">It is said to be running, but nobody is working on it.</p>\n");
    }
    for open in &history.questions {
        html.raw("<p class=\"ending caution\">It waits for an answer: ")
            .text(&open.pending.question.title)
            .raw("</p>\n");
    }
}

/// What it was given, and what it came to.
fn texts(gist: &Gist, html: &mut Html) {
    for block in gist.inputs_blocks().iter().chain(&gist.result_block()) {
        html.raw("<details class=\"state\" open>").tagged("summary", "", block.label());
        html.pre(block.text()).raw("</details>\n");
    }
}
