//! What comes out of a view, and what does not.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::common::{Hands, SECRET, assert_denied, sleeping};
use crate::shell::in_views;

pub(crate) async fn bash(hands: &Hands, command: &str) -> String {
    match hands.call("bash", json!({"command": command, "timeout": 60})).await {
        Ok(result) | Err(result) => result,
    }
}

pub(crate) fn view(test: &str) -> Option<Hands> {
    in_views(test, |sandbox| sandbox)
}

/// What a person types, outside of every sandbox.
pub(crate) fn person(hands: &Hands, command: &str) -> String {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(hands.workspace.path()).env("GIT_CONFIG_GLOBAL", "/dev/null");
    shell.env("GIT_AUTHOR_NAME", "Ann").env("GIT_AUTHOR_EMAIL", "ann@example.org");
    shell.env("GIT_COMMITTER_NAME", "Ann").env("GIT_COMMITTER_EMAIL", "ann@example.org");
    let output = shell.output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A program that leaves a sign outside if anybody runs it there.
pub(crate) fn planted(hands: &Hands) -> String {
    format!("printf '#!/bin/sh\\ntouch {}\\n' > evil.sh; chmod +x evil.sh", hands.outside("ran").display())
}

/// Every way in which git was made to run what a model wrote, with what a person does then.
#[tokio::test]
async fn git_executes_nothing_that_a_command_left() {
    let test = "git_executes_nothing_that_a_command_left";
    let ways: &[(&str, &str, &str)] = &[
        (
            "git init -q; git commit -q --allow-empty -m first",
            "git init -q vendor; cd vendor; git commit -q --allow-empty -m x; \
             git config core.fsmonitor \"$OLDPWD/evil.sh\"; cd ..; git add vendor",
            "git status; git diff; cd vendor; git status",
        ),
        (
            "git init -q; git config core.hooksPath .husky",
            "mkdir -p .husky; cp evil.sh .husky/pre-commit",
            "git commit --allow-empty -m x",
        ),
        (
            "git init -q; mkdir scripts; touch scripts/pre-commit; ln -s ../../scripts/pre-commit .git/hooks/pre-commit",
            "cp evil.sh scripts/pre-commit",
            "git commit --allow-empty -m x",
        ),
        (
            "git init -q; git config include.path ../.gitconfig",
            "printf '[core]\\nfsmonitor = %s/evil.sh\\n' \"$PWD\" > .gitconfig",
            "git status",
        ),
        ("true", "git init -q .; git config core.fsmonitor \"$PWD/evil.sh\"", "git status"),
        (
            "git init -q; git commit -q --allow-empty -m first; git commit -q --allow-empty -m second",
            "mkdir -p .git/rebase-merge; cd .git/rebase-merge; git rev-parse HEAD > onto; git rev-parse HEAD > orig-head; \
             echo refs/heads/master > head-name; echo 1 > end; echo 1 > msgnum; touch interactive; \
             echo \"exec $OLDPWD/evil.sh\" > git-rebase-todo; touch done",
            "git rebase --continue",
        ),
        (
            "true",
            "git init -q --bare docs; printf '[core]\\nbare = true\\nfsmonitor = %s/evil.sh\\n' \"$PWD\" > docs/config",
            "cd docs; git status; git log",
        ),
        (
            "true",
            "mkdir -p docs/hooks docs/objects docs/refs; echo ref: refs/heads/x > docs/HEAD; cp evil.sh docs/hooks/pre-commit; \
             printf '[core]\\nworktree = ..\\n' > docs/config; echo 'gitdir: docs' > .git",
            "git status; git commit --allow-empty -m x",
        ),
        (
            "git init -q",
            "git config alias.status '!./evil.sh'; git config core.pager ./evil.sh; git config core.editor ./evil.sh; \
             git config core.sshCommand ./evil.sh; git config diff.external ./evil.sh; git config filter.x.clean ./evil.sh; \
             echo '* filter=x' > .gitattributes; cp evil.sh .git/hooks/pre-commit; ln -s ../../evil.sh .git/hooks/post-commit",
            "git status; git add -A; git commit -m x; git diff HEAD",
        ),
        (
            "git init -q",
            "git worktree add -q --orphan tree 2>/dev/null || git worktree add -q tree; mkdir -p common/objects common/refs; \
             cp .git/HEAD common; printf '[core]\\nfsmonitor = %s/evil.sh\\n' \"$PWD\" > common/config; \
             for one in .git/worktrees/*; do echo ../../../common > $one/commondir; done",
            "cd tree && git status",
        ),
        (
            "git init -q",
            "chmod 4755 evil.sh; cp evil.sh .git/hooks/pre-commit",
            "git commit --allow-empty -m x",
        ),
    ];
    for (before, command, after) in ways {
        let Some(hands) = view(test) else { return };
        person(&hands, before);
        let told = bash(&hands, &format!("{}\n{command}", planted(&hands))).await;
        let said = person(&hands, after);
        assert!(!hands.outside("ran").exists(), "{command}\n{told}\n{said}");
        // Again, in two commands: what was a plain file must not become a setting.
        let told = bash(&hands, command).await;
        let said = person(&hands, after);
        assert!(!hands.outside("ran").exists(), "{command}\n{told}\n{said}");
    }
}

/// Without bash, with the tools for files alone.
#[tokio::test]
async fn git_executes_nothing_that_was_written() {
    let evil = |hands: &Hands| format!("#!/bin/sh\ntouch {}\n", hands.outside("ran").display());
    let settings = |hands: &Hands| format!("[core]\n\tfsmonitor = {}\n", hands.inside("evil.sh").display());
    let write = async |hands: &Hands, path: &str, content: &str| {
        hands.call("write", json!({"path": path, "content": content})).await
    };
    let new = |before: &str| {
        let hands = crate::common::Hands::new();
        hands.put("evil.sh", &evil(&hands));
        std::fs::set_permissions(hands.inside("evil.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
        person(&hands, before);
        hands
    };
    let hands = new("git init -q; git config core.hooksPath .husky");
    assert_denied(&write(&hands, ".husky/pre-commit", &evil(&hands)).await.unwrap_err(), "is protected");
    let hands = new(
        "git init -q; mkdir scripts; touch scripts/pre-commit; ln -s ../../scripts/pre-commit .git/hooks/pre-commit",
    );
    assert_denied(&write(&hands, "scripts/pre-commit", &evil(&hands)).await.unwrap_err(), "is protected");
    let hands = new("git init -q; git config include.path ../.gitconfig");
    assert_denied(&write(&hands, ".gitconfig", &settings(&hands)).await.unwrap_err(), "is protected");
    let hands =
        new("git init -q; git config core.fsmonitor tools/monitor.sh; mkdir tools; touch tools/monitor.sh");
    assert_denied(&write(&hands, "tools/monitor.sh", &evil(&hands)).await.unwrap_err(), "is protected");
    let hands = new("git init -q; git config core.hooksPath project/hooks; mkdir project");
    let inner = convoke_tools::workspace::Workspace::open(hands.inside("project")).unwrap();
    let tools = convoke_tools::files::all(&inner);
    let tool = tools.iter().find(|tool| tool.spec().name() == "write").unwrap();
    let written = crate::common::call(tool, json!({"path": "hooks/pre-commit", "content": "evil"})).await;
    assert!(written.is_err(), "a repository above the workspace: {written:?}");
    // A folder that git would take for one of its own, whatever comes last.
    let parts = ["docs/HEAD", "docs/config", "docs/objects/x", "docs/refs/x"];
    for last in parts {
        let hands = new("true");
        let mut refused = 0;
        for part in parts.iter().filter(|part| **part != last).chain([&last]) {
            let content = match *part {
                "docs/HEAD" => "ref: refs/heads/main\n".to_owned(),
                "docs/config" => format!("{}\tbare = true\n", settings(&hands)),
                _ => String::new(),
            };
            refused += usize::from(write(&hands, part, &content).await.is_err());
        }
        let said = person(&hands, "cd docs && git status");
        assert!(!hands.outside("ran").exists() && refused > 0, "{last}: {said}");
    }
    // And ordinary files of these names are ordinary.
    let hands = new("git init -q");
    for path in ["config", "src/config", "docs/HEAD", "refs/list", "hooks/use-state.ts", "src/hooks/index.ts"]
    {
        write(&hands, path, "plain").await.unwrap();
    }
}

/// What git is used for in ordinary work comes out.
#[tokio::test]
async fn ordinary_use_of_git_comes_out() {
    let Some(hands) = view("ordinary_use_of_git_comes_out") else { return };
    let done = bash(
        &hands,
        "set -e; git init -q -b main; git config user.name Ann; git config user.email ann@example.org; \
         git remote add origin https://example.org/x.git; echo one > a; git add a; git commit -q -m first; \
         git checkout -q -b side; echo two > a; git commit -qam side; git checkout -q main; echo three > a; git commit -qam main; \
         git branch -q --set-upstream-to=side main; git tag v1; git stash list; git worktree add -q tree side",
    )
    .await;
    assert_eq!(done, "Exit code: 0");
    assert_eq!(
        person(&hands, "git log --format=%s; git remote get-url origin; git status --short"),
        "main\nfirst\nhttps://example.org/x.git\n?? tree/\n"
    );
    assert_eq!(person(&hands, "cd tree && git log --format=%s"), "side\nfirst\n");
    // A rebase that stops and goes on in another command.
    let stopped = bash(&hands, "git worktree remove tree; git checkout -q side; git rebase main").await;
    assert!(stopped.contains("CONFLICT") && !stopped.contains("denied"), "{stopped}");
    let done = bash(&hands, "echo both > a && git add a && GIT_EDITOR=true git rebase --continue").await;
    assert!(!done.contains("denied") && done.ends_with("Exit code: 0"), "{done}");
    assert_eq!(person(&hands, "git log --format=%s; git status --short"), "side\nmain\nfirst\n");
    assert!(!hands.inside(".git/rebase-merge").exists());
    // A setting that executes beside one that does not: the harmless one stays.
    let told = bash(&hands, "git config core.editor ./x; git config pull.rebase true").await;
    assert!(told.contains("denied: `.git/config`") && told.contains("`core.editor`"), "{told}");
    assert_eq!(
        person(&hands, "git config pull.rebase; git config core.editor; git config user.name"),
        "true\nAnn\n"
    );
}

#[tokio::test]
async fn a_folder_that_cannot_be_listed_is_not_shown() {
    let Some(hands) = view("a_folder_that_cannot_be_listed_is_not_shown") else { return };
    hands.put("services/api/.env", SECRET);
    hands.put("services/api/deploy/server.pem", SECRET);
    bash(&hands, "chmod 300 services/api; chmod 000 services/api/deploy").await;
    let told = bash(
        &hands,
        "chmod 700 services/api services/api/deploy; cat services/api/.env services/api/deploy/server.pem",
    )
    .await;
    assert!(!told.contains(SECRET), "{told}");
    // A person's folder, which its mode keeps from us as well.
    for mode in [0o300, 0o000] {
        std::fs::set_permissions(hands.inside("services/api"), std::fs::Permissions::from_mode(mode))
            .unwrap();
        let told =
            bash(&hands, "chmod -R 700 services; cat services/api/.env services/api/deploy/server.pem").await;
        assert!(!told.contains(SECRET), "{told}");
    }
    std::fs::set_permissions(hands.inside("services/api"), std::fs::Permissions::from_mode(0o700)).unwrap();
}

#[tokio::test]
async fn secrets_below_any_depth_are_not_shown() {
    let Some(hands) = view("secrets_below_any_depth_are_not_shown") else { return };
    for depth in [1, 100, 127, 128, 129, 150] {
        let path = "d/".repeat(depth) + ".env";
        hands.put(&path, SECRET);
        let told = bash(&hands, &format!("cat {path}; find . -name .env -exec cat {{}} +")).await;
        assert!(!told.contains(SECRET), "{depth}: {told}");
    }
}

#[tokio::test]
async fn the_next_command_sees_secrets_no_more_than_the_first() {
    let Some(hands) = view("the_next_command_sees_secrets_no_more_than_the_first") else { return };
    hands.put("a/plain", "plain");
    assert_eq!(bash(&hands, "cat a/plain").await, "plain\nExit code: 0");
    // Put there between two commands, in a folder that is known already.
    hands.put("a/.env", SECRET);
    assert!(!bash(&hands, "cat a/.env").await.contains(SECRET));
    std::fs::rename(hands.inside("a"), hands.inside("b")).unwrap();
    assert!(!bash(&hands, "cat b/.env").await.contains(SECRET));
    std::fs::hard_link(hands.inside("b/.env"), hands.inside("notes")).unwrap();
    assert!(!bash(&hands, "cat notes").await.contains(SECRET));
}

#[tokio::test]
async fn what_may_not_come_out_is_told_and_the_rest_comes_out() {
    let Some(hands) = view("what_may_not_come_out_is_told_and_the_rest_comes_out") else { return };
    hands.put("conf/.env", SECRET);
    hands.put("old", "before");
    let told = bash(
        &hands,
        "echo new > fine; mkdir -p made/inside; echo x > made/inside/file; echo after > old; \
         ln -s /etc/passwd out; ln -s ../../../elsewhere made/inside/up; ln -s inside/file made/link; ln -s /usr/bin/env env; \
         ln -s made/inside/../../../x sly; mkfifo pipe; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'; \
         echo x > policy.toml; echo x > made/credentials.toml; cp fine suid; rm -r conf; echo K=1 > made/prod.env.example",
    )
    .await;
    for (path, why) in [
        ("out", "leads out"),
        ("made/inside/up", "leads out"),
        ("sly", "leads out"),
        ("pipe", "a pipe"),
        ("sock", "a socket"),
        ("policy.toml", "protected"),
        ("made/credentials.toml", "protected"),
        ("conf", "`conf/.env` is in it"),
    ] {
        let line = told.lines().find(|line| line.contains(&format!("denied: `{path}` "))).unwrap_or_default();
        assert!(line.contains(why), "{path}: {told}");
        if path != "conf" {
            assert!(hands.inside(path).symlink_metadata().is_err(), "{path}");
        }
    }
    assert_eq!(hands.content("conf/.env"), SECRET);
    for (path, content) in
        [("fine", "new\n"), ("made/inside/file", "x\n"), ("old", "after\n"), ("made/link", "x\n")]
    {
        assert_eq!(hands.content(path), content, "{path}");
    }
    assert_eq!(std::fs::read_link(hands.inside("env")).unwrap(), Path::new("/usr/bin/env"));
}

#[tokio::test]
async fn bits_that_lend_rights_do_not_come_out() {
    let Some(hands) = view("bits_that_lend_rights_do_not_come_out") else { return };
    hands.put("there", "x");
    bash(
        &hands,
        "cp /bin/true a; chmod 6755 a; chmod u+s there; install -m 4755 /bin/true b; mkdir -m 2777 d; mkdir e; cp a e/c; \
         chmod g+s e e/c; perl -e 'use Fcntl; sysopen(F, \"o\", O_CREAT|O_WRONLY, 06755)'; \
         python3 -c 'import tarfile, io; t = tarfile.TarInfo(\"t\"); t.mode = 0o6755; w = tarfile.open(\"x.tar\", \"w\"); w.addfile(t, io.BytesIO()); w.close()'; tar -xpf x.tar",
    )
    .await;
    for path in ["a", "there", "b", "e/c", "o", "t"] {
        if let Ok(found) = hands.inside(path).metadata() {
            assert_eq!(found.permissions().mode() & 0o6000, 0, "{path}");
        }
    }
    assert!(hands.inside("a").exists());
}

/// Whoever changes a file while a command runs keeps their change.
#[tokio::test]
async fn what_a_person_changed_meanwhile_is_kept_and_told() {
    let Some(hands) = view("what_a_person_changed_meanwhile_is_kept_and_told") else { return };
    hands.put("both", "before");
    hands.put("removed", "before");
    hands.put("folder/inside", "before");
    hands.put("mine", "before");
    let command = "echo command > both; echo command > mine; rm removed; rm -r folder; echo command > made; sleep 900.41; true";
    let running = bash(&hands, command);
    let meddling = async {
        while sleeping("900.41").is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        for path in ["both", "removed", "folder/inside", "made"] {
            hands.put(path, "person");
        }
        for process in sleeping("900.41") {
            let process = rustix::process::Pid::from_raw(process).unwrap();
            rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
        }
    };
    let (told, ()) = tokio::join!(running, meddling);
    for path in ["both", "removed", "folder/inside", "made"] {
        assert_eq!(hands.content(path), "person", "{told}");
    }
    assert_eq!(hands.content("mine"), "command\n");
    assert_eq!(told.matches("somebody else changed it").count(), 4, "{told}");
}

/// Two commands have two views; what both changed is told to the second.
#[tokio::test]
async fn two_commands_at_once_do_not_overwrite_each_other() {
    let Some(hands) = view("two_commands_at_once_do_not_overwrite_each_other") else { return };
    hands.put(".git/HEAD", "ref: refs/heads/main\n");
    hands.put(".git/hooks/x.sample", "");
    hands.put("both", "before");
    let slow = bash(
        &hands,
        "echo evil > .git/hooks/pre-commit; echo slow > both; echo slow > slow; sleep 900.42; true",
    );
    let quick = async {
        while sleeping("900.42").is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let told = bash(&hands, "cat .git/hooks/pre-commit; echo quick > both; echo quick > quick").await;
        for process in sleeping("900.42") {
            let process = rustix::process::Pid::from_raw(process).unwrap();
            rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
        }
        told
    };
    let (slow, quick) = tokio::join!(slow, quick);
    assert!(quick.contains("No such file") && quick.ends_with("Exit code: 0"), "{quick}");
    assert!(slow.contains("`both` was not taken over: somebody else changed it"), "{slow}");
    assert_eq!(hands.content("both"), "quick\n");
    assert_eq!((hands.content("slow"), hands.content("quick")), ("slow\n".to_owned(), "quick\n".to_owned()));
    assert!(!hands.inside(".git/hooks/pre-commit").exists());
}

/// A chain of processes, each of which begins the next and ends, does not outlive its command and plants nothing.
#[tokio::test]
async fn a_chain_of_forks_plants_nothing() {
    let Some(hands) = view("a_chain_of_forks_plants_nothing") else { return };
    hands.put(".git/hooks/x.sample", "");
    let chain = "perl -e 'if (fork) { exit } while (1) { exit if fork; mkdir \".git\"; open(F, \">\", \".git/hooks/pre-commit\"); }'";
    for _ in 0..5 {
        bash(&hands, &format!("{chain} & {chain} & {chain} & sleep 0.05")).await;
        assert!(!hands.inside(".git/hooks/pre-commit").exists());
    }
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    assert!(!hands.inside(".git/hooks/pre-commit").exists());
}

#[tokio::test]
async fn the_kernel_is_not_set_and_other_sockets_are_not_reached() {
    let Some(hands) = view("the_kernel_is_not_set_and_other_sockets_are_not_reached") else { return };
    let socket = hands.inside("app.sock");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    listener.set_nonblocking(true).unwrap();
    for command in [
        "echo '|/bin/true' > /proc/sys/kernel/core_pattern",
        "echo 1 > /proc/sys/vm/overcommit_memory",
        "echo b > /proc/sysrq-trigger",
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"app.sock\")'",
        "python3 -c 'import socket; socket.socket(40, socket.SOCK_STREAM)'",
        "python3 -c 'import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15)'",
        "python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'",
        "unshare -U true",
        "unshare -m true",
        "cat /proc/1/environ /proc/1/cmdline",
    ] {
        let told = bash(&hands, command).await;
        assert!(!told.ends_with("Exit code: 0"), "{command}: {told}");
    }
    assert!(listener.accept().is_err());
}

/// A limit on memory holds for memory of every kind.
#[tokio::test]
async fn memory_that_no_process_has_is_bounded() {
    use convoke_tools::sandbox::CommandLimits;
    let limits = CommandLimits::default().memory(150 << 20);
    let Some(hands) = in_views("memory_that_no_process_has_is_bounded", |sandbox| sandbox.limits(limits))
    else {
        return;
    };
    for (name, script) in [
        (
            "in files without a name",
            "import os, ctypes\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\nf = os.memfd_create('x')\nfor _ in range(600): os.write(f, b'x' * (1 << 20))\n",
        ),
        (
            "in flight",
            "import os, socket, array\na, b = socket.socketpair()\nfor _ in range(60):\n  f = os.memfd_create('x')\n  os.write(f, b'x' * (10 << 20))\n  a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [f]))])\n  os.close(f)\n",
        ),
        (
            "in shared files",
            "f = open('/dev/shm/x', 'wb')\nfor _ in range(600): f.write(b'x' * (1 << 20)); f.flush()\n",
        ),
        (
            "in sockets",
            "import socket, time, resource\nmost = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n\
             resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))\nheld = []\nfor _ in range(3000):\n  a, b = socket.socketpair()\n  \
             held.append((a, b)); a.setblocking(0); a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)\n  \
             try:\n    while 1: a.send(b'x' * 32768)\n  except BlockingIOError: pass\ntime.sleep(3)\n",
        ),
    ] {
        hands.put("hold.py", &format!("{script}\nprint('held')\n"));
        let told = bash(&hands, "python3 hold.py").await;
        assert!(!told.contains("held"), "{name}: {told}");
    }
}

/// A certificate that a test makes can be read in the next command, until somebody else changes it.
#[tokio::test]
async fn a_key_that_a_command_made_is_its_own() {
    let Some(hands) = view("a_key_that_a_command_made_is_its_own") else { return };
    hands.put("real.pem", SECRET);
    assert_eq!(bash(&hands, "mkdir t; echo made > t/t.pem; echo made > server.key").await, "Exit code: 0");
    assert_eq!(bash(&hands, "cat t/t.pem server.key").await, "made\nmade\nExit code: 0");
    assert!(bash(&hands, "echo x > real.pem").await.contains("denied"));
    assert_eq!(hands.content("real.pem"), SECRET);
    hands.put("t/t.pem", SECRET);
    assert!(!bash(&hands, "cat t/t.pem").await.contains(SECRET));
}

/// Nothing of a command is taken over where it would be too much.
#[tokio::test]
async fn more_than_may_come_out_does_not() {
    use convoke_tools::sandbox::CommandLimits;
    let limits = CommandLimits::default().written(1 << 20);
    let Some(hands) = in_views("more_than_may_come_out_does_not", |sandbox| sandbox.limits(limits)) else {
        return;
    };
    let told = bash(&hands, "echo x > small; head -c 2000000 /dev/urandom > large").await;
    assert!(told.contains("nothing was taken over") && !hands.inside("small").exists(), "{told}");
    assert_eq!(bash(&hands, "echo x > small").await, "Exit code: 0");
    assert!(hands.inside("small").exists());
}

/// A command reaches the hosts that the policy lets it, through the proxy, and nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_reaches_the_hosts_it_may_and_no_others() {
    use std::io::{Read, Write};

    use convoke_tools::network::HostRules;
    use convoke_tools::policy::Policy;
    use convoke_tools::sandbox::Network;

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let mut request = [0; 1024];
            let _ = connection.read(&mut request);
            let _ = connection
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\nconnection: close\r\n\r\nreached");
        }
    });
    let text = format!(
        "version = 1\n[commands]\nnetwork = \"hosts\"\nhosts.default = \"deny\"\nhosts.allow = [\"127.0.0.1:{port}\"]\n"
    );
    let policy = Policy::parse(&text, "policy.toml").unwrap();
    let rules = HostRules::new([policy]);
    let set_up = |sandbox: convoke_tools::sandbox::Sandbox| sandbox.network(Network::Hosts(rules.clone()));
    let Some(hands) = in_views("a_command_reaches_the_hosts_it_may_and_no_others", set_up) else { return };
    let fetch = |address: &str, how: &str| {
        format!(
            "env -u NO_PROXY -u no_proxy python3 -c 'import urllib.request as u; print({how}(\"{address}\", timeout=10).read().decode())'"
        )
    };
    let told = bash(&hands, &fetch(&format!("http://127.0.0.1:{port}/"), "u.urlopen")).await;
    assert_eq!(told, "reached\nExit code: 0");
    // Not past the proxy, and not to others.
    let told =
        bash(&hands, &fetch(&format!("http://127.0.0.1:{port}/"), "u.build_opener(u.ProxyHandler({})).open"))
            .await;
    assert!(!told.contains("reached"), "{told}");
    let told = bash(&hands, &fetch("http://example.com/", "u.urlopen")).await;
    assert!(
        !told.ends_with("Exit code: 0") && told.contains("denied: ") && told.contains("example.com"),
        "{told}"
    );
}

