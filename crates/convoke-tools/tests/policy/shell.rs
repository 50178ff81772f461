//! What is read of command lines.

use convoke_tools::policy::shell;

/// The programs a command line would start, and whether all of it is clear.
fn programs(text: &str) -> (Vec<String>, bool) {
    let reading = shell::read(text);
    let programs = reading.commands.iter().map(|command| command.program().unwrap_or("?").to_owned());
    (programs.collect(), reading.unclear.is_empty())
}

#[track_caller]
fn reads(text: &str, expected: &[&str]) {
    let (programs, clear) = programs(text);
    assert_eq!(programs, expected, "{text}");
    assert!(clear, "{text}: {:?}", shell::read(text).unclear);
}

#[track_caller]
fn unclear(text: &str) {
    let reading = shell::read(text);
    assert!(!reading.unclear.is_empty(), "{text}: {:?}", reading.commands);
}

#[test]
fn lists_and_pipelines() {
    reads("a && b || c; d & e | f |& g", &["a", "b", "c", "d", "e", "f", "g"]);
    reads("a\nb\n\nc # d\ne", &["a", "b", "c", "e"]);
    reads("a \\\n  b", &["a"]);
    reads("! a | b", &["a", "b"]);
    reads("time -p a; time -- b", &["a", "b"]);
    reads("echo 'a; b' \"c | d\" e\\;f a#b", &["echo"]);
}

#[test]
fn compound_commands() {
    reads("if a; then b; elif c; then d; else e; fi > out", &["a", "b", "c", "d", "e", ">"]);
    reads("for x in 1 2 $(a); do b \"$x\"; done", &["a", "b"]);
    reads("for ((i=0; i<3; i++)); do a; done", &["a"]);
    reads("while a; do b; done < in", &["a", "b", "<"]);
    reads("until a; do b; done", &["a", "b"]);
    reads("case $x in a|b) c;; (d) e;& *) f; esac; g", &["c", "e", "f", "g"]);
    reads("(a; b) && { c; d; }", &["a", "b", "c", "d"]);
    reads("f() { a; }; f", &["a", "f"]);
    reads("function f { a; }\nf", &["a", "f"]);
    reads("[[ $x == *.rs && -f $(a) ]] && b", &["a", "b"]);
    reads("(( x = 1 + $(a) )); echo $(( $(b) + 2 ))", &["a", "b", "echo"]);
    reads("x=(1 $(a)); y=2 b", &["a", "b"]);
}

#[test]
fn substitutions_wherever_they_are() {
    reads("echo $(a) \"$(b \"$(c)\")\" `d`", &["a", "c", "b", "d", "echo"]);
    reads("echo ${x:-$(a)} \"${y:=`b`}\"", &["a", "b", "echo"]);
    reads("a <(b) >(c)", &["b", "c", "a"]);
    reads("X=$(a)", &["a"]);
    reads("a > $(b)", &["b", ">", "a"]);
    reads("a <<EOF\n$(b) `c` \\$(no)\nEOF\nd", &["a", "b", "c", "d"]);
    reads("a <<'EOF'\n$(b)\nEOF\nd", &["a", "d"]);
    reads("a <<-EOF | b\n\tx\n\tEOF\nc", &["a", "b", "c"]);
    reads("echo '$(a)' \\$x \"\\$(b)\"", &["echo"]);
}

#[test]
fn redirections_are_what_the_shell_itself_touches() {
    reads("a > x 2>&1 < y >> z &> w", &[">", "<", ">", ">", "a"]);
    reads("a 2>/dev/null >&2 2>&-", &["a"]);
    reads("a >| x; b <> y; c >&file", &[">", "a", "<", ">", "b", ">", "c"]);
}

