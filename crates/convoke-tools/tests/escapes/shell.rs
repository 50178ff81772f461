//! Escapes from a shell. The commands are not looked at by anybody: what stops them is where they run.

use std::path::PathBuf;

use convoke_tools::sandbox::{CommandLimits, Confinement, Network, Sandbox};
use serde_json::json;

use crate::common::{Hands, SECRET, skipped, with_bash};

/// A workspace for each way of confinement that this machine has.
pub(crate) fn everywhere(test: &str, set_up: impl Fn(Sandbox) -> Sandbox) -> Vec<Hands> {
    in_views(test, &set_up).into_iter().chain(by_landlock(test, &set_up)).collect()
}

/// A workspace whose commands work in views, if there are any here.
pub(crate) fn in_views(test: &str, set_up: impl Fn(Sandbox) -> Sandbox) -> Option<Hands> {
    if !crate::has_views() {
        skipped(&format!("{test} (view)"), "namespaces are not to be had here");
        return None;
    }
    Some(with_bash(|sandbox| set_up(sandbox.confinement(Confinement::View))))
}

/// A workspace whose commands Landlock confines, if there is one here.
pub(crate) fn by_landlock(test: &str, set_up: impl Fn(Sandbox) -> Sandbox) -> Option<Hands> {
    if !crate::has_landlock() {
        skipped(test, "this kernel has no Landlock of version 3");
        return None;
    }
    Some(with_bash(|sandbox| set_up(sandbox.confinement(Confinement::Landlock))))
}

async fn bash(hands: &Hands, command: &str) -> String {
    hands.done("bash", json!({"command": command, "timeout": 20})).await
}

/// Tries a command that must fail, and not give the secret away.
async fn fails(hands: &Hands, command: &str) -> String {
    let result = bash(hands, command).await;
    assert!(!result.contains(SECRET), "`{command}` gave the secret away: {result}");
    assert!(!result.ends_with("Exit code: 0"), "`{command}` succeeded: {result}");
    result
}

#[tokio::test]
async fn no_way_of_writing_a_command_reads_outside() {
    for hands in everywhere("no_way_of_writing_a_command_reads_outside", |sandbox| sandbox) {
        hands.put("mine.txt", "mine\n");
        let attempts = |path: &str| {
            [
                format!("cat {path}"),
                format!("ls >/dev/null\ncat {path}"),
                format!("ls >/dev/null & cat {path}"),
                format!("true && cat {path}"),
                format!("false || cat {path}"),
                format!("true; cat {path}"),
                format!("true | cat {path}"),
                format!("x=$(cat {path}) && echo $x"),
                format!("x=`cat {path}` && echo $x"),
                format!("env -i cat {path}"),
                format!("A=1 cat {path}"),
                format!("timeout 5 cat {path}"),
                format!("bash -c 'cat {path}'"),
                format!("sh -c \"exec cat {path}\""),
                format!("echo {path} | xargs cat"),
                format!("bash <<'END'\ncat {path}\nEND"),
                format!("eval \"c\"'a't {path}"),
                format!("$'\\x63at' {path}"),
                format!("/usr/bin/env cat {path}"),
                format!("nohup cat {path}"),
                format!("echo 'cat {path}' > s.sh; . ./s.sh"),
                format!("IFS= read -r x < {path} && echo $x"),
                format!("while read -r x; do echo $x; done < {path}"),
                format!("awk 1 {path}"),
                format!("sed p {path}"),
                format!("dd if={path}"),
                format!("base64 {path}"),
                format!("tar cf t.tar {path}"),
                format!("find {path} -exec cat {{}} +"),
                format!("cp {path} copy && cat copy"),
                format!("perl -e 'open(F, \"<\", \"{path}\") or exit 1; print <F>'"),
                format!("mapfile -t x < {path} && echo ${{x[0]}}"),
            ]
        };
        let secret = hands.outside("secret.txt").display().to_string();
        for command in attempts(&secret) {
            fails(&hands, &command).await;
        }
        for command in attempts("../outside/secret.txt") {
            fails(&hands, &command).await;
        }
        for command in attempts("mine.txt") {
            let result = bash(&hands, &command).await;
            assert!(result.ends_with("Exit code: 0"), "`{command}` failed: {result}");
        }
    }
}