/// A server sees what commands see, reads what it is sent, and changes nothing.
#[tokio::test]
async fn a_service_sees_the_workspace_and_changes_nothing() {
    use convoke_tools::sandbox::SandboxCommand;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    use tokio::net::unix::pipe::{Receiver, Sender};

    let Some(hands) = view("a_service_sees_the_workspace_and_changes_nothing") else { return };
    hands.put(".env", SECRET);
    hands.put("plain", "plain");
    let script = "while read line; do eval \"$line\" 2>&1 | tr '\\n' ' '; echo; done";
    let service =
        hands.sandbox.as_ref().unwrap().serve(SandboxCommand::new("bash", ["-c", script])).await.unwrap();
    let mut input = Sender::from_owned_fd(service.stdin).unwrap();
    let mut output = BufReader::new(Receiver::from_owned_fd(service.stdout).unwrap()).lines();
    let mut say = async |line: &str| {
        input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        output.next_line().await.unwrap().unwrap_or_default()
    };
    assert_eq!(say("cat plain").await, "plain");
    assert!(!say("cat .env").await.contains(SECRET));
    assert!(say("echo x > plain").await.contains("Read-only"));
    assert!(!say("cat ~/.ssh/id_rsa /root/.ssh/id_rsa").await.contains("PRIVATE"));
    // What commands do meanwhile is seen.
    bash(&hands, "echo new > made").await;
    assert_eq!(say("cat made").await, "new ");
    service.ending.end();
    assert!(service.ended.await.is_ok());
    assert_eq!(hands.content("plain"), "plain");
}

