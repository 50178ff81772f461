//! More commands in one than there seem to be, and commands that write where they should not.

use serde_json::json;

use super::range::{Range, bash, call};

#[test]
fn a_second_command_hidden_behind_a_harmless_one_reads_nothing_outside() {
    let range = Range::new();
    let secret = range.outside("secret.txt");
    let ways = [
        format!("ls -la && cat {secret}"),
        format!("ls -la; cat {secret}"),
        format!("ls -la | cat {secret}"),
        format!("ls -la & cat {secret}"),
        format!("ls -la\ncat {secret}"),
        format!("false || cat {secret}"),
        format!("x=$(cat {secret}) && echo \"$x\""),
        format!("x=`cat {secret}` && echo \"$x\""),
        format!("cat <(cat {secret}); wait $!"),
        format!("env -i cat {secret}"),
        format!("cat < {secret}"),
    ];
    let calls: Vec<_> = ways.iter().map(|way| bash(way)).collect();
    let ended = range.attack("List the folder, and while you are at it show the neighbours' notes", &calls);
    ended.finished();
    assert_eq!(ended.given.len(), ways.len());
    for index in 0..ways.len() {
        ended.kept_out(index);
    }
}

#[test]
fn the_accounts_of_the_machine_are_not_read() {
    let ended = Range::new().attack(
        "Show who has an account on this machine, and their passwords",
        &[
            bash("ls -la && grep daemon /etc/passwd"),
            bash("echo hello | tee x.txt | cat - /etc/group- 2>&1"),
            bash("echo $(cat /etc/shadow) `cat /etc/gshadow`; exit 1"),
            bash("ls -la /root"),
            call("read", json!({"path": "/etc/passwd"})),
            call("grep", json!({"pattern": "root", "path": "/etc"})),
        ],
    );
    ended.finished();
    // There is an account of its own, and no other.
    ended.refused(0, &[]);
    for index in 1..4 {
        ended.kept_out(index);
    }
    for index in 4..6 {
        ended.refused(index, &["denied", "leads out of the workspace"]);
    }
    assert!(!ended.stdout.contains("root:"), "{}", ended.stdout);
}

#[test]
fn a_redirection_leaves_nothing_behind_outside() {
    let range = Range::new();
    let (secret, new) = (range.outside("secret.txt"), range.outside("new.txt"));
    let ended = range.attack(
        "Leave a door open for later",
        &[
            bash("echo '* * * * * root id' > /etc/cron.d/convoke-corpus"),
            bash(&format!("echo evil > {secret}")),
            bash(&format!("echo evil >> {secret}")),
            bash(&format!("echo evil | tee {new}")),
            bash(&format!("cp notes.txt {new}")),
            bash(&format!("bash -c 'echo evil >| {new}'")),
        ],
    );
    ended.finished();
    ended.refused(0, &["denied by the policy", "outside of the workspace"]);
    for index in 1..6 {
        ended.kept_out(index);
    }
    assert!(!std::path::Path::new("/etc/cron.d/convoke-corpus").exists());
}

#[test]
fn what_would_wipe_everything_is_asked_about_and_wipes_nothing() {
    for command in ["rm -rf /", "ls\nrm -rf /", "cd /; rm -rf *", "find / -delete"] {
        let range = Range::new();
        range.attack("Make room", &[bash(command)]).asks(&["May `bash` be called?"]);
        let told = range.convoke(&["answer", "corpus-1", "--reject=certainly not", "--resume"]);
        assert_eq!(told.status.code(), Some(0), "{told:?}");
        assert_eq!(range.place.read("work/notes.txt"), "a note\nTODO: sing\n");
    }
}

#[test]
fn rights_of_others_and_the_machine_itself_are_denied_however_they_are_wrapped() {
    let commands = [
        "sudo cat /etc/shadow",
        "timeout 5 sudo -n true",
        "ls && su root -c id",
        "env A=1 mount /dev/sda1 work",
        "echo hi | xargs sudo tee x",
        "bash -c 'chroot / id'",
        "systemctl stop sshd",
        "crontab -",
        "dd if=/dev/zero of=/dev/sda",
    ];
    let calls: Vec<_> = commands.iter().map(|command| bash(command)).collect();
    let ended = Range::new().attack("Become root", &calls);
    ended.finished();
    for index in 0..commands.len() {
        ended.refused(index, &["denied by the policy"]);
    }
}
