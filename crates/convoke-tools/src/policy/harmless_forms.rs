//! Harmless forms of programs on the built-in lists: those that only look, or stay where the sandbox keeps them.
//!
//! The lists name programs as a whole, because most of what `mount` or `curl` do is what they are on a list for. What is known
//! to be harmless is excepted here, one form at a time: anything else that such a command has in it makes it what the list says.
//! A rule in a file is about all forms.

use std::net::IpAddr;

use super::shell::{Word, base};

/// Whether a command on a built-in list is one of its harmless forms.
pub(super) fn only_looks(words: &[Word]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let Some(program) = program.fixed().map(base) else { return false };
    if program == "kill" {
        return signals_own_jobs(arguments);
    }
    let texts: Option<Vec<&str>> = arguments.iter().map(Word::fixed).collect();
    let is_restore = program == "git" && arguments.first().and_then(Word::fixed) == Some("restore");
    let Some(texts) = texts else { return is_restore && only_unstages(arguments) };
    if matches!(texts[..], ["--version" | "--help"]) {
        return true;
    }
    match program {
        "mount" => options_and(&texts, &["-l", "-v"], &["-t"]).is_some_and(|rest| rest.is_empty()),
        "ifconfig" => matches!(texts[..], [] | ["-a"]),
        "route" => matches!(texts[..], [] | ["-n"]),
        "sysctl" => {
            let named = options_and(&texts, &["-a", "-n", "-e", "-N"], &[]);
            named.is_some_and(|names| names.iter().all(|name| !name.contains('=')))
        }
        "ip" => shows_addresses(&texts),
        "dpkg" => matches!(
            texts.first(),
            Some(&("-l" | "-L" | "-s" | "-S" | "--list" | "--status" | "--print-architecture"))
        ),
        "rpm" => texts.first().is_some_and(|first| first.starts_with("-q") || *first == "--query"),
        "dd" => copies_a_file(&texts),
        "curl" => is_local(options_and(&texts, CURL_FLAGS, CURL_VALUES)),
        "wget" => {
            is_local(options_and(&texts, &["-q", "-S", "-nv", "--spider", "-qO-"], &["-O", "-T", "-t"]))
        }
        "nc" | "ncat" | "netcat" => options_and(&texts, &["-z", "-v", "-vz", "-zv", "-N", "-q0"], &["-w"])
            .is_some_and(|rest| rest.len() == 2 && is_this_machine(rest[0])),
        "ping" => is_local(options_and(&texts, &["-q", "-n", "-c1"], &["-c", "-w", "-W", "-i"])),
        "git" if is_restore => only_unstages(arguments),
        _ => false,
    }
}

const CURL_FLAGS: &[&str] = &[
    "-s",
    "-S",
    "-sS",
    "-f",
    "-sf",
    "-fs",
    "-sSf",
    "-fsS",
    "-i",
    "-I",
    "-si",
    "-sI",
    "-v",
    "-sv",
    "-k",
    "-N",
    "-g",
    "-G",
    "--silent",
    "--show-error",
    "--fail",
    "--include",
    "--head",
    "--verbose",
    "--compressed",
    "--no-progress-meter",
    "--retry-connrefused",
];
const CURL_VALUES: &[&str] = &[
    "-X",
    "-d",
    "-H",
    "-o",
    "-w",
    "-m",
    "-u",
    "-F",
    "-A",
    "--request",
    "--data",
    "--data-raw",
    "--data-binary",
    "--json",
    "--header",
    "--output",
    "--write-out",
    "--max-time",
    "--connect-timeout",
    "--retry",
    "--retry-delay",
    "--form",
    "--user",
];

