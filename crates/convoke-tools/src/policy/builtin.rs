//! Built-in rules for commands, which hold when the file does not say otherwise.
//!
//! The sandbox already keeps commands from the network and from everything outside the workspace. These rules are for what
//! a person would want to know before, and so that a model reads a reason at once instead of puzzling over a failure.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::command::CommandPattern;
use super::pattern::PatternText;
use super::{PolicyOutcome, shell};

/// The reason why a command is on the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BuiltInReason {
    Network,
    Privileges,
    Machine,
    Installs,
    Disk,
    CannotBeUndone,
}

impl BuiltInReason {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Network => "it talks to other machines",
            Self::Privileges => "it takes on another user's rights",
            Self::Machine => "it changes this machine, not the workspace",
            Self::Installs => "it installs software for more than the workspace",
            Self::Disk => "it overwrites data without a way back",
            Self::CannotBeUndone => "it cannot be undone",
        }
    }
}

pub(super) struct BuiltIn {
    pub(super) written: PatternText,
    pub(super) pattern: CommandPattern,
    pub(super) outcome: PolicyOutcome,
    pub(super) why: BuiltInReason,
}

const NETWORK: &[&str] = &[
    "curl",
    "wget",
    "aria2c",
    "nc",
    "ncat",
    "netcat",
    "socat",
    "telnet",
    "ftp",
    "tftp",
    "sftp",
    "ssh",
    "scp",
    "rsync",
    "lynx",
    "links",
    "w3m",
    "httpie",
    "http",
    "https",
    "nmap",
    "ping",
    "dig",
    "nslookup",
    "host",
    "whois",
    "tcpdump",
    "ssh-copy-id",
    "mosh",
    "rclone",
    "ngrok",
];
const PRIVILEGES: &[&str] =
    &["sudo", "su", "doas", "pkexec", "runuser", "setcap", "chroot", "nsenter", "unshare", "capsh"];
const MACHINE: &[&str] = &[
    "systemctl",
    "service",
    "systemd-run",
    "mount",
    "umount",
    "reboot",
    "shutdown",
    "halt",
    "poweroff",
    "init",
    "telinit",
    "insmod",
    "modprobe",
    "rmmod",
    "sysctl",
    "iptables",
    "ip6tables",
    "nft",
    "ufw",
    "ifconfig",
    "ip",
    "route",
    "useradd",
    "usermod",
    "userdel",
    "adduser",
    "deluser",
    "groupadd",
    "groupmod",
    "groupdel",
    "passwd",
    "chpasswd",
    "visudo",
    "crontab",
    "at",
    "batch",
    "hostnamectl",
    "timedatectl",
    "swapon",
    "swapoff",
    "git config --global",
    "git config --system",
    "docker run --privileged",
    "podman run --privileged",
    "go test -exec",
];
const INSTALLS: &[&str] = &[
    "apt",
    "apt-get",
    "aptitude",
    "dpkg",
    "yum",
    "dnf",
    "rpm",
    "pacman",
    "zypper",
    "apk",
    "snap",
    "flatpak",
    "brew",
    "nix-env",
    "npm install -g",
    "npm install --global",
    "npm i -g",
    "pnpm add -g",
    "pnpm install -g",
    "yarn global add",
    "pip install --user",
    "pip3 install --user",
    "pip install --system",
    "pip3 install --system",
    "go install",
    "cargo install",
    "gem install",
];
const DISK: &[&str] =
    &["dd", "shred", "mkfs", "mkfs.*", "fdisk", "sfdisk", "parted", "wipefs", "mkswap", "cryptsetup"];
const UNDONE: &[&str] = &[
    "rm -r",
    "rm -R",
    "rm --recursive",
    "find -delete",
    "git push",
    "git send-pack",
    "git http-push",
    "git reset --hard",
    "git clean",
    "git filter-branch",
    "git reflog expire",
    "git gc --prune",
    "git branch -D",
    "git branch -d -f",
    "git branch -d --force",
    "git branch --delete -f",
    "git branch --delete --force",
    "git checkout --force",
    "git checkout -f",
    "git checkout .",
    "git checkout-index -f",
    "git checkout-index --force",
    "git switch --force",
    "git switch -f",
    "git switch --discard-changes",
    "git restore .",
    "git worktree remove --force",
    "git worktree remove -f",
    "git filter-repo",
    "git reflog delete",
    "git prune",
    "git stash drop",
    "git stash clear",
    "docker",
    "podman",
    "kubectl",
    "terraform",
    "npm publish",
    "cargo publish",
    "cargo yank",
    "gem push",
    "twine upload",
    "gh",
    "kill",
    "killall",
    "pkill",
];

/// Names on the lists that are also ordinary words, subcommands and targets: `./gradlew docker`, `tool init`.
const ORDINARY_WORDS: &[&str] = &[
    "apk",
    "apt",
    "at",
    "batch",
    "brew",
    "docker",
    "ftp",
    "gh",
    "halt",
    "host",
    "http",
    "https",
    "init",
    "ip",
    "kill",
    "kubectl",
    "links",
    "mount",
    "passwd",
    "ping",
    "podman",
    "reboot",
    "route",
    "service",
    "shutdown",
    "snap",
    "ssh",
    "terraform",
    "umount",
];

/// All of them, the strictest first.
const LISTS: &[(&[&str], PolicyOutcome, BuiltInReason)] = &[
    (NETWORK, PolicyOutcome::Deny, BuiltInReason::Network),
    (PRIVILEGES, PolicyOutcome::Deny, BuiltInReason::Privileges),
    (MACHINE, PolicyOutcome::Deny, BuiltInReason::Machine),
    (INSTALLS, PolicyOutcome::Deny, BuiltInReason::Installs),
    (DISK, PolicyOutcome::Deny, BuiltInReason::Disk),
    (UNDONE, PolicyOutcome::Ask, BuiltInReason::CannotBeUndone),
];

impl BuiltIn {
    /// Whether its name among the words of a program that nobody knows means nothing.
    pub(super) fn is_ordinary_word(&self) -> bool {
        ORDINARY_WORDS.contains(&self.written.text.as_str())
    }
}

/// The patterns in one of the lists `allow`, `ask` and `deny`.
pub(super) fn texts(list: &str) -> impl Iterator<Item = &'static str> {
    let own = LISTS.iter().filter(move |(_, outcome, _)| outcome.name() == list);
    own.flat_map(|(texts, ..)| texts.iter().copied())
}

/// The rules, by the program's name; those whose name is a pattern are under "".
static RULES: LazyLock<HashMap<&'static str, Vec<BuiltIn>>> = LazyLock::new(|| {
    let mut rules: HashMap<&'static str, Vec<BuiltIn>> = HashMap::new();
    for (texts, outcome, why) in LISTS {
        for text in *texts {
            // These are constants, and every test of the policy reads them.
            let pattern = CommandPattern::parse(text).unwrap_or_else(|why| unreachable!("`{text}`: {why}"));
            let name = text.split(' ').next().filter(|_| pattern.name().is_some()).unwrap_or_default();
            let written = PatternText { text: (*text).to_owned(), line: None };
            rules.entry(name).or_default().push(BuiltIn { written, pattern, outcome: *outcome, why: *why });
        }
    }
    rules
});

/// The built-in rules that are about a command, the strictest first.
pub(super) fn about(words: &[shell::Word]) -> impl Iterator<Item = &'static BuiltIn> {
    let name = words.first().and_then(shell::Word::fixed).map(shell::base).unwrap_or_default();
    [RULES.get(name), RULES.get("")].into_iter().flatten().flatten()
}