#[tokio::test]
async fn nothing_outside_is_written_removed_or_emptied() {
    for hands in everywhere("nothing_outside_is_written_removed_or_emptied", |sandbox| sandbox) {
        let outside = hands.outside("").display().to_string();
        for command in [
            "echo x > OUT/secret.txt",
            "echo x >> OUT/secret.txt",
            "rm OUT/secret.txt",
            "mv OUT/secret.txt stolen",
            "truncate -s 0 OUT/secret.txt",
            "touch OUT/new",
            "mkdir OUT/new",
            "ln -s /etc OUT/new",
            "cp /etc/hostname OUT/new",
            "chmod 777 OUT/secret.txt && cat OUT/secret.txt",
            "perl -e 'truncate(\"OUT/secret.txt\", 0) or exit 1'",
        ] {
            fails(&hands, &command.replace("OUT/", &outside)).await;
        }
        assert_eq!(std::fs::read_to_string(hands.outside("secret.txt")).unwrap(), SECRET);
        assert_eq!(std::fs::read_dir(hands.outside("")).unwrap().count(), 1);
        let done =
            bash(&hands, "echo x > a && echo y >> a && mkdir d && mv a d && truncate -s 0 d/a && rm -r d")
                .await;
        assert_eq!(done, "Exit code: 0");
    }
}

#[tokio::test]
async fn links_made_in_the_shell_lead_nowhere() {
    for hands in everywhere("links_made_in_the_shell_lead_nowhere", |sandbox| sandbox) {
        let secret = hands.outside("secret.txt").display().to_string();
        fails(&hands, &format!("ln -s {secret} l && cat l")).await;
        fails(&hands, &format!("ln {secret} h && cat h")).await;
        assert!(!hands.inside("h").exists());
        assert_eq!(bash(&hands, "echo t > t; ln -s t s; ln t h2; cat s h2").await, "t\nt\nExit code: 0");
    }
}

#[tokio::test]
async fn the_folder_of_processes_gives_nothing_away() {
    for hands in everywhere("the_folder_of_processes_gives_nothing_away", |sandbox| sandbox) {
        let secret = hands.outside("secret.txt").display().to_string();
        // The test itself has variables of cargo's: they stand for keys.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        for command in ["cat /proc/self/environ", "env", "cat /proc/$$/environ"] {
            let result = bash(&hands, command).await;
            assert!(result.contains("HOME=") && !result.contains("CARGO"), "{command}: {result}");
        }
        let me = std::process::id();
        for command in [
            format!("cat /proc/{me}/environ"),
            // Threads that are confined themselves must not be there: they have the same variables and the same memory.
            format!("cat /proc/{me}/task/*/environ | grep -qz CARGO"),
            format!("cat /proc/{me}/task/*/maps | grep -q ."),
            format!("readlink /proc/{me}/task/*/fd/*"),
            format!("readlink /proc/{me}/task/*/exe"),
            format!("for one in /proc/{me}/task/*; do cat $one/root{secret} && exit 0; done; exit 1"),
            format!("cat /proc/{me}/mem"),
            format!("cat /proc/{me}/root{secret}"),
            format!("cat /proc/{me}/fd/1"),
            format!("readlink /proc/{me}/exe"),
            format!("cat /proc/self/root{secret}"),
            "cat /proc/self/cwd/../outside/secret.txt".to_owned(),
            "cat /proc/1/environ && cat /proc/1/environ | grep -z CARGO".to_owned(),
            format!("cat /proc/1/root{secret}"),
        ] {
            fails(&hands, &command).await;
        }
    }
}

