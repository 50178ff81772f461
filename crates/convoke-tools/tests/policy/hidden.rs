//! Commands that hide what they start, and ordinary ones that do not.

use convoke_tools::policy::{Policy, PolicyOutcome};

use crate::{all, policy};

/// With `deny = ["terraform destroy"]`, whatever stands before it.
#[test]
fn a_denied_command_is_denied_behind_programs_that_start_others() {
    let policy = policy("[commands]\nnetwork = true\ndeny = [\"terraform destroy\"]\n");
    all(
        &policy,
        PolicyOutcome::Deny,
        &[
            "taskset 1 terraform destroy",
            "taskset -c 0,1 terraform destroy -auto-approve",
            "setpriv --reuid=1000 terraform destroy",
            "chrt -b 0 terraform destroy",
            "prlimit --nofile=10 terraform destroy",
            "choom -n 500 -- terraform destroy",
            "setarch x86_64 -R terraform destroy",
            "linux64 terraform destroy",
            "fakeroot terraform destroy",
            "fakeroot -- terraform -chdir=x destroy",
            "dbus-run-session -- terraform destroy",
            "npx terraform destroy",
            "npx -y -p terraform terraform destroy",
            "npx -c 'terraform destroy'",
            "npm exec -c 'terraform destroy'",
            "npm exec --call='terraform destroy'",
            "npm exec -- terraform destroy",
            "npm --prefix web x terraform destroy",
            "pnpm dlx terraform destroy",
            "yarn exec terraform destroy",
            "bunx terraform destroy",
            "uv run terraform destroy",
            "uv run --with x terraform destroy",
            "uv tool run terraform destroy",
            "uvx terraform destroy",
            "pipx run terraform destroy",
            "poetry run terraform destroy",
            "bundle exec terraform destroy",
            "pipenv run terraform destroy",
            "conda run -n base terraform destroy",
            "mise exec -- terraform destroy",
            "direnv exec . terraform destroy",
            "nix run nixpkgs#x -- terraform destroy",
            "nix-shell --run 'terraform destroy'",
            "git -c alias.p='!terraform destroy' p",
            "git config alias.p '!terraform destroy' && git p",
            "git -c core.pager='terraform destroy' log",
            "git -c alias.p='-c core.pager=\"terraform destroy\" log' p",
            "git rebase -x 'terraform destroy' main",
            "git rebase --exec='terraform destroy' main",
            "git bisect run terraform destroy",
            "git submodule foreach 'terraform destroy'",
            "tmux new-session -d terraform destroy",
            "tmux new -d 'cd x && terraform destroy'",
            "screen -dm terraform destroy",
            "expect -c 'spawn terraform destroy'",
            "unbuffer terraform destroy",
            "rlwrap terraform destroy",
            "faketime yesterday terraform destroy",
            "valgrind --quiet terraform destroy",
            "gdb -batch -ex run --args terraform destroy",
            "xvfb-run -a terraform destroy",
            "ssh-agent terraform destroy",
            "firejail --quiet terraform destroy",
            "numactl --all terraform destroy",
            "dumb-init -- terraform destroy",
            "hyperfine 'terraform destroy'",
            "watchexec -- terraform destroy",
            "nodemon --exec 'terraform destroy'",
            "concurrently 'terraform destroy' 'sleep 1'",
            "cargo watch -s 'terraform destroy'",
            "start-stop-daemon --start --exec /usr/bin/terraform -- destroy",
            "/lib64/ld-linux-x86-64.so.2 /usr/bin/terraform destroy",
            "fd -x terraform destroy",
            "tar --to-command='terraform destroy' -xf a.tar",
            "split --filter='terraform destroy' x",
            "nobody-knows-this-one --flag terraform destroy",
            "./wrapper.sh terraform destroy",
            "bash wrapper.sh terraform destroy",
            "vim -c '!terraform destroy' x",
            "vim -es '+!terraform destroy' +q",
            "compgen -C 'terraform destroy'",
            "script -qc 'terraform destroy'",
            "nsenter -t 1 terraform destroy",
            "sg docker -c 'terraform destroy'",
            "env -S 'terraform destroy'",
            "f() { \"$@\"; }; f terraform destroy",
            "xargs --unknown terraform destroy",
            "taskset 1 npx setarch uv run terraform destroy",
            "systemd-inhibit --what=idle terraform destroy",
            "proxychains4 terraform destroy",
            "eatmydata terraform destroy",
            // Long options cut short, and values that are joined to letters.
            "tar --to-com='terraform destroy' -xf a.tar",
            "tar --use-compress-prog='terraform destroy' -cf x y",
            "tar --checkpoint=1 --checkpoint-action=exec='terraform destroy' -cf x y",
            "tar -I'terraform destroy' -cf x y",
            "split --filt='terraform destroy' x",
            "sort --compress-prog='terraform destroy' x",
            "man --pag='terraform destroy' ls",
            "git rebase --exe='terraform destroy' main",
            "git rebase -x'terraform destroy' main",
            "git difftool --extc='terraform destroy'",
            "git grep -O'terraform destroy' x",
            "git filter-branch --tree-filter 'terraform destroy'",
            "git fetch --upload-pack='terraform destroy' x",
            "yarn terraform destroy",
            "yarn run terraform destroy",
            "nix run nixpkgs#terraform -- destroy",
            "nix shell nixpkgs#x -c terraform destroy",
            "make --eval='$(shell terraform destroy)'",
            "make CC='terraform destroy'",
            "less '+!terraform destroy' f",
            "sqlite3 x.db '.shell terraform destroy'",
            "psql -c '\\\\! terraform destroy'",
            "curl --anything='terraform destroy' x",
        ],
    );
    // What is asked about in the same way.
    let policy = crate::policy("[commands]\nask = [\"make deploy\"]\n");
    all(
        &policy,
        PolicyOutcome::Ask,
        &["taskset 1 make deploy", "uv run make -j2 deploy", "unknown make deploy"],
    );
    // Words of programs that take them for data are none.
    all(
        &policy,
        PolicyOutcome::Allow,
        &[
            "echo make deploy",
            "git commit -m 'make deploy'",
            "git commit --message='make deploy'",
            "grep -r 'make deploy' .",
            "grep --regexp='make deploy' x",
            "yarn add deploy",
            "make CFLAGS='-O2 -g' all",
            "tar -czf x.tar.gz make deploy",
            "cargo test --features=deploy",
            "git log --grep='make deploy'",
        ],
    );
}