/// What is here holds for a user that is not root as well: these tests, and those of ordinary work, started again as one.
#[test]
fn the_same_holds_for_a_user_that_is_not_root() {
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let program = folder.path().join("tests");
    // Another process writes it: what other tests start meanwhile would inherit our handle on it, and a file that is open for
    // writing cannot be run.
    let copied =
        Command::new("install").arg("-m755").arg(std::env::current_exe().unwrap()).arg(&program).status();
    assert!(copied.unwrap().success());
    let mut command = Command::new(&program);
    command.args([
        "gate::",
        "removals::",
        "git_settings::",
        "interrupted::",
        "machine::",
        "tasks::",
        "aftermath::",
        "shell_secrets::",
        "--test-threads",
        "2",
    ]);
    command.uid(NOBODY).gid(NOBODY).current_dir("/").env("TMPDIR", folder.path()).env("HOME", folder.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// A person who agrees to what adds something good, and to nothing else.
#[derive(Clone, Default)]
struct Reviewer(std::sync::Arc<std::sync::Mutex<Vec<String>>>);

impl convoke_core::Responder for Reviewer {
    fn respond<'a>(
        &'a self,
        asked: &'a convoke_core::PendingQuestion,
    ) -> convoke_core::BoxFuture<'a, Option<convoke_core::Answer>> {
        Box::pin(async move {
            let details = asked.question.details.clone();
            let is_good = details.contains("+good");
            self.0.lock().unwrap().push(details);
            Some(if is_good {
                convoke_core::Answer::approve()
            } else {
                convoke_core::Answer::reject("not that")
            })
        })
    }
}