#[tokio::test]
async fn only_listed_variables_are_there() {
    for hands in everywhere("only_listed_variables_are_there", |sandbox| sandbox.variable("GIVEN", "yes")) {
        let result = bash(&hands, "env | cut -d= -f1 | sort").await;
        for name in result.lines().filter(|line| !line.starts_with("Exit code")) {
            let known = [
                "GIVEN", "HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "PATH", "PWD", "OLDPWD", "SHLVL",
                "TERM", "TMPDIR", "TZ", "_",
            ];
            assert!(known.contains(&name), "{name}");
        }
        assert!(result.contains("GIVEN"));
    }
}

#[tokio::test]
async fn private_files_of_the_system_are_not_read() {
    for hands in everywhere("private_files_of_the_system_are_not_read", |sandbox| sandbox) {
        for command in [
            "cat /etc/shadow",
            "grep daemon /etc/passwd",
            "grep daemon /etc/group",
            "ls /root",
            "ls /home/",
            "cat /var/log/syslog /var/log/dpkg.log",
            "ls /tmp/.X11-unix",
        ] {
            fails(&hands, command).await;
        }
        // Programs do without the names of other accounts, and find what else they look up.
        let done =
            bash(&hands, "id -u && ls -l . && cd ~ && head -n 1 /etc/nsswitch.conf && git --version").await;
        assert!(done.ends_with("Exit code: 0"), "{done}");
    }
}

/// A program says that something was denied, and not by whom.
#[tokio::test]
async fn whoever_is_refused_is_told_by_what() {
    for hands in everywhere("whoever_is_refused_is_told_by_what", |sandbox| sandbox) {
        for command in ["touch /etc/x", "touch /etc/x 2>&1"] {
            let told = fails(&hands, command).await;
            assert!(
                told.contains("denied by the sandbox") && told.contains("reach no other machine"),
                "{told}"
            );
        }
        let told = bash(&hands, "echo 'Permission denied'").await;
        assert_eq!(told, "Permission denied\nExit code: 0", "it is what a file says, perhaps");
    }
    let hands = with_bash(|sandbox| sandbox.confinement(Confinement::Off));
    let told = bash(&hands, "echo 'x: Permission denied' >&2; exit 1").await;
    assert!(!told.contains("sandbox"), "there is none: {told}");
}

#[tokio::test]
async fn there_is_no_network() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for hands in everywhere("there_is_no_network", |sandbox| sandbox) {
        for command in [
            format!("exec 3<>/dev/tcp/127.0.0.1/{port}"),
            format!(
                "perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0) or exit 1; connect(S, sockaddr_in({port}, inet_aton(\"127.0.0.1\"))) or exit 2'"
            ),
            format!(
                "perl -MSocket -e 'socket(S, PF_INET6, SOCK_STREAM, 0) or exit 1; connect(S, pack_sockaddr_in6({port}, inet_pton(AF_INET6, \"::ffff:127.0.0.1\"))) or exit 2'"
            ),
        ] {
            fails(&hands, &command).await;
        }
    }
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "somebody got through");
    for hands in everywhere("there_is_no_network", |sandbox| sandbox.network(Network::Open)) {
        assert_eq!(bash(&hands, &format!("exec 3<>/dev/tcp/127.0.0.1/{port}")).await, "Exit code: 0");
    }
    assert!(listener.accept().is_ok());
}

#[tokio::test]
async fn datagrams_and_sockets_of_this_machine_are_not_reached() {
    let receiver = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = receiver.local_addr().unwrap().port();
    receiver.set_nonblocking(true).unwrap();
    for network in [Network::None, Network::Open] {
        for hands in everywhere("sockets_of_this_machine", |sandbox| sandbox.network(network.clone())) {
            let path = hands.outside("socket");
            let _ = std::fs::remove_file(&path);
            let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
            listener.set_nonblocking(true).unwrap();
            let connect = format!(
                "perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0) or exit 1; connect(S, sockaddr_un(\"{}\")) or exit 2'",
                path.display()
            );
            fails(&hands, &connect).await;
            assert!(listener.accept().is_err(), "somebody got through");
            if network == Network::None {
                bash(&hands, &format!("echo x > /dev/udp/127.0.0.1/{port}")).await;
            }
        }
    }
    assert!(receiver.recv(&mut [0; 8]).is_err(), "a datagram got through");
}