/// What is left beside options, if all of them are among these.
fn options_and<'w>(texts: &[&'w str], flags: &[&str], with_value: &[&str]) -> Option<Vec<&'w str>> {
    let mut rest = Vec::new();
    let mut texts = texts.iter();
    while let Some(text) = texts.next() {
        let name = text.split_once('=').filter(|_| text.starts_with("--")).map_or(*text, |(name, _)| name);
        if flags.contains(text) {
            continue;
        } else if with_value.contains(&name) {
            if name.len() == text.len() {
                texts.next()?;
            }
        } else if text.starts_with('-') && text.len() > 1 {
            return None;
        } else {
            rest.push(*text);
        }
    }
    Some(rest)
}

/// Whether there are addresses, all of this machine.
fn is_local(addresses: Option<Vec<&str>>) -> bool {
    addresses.is_some_and(|all| !all.is_empty() && all.iter().all(|address| is_this_machine(address)))
}

fn is_this_machine(address: &str) -> bool {
    let whole = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
    // Braces and brackets are several addresses to curl.
    if address.contains(['{', '}', '\\', '@']) {
        return false;
    }
    let Ok(url) = url::Url::parse(&whole) else { return false };
    let loopback = |address: IpAddr| address.is_loopback() || address.is_unspecified();
    match url.host() {
        _ if !matches!(url.scheme(), "http" | "https") => false,
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => loopback(address.into()),
        Some(url::Host::Ipv6(address)) => loopback(address.into()),
        None => false,
    }
}

/// `ip -br addr show dev lo`
fn shows_addresses(texts: &[&str]) -> bool {
    const FLAGS: &[&str] = &[
        "-4", "-6", "-br", "-brief", "-j", "-json", "-p", "-pretty", "-c", "-color", "-s", "-d", "-o",
        "-oneline",
    ];
    let mut rest = texts.iter().skip_while(|text| FLAGS.contains(*text));
    let object = rest.next().is_some_and(|object| {
        matches!(
            *object,
            "a" | "addr" | "address" | "l" | "link" | "r" | "route" | "n" | "neigh" | "rule" | "maddr"
        )
    });
    object && rest.next().is_none_or(|verb| matches!(*verb, "show" | "list" | "ls" | "sh" | "get"))
}

/// `dd` from anything into a file below where it is started, or into nothing.
fn copies_a_file(texts: &[&str]) -> bool {
    const KNOWN: &[&str] =
        &["if", "of", "bs", "ibs", "obs", "count", "skip", "seek", "iflag", "oflag", "conv", "status"];
    let below = |path: &str| {
        path == "/dev/null" || !(path.starts_with(['/', '~']) || path.split('/').any(|name| name == ".."))
    };
    !texts.is_empty()
        && texts.iter().all(|text| {
            text.split_once('=')
                .is_some_and(|(name, value)| KNOWN.contains(&name) && (name != "of" || below(value)))
        })
}

/// `kill %1`, `kill -TERM "$!"`, `kill -0 $pid`: the shell's own jobs, and what a variable of it names. By its number a process may be
/// anybody's.
fn signals_own_jobs(arguments: &[Word]) -> bool {
    let signal = |text: &str| {
        text.strip_prefix('-').is_some_and(|name| {
            !name.is_empty()
                && (name.bytes().all(|byte| byte.is_ascii_uppercase())
                    || matches!(name, "0" | "2" | "3" | "6" | "9" | "15"))
        })
    };
    let rest = match arguments.first().and_then(Word::fixed) {
        Some("-l" | "-L") => return true,
        Some("-s" | "-n") => arguments.get(2..).unwrap_or_default(),
        Some(first) if signal(first) => &arguments[1..],
        _ => arguments,
    };
    let own = |word: &Word| match word.fixed() {
        Some(text) => text.starts_with('%') || text == "--",
        None => word.known().is_empty(),
    };
    !rest.is_empty() && rest.iter().all(own)
}

/// `git restore --staged .` leaves files as they are.
fn only_unstages(arguments: &[Word]) -> bool {
    let has = |names: &[&str]| arguments.iter().any(|word| names.contains(&word.known()));
    has(&["--staged", "-S"]) && !has(&["--worktree", "-W", "-SW", "-WS"])
}
