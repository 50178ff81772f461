//! Git configuration files: read, reduced to what is harmless, written anew.
//!
//! What comes out is written from what was understood, never copied: a text that git reads otherwise than we do changes
//! nothing then.

use std::fmt::Write;

/// A setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    /// In lower case.
    pub(crate) section: String,
    pub(crate) subsection: Option<String>,
    /// In lower case.
    pub(crate) key: String,
    /// None if there is a name only, which means yes.
    pub(crate) value: Option<String>,
}

/// A configuration file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) settings: Vec<Setting>,
}

/// The harmless part of a changed configuration.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SafeConfig {
    pub(crate) config: Config,
    /// The settings that were not taken over, or not taken away, by their names.
    pub(crate) refused: Vec<String>,
}

impl Config {
    /// Reads a file, if it is one that git would read without complaint.
    pub(crate) fn read(content: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(content).ok()?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
        let mut reader = Reader { rest: text.chars().collect::<Vec<_>>().into_iter().peekable() };
        reader.config()
    }

    /// The values of a setting, whatever it is a setting of.
    pub(crate) fn values(&self, section: &str, key: &str) -> impl Iterator<Item = &str> {
        let found = self.settings.iter().filter(move |one| one.section == section && one.key == key);
        found.filter_map(|one| one.value.as_deref())
    }
}

impl std::fmt::Display for Config {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut section = None;
        for setting in &self.settings {
            let here = (&setting.section, &setting.subsection);
            if section != Some(here) {
                match &setting.subsection {
                    None => writeln!(formatter, "[{}]", setting.section)?,
                    Some(sub) => writeln!(formatter, "[{} \"{}\"]", setting.section, quoted(sub, false))?,
                }
                section = Some(here);
            }
            match &setting.value {
                None => writeln!(formatter, "\t{}", setting.key)?,
                Some(value) if is_plain(value) => writeln!(formatter, "\t{} = {value}", setting.key)?,
                Some(value) => writeln!(formatter, "\t{} = \"{}\"", setting.key, quoted(value, true))?,
            }
        }
        Ok(())
    }
}

/// Whether a value means itself without quotes.
fn is_plain(value: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "+*/:.,@_-~^%=(){}<>!?$&'".contains(letter);
    !value.is_empty() && value.chars().all(|letter| plain(letter) || letter == ' ') && value.trim() == value
}

fn quoted(text: &str, is_value: bool) -> String {
    let mut quoted = String::new();
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' if is_value => quoted.push_str("\\n"),
            '\t' if is_value => quoted.push_str("\\t"),
            letter => quoted.push(letter),
        }
    }
    quoted
}

struct Reader {
    rest: std::iter::Peekable<std::vec::IntoIter<char>>,
}

impl Reader {
    fn config(&mut self) -> Option<Config> {
        let mut settings = Vec::new();
        let mut section: Option<(String, Option<String>)> = None;
        while let Some(letter) = self.rest.next() {
            match letter {
                letter if letter.is_ascii_whitespace() => {}
                '#' | ';' => self.skip_line(),
                '[' => section = Some(self.section()?),
                letter if letter.is_ascii_alphabetic() => {
                    let (section, subsection) = section.clone()?;
                    let (key, value) = self.setting(letter)?;
                    settings.push(Setting { section, subsection, key, value });
                }
                _ => return None,
            }
        }
        Some(Config { settings })
    }

    fn skip_line(&mut self) {
        for letter in self.rest.by_ref() {
            if letter == '\n' {
                return;
            }
        }
    }

    fn section(&mut self) -> Option<(String, Option<String>)> {
        let mut name = String::new();
        loop {
            match self.rest.next()? {
                ']' if !name.is_empty() => {
                    // The old way to write a subsection, without upper case.
                    let parted =
                        name.split_once('.').map(|(name, sub)| (name.to_owned(), Some(sub.to_owned())));
                    return Some(parted.unwrap_or((name, None)));
                }
                letter if letter.is_ascii_alphanumeric() || letter == '-' || letter == '.' => {
                    name.push(letter.to_ascii_lowercase());
                }
                ' ' | '\t' if !name.is_empty() => break,
                _ => return None,
            }
        }
        while self.rest.next_if(|letter| matches!(letter, ' ' | '\t')).is_some() {}
        if self.rest.next()? != '"' {
            return None;
        }
        let mut subsection = String::new();
        loop {
            match self.rest.next()? {
                '"' => break,
                '\\' => subsection.push(self.rest.next()?),
                '\n' => return None,
                letter => subsection.push(letter),
            }
        }
        (self.rest.next()? == ']' && !name.contains('.')).then_some((name, Some(subsection)))
    }

