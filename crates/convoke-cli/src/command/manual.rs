//! `convoke completions`, `convoke man`

use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;
use serde_json::json;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::terminal::{Output, Rich, Tone};

/// Prints what completes commands in this shell.
pub(crate) fn completions(shell: Shell, output: &mut Output) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "convoke", &mut script);
    output.block(&String::from_utf8_lossy(&script))
}

/// Prints the manual page of the program, or writes those of all its commands into a folder.
pub(crate) fn man(folder: Option<&Path>, output: &mut Output) -> Result<(), Failure> {
    let command = Arguments::command();
    let Some(folder) = folder else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        return output.block(&String::from_utf8_lossy(&page));
    };
    let failed = |error| Failure::failed(format!("{} cannot be written: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(command, folder).map_err(failed)?;
    let line = Rich::new(Tone::Good, "wrote").with(Tone::Plain, format!(" {}/convoke*.1", folder.display()));
    output.give(&json!({"written": folder}), line)
}