#[test]
fn programs_that_start_others() {
    reads("env -i -u X A=1 B=2 a b", &["a", "env"]);
    reads("sudo -u root a", &["a", "sudo"]);
    reads("timeout -k 5 --signal=KILL 10 a", &["a", "timeout"]);
    reads("nice -n 5 nohup a", &["a", "nohup", "nice"]);
    reads("x | xargs -0 -n 1 a", &["x", "a", "xargs"]);
    reads("find . -name '*.rs' -exec a {} \\; -exec b {} + -print", &["a", "b", "find"]);
    reads("bash -c 'a; b'", &["a", "b", "bash"]);
    reads("sh -euc \"a\" x y", &["a", "sh"]);
    reads("bash -o pipefail -c a", &["a", "bash"]);
    reads(
        "eval a b; trap 'c' EXIT; exec d; command e; builtin f",
        &["a", "eval", "c", "trap", "d", "exec", "e", "command", "f", "builtin"],
    );
    reads("bash <<EOF\na\nEOF", &["bash", "a"]);
    reads("bash <<< 'a'", &["a", "bash"]);
    reads("bash script.sh --flag", &["bash"]);
    reads("busybox a b", &["a", "busybox"]);
    reads("bash -c \"bash -c 'a'\"", &["a", "bash", "bash"]);
}

#[test]
fn what_is_only_known_when_it_runs_is_unclear() {
    for text in [
        "$X foo",
        "${X} foo",
        "$(a) b",
        "\"$X\"",
        "`a` b",
        "c{url,} x",
        "/bin/c* x",
        "eval \"$X\"",
        "eval $X",
        "bash -c \"$X\"",
        "bash -c",
        "a | bash",
        "bash -s < x",
        "base64 -d x | sh",
        "env -S 'a b'",
        "env $X a",
        "xargs --unknown a",
        "find $X",
        "find . -exec a",
        "sudo --what a",
        "trap \"$X\" EXIT",
        "sh <<EOF\n$X\nEOF",
        "alias ls=a",
        "shopt -s extglob",
        "PATH=. ls",
        "LD_PRELOAD=x ls",
        "export PATH=.",
        "env PATH=. ls",
        "declare 'x[$(a)]'",
        "let 'x[$(a)]'",
        "printf -v 'x[$(a)]' y",
        "test -v 'x[$(a)]'",
        "((a); b)",
        "echo $((a); b)",
        "$'\\x63url' x",
        "coproc x { a; }",
        "echo ${x@P}",
        "parallel a ::: b",
        "busybox $X",
        "exec $X",
        "command $X",
        "timeout 5 $X",
        "a b(c)",
        "",
        "   # nothing",
        "bash -c '\"$@\"' _ a",
    ] {
        unclear(text);
    }
}

#[test]
fn what_is_not_well_formed_is_unclear() {
    for text in [
        "echo 'x",
        "echo \"x",
        "echo `x",
        "echo $(x",
        "(a",
        "a)",
        "a;;",
        "case x in",
        "case x",
        "[[ x",
        "a <<EOF",
        "a <<EOF\nx",
        "a \\",
        "x=(1",
        "${x",
        "((x",
        "a > ",
        "a >",
        "echo $((1",
        "\0",
    ] {
        unclear(text);
    }
    let deep = "$(".repeat(10_000);
    unclear(&deep);
    unclear(&"(".repeat(60_000));
    unclear(&"${x:-".repeat(10_000));
    unclear(&"$((".repeat(10_000));
    unclear(&"\"$(".repeat(10_000));
    unclear(&"`\\`".repeat(10_000));
    unclear(&"case x in x) ".repeat(4_000));
    unclear(&"env ".repeat(10_000));
    unclear(&"x".repeat(70_000));
}