#[test]
fn the_built_in_rules_hold_behind_them_too() {
    let default = Policy::default();
    all(
        &default,
        PolicyOutcome::Deny,
        &["taskset 1 curl x", "npx curl x", "setarch -R sudo x", "uv run ssh host", "fakeroot apt install x"],
    );
    all(
        &default,
        PolicyOutcome::Ask,
        &[
            "taskset 1 rm -rf x",
            "setpriv --no-new-privs rm -rf x",
            "chrt -i 0 rm -rf x",
            "/lib64/ld-linux-x86-64.so.2 /bin/rm -rf x",
            "compgen -C 'rm -rf x'",
            "compgen -W '$(rm -rf x)'",
            "echo 'rm -rf x' | xargs -I{} sh -c '{}'",
            "echo 'rm -rf x' | xargs -I % bash -c %",
            "echo x | xargs --replace sh -c {}",
            "bash --rcfile f -ic true",
            "bash --init-file f -i",
            "taskset 1 $X",
            "npx $X",
            "uv run \"$TOOL\" x",
            "git -c alias.p=\"$X\" p",
            "git bisect run $X",
            "git --config-env=alias.x=Y x",
            "MAKEFLAGS='--eval=x' make",
            "SHELL=./x make",
            // Nobody knows the program, so the rules are taken for advice to ask.
            "nobody-knows curl http://example.com",
            "nobody-knows rm -r x",
        ],
    );
}

/// Without a `!` an alias stands for words of git's own command line.
#[test]
fn an_alias_of_git_is_the_command_that_it_stands_for() {
    let policy = policy("[commands]\ndeny = [\"git commit\", \"git fetch --force\"]\n");
    let denied = [
        "git -c alias.c=commit c",
        "git -c ALIAS.C=commit c -m x",
        "git config alias.c commit; git c",
        "git config --global alias.c 'commit -a'",
        "git -C sub -c alias.f=fetch f --force",
        "git -c alias.f=log -c alias.f=fetch f origin --force",
        "git -c alias.f='-C sub fetch' f --force",
    ];
    all(&policy, PolicyOutcome::Deny, &denied);
    let asked =
        ["git -c alias.r='reset --hard' r", "git -c alias.p=push p origin", "git -c alias.r=restore r ."];
    all(&policy, PolicyOutcome::Ask, &asked);
    let plain = [
        "git -c alias.s=status s",
        "git config alias.lg 'log --oneline --graph'",
        "git config --get alias.c",
        "git -c alias.f=fetch log --force",
        "git -c alias.f=fetch -c alias.f=log f --force",
    ];
    all(&policy, PolicyOutcome::Allow, &plain);
}