    fn setting(&mut self, first: char) -> Option<(String, Option<String>)> {
        let mut key = String::from(first.to_ascii_lowercase());
        while let Some(letter) = self.rest.next_if(|letter| letter.is_ascii_alphanumeric() || *letter == '-')
        {
            key.push(letter.to_ascii_lowercase());
        }
        while self.rest.next_if(|letter| matches!(letter, ' ' | '\t')).is_some() {}
        match self.rest.next() {
            None | Some('\n') => Some((key, None)),
            Some('#' | ';') => {
                self.skip_line();
                Some((key, None))
            }
            Some('=') => Some((key, Some(self.value()?))),
            Some(_) => None,
        }
    }

    fn value(&mut self) -> Option<String> {
        let (mut value, mut blanks, mut is_quoted) = (String::new(), String::new(), false);
        loop {
            let letter = match self.rest.next() {
                None | Some('\n') if is_quoted => return None,
                None | Some('\n') => return Some(value),
                Some('#' | ';') if !is_quoted => {
                    self.skip_line();
                    return Some(value);
                }
                Some(blank @ (' ' | '\t')) if !is_quoted => {
                    if !value.is_empty() {
                        blanks.push(blank);
                    }
                    continue;
                }
                Some('"') => {
                    is_quoted = !is_quoted;
                    value.push_str(&std::mem::take(&mut blanks));
                    continue;
                }
                Some('\\') => match self.rest.next()? {
                    '\n' => continue,
                    'n' => '\n',
                    't' => '\t',
                    'b' => '\u{8}',
                    letter @ ('\\' | '"') => letter,
                    _ => return None,
                },
                Some('\0') => return None,
                Some(letter) => letter,
            };
            value.push_str(&std::mem::take(&mut blanks));
            value.push(letter);
        }
    }
}

/// What a changed configuration comes down to: what it says that is harmless, and of everything else what was there before.
/// `is_inside` says whether a relative path, from the folder of the repository, stays in the workspace.
pub(crate) fn reduced(before: &Config, after: &Config, is_inside: &dyn Fn(&str) -> bool) -> SafeConfig {
    let mut settings: Vec<Setting> = Vec::new();
    let mut refused = Vec::new();
    let name = |setting: &Setting| match &setting.subsection {
        None => format!("{}.{}", setting.section, setting.key),
        Some(sub) => format!("{}.{sub}.{}", setting.section, setting.key),
    };
    // Where a remote that was there is: whoever pushes to it means the one they know.
    let is_known = |setting: &Setting| {
        let is_one = |one: &&Setting| one.section == "remote" && one.key == "url" && one.value.is_some();
        let mut remotes = before.settings.iter().filter(is_one);
        setting.section == "remote"
            && matches!(&*setting.key, "url" | "pushurl" | "push" | "mirror")
            && remotes.any(|remote| remote.subsection == setting.subsection)
    };
    let is_free = |setting: &Setting| is_harmless(setting, is_inside) && !is_known(setting);
    for setting in &after.settings {
        if is_free(setting) || before.settings.contains(setting) {
            settings.push(setting.clone());
        } else {
            refused.push(name(setting));
        }
    }
    for setting in &before.settings {
        if !is_free(setting) && !settings.contains(setting) {
            settings.push(setting.clone());
            refused.push(name(setting));
        }
    }
    refused.sort();
    refused.dedup();
    SafeConfig { config: Config { settings }, refused }
}