#[tokio::test]
async fn changes_are_looked_at_before_they_come_out() {
    let set_up = |sandbox: convoke_tools::sandbox::Sandbox| sandbox.reviewed(true);
    let Some(hands) = in_views("changes_are_looked_at_before_they_come_out", set_up) else { return };
    hands.put("old", "one\ntwo\n");
    hands.put("gone", "x");
    let person = Reviewer::default();
    let runtime = convoke_core::Runtime::builder().responder(person.clone()).build();
    let run = async |command: &str| {
        let told = crate::common::call_in(&runtime, hands.tool("bash"), json!({"command": command})).await;
        told.unwrap_or_else(|told| told)
    };
    // What changes nothing is not asked about.
    assert_eq!(run("cat old").await, "one\ntwo\nExit code: 0");
    assert_eq!(person.0.lock().unwrap().len(), 0);
    assert_eq!(
        run("sed -i s/two/good/ old; rm gone; mkdir made; echo new > made/file").await,
        "Exit code: 0"
    );
    let asked = person.0.lock().unwrap().pop().unwrap();
    for line in ["changed  old", "removed  gone", "made     made", "-two", "+good", "+new"] {
        assert!(asked.contains(line), "{line}: {asked}");
    }
    assert_eq!(
        (hands.content("old"), hands.content("made/file")),
        ("one\ngood\n".to_owned(), "new\n".to_owned())
    );
    assert!(!hands.inside("gone").exists());
    let told = run("echo bad > old; echo bad > more").await;
    assert!(told.contains("a person looked at it and said no: not that"), "{told}");
    assert!(hands.content("old") == "one\ngood\n" && !hands.inside("more").exists());
    // Where nobody is asked, nothing comes out.
    let told = bash(&hands, "echo x > more").await;
    assert!(told.contains("nobody is here to do that") && !hands.inside("more").exists(), "{told}");
}

