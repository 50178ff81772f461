//! Programs that may be started by later words of a command: `taskset 1 terraform destroy`, `npx terraform destroy`.
//!
//! No list of programs that start others is ever whole. So it is the other way round: of programs that are known to take
//! their words for files, texts and settings nothing is looked for, and of all others every later word may be a program. That
//! is for rules that ask and deny. It must never be the reason to allow something.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use super::word::Word;
use super::{ParsedCommandLine, SimpleCommand, UnclearPart, base, read_within};

/// Of a command with more words than this, not all are looked at.
const MOST: usize = 1_000;

/// Texts within texts are read this deep.
const DEEPEST: usize = 4;

/// Programs whose words are no programs.
const PLAIN: &str = "
    . : < > R Rscript [ actionlint alembic alias ant ar arch autoconf autoheader automake autopep8 autoreconf awk
    b2sum bandit base32 base64 basename basenc bat batcat bazel bazelisk bc bg biome bison black break brotli buck2
    bunzip2 bzcat bzip2 c++ cabal cal cargo cargo-clippy cargo-fmt cargo-nextest cat cc cd celery chardet chgrp
    chmod chown cksum clang clang++ clang-format clang-tidy clear cloc cmake cmp codespell col column comm
    commitlint compgen composer continue convert coverage cp cpio cpp crontab cross csplit csvtool ctags ctest curl
    cut cypress dart dasel date dc declare delta deno df diff diff3 difft dig dir dircolors dirname dirs disown
    django-admin docker dos2unix dot dotnet dpkg du dune echo egrep elixir erl esbuild eslint eslint_d exa exiftool
    exit expand export expr eza factor false ffmpeg ffprobe fg fgrep file find flake8 flask flex flutter fmt fold
    free fuser g++ gawk gcc gcov gcovr gem getconf getent getfacl getopt getopts gh ghc git git-lfs gitlint gnuplot
    go gofmt golangci-lint gpg gradle grep groff groups gunicorn gunzip gzip hadolint hash head help hexdump host
    hostname hugo iconv id identify ifconfig info install iostat ip ipython isort java javac jc jekyll jest jobs
    join jq julia jupyter just kill killall kotlinc kubectl latexmk lcov ld ldconfig ldd lerna less let lex link ln
    local locale locate logger look ls lsattr lsblk lscpu lsof lua lz4 m4 magick make man mapfile markdownlint mawk
    md5sum mdbook meson mix mkcert mkdir mkdocs mkfifo mkfs mktemp mlr mocha mongosh more mount msgfmt mv mvn mypy
    mysql mysqldump nano nasm next nextest ng nimble ninja nl nm node nosetests npm nproc nslookup numfmt nvcc
    nvidia-smi nvm nx objdump ocaml od opam openssl oxlint pandoc passwd paste patch patchelf pathchk pbcopy
    pdflatex pdftotext perl pg_dump pgrep php phpunit ping pip pip3 pipx pkg-config pkill playwright pmap pnpm
    poetry popd pr pre-commit prettier printenv printf prisma protoc ps psql pstree pushd pwd pwdx pycodestyle pydoc
    pyflakes pylint pyright pytest python python2 python3 pyupgrade qemu-img rails rake ranlib read readarray
    readelf readlink readonly realpath redis-cli rename renice reset return rev rg rm rmdir rollup route rspec
    rst2html rubocop ruby ruff rustc rustdoc rustfmt rustup safety sar sass sbt scalac scc scons sd sed seq set
    setfacl setterm sha1sum sha224sum sha256sum sha384sum sha512sum shasum shellcheck shfmt shift shred shuf size
    sleep sort source sphinx-build split sqlite sqlite3 ss stack stat streamlit strings strip stty stylelint sum
    swift swiftc sync sysctl systemctl tac tail tar tee terraform test tex tflint tidy times tokei top touch tox
    tput tr trap tree true truncate trunk ts-node tsc tsc-watch tsort tsx tty turbo type typeset typst ulimit umask
    unalias uname unexpand uniq unix2dos unlink unset unxz unzip uptime users uuidgen uv uvicorn vite vitest vmstat
    vulture w wait wasm-pack watchman wc webpack wget whereis which who whoami xelatex xmllint xsv xxd xz xzcat yacc
    yamllint yapf yarn yes yq zcat zig zip zipinfo zstd
";

/// Programs that start what their words say, wherever among them it begins.
const STARTERS: &str = "
    aa-exec at aws-vault batch builtin busybox bwrap capsh catatonit cgexec choom chpst chronic chroot chrt
    command concurrently cpulimit daemonize dbus-launch dbus-run-session direnv doas doppler dumb-init
    eatmydata entr env envdir envuidgid eval exec expect fakechroot fakeroot faketime firejail flock gdb
    gosu heaptrack hyperfine i386 ifne ionice lckdo linux32 linux64 lldb ltrace newgrp nice nix nodemon nohup
    nsenter numactl op parallel pee perf pkexec prlimit proot proxychains proxychains4 rlwrap rr runcon
    runuser screen script setarch setpriv setsid setuidgid sg softlimit sops ssh-agent start-stop-daemon
    stdbuf strace su su-exec sudo systemd-inhibit systemd-run taskset time timeout tini tmux torsocks toybox
    uname26 unbuffer unshare valgrind watch watchexec withlock x86_64 xargs xvfb-run
";

/// Programs that start another where one of these words stands before it. With no words, the first one is the program.
const RUNNERS: &[(&str, &[&str])] = &[
    ("npx", &[]),
    ("bunx", &[]),
    ("pnpx", &[]),
    ("uvx", &[]),
    ("dotenv", &[]),
    ("nix-shell", &[]),
    ("npm", &["exec", "x"]),
    ("pnpm", &["exec", "dlx"]),
    ("yarn", &["exec", "dlx"]),
    ("bun", &["x", "exec"]),
    ("uv", &["run", "tool"]),
    ("pipx", &["run"]),
    ("poetry", &["run"]),
    ("pipenv", &["run"]),
    ("pdm", &["run"]),
    ("hatch", &["run"]),
    ("rye", &["run"]),
    ("pixi", &["run"]),
    ("conda", &["run"]),
    ("mamba", &["run"]),
    ("micromamba", &["run"]),
    ("bundle", &["exec"]),
    ("bundler", &["exec"]),
    ("rbenv", &["exec"]),
    ("pyenv", &["exec"]),
    ("asdf", &["exec"]),
    ("mise", &["exec", "x"]),
    ("volta", &["run"]),
    ("fnm", &["exec"]),
    ("nvm", &["exec"]),
    ("corepack", &[]),
    ("devbox", &["run"]),
    ("cargo", &["watch"]),
    ("go", &["-exec", "--exec", "-toolexec", "--toolexec"]),
    ("fd", &["-x", "-X", "--exec", "--exec-batch"]),
    ("fdfind", &["-x", "-X", "--exec", "--exec-batch"]),
    ("rg", &["--pre"]),
    ("sort", &["--compress-program"]),
    ("split", &["--filter"]),
    (
        "tar",
        &[
            "-I",
            "-F",
            "--to-command",
            "--use-compress-program",
            "--checkpoint-action",
            "--info-script",
            "--new-volume-script",
            "--rmt-command",
            "--rsh-command",
        ],
    ),
    ("man", &["-P", "--pager", "-H", "--html"]),
];

/// Subcommands of yarn itself. Any other first word is a program, or a script of the project.
const OF_YARN: &str = "
    add audit autoclean bin cache check config constraints create dedupe explain generate-lock-entry global help import info init
    install licenses link list login logout node npm outdated owner pack patch plugin policies prune publish rebuild remove
    search set stage tag team unlink unplug up upgrade upgrade-interactive version versions why workspace workspaces
";

/// Options whose values are texts for people, or patterns, and no commands.
const TEXTS: &[&str] = &[
    "author",
    "body",
    "data",
    "date",
    "description",
    "expression",
    "format",
    "grep",
    "header",
    "message",
    "notes",
    "pretty",
    "regexp",
    "subject",
    "title",
];

/// What programs that read commands of their own begin with when they leave one to a shell.
const LEFT_TO_A_SHELL: &[&str] = &[".shell ", ".system ", "\\! ", "\\!"];

static PLAIN_NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| PLAIN.split_ascii_whitespace().collect());
static STARTER_NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| STARTERS.split_ascii_whitespace().collect());