/// Settings that neither execute anything nor lead anywhere.
fn is_harmless(setting: &Setting, is_inside: &dyn Fn(&str) -> bool) -> bool {
    let value = setting.value.as_deref().unwrap_or_default();
    // A name that would break out of its line would be written in quotes; nobody needs one.
    let is_odd = |text: &str| text.chars().any(|letter| letter.is_control() && letter != '\t');
    if is_odd(value) || setting.subsection.as_deref().is_some_and(is_odd) {
        return false;
    }
    match (&*setting.section, setting.subsection.is_some(), &*setting.key) {
        (
            "core",
            false,
            "bare"
            | "repositoryformatversion"
            | "filemode"
            | "logallrefupdates"
            | "ignorecase"
            | "precomposeunicode"
            | "symlinks"
            | "autocrlf"
            | "eol"
            | "safecrlf"
            | "abbrev"
            | "quotepath"
            | "sharedrepository"
            | "compression"
            | "untrackedcache"
            | "sparsecheckout"
            | "sparsecheckoutcone"
            | "protecthfs"
            | "protectntfs",
        ) => true,
        ("core", false, "worktree") => is_inside(value),
        ("extensions", false, "objectformat" | "refstorage" | "worktreeconfig" | "compatobjectformat") => {
            true
        }
        ("user" | "author" | "committer", false, "name" | "email") => true,
        ("init", false, "defaultbranch") => true,
        ("pull", false, "rebase" | "ff") | ("push", false, "default" | "autosetupremote" | "followtags") => {
            true
        }
        ("fetch", false, "prune" | "prunetags" | "parallel") => true,
        ("rebase", false, "autosquash" | "autostash" | "updaterefs") | ("rerere", false, "enabled") => true,
        ("merge", false, "ff" | "conflictstyle" | "log" | "renames") => true,
        (
            "diff",
            false,
            "renames" | "algorithm" | "colormoved" | "mnemonicprefix" | "noprefix" | "context",
        ) => true,
        ("commit", false, "verbose" | "status" | "cleanup") | ("tag", false, "sort") => true,
        ("branch", false, "sort" | "autosetupmerge" | "autosetuprebase") => true,
        ("status", false, "showuntrackedfiles" | "short" | "branch")
        | ("log", false, "date" | "decorate") => true,
        ("gc", false, "auto" | "autodetach" | "autopacklimit") | ("maintenance", false, "auto") => true,
        ("index", false, "version" | "sparse") | ("pack", false, "threads" | "window" | "depth") => true,
        ("feature", false, "manyfiles") | ("advice", false, _) => true,
        ("color", _, _) => true,
        // What is missing is not fetched by itself, as it is from a `promisor`: any command of git's would connect.
        ("remote", true, "fetch" | "push" | "tagopt" | "prune" | "prunetags" | "mirror") => true,
        ("remote", true, "url" | "pushurl") | ("submodule", true, "url") => is_plain_address(value),
        ("branch", true, "merge" | "rebase" | "description") => true,
        ("branch", true, "remote" | "pushremote") => is_plain_address(value),
        ("submodule", true, "active" | "branch" | "ignore" | "fetchrecursesubmodules") => true,
        ("submodule", false, "active" | "recurse") => true,
        _ => false,
    }
}

/// Whether git reaches this address by itself: `name::address` starts a program called `git-remote-name`.
fn is_plain_address(address: &str) -> bool {
    let helper = address.split_once("::").map(|(name, _)| name);
    let is_helper =
        helper.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'));
    let scheme = address.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    let is_known = scheme.is_none_or(|scheme| {
        ["http", "https", "ssh", "git", "file", "git+ssh", "ssh+git"].contains(&&*scheme)
    });
    !is_helper && is_known && !address.starts_with('-') && !address.is_empty()
}