#[test]
fn words_are_what_bash_makes_of_them() {
    let Ok(found) = std::process::Command::new("bash").arg("--version").output() else { return };
    assert!(found.status.success());
    for words in [
        r#"a 'b c' "d e" f\ g"#,
        r#""a\$b" "c\\d" "e\"f" "g\h" 'i\j'"#,
        r#"a'b'"c"d $'e\nf\tg\\h\'i' $"j""#,
        "a\\\nb c \\\n d",
        r#"a=b --c='d e' -f"g h" {} {x} [ ] ! ~x a#b "" ''"#,
        "é 'ü ß' \"…\" \\€",
        r#"\a \' \" \\ "'" '"'"#,
    ] {
        let output = std::process::Command::new("bash")
            .args(["--norc", "-c", &format!("printf '%s\\0' {words}")])
            .env("LC_ALL", "C.UTF-8")
            .output()
            .unwrap();
        let bash: Vec<String> =
            String::from_utf8(output.stdout).unwrap().split_terminator('\0').map(str::to_owned).collect();
        let reading = shell::read(&format!("printf '%s\\0' {words}"));
        let ours: Vec<String> =
            reading.commands[0].arguments()[1..].iter().map(|word| word.known().to_owned()).collect();
        assert_eq!(ours, bash, "{words}");
    }
}

/// Each of these starts `evil` in bash, and reading it must not say that nothing but harmless programs is started.
#[test]
fn what_bash_would_run_is_never_read_as_something_else() {
    for text in [
        "echo \"$\\\n(evil)\"",
        "echo ${x:-$\\\n(evil)}",
        "A=evil; $\\\nA",
        "ev$\\\n{z}il",
        "BASH_CMDS[ls]=evil; ls",
        "x='a[$(evil)]'; echo $((x))",
        "x=\"a[\\$(evil)]\"; echo $((x))",
        "set -- 'a[$(evil)]'; echo $(($1))",
        "for i in 'a[$(evil)]'; do [[ $i -eq 1 ]]; done",
        "a=('x[$(evil)]'); echo $((a))",
        "read x <<< 'a[$(evil)]'; echo $((x))",
        "mapfile -tC evil -c 1 <<< a",
        "sh <<B 3<<A\nevil\nB\nls\nA",
        "bash <<<evil 3<<<ls",
        "bash <<<ls <evil.sh",
        "{x}>out evil",
        "for PATH in evil; do ls; done",
        "unset PATH; : ${PATH:=evil}; ls",
        "printf -vPATH evil; ls",
        "read -aPATH <<< evil; ls",
        "read -raPATH <<< evil; ls",
        "declare -n r=PATH; r=evil; ls",
        ". /dev/stdin <<< evil",
        "source <(echo evil)",
        "source -- /dev/stdin <<< evil",
        "eval -- evil",
        "eval -- time evil",
        "echo evil | bash /dev/stdin",
        "find f -exe[c] evil \\;",
        "find f [-]ok evil \\;",
        "HOME=evil git status",
        "PAGER=evil git log",
        "TAR_OPTIONS=--to-command=evil tar xf t.tar",
    ] {
        let (programs, clear) = programs(text);
        assert!(!clear || programs.iter().any(|program| program == "evil"), "{text}: {programs:?}");
    }
    reads("if a; th\\\nen evil; fi", &["a", "evil"]);
    reads("trap -- '-x; evil' EXIT", &["-x", "evil", "trap"]);
    reads("xargs --replace evil ls; xargs --max-lines evil ls", &["evil", "xargs", "evil", "xargs"]);
}

#[test]
fn what_only_looks_like_it_stays_clear() {
    reads("x=1; y=$((x + 1)); echo $y", &["echo"]);
    reads("sh <<A 3<<B\nls\nA\nx\nB", &["sh", "ls"]);
    reads("bash 3<<<x <<<ls", &["ls", "bash"]);
    reads("trap - EXIT; trap -p; trap '' INT", &["trap", "trap", "trap"]);
    reads("find . -name *.rs -print; find src* -type f", &["find", "find"]);
    reads(
        "printf -v text '%s' a; read -r line; unset x; declare -i n=1",
        &["printf", "read", "unset", "declare"],
    );
    reads("for f in a b; do echo {x} > out; done", &[">", "echo"]);
    reads("xargs --replace=X echo X", &["echo", "xargs"]);
    reads(". ./env.sh; source \"$HOME/.cargo/env\"", &[".", "source"]);
}
