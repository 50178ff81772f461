//! The shell parser.

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
    reads("x= a; y=1 b", &["a", "b"]);
    // What could not be the name of a variable is a program.
    reads("a-b=c x; 1a=b x", &["a-b=c", "1a=b"]);
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
    reads("(( x = 1 + $(wc a) )); echo $(( $(nproc) + 2 ))", &["wc", "nproc", "echo"]);
    reads("x=(1 $(a)); y=2 b", &["a", "b"]);
    reads("for x\nin a; do b; done", &["b"]);
    reads("for x in $(a); do b; done", &["a", "b"]);
    reads("case x\nin a) b;; esac", &["b"]);
    reads("function f() { a; }; f", &["a", "f"]);
    reads("function f (a; b); f", &["a", "b", "f"]);
    reads("[[ a < b || c > d ]] && e", &["e"]);
    reads("echo $(( (1 + 2) * 3 )); (( (x) + 1 )); a", &["echo", "a"]);
    reads("{ a; } > x 2>&1; &> y b", &["a", ">", ">", "b"]);
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
    reads("for x in <(a); do b; done; y=(<(c)); [[ -f <(d) ]]", &["a", "b", "c", "d"]);
    reads("echo `a \\`b\\``", &["b", "a", "echo"]);
    reads("echo ${x[@]} ${x:-a<b} ${x:-\\$(a)}", &["echo"]);
    reads("a <<EOF\n0123456789\\$(no) $(b)\nEOF", &["a", "b"]);
    reads("a <<'EOF'\nb\\\nEOF\nc", &["a", "c"]);
}

/// What is put in is not there, and what stands beside it is.
#[test]
fn of_a_word_is_known_what_nothing_is_put_into() {
    for (word, known, is_fixed) in [
        ("a$1b", "ab", false),
        ("a$#b", "ab", false),
        ("a${x}b", "ab", false),
        ("a$_b", "a", false),
        ("a$", "a$", true),
        ("a$.b", "a$.b", true),
    ] {
        let reading = shell::read(&format!("echo {word}"));
        let word = &reading.commands[0].arguments()[0];
        assert_eq!((word.known(), word.fixed().is_some()), (known, is_fixed), "{}", word.written());
    }
}

#[test]
fn redirections_are_what_the_shell_itself_touches() {
    reads("a > x 2>&1 < y >> z &> w", &[">", "<", ">", ">", "a"]);
    reads("a 2>/dev/null >&2 2>&-", &["a"]);
    reads("a >| x; b <> y; c >&file", &[">", "a", "<", ">", "b", ">", "c"]);
    reads("echo a>b; echo c}>d; echo {e>f", &[">", "echo", ">", "echo", ">", "echo"]);
    // No descriptor has a number before `&>`.
    let reading = shell::read("echo 2&>x");
    let echo: Vec<_> = reading.commands[1].words.iter().map(shell::Word::known).collect();
    assert_eq!(echo, ["echo", "2"]);
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
    reads("bash --norc x.sh; bash -e x.sh; bash +c x.sh; bash dir/$X", &["bash", "bash", "bash", "bash"]);
    reads("bash --rcfile x -c a; bash -sc b", &["a", "bash", "b", "bash"]);
    reads("bash -- -c a", &["bash"]);
    reads("timeout \"5$UNIT\" a", &["a", "timeout"]);
    reads("find . -exec \\; -print -exec a \\;", &["a", "find"]);
    reads("mapfile -t lines < x; printf '$(a)'", &["<", "mapfile", "printf"]);
}

/// `watch` joins its words and has a shell run them; `flock` starts a program, unless it is told otherwise.
#[test]
fn words_that_become_a_script_are_read_as_one() {
    reads("watch -n 1 a ';' b", &["a", "b", "watch"]);
    reads("watch 'a | b'", &["a", "b", "watch"]);
    for option in ["-x", "-tx", "--exec"] {
        reads(&format!("watch {option} a ';' b"), &["a", "watch"]);
    }
    reads("watch -t --no-title -n 5 a ';' b", &["a", "b", "watch"]);
    unclear("watch a $X");
    reads("flock f -c 'a; b'; flock f --command 'c; d'", &["a", "b", "flock", "c", "d", "flock"]);
    reads("flock f a ';' b; flock f 'c d'", &["a", "flock", "c d", "flock"]);
    unclear("flock f -c \"$X\"");
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
        "$_ x",
        "bash $X a",
        "bash -$X a",
        "bash -s x",
        "timeout \"$X\" 5 a",
        "timeout 5$X a",
        "sh <<EOF\nls $X\nEOF",
        "a <&$fd",
        "echo ${x:-<(a)}",
        "echo `a \\\"b\\\"`",
        "let 'x=$(a)'",
        "a <<EOF\nE\\\nOF\nb\nEOF",
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
        "echo $( ((a) )",
        "a b() { c; }",
        "x=1 f() { a; }",
        "> x f() { a; }",
        "a (b; c",
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
    unclear(&"x".repeat(64 * 1024 + 1));
    reads(&"x".repeat(64 * 1024), &[&"x".repeat(64 * 1024)]);
}

#[test]
fn a_redirection_where_only_words_can_be_is_said_to_be_one() {
    for text in ["for x in 1 > y; do a; done", "x=(1 > 2); a"] {
        let why: Vec<_> = shell::read(text).unclear.iter().map(ToString::to_string).collect();
        assert_eq!(why, ["there is a redirection in a list of words"], "{text}");
    }
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
        "\"a\\\nb\" $'c\\rd'",
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
        "((evil) | (ls)); ls",
        "echo evil | bash /dev/fd/0",
        "echo evil | bash /proc/self/fd/0",
        "read x <<'E'\na[$(evil)]\nE\necho $((x))",
        "read x <<E\na[\\$(evil)]\nE\necho $((x))",
        "mapfile x <<'E'\na[$(evil)]\nE\necho $((x))",
        "while read x; do echo $((x)); done <<< 'a[$(evil)]'",
        "while read x; do echo $((x)); done <<'E'\na[`evil`]\nE",
        "{ read x; echo $((x)); } <<< 'a[$(evil)]'",
        "(read x; echo $((x))) <<E\na[\\`evil\\`]\nE",
        "watch ls ';' evil",
        "flock f --command evil",
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
    reads("while read x; do echo $x; done <<E\n$(a)\nE", &["read", "echo", "a"]);
    reads("while read x; do echo $x; done <<< \"$(a)\"", &["read", "echo", "a"]);
    reads("cat <<'E' > x\n$(a)\nE\ngrep a <<< '$(b)'", &[">", "cat", "grep"]);
    reads("find . -name x$", &["find"]);
    reads(". ./env.sh; source \"$HOME/.cargo/env\"", &[".", "source"]);
}
