//! Ordinary work of developers, which a sandbox must not stand in the way of.

use serde_json::json;

use crate::common::Hands;
use crate::shell::in_views;

/// What is done, and what must be said or be there then. Each row runs in the same workspace, after the ones before it.
const TASKS: &[(&str, &str)] = &[
    (
        "files at the top",
        "mkdir -p src docs && touch top.txt && cp top.txt copy.txt && mv copy.txt moved.txt && ls moved.txt",
    ),
    (
        "sed in place",
        "printf 'one\\ntwo\\n' > lines.txt && sed -i s/one/ONE/ lines.txt && grep ONE lines.txt",
    ),
    ("find and xargs", "find . -name '*.txt' -print0 | xargs -0 wc -l"),
    ("archives", "tar czf docs.tgz docs && mkdir out && tar xzf docs.tgz -C out && ls out/docs"),
    ("a loop", "for i in 1 2 3; do echo $i > src/$i.txt; done; cat src/*.txt | paste -sd+ | bc || true"),
    ("who and where", "whoami && id && pwd && hostname && uname -a && nproc && date"),
    ("temporary files", "f=$(mktemp) && echo kept > $f && cp $f /tmp/kept && cat $f"),
    ("temporary files of an earlier command", "cat /tmp/kept"),
    ("the home of a command", "cd ~ && echo x > note && cat ~/note"),
    (
        "permissions",
        "printf '#!/bin/sh\\necho ran\\n' > run.sh && chmod +x run.sh && ./run.sh && test -x run.sh",
    ),
    ("a program that was made executable before", "./run.sh"),
    ("links in the workspace", "ln -s src/1.txt link && cat link && ln src/1.txt hard && cat hard"),
    ("renaming a folder that was there", "mv docs papers && ls -d papers && mv papers docs"),
    ("removing a tree", "mkdir -p build/deep/er && touch build/deep/er/x && rm -rf build && test ! -e build"),
    (
        "replacing a folder by a file",
        "mkdir thing && touch thing/x && rm -r thing && echo file > thing && cat thing",
    ),
    ("replacing a file by a folder", "rm thing && mkdir thing && touch thing/y && ls thing"),
    (
        "truncate and dd",
        "truncate -s 10 hole && dd if=/dev/zero of=zeros bs=1k count=1 2>/dev/null && wc -c hole zeros",
    ),
    ("pipes and processes", "seq 1000 | sort -rn | head -n 1 && (sleep 0.01 & wait) && echo done | tee teed"),
    ("a job that is killed", "sleep 100 & job=$!; kill $job; wait $job; test $? -eq 143"),
    ("limits can be lowered", "ulimit -n 256 && ulimit -n"),
    (
        "git from nothing",
        "git init -q -b main && git config user.name Ann && git config user.email ann@example.org && git add -A && git commit -q -m first && git log --oneline",
    ),
    (
        "git branch and merge",
        "git checkout -q -b topic && echo t > topic.txt && git add -A && git commit -q -m topic && git checkout -q main && git merge -q --no-ff -m merge topic && git log --oneline --graph",
    ),
    (
        "git stash",
        "echo changed >> top.txt && git stash -q && git stash pop -q && git diff --stat && git commit -qam stashed",
    ),
    (
        "git remote and upstream",
        "git remote add origin https://example.org/project.git && git remote -v && git config branch.main.remote origin && git config branch.main.merge refs/heads/main",
    ),
    (
        "git settings of an earlier command",
        "git config user.name && git remote get-url origin && git config branch.main.merge",
    ),
    (
        "git worktree",
        "git worktree add -q tree topic && git -C tree log --oneline && git worktree remove --force tree",
    ),
    (
        "git rebase",
        "git checkout -q topic && git rebase -q main && git checkout -q main && git branch -d topic",
    ),
    (
        "git clone of a folder",
        "git clone -q --no-hardlinks . clone 2>&1 && git -C clone log --oneline && rm -rf clone",
    ),
    (
        "git tag, blame, grep, archive",
        "git tag v1 && git blame top.txt >/dev/null && git grep -n ONE && git archive -o a.tar HEAD && git clean -fdq",
    ),
    (
        "python",
        "python3 -c 'import json, sqlite3, asyncio; asyncio.run(asyncio.sleep(0)); print(json.dumps({\"a\": 1}))'",
    ),
    (
        "a test with unittest",
        "printf 'import unittest\\nclass T(unittest.TestCase):\\n    def test(self): self.assertEqual(1, 1)\\n' > test_it.py && python3 -m unittest -q test_it",
    ),
    (
        "multiprocessing",
        "printf 'from multiprocessing import Pool\\ndef f(x): return x * x\\nif __name__ == \"__main__\":\\n    print(Pool(2).map(f, [1, 2, 3]))\\n' > pool.py && python3 pool.py",
    ),
    (
        "shared memory",
        "python3 -c 'from multiprocessing import shared_memory as s; m = s.SharedMemory(create=True, size=100); m.close(); m.unlink()'",
    ),
    (
        "a database",
        "python3 -c 'import sqlite3; d = sqlite3.connect(\"data.sqlite\"); d.execute(\"create table if not exists t(x)\"); d.execute(\"insert into t values(1)\"); d.commit()'",
    ),
    (
        "a database of an earlier command",
        "python3 -c 'import sqlite3; print(sqlite3.connect(\"data.sqlite\").execute(\"select count(*) from t\").fetchone())'",
    ),
    (
        "a server on loopback",
        "python3 -m http.server 8765 --bind 127.0.0.1 >/dev/null 2>&1 & server=$!; for i in 1 2 3 4 5 6 7 8 9 10; do python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:8765/\").status)' 2>/dev/null && break; sleep 0.2; done; kill $server",
    ),
    (
        "the same server again",
        "python3 -c 'import socket; a = socket.create_server((\"127.0.0.1\", 8765)); b = socket.create_connection((\"localhost\", 8765)); print(\"both\")'",
    ),
    (
        "sockets by path",
        "python3 -c 'import socket, os; a = socket.socket(socket.AF_UNIX); a.bind(\"/tmp/s\"); a.listen(); b = socket.socket(socket.AF_UNIX); b.connect(\"/tmp/s\"); os.unlink(\"/tmp/s\")'",
    ),
    ("a terminal of one's own", "python3 -c 'import pty; pty.openpty(); print(\"opened\")'"),
    (
        "make",
        "printf 'all: built\\nbuilt: top.txt\\n\\tcp top.txt built\\n' > Makefile && make && make | grep -i 'nothing to be done'",
    ),
    (
        "a compiler",
        "printf '#include <stdio.h>\\nint main(void) { puts(\"compiled\"); return 0; }\\n' > main.c && cc -o main main.c && ./main",
    ),
    ("a program of an earlier command", "./main"),
    (
        "a certificate for a test",
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout t.key -out t.pem -days 1 -subj /CN=test 2>/dev/null && ls t.pem t.key",
    ),
    ("the certificate in the next command", "openssl x509 -in t.pem -noout -subject"),
    ("perl, awk, jq without files", "perl -e 'print 1+1' && awk 'BEGIN { print 2 }'"),
    (
        "a virtual environment",
        "python3 -m venv --without-pip venv && venv/bin/python -c 'import sys; print(sys.prefix)' | grep venv",
    ),
    (
        "the virtual environment in the next command",
        ". venv/bin/activate && python -c 'import sys; print(sys.prefix)' | grep venv",
    ),
    (
        "node",
        "command -v node >/dev/null || exit 0; node -e 'require(\"fs\").writeFileSync(\"n.json\", JSON.stringify({n: 1})); require(\"http\").createServer().listen(0, \"127.0.0.1\", function () { console.log(\"listens\"); this.close(); })'",
    ),
    (
        "npm without network",
        "command -v npm >/dev/null || exit 0; printf '{\"name\": \"x\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"node -e 0\"}}' > package.json && npm test --silent",
    ),
    (
        "looking at mounts, disks and processes",
        "df -h . >/dev/null && cat /proc/mounts >/dev/null && cat /proc/meminfo >/dev/null && ps aux 2>/dev/null | wc -l",
    ),
    (
        "many files",
        "mkdir many && for i in $(seq 500); do echo $i > many/$i; done && ls many | wc -l | grep 500",
    ),
    ("many files in the next command", "rm many/1* && ls many | wc -l | grep 389 && rm -r many"),
];

#[tokio::test]
async fn ordinary_work_works() {
    let Some(hands) = in_views("ordinary_work_works", |sandbox| sandbox) else { return };
    let mut failed = Vec::new();
    for (name, command) in TASKS {
        let told = run(&hands, command).await;
        if !told.ends_with("Exit code: 0") || told.contains("denied") {
            failed.push(format!("{name}: {told}"));
        }
    }
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), TASKS.len(), failed.join("\n"));
    assert_eq!(hands.content("lines.txt"), "ONE\ntwo\n");
    assert!(!hands.inside("many").exists() && hands.inside("venv/bin/python").is_symlink());
}

async fn run(hands: &Hands, command: &str) -> String {
    match hands.call("bash", json!({"command": command, "timeout": 120})).await {
        Ok(told) | Err(told) => told,
    }
}
