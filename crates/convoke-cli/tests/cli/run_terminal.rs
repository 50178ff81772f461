//! `convoke run` on a terminal: what is drawn, what is asked, and what is left behind.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::json;

use crate::place::{Place, stderr, stdout};
use crate::run_tools::{call, calling};
use crate::workshop::{AGENTFILE, RESULT, RUN, send, slow_workshop, unwatched, workshop};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

const HIDE_CURSOR: &str = "\u{1b}[?25l";
const SHOW_CURSOR: &str = "\u{1b}[?25h";

/// A terminal of 80 columns and 24 lines with `convoke` on it.
pub(crate) struct Terminal {
    keyboard: File,
    is_closed: Arc<AtomicBool>,
    screen: JoinHandle<()>,
    pieces: mpsc::Receiver<Vec<u8>>,
    child: Child,
    seen: String,
    /// How much of it was waited for already.
    waited: usize,
}

impl Terminal {
    fn start(place: &Place, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::with(place, arguments, variables, |_| Stdio::piped())
    }

    /// The same with results on the terminal, too.
    pub(crate) fn with_results(place: &Place, arguments: &[&str]) -> Self {
        Self::with(place, arguments, &[], |terminal| Stdio::from(terminal.try_clone().unwrap()))
    }

    fn with(
        place: &Place,
        arguments: &[&str],
        variables: &[(&str, &str)],
        results: impl Fn(&File) -> Stdio,
    ) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let name = std::ffi::OsStr::from_bytes(name.as_bytes());
        let terminal = OpenOptions::new().read(true).write(true).open(name).unwrap();
        tcsetwinsize(&terminal, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let child = Command::new(assert_cmd::cargo::cargo_bin!("convoke"))
            .current_dir(place.path())
            .env_clear()
            .env("XDG_DATA_HOME", place.data())
            .envs([("USER", "ann"), ("TERM", "xterm-256color")])
            .envs(variables.iter().copied())
            .args(arguments)
            .stdin(Stdio::from(terminal.try_clone().unwrap()))
            .stdout(results(&terminal))
            .stderr(Stdio::from(terminal))
            .spawn()
            .unwrap();
        let keyboard = File::from(master);
        let mut screen = keyboard.try_clone().unwrap();
        let (sender, pieces) = mpsc::channel();
        rustix::io::ioctl_fionbio(&screen, true).unwrap();
        let is_closed = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&is_closed);
        // Ends when nobody has the other end of the terminal open any more, or it is closed.
        let screen = std::thread::spawn(move || {
            let mut buffer = [0; 4_096];
            while !is_over.load(Ordering::SeqCst) {
                match screen.read(&mut buffer) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    Ok(length) if length > 0 && sender.send(buffer[..length].to_vec()).is_ok() => {}
                    _ => return,
                }
            }
        });
        Self { keyboard, is_closed, screen, pieces, child, seen: String::new(), waited: 0 }
    }

    /// Closes the terminal's window, and waits until the program has noticed.
    pub(crate) fn close(self) {
        let Self { keyboard, is_closed, screen, mut child, .. } = self;
        is_closed.store(true, Ordering::SeqCst);
        screen.join().unwrap();
        drop(keyboard);
        child.wait().unwrap();
    }

    /// Kills the program.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until this is seen, after whatever was waited for before.
    pub(crate) fn wait_for(&mut self, text: &str) {
        loop {
            if let Some(at) = self.seen[self.waited..].find(text) {
                self.waited += at + text.len();
                return;
            }
            match self.pieces.recv_timeout(PATIENCE) {
                Ok(piece) => self.seen.push_str(&String::from_utf8_lossy(&piece)),
                Err(_) => panic!("`{text}` never came; seen so far:\n{}", self.seen),
            }
        }
    }

    /// Presses keys.
    pub(crate) fn presses(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn types(&mut self, line: &str) {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub(crate) fn types_bytes(&mut self, bytes: &[u8]) {
        self.keyboard.write_all(bytes).unwrap();
    }

    /// Says that nothing more will be typed.
    pub(crate) fn types_no_more(&mut self) {
        self.keyboard.write_all(b"\x04").unwrap();
    }

    pub(crate) fn interrupt(&self) {
        send(&self.child, Signal::INT);
    }

    /// Everything that was seen, the result, and the exit code.
    pub(crate) fn finish(mut self) -> (String, String, Option<i32>) {
        let output = self.child.wait_with_output().unwrap();
        // Ends with the terminal, which nobody has any more.
        while let Ok(piece) = self.pieces.recv_timeout(PATIENCE) {
            self.seen.push_str(&String::from_utf8_lossy(&piece));
        }
        (self.seen, String::from_utf8(output.stdout).unwrap(), output.status.code())
    }
}

fn must_have_cursor(seen: &str) {
    let (hidden, shown) = (seen.rfind(HIDE_CURSOR), seen.rfind(SHOW_CURSOR));
    assert!(shown >= hidden, "the cursor stays hidden:\n{seen}");
}

#[test]
fn a_run_is_drawn_in_place_and_its_result_goes_to_standard_output() {
    let place = slow_workshop(&unwatched(), 60);
    let (seen, result, code) = Terminal::start(&place, &RUN, &[]).finish();
    assert_eq!((result, code), (format!("{RESULT}\n"), Some(0)), "{seen}");
    assert!("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏".chars().any(|turn| seen.contains(turn)), "a spinner turns:\n{seen}");
    assert!(seen.contains("4 of 4 goals"), "{seen}");
    assert!(seen.contains(HIDE_CURSOR));
    must_have_cursor(&seen);
    let last = seen.rsplit("\u{1b}[?2026h").next().unwrap();
    assert!(last.contains("✓") && last.contains("collect") && last.contains("poet"), "{last}");
}

#[test]
fn a_terminal_that_cannot_draw_gets_lines() {
    for variable in [("TERM", "dumb"), ("NO_COLOR", "1")] {
        let place = slow_workshop(&unwatched(), 20);
        let (seen, _, code) = Terminal::start(&place, &RUN, &[variable]).finish();
        assert_eq!(code, Some(0), "{seen}");
        assert!(!seen.contains('\u{1b}'), "{seen}");
        assert!(seen.contains("goal collect: done"), "{seen}");
    }
}

#[test]
fn missing_inputs_are_asked_for_and_secrets_are_not_shown() {
    let agentfile = unwatched().replace("INPUT topic", "INPUT topic\nINPUT count:int\nINPUT key SECRET");
    let place = workshop(&agentfile.replace("Address $sign", "Address $sign $count $key"));
    let arguments = ["run", "letter.agent", "-m", "scripted/script.toml"];
    let mut terminal = Terminal::start(&place, &arguments, &[]);
    terminal.wait_for("topic (a text): ");
    terminal.types("looms");
    terminal.wait_for("count (a whole number): ");
    terminal.types("three");
    terminal.wait_for("must be a whole number");
    terminal.wait_for("count (a whole number): ");
    terminal.types("3");
    terminal.wait_for("key (a text, not shown): ");
    terminal.types("s3cr3t-v4lue");
    let (seen, result, code) = terminal.finish();
    assert_eq!((result, code), (format!("{RESULT}\n"), Some(0)), "{seen}");
    assert!(seen.contains("looms") && !seen.contains("s3cr3t"), "{seen}");
}

#[test]
fn a_secret_does_not_stand_on_the_command_line_while_it_is_used() {
    let secret = "s3cr3t-v4lue-0123456789";
    let place = workshop(&AGENTFILE.replace("INPUT topic", "INPUT topic\nINPUT key SECRET"));
    let forms: [&[&str]; 3] = [
        &["-i", "key=s3cr3t-v4lue-0123456789"],
        &["-ikey=s3cr3t-v4lue-0123456789"],
        &["--input=key=s3cr3t-v4lue-0123456789"],
    ];
    for (number, form) in forms.iter().enumerate() {
        let id = format!("letter-{number}");
        let run = ["run", "letter.agent", "-i", "topic=looms", "-m", "scripted/script.toml", "--id", &id];
        let mut terminal = Terminal::start(&place, &[&run[..], form].concat(), &[]);
        terminal.wait_for("[l]ater? ");
        let line = std::fs::read(format!("/proc/{}/cmdline", terminal.child.id())).unwrap();
        let line = String::from_utf8(line).unwrap();
        assert!(!line.contains(secret) && line.contains("key=@/dev/fd/"), "{line:?}");
        terminal.types("l");
        assert_eq!(terminal.finish().2, Some(5));
        let mut terminal = Terminal::start(&place, &[&["resume", &id][..], form].concat(), &[]);
        terminal.wait_for("[l]ater? ");
        let line = std::fs::read(format!("/proc/{}/cmdline", terminal.child.id())).unwrap();
        assert!(!String::from_utf8(line).unwrap().contains(secret));
        terminal.types("a");
        let (seen, _, code) = terminal.finish();
        assert_eq!(code, Some(0), "{seen}");
        assert!(!seen.contains("not the value this run began with"), "the same value comes through:\n{seen}");
    }
}

#[test]
fn a_person_sees_the_result_and_revises_and_approves_it() {
    let place = workshop(AGENTFILE);
    let mut terminal = Terminal::start(&place, &RUN, &[]);
    terminal.wait_for("Is this what goal \"sign\" is to give?");
    terminal.wait_for("Dear Ann, looms sing and weave. Ben");
    terminal.wait_for("[l]ater? ");
    terminal.types("what?");
    terminal.wait_for("type one of the letters");
    terminal.wait_for("[l]ater? ");
    terminal.types("v");
    terminal.wait_for("With a name.");
    terminal.wait_for("[l]ater? ");
    terminal.types("r");
    terminal.wait_for("what is to change? ");
    terminal.types("in ink");
    terminal.wait_for("Is this what goal \"sign\" is to give?");
    terminal.wait_for("[l]ater? ");
    terminal.types("a");
    let (seen, result, code) = terminal.finish();
    assert_eq!((result, code), (format!("{RESULT}\n"), Some(0)), "{seen}");
    must_have_cursor(&seen);
    let shown = stdout(&place.convoke(&["show", "letter-1"]));
    assert!(shown.contains("revise: in ink (by ann)") && shown.contains("approved (by ann)"), "{shown}");
}

#[test]
fn what_was_typed_before_a_question_was_seen_is_no_answer_to_it() {
    let place = slow_workshop(AGENTFILE, 60);
    let mut terminal = Terminal::start(&place, &RUN, &[]);
    terminal.types("a");
    terminal.presses("a");
    terminal.wait_for("[l]ater? ");
    terminal.types("l");
    let (seen, result, code) = terminal.finish();
    assert_eq!((&*result, code), ("", Some(5)), "nobody has approved it:\n{seen}");
    assert!(!stdout(&place.convoke(&["show", "letter-1"])).contains("approved"));
}

#[test]
fn a_line_that_was_waited_for_in_vain_is_no_answer_to_the_next_question() {
    let place = slow_workshop(AGENTFILE, 400);
    let mut terminal = Terminal::start(&place, &RUN, &[]);
    terminal.wait_for("[l]ater? ");
    assert!(place.convoke(&["answer", "letter-1", "--revise", "in ink"]).status.success());
    terminal.wait_for("answered elsewhere");
    // The model is at work, and whoever typed this meant the question that is gone.
    terminal.types("a");
    terminal.wait_for("[l]ater? ");
    terminal.types("l");
    let (seen, result, code) = terminal.finish();
    assert_eq!((&*result, code), ("", Some(5)), "nobody has approved it:\n{seen}");
}

#[test]
fn a_question_names_everything_that_is_asked_about_wherever_it_is_hidden() {
    let breaks = "\n".repeat(60);
    let comment = format!("# {}", "nothing to see here ".repeat(140));
    let commands = [
        format!("rm -r build{breaks}rm -r precious"),
        format!("rm -r build {comment}\nrm -r precious\ngit push --force"),
        format!("echo {}; rm -r precious; echo {}", "a\n".repeat(200), "b ".repeat(900)),
        (1..40).map(|number| format!("rm -r old{number}; ")).collect::<String>()
            + "rm -r precious; rm -r older",
    ];
    for command in commands {
        let place = calling(&[call("bash", json!({"command": command}))]);
        let run = ["run", "-m", "scripted/script.toml", "--id", "work-1"];
        let mut terminal = Terminal::start(&place, &run, &[]);
        terminal.wait_for("[l]ater? ");
        terminal.types("l");
        let (seen, _, code) = terminal.finish();
        assert_eq!(code, Some(5), "{seen}");
        let asked = seen.split("[l]ater? ").next().unwrap();
        assert!(asked.contains("`rm -r precious`"), "{asked}");
        assert_eq!(asked.contains("`git push --force`"), command.contains("git push"), "{asked}");
        // Whoever is told how to approve it later has seen it as well.
        let told = stderr(&place.convoke(&["resume", "work-1", "--no-input"]));
        assert!(told.contains("rm -r precious") && told.contains("--approve"), "{told}");
        let tail = command.trim_end().rsplit(['\n', ';']).next().unwrap();
        assert!(told.contains(tail.trim().get(..5).unwrap()), "the end is never cut: {told}");
    }
}

#[test]
fn a_person_who_has_no_time_leaves_a_run_that_waits() {
    let place = workshop(AGENTFILE);
    let mut terminal = Terminal::start(&place, &RUN, &[]);
    terminal.wait_for("[l]ater? ");
    terminal.types("l");
    let (seen, result, code) = terminal.finish();
    assert_eq!((&*result, code), ("", Some(5)), "{seen}");
    assert!(seen.contains("convoke answer letter-1"), "{seen}");
    must_have_cursor(&seen);

    let mut terminal = Terminal::start(&place, &["resume"], &[]);
    terminal.wait_for("[l]ater? ");
    terminal.types("a");
    let (seen, result, code) = terminal.finish();
    assert_eq!((result, code), (format!("{RESULT}\n"), Some(0)), "{seen}");
    assert!(seen.contains("before"), "what was done before is marked:\n{seen}");
}

#[test]
fn nobody_is_asked_who_does_not_want_to_be() {
    let place = workshop(AGENTFILE);
    let mut arguments = RUN.to_vec();
    arguments.push("--no-input");
    let (seen, _, code) = Terminal::start(&place, &arguments, &[]).finish();
    assert_eq!(code, Some(5), "{seen}");
    assert!(!seen.contains("[l]ater"), "{seen}");
}

#[test]
fn ctrl_c_at_a_question_stops_the_run_and_the_question_comes_again() {
    let place = workshop(AGENTFILE);
    let mut terminal = Terminal::start(&place, &RUN, &[]);
    terminal.wait_for("[l]ater? ");
    terminal.interrupt();
    let (seen, _, code) = terminal.finish();
    assert_eq!(code, Some(6), "{seen}");
    assert!(seen.contains("go on with `convoke resume letter-1`"), "{seen}");
    must_have_cursor(&seen);

    let mut terminal = Terminal::start(&place, &["resume"], &[]);
    terminal.wait_for("[l]ater? ");
    terminal.child.kill().unwrap();
    terminal.finish();
    let mut terminal = Terminal::start(&place, &["resume"], &[]);
    terminal.wait_for("[l]ater? ");
    terminal.types("approve");
    let (seen, result, code) = terminal.finish();
    assert_eq!((result, code), (format!("{RESULT}\n"), Some(0)), "{seen}");
}

#[test]
fn what_is_said_after_a_question_has_a_line_of_its_own() {
    let place = workshop(AGENTFILE);
    let unasked = ["run", "letter.agent", "-m", "scripted/script.toml"];
    let chat = ["chat", "-m", "scripted/script.toml"];
    let cases: [(&[&str], _, _); 3] =
        [(&unasked, "topic (a text): ", 2), (&RUN, "[l]ater? ", 5), (&chat, "> ", 0)];
    for (arguments, question, exit) in cases {
        let mut terminal = Terminal::start(&place, arguments, &[]);
        terminal.wait_for(question);
        terminal.types_no_more();
        let (seen, _, code) = terminal.finish();
        assert_eq!(code, Some(exit), "{seen}");
        assert!(seen.contains(&format!("{question}\r\n")), "{seen:?}");
    }
    let mut terminal = Terminal::start(&place, &["resume", "letter-1"], &[]);
    terminal.wait_for("[l]ater? ");
    terminal.interrupt();
    let (seen, ..) = terminal.finish();
    assert!(seen.contains("[l]ater? \r\n"), "{seen:?}");
}

#[test]
fn a_question_answered_elsewhere_is_not_asked_any_more() {
    let place = workshop(AGENTFILE);
    let mut terminal = Terminal::start(&place, &RUN, &[]);
    terminal.wait_for("[l]ater? ");
    assert!(place.convoke(&["answer", "letter-1", "--approve"]).status.success());
    terminal.wait_for("answered elsewhere");
    let (seen, result, code) = terminal.finish();
    assert_eq!((result, code), (format!("{RESULT}\n"), Some(0)), "{seen}");
}

#[test]
fn an_answer_to_a_run_that_is_alive_leaves_it_to_its_process() {
    let place = workshop(AGENTFILE);
    let mut terminal = Terminal::start(&place, &RUN, &[]);
    terminal.wait_for("[l]ater? ");
    let output = place.convoke(&["answer", "letter-1", "--approve", "--resume"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = stderr(&output);
    let process = format!("process {} on ", terminal.child.id());
    assert!(told.contains(&process) && told.contains("goes on with it") && !told.contains("take"), "{told}");
    let busy = place.convoke(&["resume", "letter-1"]);
    if busy.status.code() == Some(1) {
        assert!(stderr(&busy).contains("`convoke resume letter-1 --take-over`"), "{}", stderr(&busy));
    }
    let (seen, result, code) = terminal.finish();
    assert_eq!((result, code), (format!("{RESULT}\n"), Some(0)), "{seen}");
}

#[test]
fn a_purge_asks_whoever_is_at_the_terminal() {
    let place = Place::with([crate::examples::letter()]);
    let mut terminal = Terminal::start(&place, &["purge", "--older-than", "30d"], &[]);
    terminal.wait_for("Delete 1 run? [y/N] ");
    terminal.types("n");
    assert_eq!(terminal.finish().2, Some(1));
    assert!(stdout(&place.convoke(&["runs"])).contains("letter-1"));
    let mut terminal = Terminal::start(&place, &["purge", "--older-than", "30d"], &[]);
    terminal.wait_for("[y/N] ");
    terminal.types("y");
    let (seen, result, code) = terminal.finish();
    assert!(code == Some(0) && result.ends_with("deleted 1 run\n"), "{seen} {result}");
}

#[test]
fn errors_are_broken_between_words_on_a_terminal() {
    let place = workshop(AGENTFILE);
    let (seen, ..) =
        Terminal::start(&place, &["run", "letter.agent", "-i", "topic=x", "-m", "nonsense"], &[]).finish();
    let plain = seen.replace("\u{1b}[31m", "").replace("\u{1b}[0m", "");
    let lines: Vec<&str> = plain.split("\r\n").collect();
    assert!(lines.len() > 2 && lines.iter().all(|line| line.chars().count() <= 80), "{lines:?}");
    let whole = place.convoke(&["run", "letter.agent", "-i", "topic=x", "-m", "nonsense"]);
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&plain), words(&stderr(&whole)), "no word is broken");
}

#[test]
fn rows_of_a_resumed_run_have_what_was_used_before() {
    let place = workshop(AGENTFILE);
    let (before, _, code) = Terminal::start(&place, &[&RUN[..], &["--no-input"]].concat(), &[]).finish();
    assert_eq!(code, Some(5), "{before}");
    let (after, _, code) = Terminal::start(&place, &["resume", "--no-input"], &[]).finish();
    assert_eq!(code, Some(5), "{after}");
    let used = |seen: &str| {
        let row = seen.lines().rfind(|line| line.contains(" sign") && line.contains('→')).unwrap().to_owned();
        row.split_whitespace().find(|word| word.contains('→')).map(str::to_owned)
    };
    assert_eq!(used(&before), used(&after), "{after}");
    assert!(used(&after).is_some(), "{after}");
}

#[test]
fn what_is_always_approved_becomes_a_rule_of_the_users_own_policy() {
    let place = calling(&[call("bash", json!({"command": "rm -rf build"}))]);
    let home = tempfile::tempdir().unwrap();
    let own = home.path().join(".config/convoke/policy.toml");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    std::fs::write(&own, "# mine\nversion = 1\n\n[commands]\nallow = [\"make\"] # of course\n").unwrap();
    let path = std::env::var("PATH").unwrap();
    let variables = [("HOME", home.path().to_str().unwrap()), ("PATH", &*path)];
    let run = ["run", "-m", "scripted/script.toml"];
    let mut terminal = Terminal::start(&place, &run, &variables);
    terminal.wait_for("always: commands.allow = [\"rm -rf build $\"]");
    terminal.wait_for("for thi[s] run, al[w]ays, ");
    terminal.wait_for("[l]ater? ");
    terminal.types("w");
    let (seen, result, code) = terminal.finish();
    assert_eq!((&*result, code), ("Done.\n", Some(0)), "{seen}");
    assert!(seen.contains("written: "), "{seen}");
    let written = std::fs::read_to_string(&own).unwrap();
    let rule = "# mine\nversion = 1\n\n[commands]\nallow = [\"make\", \"rm -rf build $\"] # of course\n";
    assert_eq!(written, rule, "what was there stays");
    assert!(!place.path().join("policy.toml").exists());
    let again = place.convoke_with(&run, &variables);
    assert_eq!(again.status.code(), Some(0), "nobody is asked: {}", stderr(&again));
    // Whose answer does not count makes no rules either.
    place.write("convoke.toml", "[supervision]\nanswerers = [\"eve\"]\n");
    std::fs::write(&own, "version = 1\n").unwrap();
    let mut terminal = Terminal::start(&place, &run, &variables);
    terminal.wait_for("for thi[s] run, [r]evise");
    terminal.types("w");
    terminal.wait_for("[l]ater? ");
    terminal.types("l");
    terminal.finish();
    assert_eq!(std::fs::read_to_string(&own).unwrap(), "version = 1\n");
    std::fs::remove_file(place.path().join("convoke.toml")).unwrap();
    // A folder that asks is stricter, and no rule of the user's changes that.
    place.write("policy.toml", "version = 1\n[commands]\nask = [\"rm\"]\n");
    let mut terminal = Terminal::start(&place, &run, &variables);
    terminal.wait_for("for thi[s] run, [r]evise");
    terminal.types("s");
    assert_eq!(terminal.finish().2, Some(0));
}

#[test]
fn a_file_that_may_always_go_is_named_whole_and_others_are_still_asked_about() {
    let place = calling(&[call("rm", json!({"path": "old.txt"}))]);
    place.write("old.txt", "old");
    let home = tempfile::tempdir().unwrap();
    let own = home.path().join(".config/convoke/policy.toml");
    let path = std::env::var("PATH").unwrap();
    let variables = [("HOME", home.path().to_str().unwrap()), ("PATH", &*path)];
    let run = ["run", "-m", "scripted/script.toml"];
    let mut terminal = Terminal::start(&place, &run, &variables);
    terminal.wait_for("always: tools.rm.paths.allow");
    terminal.wait_for("[l]ater? ");
    terminal.types("w");
    let (seen, _, code) = terminal.finish();
    assert_eq!(code, Some(0), "{seen}");
    assert!(!place.path().join("old.txt").exists(), "{seen}");
    let whole = place.path().canonicalize().unwrap().join("old.txt");
    let rules = std::fs::read_to_string(&own).unwrap();
    assert!(rules.contains(&format!("allow = [\"{}\"]", whole.display())), "{rules}");
    place.write("old.txt", "again");
    let again = place.convoke_with(&run, &variables);
    assert_eq!(again.status.code(), Some(0), "nobody is asked: {}", stderr(&again));
    let explained = |path: &str| {
        stdout(&place.convoke_with(&["policy", "explain", "--tool", "rm", "--path", path], &variables))
    };
    assert!(explained("old.txt").starts_with("allow"), "{}", explained("old.txt"));
    assert!(explained("new.txt").starts_with("ask"), "{}", explained("new.txt"));
}