#[tokio::test]
async fn names_of_the_machine_and_its_mounts_cannot_be_changed() {
    for hands in everywhere("names_of_the_machine_and_its_mounts_cannot_be_changed", |sandbox| sandbox) {
        std::fs::create_dir(hands.inside("m")).unwrap();
        for command in [
            "unshare -Ur true",
            "unshare -m true",
            "mount --bind /etc m",
            "mount -t tmpfs none m",
            "chroot / true",
            "mknod m/disk b 8 0",
            "hostname other",
            "nsenter -t 1 -m true",
        ] {
            fails(&hands, command).await;
        }
        let rights = bash(&hands, "grep -E 'NoNewPrivs|Seccomp:' /proc/self/status").await;
        assert!(rights.contains("NoNewPrivs:\t1") && rights.contains("Seccomp:\t2"), "{rights}");
    }
}

#[tokio::test]
async fn root_keeps_rights_to_files_only() {
    for hands in everywhere("root_keeps_rights_to_files_only", |sandbox| sandbox) {
        let rights = bash(&hands, "grep CapEff /proc/self/status | cut -f2").await;
        let rights = u64::from_str_radix(rights.lines().next().unwrap(), 16).unwrap();
        // chown, dac_override, fowner, fsetid
        assert_eq!(rights & !0b1_1011, 0, "{rights:x}");
    }
}

#[tokio::test]
async fn the_process_above_is_not_killed() {
    for hands in everywhere("the_process_above_is_not_killed", |sandbox| sandbox) {
        let me = std::process::id();
        fails(&hands, &format!("kill -9 {me}")).await;
        // Killing one thread kills them all.
        let threads = format!(
            "tasks=$(ls /proc/{me}/task); killed=1; for one in $tasks; do kill -9 $one && killed=0; done"
        );
        fails(&hands, &format!("{threads}; exit $killed")).await;
        assert!(bash(&hands, "sleep 100 & kill -9 $! && echo killed").await.contains("killed"));
    }
}

/// These make a number of processes and stop by themselves: if the limit failed, nobody else would notice.
#[tokio::test]
async fn too_many_processes_end_the_command() {
    let limits = CommandLimits::default().processes(20);
    for hands in everywhere("too_many_processes_end_the_command", |sandbox| sandbox.limits(limits)) {
        for make in ["sleep 7 &", "setsid sleep 7 &", "(env -i setsid sleep 7 &)"] {
            let result = bash(&hands, &format!("for i in $(seq 40); do {make} done; sleep 8")).await;
            assert!(result.contains("too many processes") || result.contains("fork: "), "{make}: {result}");
        }
        let few = "for i in 1 2 3; do sleep 0.01 & done; wait; echo fine";
        assert_eq!(bash(&hands, few).await, "fine\nExit code: 0");
    }
}