#[test]
fn long_options_may_be_cut_short() {
    let default = Policy::default();
    all(
        &default,
        PolicyOutcome::Ask,
        &[
            "rm --recurs x",
            "rm --r x",
            "rm --recursive x",
            "git reset --har",
            "git reset --ha HEAD~1",
            "git checkout --forc",
            "git switch --discard",
            "git branch --del --forc x",
            "git worktree remove --fo x",
        ],
    );
    all(
        &default,
        PolicyOutcome::Deny,
        &["npm install --glob x", "git config --glo user.name x", "pip install --us x"],
    );
    all(
        &default,
        PolicyOutcome::Allow,
        &["rm --verbose x", "rm --interactive=never x", "git reset --soft HEAD~1"],
    );
}

#[test]
fn git_commands_are_what_they_do() {
    let default = Policy::default();
    all(
        &default,
        PolicyOutcome::Ask,
        &[
            "git restore .",
            "git restore --source=HEAD~1 .",
            "git restore src .",
            "git restore -SW .",
            "git restore :/",
            "git restore *",
            "git restore ':!keep'",
            "git checkout -- .",
            "git checkout .",
            "git checkout HEAD -- ./",
            "git checkout -f",
            "git checkout -f main",
            "git switch -f main",
            "git branch -d -f x",
            "git branch -df x",
            "git branch --delete --force x",
            "git branch -D x",
            "/usr/lib/git-core/git-push",
            "git-push origin",
            "git send-pack origin",
            "/usr/libexec/git-core/git-reset --hard",
            "git stash drop",
            "git reflog delete HEAD@{1}",
        ],
    );
    all(
        &default,
        PolicyOutcome::Allow,
        &[
            "git restore --staged .",
            "git restore src/main.rs",
            "git checkout -- src/main.rs",
            "git checkout main",
            "git checkout -b feature/x",
            "git switch -c x",
            "git branch -d merged",
            "git reset src/main.rs",
            "git stash",
            "git stash pop",
        ],
    );
}

#[test]
fn what_the_shell_would_compute_is_unclear_if_it_comes_from_elsewhere() {
    for text in [
        "f(){ echo $(($1)); }; f 'a[$(evil)]'",
        "f(){ [[ $1 -eq 1 ]]; }; f 'a[$(evil)]'",
        "f(){ echo ${v:$1}; }; v=abc; f 'a[$(evil)]'",
        "f(){ echo ${!1}; }; f 'a[$(evil)]'",
        "f(){ local n=$1; echo $((n + 1)); }; f 'a[`evil`]'",
        "f(){ for x; do echo $((x)); done; }; f 'a[$(evil)]'",
        "read x < file; [[ x -eq 0 ]]",
        "read x < file; echo $((x))",
        "x=$(cat file); [[ $x -eq 0 ]]",
        "x=$(cat file); y=$x; (( y > 1 ))",
        "x=`cat file`; echo ${v:x}",
        "x=$(<file); echo ${a[x]}",
        "x=$(cat file); let y=x+1",
        "x=$(cat file); declare -i y=$x",
        "mapfile -t lines < file; echo $((lines))",
        "while read n; do total=$((total + n)); done < file",
        "for n in $(cat file); do echo $((n)); done",
        "echo $(( $(cat file) + 1 ))",
        "[[ $(cat file) -gt 1 ]]",
        "x=$(cat file); echo ${!x}",
        "x=$(date '+a[$(evil)]'); echo $((x))",
        "bash -c 'echo $(($1))' _ 'a[$(evil)]'",
        "set -- $(cat file); echo $(($1))",
    ] {
        let outcome = Policy::default().command(text).outcome;
        assert_ne!(outcome, PolicyOutcome::Allow, "{text}");
    }
    all(
        &Policy::default(),
        PolicyOutcome::Allow,
        &[
            "i=0; while [[ $i -lt 3 ]]; do i=$((i + 1)); echo $i; done",
            "n=$(wc -l < file); if [[ $n -gt 10 ]]; then echo many; fi",
            "start=$(date +%s); make; echo $(( $(date +%s) - start ))",
            "for i in $(seq 1 5); do echo $((i * 2)); done",
            "for i in 1 2 3; do echo ${list[$i]}; done",
            "f() { echo $(($1 + 1)); }; f 3",
            "f() { local n=$1; [[ $n -eq 1 ]]; }; f 1",
            "[[ $# -eq 0 || $? -ne 0 ]] && echo none",
            "echo ${#list[@]} ${name:0:3} ${!list[@]} ${!PREFIX_*}",
            "x=$(cat file); echo \"$x\" ${x%.rs} ${x:-none}",
            "read x < file; echo $x; [[ -n $x && $x == a* ]]",
            "(( RANDOM % 2 )) && echo $((RANDOM % 10))",
            "count=$(grep -c TODO src/main.rs); [[ $count -eq 0 ]]",
        ],
    );
}

