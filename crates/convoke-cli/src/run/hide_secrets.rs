//! Takes secrets off the command line.
//!
//! Whoever is on this machine can read the command line of a process for as long as it lives, commands of the model included. What
//! stands there cannot be overwritten by safe code. So a process that was given a secret there starts itself again, as the same
//! process, with the secret in a pipe and the pipe's name in its place.

use convoke_goals::agentfile::model::Input;

use crate::failure::Failure;

/// What fits into a pipe that nobody reads yet.
#[cfg(unix)]
const ROOM: usize = 32 * 1024;

/// Starts this process again if the value of a secret stands on its command line; `inputs` are those of the command line.
/// `can_start_again` is false if something was read that cannot be read twice.
///
/// # Errors
/// If it cannot be started again: then nothing may go on.
pub(crate) fn take_secrets_off(
    inputs: &[String],
    wanted: &[Input],
    can_start_again: bool,
) -> Result<(), Failure> {
    let is_secret = |name: &str| wanted.iter().any(|input| input.secret && input.name == name.trim());
    let shown: Vec<(&str, &str)> = inputs
        .iter()
        .filter_map(|input| input.split_once('='))
        .filter(|(name, value)| is_secret(name) && (!value.starts_with('@') || value.starts_with("@@")))
        .collect();
    let Some((name, _)) = shown.first() else { return Ok(()) };
    let why = match can_start_again {
        true => start_again(&shown),
        false => "the file comes on standard input, which cannot be read twice".to_owned(),
    };
    Err(Failure::usage(format!(
        "the secret `{name}` cannot be given on the command line, where others can read it: {why}"
    ))
    .hint(format!("give a file that has it, `-i {name}=@FILE`, or standard input, `-i {name}=@-`")))
}

/// Comes back only if it cannot be done, with the reason.
#[cfg(unix)]
fn start_again(shown: &[(&str, &str)]) -> String {
    use std::ffi::OsString;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::process::CommandExt;

    let mut words: Vec<OsString> = std::env::args_os().collect();
    // Open until the process is another one: whoever opens a pipe by its name needs it to be there.
    let mut pipes = Vec::new();
    for (name, value) in shown {
        let written = format!("{name}={value}");
        let value = value.strip_prefix('@').unwrap_or(value);
        if value.len() > ROOM {
            return format!("it has more than {} KiB", ROOM / 1024);
        }
        let filled = std::io::pipe().and_then(|(reader, mut writer)| {
            writer.write_all(value.as_bytes())?;
            // The copy stays open in the process that this one becomes.
            Ok(rustix::io::dup(&reader)?)
        });
        let pipe = match filled {
            Ok(pipe) => pipe,
            Err(error) => return error.to_string(),
        };
        let elsewhere = format!("{name}=@/dev/fd/{}", pipe.as_raw_fd());
        pipes.push(pipe);
        for word in &mut words {
            // By itself, or behind an option: `-ikey=…`, `--input=key=…`.
            let before = word.to_str().and_then(|word| word.strip_suffix(&written));
            if let Some(before) = before.filter(|before| before.is_empty() || before.starts_with('-')) {
                *word = format!("{before}{elsewhere}").into();
            }
        }
    }
    let mut words = words.into_iter();
    let own = std::env::current_exe();
    let (Ok(program), Some(name)) = (own, words.next()) else {
        return "it is not known which program this is".to_owned();
    };
    std::process::Command::new(program).arg0(name).args(words).exec().to_string()
}

#[cfg(not(unix))]
fn start_again(_: &[(&str, &str)]) -> String {
    "this system has no other way".to_owned()
}