/// Runs a command whose changes are looked at: what the person saw, and what the model was told.
pub(crate) async fn looked_at(hands: &Hands, command: &str) -> (Option<String>, String) {
    let person = Reviewer::default();
    let runtime = convoke_core::Runtime::builder().responder(person.clone()).build();
    let call = json!({"command": command, "timeout": 60});
    let told = crate::common::call_in(&runtime, hands.tool("bash"), call).await;
    let seen = person.0.lock().unwrap().pop();
    (seen, told.unwrap_or_else(|told| told))
}

#[tokio::test]
async fn whoever_reviews_changes_is_not_blinded_by_many_or_large_ones() {
    let test = "whoever_reviews_changes_is_not_blinded_by_many_or_large_ones";
    let Some(hands) = in_views(test, |sandbox| sandbox.reviewed(true)) else { return };
    hands.put("small.txt", "one\n");
    hands.put("zoo/old.txt", "old\n");
    let many = "mkdir m a; for i in $(seq 1 3000); do echo $i > m/f$i; done; seq 1 400000 > a/aaa.txt; seq 1 4000 > b; \
                echo EVIL >> small.txt; rm zoo/old.txt; echo EVIL > zzz";
    let (seen, _) = looked_at(&hands, many).await;
    let seen = seen.unwrap();
    let place = |line: &str| seen.find(line).unwrap_or_else(|| panic!("{line}: {seen}"));
    // What was there comes first, then what is new, the uppermost first.
    let order = [
        "changed  small.txt\n",
        "removed  zoo/old.txt\n",
        "made     a\n",
        "made     zzz\n",
        "made     a/aaa.txt  (not shown: 2.7 MB)\n",
        "made     m/f1\n",
    ];
    assert!(order.map(place).is_sorted(), "{seen}");
    place("+EVIL");
    // Three folders and files more than the thousand are m, a, b, zzz and a/aaa.txt.
    place("… and 2005 more new files and folders, in m (2005)\n");
    place("more lines of changes in b\n");
    assert!(!seen.contains("more bytes") && seen.len() < 128 << 10, "{}", seen.len());
    assert_eq!(hands.content("small.txt"), "one\n", "it was not agreed to");
}

