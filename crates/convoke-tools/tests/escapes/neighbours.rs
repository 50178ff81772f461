//! Escapes from a shell to other programs of this machine.

use convoke_tools::sandbox::{CommandLimits, Network};
use serde_json::json;

use crate::common::Hands;
use crate::shell::{by_landlock, everywhere};

async fn bash(hands: &Hands, command: &str) -> String {
    hands.done("bash", json!({"command": command, "timeout": 20})).await
}

#[track_caller]
fn failed(command: &str, result: &str) {
    assert!(!result.ends_with("Exit code: 0"), "`{command}` succeeded: {result}");
}

/// A pair needs no way to anybody, but one for datagrams can be told where to send.
#[tokio::test]
async fn a_pair_of_sockets_reaches_nobody_else() {
    for network in [Network::None, Network::Open] {
        for hands in
            everywhere("a_pair_of_sockets_reaches_nobody_else", |sandbox| sandbox.network(network.clone()))
        {
            let path = hands.outside("log");
            let receiver = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
            receiver.set_nonblocking(true).unwrap();
            for kind in ["SOCK_DGRAM", "SOCK_RAW", "SOCK_STREAM", "SOCK_SEQPACKET"] {
                let command = format!(
                    "perl -MSocket -e 'socketpair(A, B, AF_UNIX, {kind}, 0) or exit 1; send(A, \"forged\", 0, \
                     sockaddr_un(\"{}\")) or exit 2'",
                    path.display()
                );
                bash(&hands, &command).await;
                assert!(receiver.recv(&mut [0; 8]).is_err(), "{kind}: somebody got through");
            }
            let talk = "perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or exit 1; \
                        syswrite(A, \"fine\"); sysread(B, $x, 4); print $x'";
            assert_eq!(bash(&hands, talk).await, "fine\nExit code: 0");
        }
    }
}

/// Whose limit on processor time is lowered to nothing is killed.
#[tokio::test]
async fn limits_of_other_processes_are_not_changed() {
    let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let limits = || std::fs::read_to_string(format!("/proc/{}/limits", other.id())).unwrap();
    let before = limits();
    let call = libc::SYS_prlimit64;
    for hands in everywhere("limits_of_other_processes_are_not_changed", |sandbox| sandbox) {
        // Open files, lowered.
        let lower = |process: u32| {
            format!(
                "perl -e '$l = pack(\"QQ\", 9, 9); exit(syscall({call}, {process}, 7, $l, 0) == 0 ? 0 : 1)'"
            )
        };
        let command = lower(other.id());
        failed(&command, &bash(&hands, &command).await);
        assert_eq!(limits(), before);
        assert_eq!(bash(&hands, &lower(0)).await, "Exit code: 0", "its own are its own");
        assert_eq!(bash(&hands, "ulimit -n 9 && ulimit -n").await, "9\nExit code: 0");
    }
    other.kill().unwrap();
    other.wait().unwrap();
}

#[tokio::test]
async fn nobody_sends_a_signal_to_everybody() {
    for hands in everywhere("nobody_sends_a_signal_to_everybody", |sandbox| sandbox) {
        // In a view everybody is the command itself.
        if !hands.sandbox.as_ref().unwrap().has_views().unwrap() {
            let command = "sleep 5 & kill -0 -- -1";
            failed(command, &bash(&hands, command).await);
        }
        assert_eq!(bash(&hands, "sleep 5 & kill $! && echo sent").await, "sent\nExit code: 0");
    }
}

/// Such memory belongs to nobody's process: it is not counted, and stays when the command has ended.
#[tokio::test]
async fn memory_and_messages_by_number_are_not_shared() {
    // A view has a namespace for them.
    if let Some(hands) = &by_landlock("memory_and_messages_by_number_are_not_shared", |sandbox| sandbox) {
        // Made, and removed again should that have worked.
        for command in [
            "perl -e '$i = shmget(0, 4096, 01600); exit 1 unless defined $i; shmctl($i, 0, 0)'",
            "perl -e '$i = msgget(0, 01600); exit 1 unless defined $i; msgctl($i, 0, 0)'",
            "perl -e '$i = semget(0, 1, 01600); exit 1 unless defined $i; semctl($i, 0, 0, 0)'",
        ] {
            failed(command, &bash(hands, command).await);
        }
    }
}

/// Files without a name are memory too, whoever has mapped them.
#[tokio::test]
async fn memory_in_files_without_a_name_counts() {
    let call = libc::SYS_memfd_create;
    let hold = |mib: u32, seconds: u32| {
        format!(
            "perl -e '$n = \"x\"; $f = syscall({call}, $n, 0); exit 0 if $f < 0; open(F, \">&=\", $f) or exit 1; \
             $| = 1; $p = \"x\" x (1 << 20); for (1..{mib}) {{ syswrite(F, $p) or exit 1 }} sleep {seconds}; print \"held\"'"
        )
    };
    let limits = CommandLimits::default().memory(100 << 20);
    for hands in everywhere("memory_in_files_without_a_name_counts", |sandbox| sandbox.limits(limits)) {
        let result = bash(&hands, &hold(300, 15)).await;
        assert!(!result.contains("held"), "{result}");
        let result = bash(&hands, &hold(20, 1)).await;
        // Where nobody can count it there is none, and the program goes without.
        assert!(result.contains("held") || result == "Exit code: 0", "{result}");
    }
}
