//! Reports as JUnit XML, which continuous integration knows how to show.

use crate::report::{Report, RunReport, ScenarioReport};

/// The report as JUnit XML: one case for each run of a scenario. A scenario of which enough runs passed has no failures.
#[must_use]
pub fn junit(report: &Report) -> String {
    let runs =
        || report.scenarios.iter().flat_map(|scenario| scenario.runs.iter().map(move |run| (scenario, run)));
    let failures = runs().filter(|(scenario, run)| counts(scenario, run)).count();
    let seconds: f64 = runs().map(|(_, run)| run.seconds).sum();
    let counts_text = format!("tests=\"{}\" failures=\"{failures}\" time=\"{seconds:.3}\"", runs().count());
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    xml.push_str(&format!("<testsuites {counts_text}>\n"));
    xml.push_str(&format!("  <testsuite name=\"{}\" {counts_text}>\n", escaped(&report.file)));
    for scenario in &report.scenarios {
        for (number, run) in scenario.runs.iter().enumerate() {
            case(&mut xml, scenario, number, run);
        }
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

/// Whether a run makes its scenario fail: it failed itself, or something held in too few of all runs.
fn counts(scenario: &ScenarioReport, run: &RunReport) -> bool {
    !scenario.passed && (!run.passed || scenario.runs.iter().all(|run| run.passed))
}

fn case(xml: &mut String, scenario: &ScenarioReport, number: usize, run: &RunReport) {
    let name = match scenario.runs.len() {
        1 => scenario.name.clone(),
        _ => format!("{} #{}", scenario.name, number + 1),
    };
    xml.push_str(&format!(
        "    <testcase name=\"{}\" classname=\"{}\" time=\"{:.3}\">\n",
        escaped(&name),
        escaped(&scenario.file),
        run.seconds
    ));
    if counts(scenario, run) {
        let lines: Vec<String> =
            run.failures().map(|failure| failure.line()).chain(scenario.held_too_rarely()).collect();
        let first = lines.first().map_or("it did not pass", String::as_str);
        xml.push_str(&format!("      <failure message=\"{}\">", escaped(first)));
        xml.push_str(&escaped(&lines.join("\n")));
        xml.push_str("</failure>\n");
    }
    let notes: String = run.notes.iter().map(|note| format!("\nnote: {note}")).collect();
    xml.push_str(&format!(
        "      <system-out>run {}</system-out>\n",
        escaped(&format!("{}{notes}", run.run))
    ));
    xml.push_str("    </testcase>\n");
}

/// A text as XML has it. What no XML can hold is left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(letter),
            '\u{fffe}' | '\u{ffff}' => {}
            letter if letter.is_control() => {}
            letter => escaped.push(letter),
        }
    }
    escaped
}
