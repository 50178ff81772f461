//! The table of allowed subcommands and their options.

/// A subcommand, and what may be said to it.
pub(super) struct Subcommand {
    pub(super) name: &'static str,
    /// Options that stand alone.
    pub(super) flags: &'static [&'static str],
    /// Options with a value: `--max-count=5`, `-n 5`.
    pub(super) valued: &'static [&'static str],
    pub(super) words: Positionals,
    pub(super) content: Content,
}

/// The meaning of positional arguments.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Positionals {
    /// There are none.
    None,
    /// Commits.
    Commits,
    /// Commits, or a file as it was in one: `HEAD:src/main.rs`.
    CommitsOrFiles,
    /// What to look for, then commits.
    PatternThenCommits,
    /// Names of branches and tags: no content comes of them.
    Names,
}

/// Whether content of files comes out, or goes in.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Content {
    /// Not at all, or only names.
    None,
    /// Of all files that are not left out by their paths.
    ByPath,
    /// As `ByPath`, and it compares.
    Compared,
}

const SHOWN: &[&str] = &[
    "--stat",
    "--shortstat",
    "--numstat",
    "--name-only",
    "--name-status",
    "--summary",
    "-p",
    "--patch",
    "--no-patch",
    "-s",
    "--oneline",
    "--graph",
    "--decorate",
    "--no-decorate",
    "--all",
    "--reverse",
    "--merges",
    "--no-merges",
    "--first-parent",
    "--abbrev-commit",
    "-w",
    "--ignore-all-space",
    "--word-diff",
    "--minimal",
    "--follow",
    "--raw",
    "--cached",
    "--staged",
    "--date-order",
    "--topo-order",
];
const SHOWN_VALUED: &[&str] = &[
    "-n",
    "--max-count",
    "--since",
    "--until",
    "--after",
    "--before",
    "--author",
    "--grep",
    "--format",
    "--pretty",
    "--date",
    "--skip",
    "-U",
    "--unified",
    "--diff-filter",
    "-S",
    "-G",
    "--abbrev",
];

pub(super) const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "status",
        flags: &["--short", "-s", "--branch", "-b", "--porcelain", "--ignored", "--long"],
        valued: &["--untracked-files"],
        words: Positionals::None,
        content: Content::None,
    },
    Subcommand {
        name: "diff",
        flags: SHOWN,
        valued: SHOWN_VALUED,
        words: Positionals::Commits,
        content: Content::Compared,
    },
    Subcommand {
        name: "log",
        flags: SHOWN,
        valued: SHOWN_VALUED,
        words: Positionals::Commits,
        content: Content::Compared,
    },
    Subcommand {
        name: "show",
        flags: SHOWN,
        valued: SHOWN_VALUED,
        words: Positionals::CommitsOrFiles,
        content: Content::Compared,
    },
    Subcommand {
        name: "grep",
        flags: &[
            "-n",
            "-i",
            "-w",
            "-l",
            "-c",
            "-E",
            "-F",
            "-P",
            "--line-number",
            "--ignore-case",
            "--cached",
            "--untracked",
        ],
        valued: &["-A", "-B", "-C", "--max-depth"],
        words: Positionals::PatternThenCommits,
        content: Content::ByPath,
    },
    Subcommand {
        name: "blame",
        flags: &["-w", "-s", "-e", "--date-order"],
        valued: &["-L", "--date"],
        words: Positionals::Commits,
        content: Content::None,
    },
    Subcommand {
        name: "shortlog",
        flags: &["-s", "-n", "-e", "--no-merges"],
        valued: &["--since", "--until"],
        words: Positionals::Commits,
        content: Content::None,
    },
    Subcommand {
        name: "rev-parse",
        flags: &[
            "--abbrev-ref",
            "--short",
            "--show-toplevel",
            "--is-inside-work-tree",
            "--verify",
            "--symbolic-full-name",
        ],
        valued: &[],
        words: Positionals::Commits,
        content: Content::None,
    },
    Subcommand {
        name: "merge-base",
        flags: &["--is-ancestor", "--all"],
        valued: &[],
        words: Positionals::Commits,
        content: Content::None,
    },
    Subcommand {
        name: "ls-files",
        flags: &["-m", "-o", "-d", "-s", "--modified", "--others", "--deleted", "--exclude-standard"],
        valued: &[],
        words: Positionals::None,
        content: Content::None,
    },
    Subcommand {
        name: "ls-tree",
        flags: &["-r", "-t", "-d", "--name-only", "--full-tree"],
        valued: &[],
        words: Positionals::Commits,
        content: Content::None,
    },
    Subcommand {
        name: "branch",
        flags: &["-a", "-r", "-v", "-vv", "--list", "--show-current", "-m", "--move", "-d", "--delete"],
        valued: &["--contains", "--merged", "--no-merged", "--sort"],
        words: Positionals::Names,
        content: Content::None,
    },
    Subcommand {
        name: "tag",
        flags: &["-l", "--list", "-a"],
        valued: &["-m", "--contains", "--sort"],
        words: Positionals::Names,
        content: Content::None,
    },
    Subcommand {
        name: "remote",
        flags: &["-v"],
        valued: &[],
        words: Positionals::None,
        content: Content::None,
    },
    Subcommand {
        name: "init",
        flags: &["-q", "--quiet"],
        valued: &["-b", "--initial-branch"],
        words: Positionals::None,
        content: Content::None,
    },
    Subcommand {
        name: "add",
        flags: &["-A", "--all", "-u", "--update", "-N", "--intent-to-add", "-v"],
        valued: &[],
        words: Positionals::None,
        content: Content::ByPath,
    },
    Subcommand {
        name: "commit",
        flags: &["-a", "--all", "--amend", "--no-edit", "--allow-empty", "-q", "--quiet", "-s", "--signoff"],
        valued: &["-m", "--message", "--author", "--date"],
        words: Positionals::None,
        content: Content::None,
    },
    Subcommand {
        name: "switch",
        flags: &["-c", "--create", "--detach", "-q", "-"],
        valued: &[],
        words: Positionals::Names,
        content: Content::None,
    },
    Subcommand {
        name: "restore",
        flags: &["--staged", "--worktree", "-S", "-W", "-q"],
        valued: &["--source", "-s"],
        words: Positionals::None,
        content: Content::ByPath,
    },
    Subcommand {
        name: "mv",
        flags: &["-n", "-v"],
        valued: &[],
        words: Positionals::None,
        content: Content::None,
    },
    Subcommand {
        name: "stash",
        flags: &["-u", "--include-untracked", "-q"],
        valued: &["-m", "--message"],
        words: Positionals::Names,
        content: Content::None,
    },
];