/// The kernel's limit on a user's processes does not hold root, so root's commands get a control group.
#[tokio::test]
async fn the_processes_of_root_are_bounded_by_a_control_group() {
    let test = "the_processes_of_root_are_bounded_by_a_control_group";
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    if !rustix::process::geteuid().is_root() || !own.contains(":pids:") || !crate::has_landlock() {
        return skipped(test, "it is for root, Landlock and control groups of version 1");
    }
    let hands = with_bash(|sandbox| sandbox.confinement(Confinement::Landlock));
    let groups = bash(&hands, "grep pids /proc/self/cgroup").await;
    let group = groups.lines().next().unwrap().rsplit(':').next().unwrap().to_owned();
    assert!(group.contains("/convoke-"), "{groups}");
    let path = PathBuf::from(format!("/sys/fs/cgroup/pids{group}"));
    // What was waited for too late is removed with a later command's.
    for _ in 0..50 {
        if !path.exists() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        bash(&hands, "true").await;
    }
    assert!(!path.exists(), "it is still there");
    fails(&hands, "echo max > /sys/fs/cgroup/pids$(grep pids /proc/self/cgroup | cut -d: -f3)/pids.max")
        .await;
    fails(&hands, "echo $$ > /sys/fs/cgroup/pids/cgroup.procs").await;
}

#[tokio::test]
async fn a_memory_bomb_ends() {
    let limits = CommandLimits::default().memory(200 << 20);
    for hands in everywhere("a_memory_bomb_ends", |sandbox| sandbox.limits(limits)) {
        fails(&hands, "perl -e '$x = \"x\" x (1 << 30); print length $x'").await;
        // Many processes, each within its own limit.
        let result = bash(
            &hands,
            "for i in 1 2 3 4; do perl -e '$x = \"x\" x (60 << 20); $x =~ s/x$/y/; sleep 15' & done; wait",
        )
        .await;
        assert!(result.contains("too much memory together"), "{result}");
        assert!(
            bash(&hands, "perl -e '$x = \"x\" x (1 << 20); print length $x'").await.starts_with("1048576")
        );
    }
}

#[tokio::test]
async fn a_file_does_not_fill_the_disk() {
    let limits = CommandLimits::default().file(1 << 20);
    for hands in everywhere("a_file_does_not_fill_the_disk", |sandbox| sandbox.limits(limits)) {
        let result = fails(&hands, "head -c 100000000 /dev/zero > big").await;
        assert!(std::fs::metadata(hands.inside("big")).unwrap().len() <= 1 << 20, "{result}");
        assert_eq!(bash(&hands, "head -c 1000000 /dev/zero > small").await, "Exit code: 0");
    }
}

#[tokio::test]
async fn a_command_ends_before_the_disk_is_full() {
    let limits = CommandLimits::default().free_disk(u64::MAX);
    for hands in everywhere("a_command_ends_before_the_disk_is_full", |sandbox| sandbox.limits(limits)) {
        let result =
            bash(&hands, "i=0; while true; do i=$((i+1)); head -c 1000000 /dev/zero > f$i; done").await;
        assert!(result.contains("the disk was nearly full"), "{result}");
    }
}

#[tokio::test]
async fn limits_cannot_be_raised() {
    let limits = CommandLimits::default().file(1 << 20);
    for hands in everywhere("limits_cannot_be_raised", |sandbox| sandbox.limits(limits)) {
        fails(&hands, "ulimit -f unlimited").await;
        fails(&hands, "ulimit -Hx unlimited || ulimit -x 5").await;
        fails(&hands, "ulimit -x 5").await;
        assert_eq!(bash(&hands, "ulimit -f 10 && ulimit -f").await, "10\nExit code: 0");
    }
}

#[tokio::test]
async fn nothing_outlives_its_command() {
    for (number, command) in [
        "trap '' TERM INT HUP; exec -a NAME sleep 1000 & sleep 1000",
        "setsid bash -c 'trap \"\" TERM; exec -a NAME sleep 1000' & sleep 1000",
        "(setsid bash -c '(exec -a NAME sleep 1000 &) ; exit' &) ; sleep 1000",
        "env -i setsid bash -c '(env -i setsid bash -c \"exec -a NAME sleep 1000\" </dev/null >/dev/null 2>&1 &)' ; sleep 1000",
        "set -m; bash -c 'exec -a NAME sleep 1000' & disown; sleep 1000",
        "nohup bash -c 'exec -a NAME sleep 1000' >/dev/null 2>&1 & sleep 1000",
    ]
    .iter()
    .enumerate()
    {
        for (kind, hands) in everywhere("nothing_outlives_its_command", |sandbox| sandbox).into_iter().enumerate() {
            let name = format!("survivor-{}-{number}-{kind}", std::process::id());
            let command = command.replace("NAME", &name);
            let result = hands.done("bash", json!({"command": command, "timeout": 1})).await;
            assert!(result.contains("timed out"), "{command}: {result}");
            assert_eq!(count(&name), 0, "{command}");
            // The same, when the command ends by itself.
            let command = command.replace("sleep 1000 &", "sleep 1000 & sleep 0.2 #").replace("; sleep 1000", "; sleep 0.2");
            hands.done("bash", json!({"command": command, "timeout": 3})).await;
            assert_eq!(count(&name), 0, "{command}");
        }
    }
}

