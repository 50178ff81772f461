//! Programs in a view: what they see, may do, and leave behind: for root, and (the same program, started again) for a user that
//! is not root.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use convoke_view::{Network, View, ViewError};

const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc/ld.so.cache",
    "/etc/alternatives",
];
/// A user that owns nothing.
const NOBODY: u32 = 65_534;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["root", "lower", "upper", "work"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn view(&self) -> View {
        let mut view = View::new(self.path("root"));
        for path in SYSTEM.iter().filter(|path| Path::new(path).symlink_metadata().is_ok()) {
            view = view.read_only(path, path);
        }
        let lower = vec![self.path("lower")];
        view.overlay(lower, self.path("upper"), self.path("work"), "/project").start("/project")
    }
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(view: View, script: &str) -> (ExitStatus, String) {
    let mut running = view.spawn(shell(script)).unwrap();
    let mut said = String::new();
    running.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    running.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (running.wait().unwrap(), said)
}

#[test]
fn what_is_changed_stays_in_the_upper_layer() {
    let place = Place::new();
    std::fs::write(place.path("lower/old"), "before").unwrap();
    std::fs::write(place.path("lower/gone"), "before").unwrap();
    let (ended, said) =
        run(place.view(), "cat old; echo after >old; rm gone; mkdir new; echo made >new/file; ls");
    assert!(ended.success(), "{said}");
    assert_eq!(said, "beforenew\nold\n");
    assert_eq!(std::fs::read_to_string(place.path("lower/old")).unwrap(), "before");
    assert_eq!(std::fs::read_to_string(place.path("upper/old")).unwrap(), "after\n");
    assert_eq!(std::fs::read_to_string(place.path("upper/new/file")).unwrap(), "made\n");
    assert!(std::fs::symlink_metadata(place.path("upper/gone")).unwrap().file_type().is_char_device());
}

#[test]
fn a_program_sees_what_it_was_given_and_nothing_else() {
    let place = Place::new();
    let outside = place.path("outside");
    std::fs::write(&outside, "secret").unwrap();
    let script = format!(
        "ls -a / /dev; cat {}; ls /home /root /sys /tmp; id -u; cat /proc/1/environ",
        outside.display()
    );
    let (_, said) = run(place.view(), &script);
    assert!(!said.contains("secret"), "{said}");
    for missing in ["/home", "/root", "/sys", "/tmp", "/proc/1/environ"] {
        assert!(
            said.contains(&format!("{missing}': No such file"))
                || said.contains(&format!("{missing}: No such file")),
            "{missing}: {said}"
        );
    }
    let own = rustix::process::geteuid().as_raw();
    assert!(said.contains(&format!("{own}\n")), "{said}");
}

#[test]
fn nothing_can_be_written_elsewhere_and_no_kernel_setting_changed() {
    let place = Place::new();
    for attempt in [
        "echo x >/file",
        "echo x >/usr/bin/file",
        "mkdir /dev/folder",
        "echo '|/project/handler' >/proc/sys/kernel/core_pattern",
        "echo b >/proc/sysrq-trigger",
        "chmod 4755 /usr/bin/env",
        "mount -t tmpfs none /project",
        "umount /proc",
        "mknod device c 1 5 && cat device | head -c 1",
        "hostname other",
    ] {
        let (ended, said) = run(place.view(), attempt);
        assert!(!ended.success(), "{attempt}: {said}");
    }
}

#[test]
fn everything_ends_with_the_program_and_its_end_is_told() {
    let place = Place::new();
    // What stays behind would hold its output open.
    let (ended, said) = run(place.view(), "setsid sh -c 'sleep 1000' & (sleep 1000 &) ; echo begun; exit 7");
    assert_eq!((ended.code(), &*said), (Some(7), "begun\n"));
    let (ended, _) = run(place.view(), "kill -9 $$");
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(9));
}

#[test]
fn whoever_drops_it_ends_everything() {
    let place = Place::new();
    let mut running = place
        .view()
        .spawn(shell("trap '' TERM INT HUP; setsid sleep 1000 & echo begun; sleep 1000"))
        .unwrap();
    let mut output = running.stdout.take().unwrap();
    let mut begun = [0; 6];
    output.read_exact(&mut begun).unwrap();
    drop(running);
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
}

#[test]
fn a_chain_of_processes_does_not_outlive_the_program() {
    let place = Place::new();
    let chain = "f() { (f &) ; exit 0; }; (f &); sleep 0.2; exit 3";
    let (ended, _) = run(place.view(), chain);
    assert_eq!(ended.code(), Some(3));
}

#[test]
fn the_loopback_is_its_own() {
    let place = Place::new();
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    let script = format!(
        "python3 -c \"
import socket
listener = socket.create_server(('127.0.0.1', 0))
socket.create_connection(listener.getsockname()).close()
print('own')
try:
    socket.create_connection(('127.0.0.1', {port}), 2)
    print('others')
except OSError as error:
    print('refused')\""
    );
    let (_, said) = run(place.view().read_only("/usr", "/usr"), &script);
    assert_eq!(said, "own\nrefused\n");
}

#[test]
fn a_socket_of_ours_listens_in_the_view() {
    let place = Place::new();
    let script = "python3 -c \"
import socket
socket = socket.create_connection(('127.0.0.1', 3128))
socket.sendall(b'from the view')\"";
    let mut running = place.view().network(Network::Listener(3128)).spawn(shell(script)).unwrap();
    let listener = running.listener.take().unwrap();
    let (mut connection, _) = listener.accept().unwrap();
    let mut said = String::new();
    connection.read_to_string(&mut said).unwrap();
    assert_eq!(said, "from the view");
    assert!(running.wait().unwrap().success());
}

#[test]
fn input_is_handed_on_and_a_missing_program_is_told() {
    let place = Place::new();
    let mut command = shell("cat");
    command.stdin(Stdio::piped());
    let mut running = place.view().spawn(command).unwrap();
    running.stdin.take().unwrap().write_all(b"to the view").unwrap();
    let mut said = String::new();
    running.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "to the view");
    assert!(running.wait().unwrap().success());
    let missing = place.view().spawn(Command::new("no-such-program"));
    assert!(matches!(missing, Err(ViewError::Start(_))), "{missing:?}");
}

#[test]
fn what_fails_is_named() {
    let place = Place::new();
    let error = place.view().read_only("/nowhere/at/all", "/somewhere").spawn(shell("true")).unwrap_err();
    assert!(error.to_string().starts_with("showing `/nowhere/at/all`"), "{error}");
    let error = place.view().start("/nowhere").spawn(shell("true")).unwrap_err();
    assert!(error.to_string().starts_with("entering the folder to start in"), "{error}");
}

#[test]
fn a_path_with_letters_that_overlays_read_otherwise_is_shown() {
    let place = Place::new();
    let odd = place.path("a,b:c\\d,upperdir=");
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join("file"), "odd").unwrap();
    let view = place.view().overlay(vec![odd], place.path("upper"), place.path("work"), "/odd");
    let (_, said) = run(view.start("/odd"), "cat file");
    assert_eq!(said, "odd");
}

#[test]
fn views_are_to_be_had_here() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(convoke_view::available(folder.path()), Ok(()));
}

#[test]
fn the_same_holds_for_a_user_that_is_not_root() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let program = folder.path().join("tests");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(&program);
    command.uid(NOBODY).gid(NOBODY).current_dir("/").env("TMPDIR", folder.path()).env("HOME", folder.path());
    // Tests beside this one start programs, which hold what was open for writing until they are others.
    let output = loop {
        match command.output() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            output => break output.unwrap(),
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