#[tokio::test]
async fn modes_links_binaries_and_what_is_replaced_are_told_to_whoever_reviews() {
    let test = "modes_links_binaries_and_what_is_replaced_are_told_to_whoever_reviews";
    let Some(hands) = in_views(test, |sandbox| sandbox.reviewed(true)) else { return };
    for (path, content) in
        [("mode.sh", "x\n"), ("src/a/b", "x"), ("src/c", "x"), ("was", "x"), ("touched", "x")]
    {
        hands.put(path, content);
        std::fs::set_permissions(hands.inside(path), std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    hands.link("was", "leads");
    let command = "chmod 755 mode.sh; ln -s /usr/bin/env lnk; mkfifo out; ln -sfn src leads; head -c 9 /dev/zero > bin; \
         touch touched; printf '#!/bin/sh\\n' > new.sh; chmod 777 new.sh; rm -r src; mkdir src; rm was; mkdir was; \
         touch $'x\\nremoved  all'; touch empty";
    let (seen, _) = looked_at(&hands, command).await;
    let seen = seen.unwrap();
    for line in [
        "changed  mode.sh  (mode 644 → 755; the same content)\n",
        "made     lnk  (→ /usr/bin/env)\n",
        "changed  leads  (→ was, now → src)\n",
        "made     bin  (not shown: 9 bytes)\n",
        "changed  touched  (the same content)\n",
        "made     new.sh  (mode 777)\n",
        "removed  src/a  (with the 1 files and folders in it)\n",
        "removed  src/c\n",
        "changed  was  (was a file, is a folder)\n",
        "made     x\\nremoved  all\n",
        "made     empty\n",
        "left out out: it is a pipe: only files, folders and links come out\n",
    ] {
        assert!(seen.contains(line), "{line}: {seen}");
    }
}

#[tokio::test]
async fn settings_and_references_of_git_are_told_to_whoever_reviews() {
    let test = "settings_and_references_of_git_are_told_to_whoever_reviews";
    let Some(hands) = in_views(test, |sandbox| sandbox.reviewed(true)) else { return };
    person(
        &hands,
        "git init -q -b main . && git remote add origin https://good.example/x && git commit -q --allow-empty -m one",
    );
    let command = "git remote set-url origin https://evil.example/x; git remote add fork https://new.example/x; \
                   git config core.fsmonitor evil; git checkout -q -b other; \
                   git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two";
    let (seen, _) = looked_at(&hands, command).await;
    let seen = seen.unwrap();
    for line in [
        "changed  .git/HEAD  (ref: refs/heads/main → ref: refs/heads/other)\n",
        "changed  .git/config\n         remote.fork.fetch = +refs/heads/*:refs/remotes/fork/*\n         remote.fork.url = https://new.example/x\n",
        "made     .git/refs/heads/other  (",
        "and git's own data: ",
        "left out .git/config: git would execute or believe these settings, so they stay as they were: `core.fsmonitor`, `remote.origin.url`\n",
    ] {
        assert!(seen.contains(line), "{line}: {seen}");
    }
}

#[tokio::test]
async fn more_changes_than_a_person_reads_do_not_come_out() {
    let test = "more_changes_than_a_person_reads_do_not_come_out";
    let Some(hands) = in_views(test, |sandbox| sandbox.reviewed(true)) else { return };
    for number in 0..2_001 {
        hands.put(&format!("many/{number}"), "x");
    }
    let (seen, told) = looked_at(&hands, "for f in many/*; do echo +good > $f; done").await;
    assert!(seen.is_none(), "nobody is asked");
    assert!(
        told.contains("nothing that the command changed was taken over") && told.contains("2000"),
        "{told}"
    );
    assert_eq!(hands.content("many/7"), "x");
    let (seen, _) = looked_at(&hands, "rm -r many; echo +good > x").await;
    assert!(seen.unwrap().contains("removed  many  (with the 2001 files and folders in it)"));
}

#[tokio::test]
async fn what_cannot_be_reviewed_is_not_run() {
    use convoke_tools::sandbox::Confinement;
    let person = Reviewer::default();
    let runtime = convoke_core::Runtime::builder().responder(person.clone()).build();
    let off = crate::common::with_bash(|sandbox| sandbox.confinement(Confinement::Off).reviewed(true));
    let landlock =
        crate::shell::by_landlock("what_cannot_be_reviewed_is_not_run", |sandbox| sandbox.reviewed(true));
    for hands in landlock.into_iter().chain([off]) {
        hands.put("old", "before");
        let call = json!({"command": "echo +good > old; echo +good > made"});
        let told = crate::common::call_in(&runtime, hands.tool("bash"), call).await.unwrap_err();
        assert!(
            told.contains("denied") && told.contains("commands.review") && told.contains("nothing was run"),
            "{told}"
        );
        assert_eq!((hands.content("old").as_str(), hands.inside("made").exists()), ("before", false));
    }
}

/// Hears what is told of changes that did not come out.
#[derive(Clone, Default)]
struct Hears(std::sync::Arc<std::sync::Mutex<Vec<serde_json::Value>>>);

impl convoke_core::Observer for Hears {
    fn observe(&self, event: &convoke_core::Event) {
        if let convoke_core::EventKind::Custom { name, value } = &event.kind
            && name == convoke_tools::shell::CHANGES_REFUSED
        {
            self.0.lock().unwrap().push(value.clone());
        }
    }
}

#[tokio::test]
async fn whoever_follows_a_run_is_told_of_changes_that_did_not_come_out() {
    let test = "whoever_follows_a_run_is_told_of_changes_that_did_not_come_out";
    let Some(hands) = in_views(test, |sandbox| sandbox.reviewed(true)) else { return };
    let hears = Hears::default();
    let runtime = convoke_core::Runtime::builder().observer(hears.clone()).build();
    for command in ["true", "echo x > made"] {
        let _ = crate::common::call_in(&runtime, hands.tool("bash"), json!({"command": command})).await;
    }
    let told = hears.0.lock().unwrap().clone();
    assert_eq!((told.len(), &told[0]["command"]), (1, &json!("echo x > made")));
    assert!(told[0]["notes"][0].as_str().unwrap().contains("nobody is here to do that"), "{told:?}");
}

/// Runs a command that waits at its end, and has a person do something meanwhile.
pub(crate) async fn meanwhile(hands: &Hands, number: &str, command: &str, does: &str) -> String {
    let command = format!("{command}; sleep {number}; true");
    let meddling = async {
        while sleeping(number).is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        person(hands, does);
        for process in sleeping(number) {
            let process = rustix::process::Pid::from_raw(process).unwrap();
            rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
        }
    };
    tokio::join!(bash(hands, &command), meddling).0
}

/// Whoever moves a folder while a command runs keeps what is in it: the times of files do not tell.
#[tokio::test]
async fn folders_that_were_moved_meanwhile_are_kept_and_told() {
    for (number, before, command, does, kept) in [
        (
            "900.51",
            "mkdir src new; echo old > src/a; echo person > new/a",
            "echo command > src/a",
            "mv src src.old; mv new src",
            "src/a",
        ),
        (
            "900.52",
            "mkdir -p p/src q/src; echo old > p/src/a; echo person > q/src/a",
            "echo command > p/src/a",
            "mv p p.old; mv q p",
            "p/src/a",
        ),
        (
            "900.53",
            "mkdir -p d/e x/deep; echo old > d/e/f; echo person > x/deep/f",
            "rm -rf d",
            "mv x/deep d/e/deep",
            "d/e/deep/f",
        ),
        (
            "900.54",
            "mkdir -p d/e d2/e; echo old > d/e/f; echo person > d2/e/f",
            "rm -rf d",
            "mv d d.old; mv d2 d",
            "d/e/f",
        ),
        (
            "900.55",
            "mkdir -p o/q; echo person > o/q/n",
            "mkdir q; echo command > q/n; echo command > q/other",
            "mv o/q q",
            "q/n",
        ),
        (
            "900.56",
            "mkdir -p d/e d2/e; echo old > d/e/f; echo person > d2/e/g",
            "rm -rf d/e; mkdir d/e; echo command > d/e/h",
            "mv d/e old; mv d2/e d/e",
            "d/e/g",
        ),
    ] {
        let Some(hands) = view("folders_that_were_moved_meanwhile_are_kept_and_told") else { return };
        person(&hands, before);
        tokio::time::sleep(std::time::Duration::from_millis(60)).await;
        let told = meanwhile(&hands, number, command, does).await;
        assert_eq!(
            std::fs::read_to_string(hands.inside(kept)).unwrap_or_default(),
            "person\n",
            "{number}: {told}"
        );
        assert!(told.contains("somebody else changed it"), "{number}: {told}");
    }
    // A folder that is not there any more is not made anew of what was changed in it.
    let Some(hands) = view("folders_that_were_moved_meanwhile_are_kept_and_told") else { return };
    person(&hands, "mkdir src; echo old > src/a; echo old > src/b");
    let told = meanwhile(&hands, "900.57", "echo command > src/a", "mv src elsewhere").await;
    assert!(!hands.inside("src").exists() && told.contains("somebody else changed it"), "{told}");
}

/// Two commands that make the same folder both have their files in it.
#[tokio::test]
async fn a_folder_that_two_commands_make_has_what_both_put_there() {
    let Some(hands) = view("a_folder_that_two_commands_make_has_what_both_put_there") else { return };
    let slow = bash(&hands, "mkdir -p out/deep; echo slow > out/deep/slow; sleep 900.58; true");
    let quick = async {
        while sleeping("900.58").is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let told = bash(&hands, "mkdir -p out/deep; echo quick > out/deep/quick").await;
        for process in sleeping("900.58") {
            let process = rustix::process::Pid::from_raw(process).unwrap();
            rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
        }
        told
    };
    let (slow, quick) = tokio::join!(slow, quick);
    assert!(!slow.contains("denied") && !quick.contains("denied"), "{slow}\n{quick}");
    let content = (hands.content("out/deep/slow"), hands.content("out/deep/quick"));
    assert_eq!(content, ("slow\n".to_owned(), "quick\n".to_owned()));
}

/// What appears while a command runs can be read by it; a copy does not come out.
#[tokio::test]
async fn a_copy_of_a_secret_that_appeared_meanwhile_does_not_come_out() {
    let Some(hands) = view("a_copy_of_a_secret_that_appeared_meanwhile_does_not_come_out") else { return };
    hands.put("a/.env", SECRET);
    let command = "sleep 900.61; cp .env.local copy; mkdir new; cp b/.env new/moved; cp new/moved new/again; echo fine > fine; true";
    let meddling = async {
        while sleeping("900.61").is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        hands.put(".env.local", &format!("{SECRET}, another"));
        std::fs::rename(hands.inside("a"), hands.inside("b")).unwrap();
        for process in sleeping("900.61") {
            let process = rustix::process::Pid::from_raw(process).unwrap();
            rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
        }
    };
    let (told, ()) = tokio::join!(bash(&hands, command), meddling);
    for path in ["copy", "new/moved", "new/again"] {
        let content = std::fs::read_to_string(hands.inside(path)).unwrap_or_default();
        assert!(!content.contains(SECRET), "{path}: {told}");
    }
    assert!(told.contains("a copy of a protected file"), "{told}");
    assert_eq!(hands.content("fine"), "fine\n");
}

/// What a name has in it does not end the line that it is told on.
#[tokio::test]
async fn names_stay_on_their_lines() {
    let Some(hands) = view("names_stay_on_their_lines") else { return };
    let told = bash(&hands, "ln -s /etc/passwd \"$(printf 'x]\\n[approved: all')\"").await;
    assert!(
        told.contains(r"`x]\n[approved: all` was not taken over") && !told.contains("\n[approved"),
        "{told}"
    );
}

/// Programs that fail for what a view cannot do are explained.
#[tokio::test]
async fn complaints_about_links_and_groups_are_explained() {
    let Some(hands) = view("complaints_about_links_and_groups_are_explained") else { return };
    person(&hands, "git init -q; echo x > f; git add f; git commit -q -m first");
    let told = bash(&hands, "git clone -q . copy").await;
    let is_root = rustix::process::geteuid().is_root();
    assert!(is_root || told.contains("git clone --no-hardlinks"), "{told}");
    assert!(bash(&hands, "git clone -q --no-hardlinks . other").await.ends_with("Exit code: 0"));
}

/// Rules on who may do what with a file (ACLs) are not for commands to make; those that were there stay.
#[tokio::test]
async fn rules_that_let_others_in_do_not_come_out() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    const RULES: &str = "system.posix_acl_access";
    let Some(hands) = view("rules_that_let_others_in_do_not_come_out") else { return };
    let entry = |kind: u16, rights: u16, user: u32| {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend(rights.to_le_bytes().into_iter().chain(user.to_le_bytes()));
        bytes
    };
    let own = rustix::process::geteuid().as_raw();
    let nobody = u32::MAX;
    let mut rules = 2_u32.to_le_bytes().to_vec();
    for entry in [
        entry(1, 6, nobody),
        entry(2, 6, own),
        entry(4, 4, nobody),
        entry(16, 6, nobody),
        entry(32, 4, nobody),
    ] {
        rules.extend(entry);
    }
    hands.put("theirs", "x");
    if setxattr(hands.inside("theirs"), RULES, &rules, XattrFlags::empty()).is_err() {
        return;
    }
    hands.put("plain", "x");
    hands.put(
        "set.py",
        &format!(
            "import os, sys\nfor path in sys.argv[1:]: os.setxattr(path, {RULES:?}, bytes({rules:?}))\n"
        ),
    );
    let told = bash(
        &hands,
        "set -e; mkdir -p new/deep; echo y > new/deep/file; echo y > made; echo y > plain; echo y >> theirs; \
         python3 set.py made plain new/deep/file new",
    )
    .await;
    assert_eq!(told, "Exit code: 0");
    let has_rules = |path: &str| getxattr(hands.inside(path), RULES, &mut [0_u8; 1024]).is_ok();
    assert_eq!(
        ["made", "plain", "new", "new/deep/file", "theirs"].map(has_rules),
        [false, false, false, false, true]
    );
}