#[tokio::test]
async fn no_zombies_are_left() {
    for hands in everywhere("no_zombies_are_left", |sandbox| sandbox) {
        for _ in 0..5 {
            bash(&hands, "sleep 0.01 & (sleep 100 &); true").await;
        }
    }
    let me = std::process::id().to_string();
    for _ in 0..100 {
        let zombies = stats().into_iter().filter(|stat| {
            let fields: Vec<&str> =
                stat.rsplit_once(')').map_or(Vec::new(), |(_, rest)| rest.split_whitespace().collect());
            fields.first() == Some(&"Z") && fields.get(1) == Some(&me.as_str())
        });
        if zombies.count() == 0 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("there are zombies");
}

#[tokio::test]
async fn the_terminal_is_not_there() {
    for hands in everywhere("the_terminal_is_not_there", |sandbox| sandbox) {
        fails(&hands, "echo x > /dev/tty").await;
        assert_eq!(bash(&hands, "cat; echo end").await, "end\nExit code: 0");
    }
}

/// agent 174: what a list of forbidden names cannot see is stopped by the sandbox.
#[tokio::test]
async fn agent_174_commands_that_hide_are_sandboxed() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    for hands in everywhere("agent_174", |sandbox| sandbox) {
        hands.put("c", &format!("#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/{port} && echo reached\n"));
        bash(&hands, "chmod +x c").await;
        for command in
            ["ls\n./c", "ls & ./c", "echo $(./c)", "env -i ./c", "A=1 ./c", "timeout 5 ./c", "bash -c ./c"]
        {
            let result = bash(&hands, command).await;
            assert!(!result.contains("reached"), "{command}: {result}");
        }
    }
    assert!(listener.accept().is_err(), "somebody got through");
}

fn stats() -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let path = |entry: std::fs::DirEntry| -> PathBuf { entry.path().join("stat") };
    processes.filter_map(|entry| std::fs::read_to_string(path(entry)).ok()).collect()
}

/// Processes with this in their command line.
fn count(name: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.split('\0').any(|word| word == name)).count()
}

/// What is written for a command, outside its confinement, must not be led elsewhere by it.
#[tokio::test]
async fn a_kept_output_cannot_be_led_elsewhere() {
    for hands in everywhere("a_kept_output_cannot_be_led_elsewhere", |sandbox| sandbox) {
        let secret = hands.outside("secret.txt").display().to_string();
        let attempt = format!(
            "cd $HOME/..; rm -rf outputs filter; mkdir outputs; \
             ln -sf {secret} outputs/2.txt; ln -sf {secret} filter; ls -l . outputs; true"
        );
        bash(&hands, &attempt).await;
        let long = bash(&hands, "seq 1 100000").await;
        assert_eq!(std::fs::read_to_string(hands.outside("secret.txt")).unwrap(), SECRET);
        let path = long.split("is in ").nth(1).unwrap().split(';').next().unwrap();
        assert_eq!(bash(&hands, &format!("sed -n 7p {path}")).await, "7\nExit code: 0");
        fails(&hands, &format!("echo x > {path}")).await;
    }
}