/// Nothing that people have agents do all day is asked about, let alone denied.
#[test]
fn ordinary_commands_stay_allowed() {
    all(
        &Policy::default(),
        PolicyOutcome::Allow,
        &[
            "cargo build",
            "cargo test --workspace --locked -- --nocapture shell::",
            "cargo +nightly fmt --all -- --check",
            "cargo clippy --all-targets -- -D warnings",
            "cargo run --bin tool -- init --host x",
            "cargo add http serde --features derive",
            "RUST_LOG=debug cargo test 2>&1 | tail -40",
            "cargo nextest run -E 'test(ssh)'",
            "rustc --version && rustup show",
            "npm test",
            "npm run build -- --mode production",
            "npm ci && npm run lint",
            "npm install http-server",
            "npx jest --watch=false src/docker",
            "npx tsc --noEmit",
            "npx prettier --write 'src/**/*.ts'",
            "npx eslint . --fix",
            "yarn install --frozen-lockfile && yarn test",
            "pnpm -r build",
            "node scripts/build.js docker",
            "node -e 'console.log(1)'",
            "deno test",
            "pytest -q -x tests/test_http.py -k 'docker and not ssh'",
            "python -m pytest tests/",
            "python3 manage.py migrate",
            "python3 -c 'print(1)'",
            "python3 -m venv .venv && . .venv/bin/activate && pip install -r requirements.txt",
            "uv run pytest tests/http",
            "uv run ruff check .",
            "uv sync && uv pip list",
            "poetry run pytest -q",
            "poetry install",
            "bundle exec rspec spec/models",
            "tox -e py312",
            "ruff check --fix . && mypy src",
            "black . && isort .",
            "make",
            "make -j4 test CC=clang",
            "make docker",
            "just docker",
            "cmake -S . -B build && cmake --build build",
            "ninja -C build && ctest --test-dir build",
            "gcc -O2 -o hello hello.c -lm && ./hello",
            "./configure --prefix=$PWD/out",
            "./gradlew test --info",
            "./gradlew docker",
            "./scripts/test.sh --fast src",
            "mvn -q test",
            "go build ./... && go vet ./... && go test -race ./...",
            "go mod tidy",
            "dotnet test",
            "sed -i 's/curl/wget/g' docs/install.md",
            "sed -n '1,80p' src/main.rs",
            "grep -rn 'sudo rm -rf' docs | head",
            "rg --files -g '*.rs' | xargs wc -l",
            "find . -name '*.rs' -newer Cargo.toml",
            "find src -type f | xargs grep -l TODO",
            "find . -name '*.py' -exec grep -n import {} +",
            "ls -la && tree -L 2 && pwd",
            "cat README.md | head -50 | wc -l",
            "awk '{ print $2 }' data.csv | sort -u | uniq -c",
            "cut -d, -f2 data.csv | tr a-z A-Z | tee out.txt",
            "jq '.scripts' package.json",
            "echo 'curl https://example.com | sh' > docs/install.md",
            "printf '%s\\n' a b c > list.txt",
            "cat > notes.md <<'EOF'\nrm -rf / is dangerous; kill -9 1\nEOF",
            "cp -r src backup && mv backup old && mkdir -p a/b && touch a/b/c",
            "rm -f out.txt && rmdir a/b",
            "ln -s ../x y && readlink -f y",
            "chmod +x run.sh && ./run.sh",
            "tar -czf dist.tgz dist && tar -tzf dist.tgz",
            "unzip -q a.zip -d a && gzip -k b",
            "diff -u a b | patch -p1",
            "sha256sum dist.tgz && file dist.tgz && stat dist.tgz",
            "truncate -s 0 log.txt",
            "truncate -s 1M disk.img",
            "dd if=/dev/urandom of=data.bin bs=1k count=1",
            "dd if=/dev/zero of=disk.img bs=1M count=10 status=none",
            "mount",
            "mount | grep overlay",
            "mount -t tmpfs",
            "ip addr",
            "ip -br a show",
            "ip route",
            "ifconfig -a",
            "curl -s http://127.0.0.1:8000/health",
            "curl -sf -X POST -H 'Content-Type: application/json' -d '{\"a\":1}' http://localhost:3000/api",
            "wget -qO- http://localhost:8080 || true; wget -q -O - http://localhost:8080",
            "nc -z localhost 5432",
            "python3 -m http.server 8000 & sleep 1; curl -s localhost:8000; kill %1",
            "npm start & pid=$!; sleep 2; curl -sf 'http://[::1]:3000/'; kill $pid; wait $pid",
            "sleep 5 & kill -TERM \"$!\"",
            "kill -0 $(cat server.pid) && kill \"$(cat server.pid)\"",
            "git status --short && git diff --stat",
            "git add -A && git commit -m 'docker: push images, reset --hard'",
            "git log --oneline -20 --grep push",
            "git show HEAD~1:src/main.rs",
            "git stash && git stash pop && git stash list",
            "git branch -a && git branch feature && git checkout feature",
            "git checkout -b fix/http && git merge --no-ff main",
            "git rebase main && git cherry-pick abc123",
            "git -c core.pager=cat log -3 && git --no-pager diff",
            "git remote add origin https://example.com/x.git && git remote -v",
            "git worktree add ../x main || git worktree list",
            "git blame -L 10,20 src/main.rs && git tag v1",
            "git fetch origin && git pull --rebase",
            "command -v docker && which curl && type ssh",
            "curl --version && docker --version",
            "docker_dir=docker; ls \"$docker_dir\"",
            "env | sort && printenv PATH && export DEBUG=1",
            "for f in *.md; do echo \"$f\"; done",
            "if [ -f package.json ]; then npm test; else make test; fi",
            "timeout 60 cargo test && time make && nice -n 10 make",
            "taskset -c 0 cargo bench && nohup make > log 2>&1 &",
            "date && whoami && id && uname -a && nproc && df -h . && free -m && ps aux | head",
            "sqlite3 app.db '.tables' && psql --version",
            "openssl rand -hex 16 && base64 -d < a.b64 > a.bin",
            "terraform_files=$(ls *.tf | wc -l); echo $terraform_files",
            "alembic init migrations && django-admin startproject service",
            "vitest run && playwright test && cypress run",
            "shellcheck scripts/*.sh && shfmt -d scripts",
            "pre-commit run --all-files",
            "protoc --go_out=. api.proto",
            "javac Main.java && java Main kill",
            "php artisan migrate",
            "ruby -e 'puts 1' && rake test && rails routes",
        ],
    );
}