impl SafeConfig {
    /// What is told of settings that were not taken over.
    pub(crate) fn refused_names(&self) -> String {
        let mut told = String::new();
        for (number, name) in self.refused.iter().enumerate() {
            let _ = write!(told, "{}`{}`", if number > 0 { ", " } else { "" }, name.escape_debug());
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Config {
        Config::read(text.as_bytes()).expect("a configuration")
    }

    fn reduce(before: &str, after: &str) -> (String, Vec<String>) {
        let reduced = reduced(&read(before), &read(after), &|path| !path.contains(".."));
        (reduced.config.to_string(), reduced.refused)
    }

    #[test]
    fn what_git_writes_itself_is_taken_over() {
        let before = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n";
        let after = format!(
            "{before}[remote \"origin\"]\n\turl = https://example.org/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
             [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[user]\n\tname = \"Ada L.\"\n"
        );
        let (text, refused) = reduce(before, &after);
        assert_eq!(refused, Vec::<String>::new());
        assert_eq!(read(&text), read(&after));
    }

    #[test]
    fn a_remote_that_was_there_stays_where_it_was() {
        let before = "[remote \"origin\"]\n\turl = https://example.org/a.git\n";
        for after in [
            "[remote \"origin\"]\n\turl = https://evil.example/a.git\n",
            "[remote \"origin\"]\n\turl = https://example.org/a.git\n\tpushurl = https://evil.example/a.git\n",
            "[remote \"origin\"]\n\turl = https://example.org/a.git\n\tpromisor = true\n\tpartialclonefilter = blob:none\n",
            "",
        ] {
            let (text, refused) = reduce(before, after);
            assert_eq!(text, before, "{after}");
            assert!(!refused.is_empty(), "{after}");
        }
        let new = "[remote \"other\"]\n\turl = https://example.org/b.git\n";
        assert_eq!(reduce(before, &format!("{before}{new}")), (format!("{before}{new}"), Vec::new()));
    }

    #[test]
    fn what_executes_is_not_taken_over_and_what_was_there_is_kept() {
        let before = "[core]\n\thooksPath = .husky\n";
        for evil in [
            "[core]\nfsmonitor = ./m.sh",
            "[core] fsmonitor=./m.sh",
            "[CORE]\nFsMonitor = x",
            "[core]\nsshCommand = x",
            "[core]\nhooksPath = evil",
            "[alias]\nst = !x",
            "[include]\npath = ../x",
            "[includeIf \"gitdir:x\"]\npath = y",
            "[filter \"x\"]\nclean = y",
            "[diff \"x\"]\ntextconv = y",
            "[diff]\nexternal = y",
            "[remote \"x\"]\nurl = ext::sh -c x",
            "[remote \"x\"]\nvcs = y",
            "[remote \"x\"]\nuploadpack = y",
            "[submodule \"x\"]\nupdate = !y",
            "[credential]\nhelper = !y",
            "[core]\nworktree = ../../..",
            "[gpg]\nprogram = x",
            "[protocol \"ext\"]\nallow = always",
            "[url \"ext::x\"]\ninsteadOf = https://",
            "[branch \"x\"]\nremote = ext::x",
            "[core]\nfsmonitor",
            "[core]\nfs\\\nmonitor = x",
        ] {
            let after = format!("{before}{evil}\n");
            let Some(read) = Config::read(after.as_bytes()) else { continue };
            let reduced = reduced(&super::Config::read(before.as_bytes()).expect("it"), &read, &|path| {
                !path.contains("..")
            });
            assert!(!reduced.refused.is_empty(), "{evil}");
            assert_eq!(reduced.config.to_string(), "[core]\n\thookspath = .husky\n", "{evil}");
        }
        assert_eq!(reduce(before, "").0, "[core]\n\thookspath = .husky\n");
    }

    #[test]
    fn values_are_read_as_git_does_and_written_so_that_it_reads_the_same() {
        let text = "[a]\n b = one two  # c\n c = \"x # y\" ; z\n d = a\\\nb\n e = \"q\\\"\\\\\\n\\t\"\n f\n[s \"A \\\"b\\\"\"]\n x =\n";
        let config = read(text);
        let values: Vec<_> = config.settings.iter().map(|one| one.value.as_deref()).collect();
        assert_eq!(values, [Some("one two"), Some("x # y"), Some("ab"), Some("q\"\\\n\t"), None, Some("")]);
        assert_eq!(config.settings[5].subsection.as_deref(), Some("A \"b\""));
        assert_eq!(read(&config.to_string()), config);
        for none in ["[a\nb=c", "b = c", "[a]\nb = \"c", "[a]\nb = \\x", "[a]\n=c", "[a b]\n", "[\"a\"]\nb=c"]
        {
            assert_eq!(Config::read(none.as_bytes()), None, "{none}");
        }
    }
}