/// The meaning of the later words of a command.
enum TrailingWords {
    /// What the program works on.
    Data,
    /// A program begins at this word, after options perhaps.
    Program(usize),
    /// A program begins at one of them.
    Starts,
    /// Nobody knows.
    Unknown,
}

/// A command that may be started by another one.
#[derive(Debug)]
pub(in crate::policy) struct PossibleCommand<'w> {
    /// Its program and arguments.
    pub(in crate::policy) words: Cow<'w, [Word]>,
    /// Whether it is known that the other one starts programs.
    pub(in crate::policy) certain: bool,
}

impl std::fmt::Display for PossibleCommand<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words: Vec<&str> = self.words.iter().map(Word::written).collect();
        formatter.write_str(&words.join(" "))
    }
}

/// The commands that may begin at later words of this one. What was read out of it already is not among them.
pub(in crate::policy) fn possible(command: &SimpleCommand) -> Vec<PossibleCommand<'_>> {
    let mut found = Vec::new();
    if !command.transparent {
        collect(&command.words, DEEPEST, &mut found);
    }
    found
}

/// What cannot be told of a program that starts others.
pub(super) fn unclear(words: &[Word]) -> Result<(), UnclearPart> {
    let program = words.first().map_or("", Word::written);
    let which =
        || UnclearPart::because(format!("which program `{program}` starts is only known when it runs"));
    match later(words) {
        TrailingWords::Data => Ok(()),
        _ if words.len() > MOST => Err(UnclearPart::because(format!(
            "`{program}` has more than {MOST} words, any of which may be a program"
        ))),
        TrailingWords::Program(at) => match after_options(words, at) {
            Some(at) if words[at].dynamic => Err(which()),
            _ => Ok(()),
        },
        TrailingWords::Starts => {
            let names = |word: &&Word| {
                word.known().starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '/')
            };
            let first = words.iter().skip(1).find(|word| word.dynamic || names(word));
            if first.is_some_and(|word| word.dynamic && word.known().is_empty()) {
                Err(which())
            } else {
                Ok(())
            }
        }
        TrailingWords::Unknown => Ok(()),
    }
}

