//! Asks for confirmation before something is deleted.

use convoke_text::shell_quoted;
use std::io::{self, IsTerminal};

use crate::failure::{Exit, Failure};
use crate::run::Keyboard;
use crate::session::Session;

/// Asks whoever is at the terminal. Where nobody is, nothing is done, and the line that asks nothing is given.
pub(super) async fn confirm(session: &mut Session<'_>, question: &str) -> Result<(), Failure> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        let words: Vec<String> = std::env::args().skip(1).map(|word| shell_quoted(&word)).collect();
        return Err(Failure::usage(format!(
            "{question} Nobody is at a terminal to say so, and nothing was done"
        ))
        .hint(format!("`convoke {} --yes` asks nothing", words.join(" "))));
    }
    session.output.flush()?;
    let answer = Keyboard::default().line_after_seeing(&format!("{question} [y/N] ")).await;
    match answer.as_deref().map(str::trim) {
        Some("y" | "Y" | "yes" | "Yes") => Ok(()),
        _ => {
            session.output.note("nothing was done");
            Err(Failure::Ended(Exit::Failed))
        }
    }
}