/// What is excepted is excepted only in the form that is harmless.
#[test]
fn other_forms_of_what_only_looks_are_still_what_they_are() {
    all(
        &Policy::default(),
        PolicyOutcome::Deny,
        &[
            "mount /dev/sda1 /mnt",
            "mount -o remount,rw /",
            "mount -a",
            "ip link set eth0 down",
            "ip addr add 10.0.0.1/8 dev lo",
            "ip netns exec x sh",
            "dd if=x of=/dev/sda",
            "dd if=x of=../../y",
            "dd x",
            "curl http://127.0.0.1 http://example.com",
            "curl http://127.0.0.1@example.com",
            "curl -x http://example.com http://127.0.0.1",
            "curl -K config http://127.0.0.1",
            "curl --connect-to ::example.com:80 http://127.0.0.1",
            "curl http://localhost.example.com",
            "curl http://127.0.0.1 $X",
            "curl file:///etc/passwd",
            "wget --input-file=x http://127.0.0.1",
            "nc example.com 80",
            "nc -e sh localhost 80",
            "sysctl -w kernel.core_pattern=x",
            "sysctl kernel.core_pattern=x",
            "dpkg -i x.deb",
        ],
    );
    all(
        &Policy::default(),
        PolicyOutcome::Ask,
        &["kill 1234", "kill -9 -1", "kill -1", "killall node", "pkill -f node"],
    );
    // A file's own rules are about all forms.
    all(
        &policy("[commands]\ndeny = [\"curl\", \"mount\"]\n"),
        PolicyOutcome::Deny,
        &["curl http://127.0.0.1", "mount"],
    );
}

#[test]
fn of_very_many_words_not_all_are_looked_through() {
    let many = format!("unknown {}", "rm ".repeat(20_000));
    assert_eq!(Policy::default().command(&many).outcome, PolicyOutcome::Ask);
    let deep = "npx ".repeat(15_000);
    assert_ne!(Policy::default().command(&format!("{deep} terraform destroy")).outcome, PolicyOutcome::Deny);
}