fn collect<'w>(words: &'w [Word], depth: usize, found: &mut Vec<PossibleCommand<'w>>) {
    let words = &words[..words.len().min(MOST)];
    let Some(depth) = depth.checked_sub(1) else { return };
    let certain = match later(words) {
        TrailingWords::Data => return values(words, depth, found),
        TrailingWords::Program(at) => {
            // An option may take the word after it, so that the program is the next one.
            let first = after_options(words, at);
            let second = first
                .filter(|first| *first > at)
                .map(|first| first + 1)
                .filter(|second| *second < words.len());
            for at in first.into_iter().chain(second) {
                found.push(PossibleCommand { words: Cow::Borrowed(&words[at..]), certain: true });
                collect(&words[at..], depth, found);
            }
            texts(&words[at..], true, depth, found);
            return;
        }
        TrailingWords::Starts => true,
        TrailingWords::Unknown => false,
    };
    for at in 1..words.len() {
        let word = words[at].known();
        let elsewhere = word.contains('/') && !word.starts_with('/');
        if !word.is_empty() && !word.starts_with('-') && (certain || !elsewhere) {
            found.push(PossibleCommand { words: Cow::Borrowed(&words[at..]), certain });
            // `nixpkgs#terraform` is a package, and its program.
            if let Some((_, program)) = word.split_once('#').filter(|_| certain) {
                let rest = words[at + 1..].iter().skip_while(|word| word.known() == "--").cloned();
                let words: Vec<Word> = std::iter::once(Word::plain(program)).chain(rest).collect();
                found.push(PossibleCommand { words: Cow::Owned(words), certain });
            }
            // A runner among the words names its program in a way of its own.
            if matches!(later(&words[at..]), TrailingWords::Program(_)) {
                collect(&words[at..], depth, found);
            }
        }
    }
    texts(words.get(1..).unwrap_or_default(), certain, depth, found);
}

/// The commands in values of options of a program that otherwise takes its words for data: whatever the option is called, what
/// looks like a command may be one.
fn values(words: &[Word], depth: usize, found: &mut Vec<PossibleCommand<'_>>) {
    for word in words.iter().skip(1) {
        let text = word.known();
        let left = LEFT_TO_A_SHELL.iter().find_map(|mark| text.split_once(mark)).map(|(_, command)| command);
        let is_set = |name: &str| {
            name.starts_with('-') || name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
        };
        let named = text.split_once('=').filter(|(name, _)| is_set(name));
        let named = named.filter(|(name, _)| !TEXTS.contains(&name.trim_start_matches('-')));
        let value = named.map(|(_, value)| value.trim_start_matches("$(shell"));
        let entered = text.starts_with('+').then(|| text.trim_start_matches(['+', '!']));
        for value in [left, value, entered].into_iter().flatten().filter(|value| !value.is_empty()) {
            texts(&[Word::plain(value)], false, depth, found);
        }
    }
}

/// The commands in words that are texts of a shell, as those of `npm exec -c` are.
fn texts(words: &[Word], certain: bool, depth: usize, found: &mut Vec<PossibleCommand<'_>>) {
    for word in words {
        let text = word.known();
        let value = text.split_once('=').map(|(_, value)| value);
        // `--checkpoint-action=exec=command`, and `-Icommand`.
        let inner = value.and_then(|value| value.split_once('=')).map(|(_, inner)| inner);
        let is_short = text.starts_with('-') && !text.starts_with("--");
        let joined = text.get(2..).filter(|_| is_short);
        for text in [Some(text), value, inner, joined].into_iter().flatten() {
            let text = text.trim_start_matches(['!', '-', '+', ':']);
            if !text.contains([' ', '\t', '\n', ';', '|', '&', '`']) && !text.contains("$(") {
                continue;
            }
            let mut reading = ParsedCommandLine::default();
            read_within(text, &[], &mut reading);
            for command in reading.commands {
                if certain {
                    let mut deeper = Vec::new();
                    collect(&command.words, depth, &mut deeper);
                    let owned = deeper.into_iter().map(|other| PossibleCommand {
                        words: Cow::Owned(other.words.into_owned()),
                        certain: other.certain,
                    });
                    found.extend(owned);
                }
                found.push(PossibleCommand { words: Cow::Owned(command.words), certain });
            }
        }
    }
}

fn later(words: &[Word]) -> TrailingWords {
    let Some(program) = words.first().and_then(Word::fixed).map(base) else { return TrailingWords::Unknown };
    let arguments = &words[1..];
    if program == "yarn"
        && let Some(first) = after_options(words, 1)
        && !OF_YARN.split_ascii_whitespace().any(|own| words[first].known() == own)
    {
        let is_named_next = matches!(words[first].known(), "run" | "exec" | "dlx");
        return TrailingWords::Program(first + usize::from(is_named_next));
    }
    if let Some((_, marks)) = RUNNERS.iter().find(|(name, _)| *name == program) {
        return match marked(marks, arguments) {
            _ if marks.is_empty() => TrailingWords::Program(1),
            // What is behind a `=`, or joined to a letter, belongs to the mark itself.
            Some(at) if is_joined(arguments[at].known()) => TrailingWords::Program(at + 1),
            Some(at) => TrailingWords::Program(at + 2),
            None => TrailingWords::Data,
        };
    }
    // `command -v` and `-V` only say what a name stands for.
    if program == "command" && arguments.first().is_some_and(|word| matches!(word.known(), "-v" | "-V")) {
        return TrailingWords::Data;
    }
    if STARTER_NAMES.contains(program) || is_loader(program) {
        TrailingWords::Starts
    } else if PLAIN_NAMES.contains(program) || words.len() == 1 {
        TrailingWords::Data
    } else {
        TrailingWords::Unknown
    }
}

/// Where one of these words stands: options anywhere, others where a subcommand can be.
fn marked(marks: &[&str], arguments: &[Word]) -> Option<usize> {
    let (mut in_place, mut after_option) = (true, false);
    for (at, word) in arguments.iter().enumerate() {
        let text = word.known();
        let is_option = text.starts_with('-');
        let name = if is_option { text.split('=').next().unwrap_or_default() } else { text };
        // Long options can be cut short, and what letters take be joined to them.
        let is_short_for = |mark: &&str| {
            let is_cut = name.len() > 3 && mark.starts_with("--") && mark.starts_with(name);
            let is_joined = mark.len() == 2 && !text.starts_with("--") && text.starts_with(mark);
            is_option && (is_cut || is_joined)
        };
        if (is_option || in_place) && (marks.contains(&name) || marks.iter().any(is_short_for)) {
            return Some(at);
        }
        in_place &= is_option || after_option;
        after_option = is_option;
    }
    None
}

/// Whether an option has its value in the same word.
fn is_joined(option: &str) -> bool {
    option.contains('=') || (option.starts_with('-') && !option.starts_with("--") && option.len() > 2)
}

/// Whether this is the program that loads others: `/lib64/ld-linux-x86-64.so.2`.
fn is_loader(program: &str) -> bool {
    ["ld-linux", "ld-musl", "ld.so"].iter().any(|name| program.starts_with(name))
}

/// The first word from here on that is no option.
fn after_options(words: &[Word], from: usize) -> Option<usize> {
    (from..words.len()).find(|at| !words[*at].known().starts_with('-'))
}
