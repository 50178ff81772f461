//! The programs that developers reach other machines with, each through the proxy by the variables alone.
//!
//! They ask for names that only our resolver knows: whoever went past the proxy would find nothing.

use std::path::Path;
use std::process::Stdio;

use convoke_tools::network::{Proxy, variables};
use tempfile::TempDir;
use tokio::process::Command;

use crate::common::skipped;
use crate::site::{Names, Reply, Site, reply, with_headers};
use crate::{rules, started};

/// A folder that is served under any name that ends in `.example`.
struct Served {
    folder: TempDir,
    site: Site,
}

impl Served {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_owned();
        let site = Site::new(move |request| {
            let path = request.split([' ', '?']).nth(1).unwrap().trim_start_matches('/').replace("%2f", "/");
            Reply::Bytes(match std::fs::read(root.join("public").join(&path)) {
                Ok(bytes) => with_headers("200 OK", &[("content-type", kind(&path))], &bytes),
                Err(_) => reply("404 Not Found", "text/plain", "nothing here"),
            })
        })
        .await;
        Self { folder, site }
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Runs a script in the folder with the variables of a proxy that lets `good.example` be reached; gives what it said, and the
    /// proxy's note.
    async fn run(&self, script: &str) -> (bool, String, Option<String>) {
        let names = Names::default().with("good.example", &[&["127.0.0.1"]]);
        let lines = format!("hosts.allow = [\"good.example\", \"127.0.0.1:{}\"]", self.site.port);
        let (proxy, port) = started(Proxy::new(&rules(&lines, &names)));
        let mut command = Command::new("bash");
        command.args(["-c", script]).current_dir(self.folder.path()).env_clear().envs(variables(port));
        for name in ["PATH", "RUSTUP_HOME", "PYENV_ROOT", "PYENV_VERSION"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        let home = std::env::var_os("HOME").unwrap_or_default();
        let rustup = Path::new(&home).join(".rustup");
        if rustup.exists() && std::env::var_os("RUSTUP_HOME").is_none() {
            command.env("RUSTUP_HOME", rustup);
        }
        let port = self.site.port.to_string();
        command.env("HOME", self.folder.path()).env("TO", port).stdin(Stdio::null()).kill_on_drop(true);
        let output = command.output().await.unwrap();
        let said = [output.stdout, output.stderr].concat();
        let note = proxy.finish().await.note();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned(), note)
    }

    /// Runs a script that must reach `good.example`, and one that must not reach `bad.example`.
    async fn reaches(&self, script: &str) -> String {
        let (succeeded, said, note) = self.run(&script.replace("HOST", "good.example")).await;
        assert!(succeeded && note.is_none(), "{script}: {said} {note:?}");
        let before = self.site.requests().len();
        let (succeeded, other, note) = self.run(&script.replace("HOST", "bad.example")).await;
        assert!(!succeeded, "{script}: {other}");
        assert!(note.unwrap().contains("bad.example"), "{script}: {other}");
        assert_eq!(self.site.requests().len(), before);
        said
    }
}

fn kind(path: &str) -> &'static str {
    match Path::new(path).extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    }
}

pub(crate) fn is_missing(test: &str, program: &str) -> bool {
    let ran = std::process::Command::new(program).arg("--version").stdout(Stdio::null()).status();
    let is_missing = !ran.is_ok_and(|status| status.success());
    if is_missing {
        skipped(test, &format!("{program} is not here"));
    }
    is_missing
}

#[tokio::test]
async fn curl_comes_through_by_http_by_a_tunnel_and_by_socks() {
    if is_missing("curl", "curl") {
        return;
    }
    let served = Served::new().await;
    served.put("public/page.txt", "hello");
    for options in ["", "--proxytunnel", "--proxy socks5h://${HTTP_PROXY#http://}"] {
        let said = served.reaches(&format!("curl -sS --fail {options} http://HOST:$TO/page.txt")).await;
        assert!(said.starts_with("hello"), "{options}: {said}");
    }
    // The command's own loopback is reached without the proxy.
    let (succeeded, said, _) = served.run("curl -sS --fail http://127.0.0.1:$TO/page.txt").await;
    assert!(succeeded && said == "hello", "{said}");
}

#[tokio::test]
async fn git_clones_through_it() {
    if is_missing("git", "git") {
        return;
    }
    let served = Served::new().await;
    let set_up = "export GIT_CONFIG_NOSYSTEM=1; git init -q a && cd a && git -c user.name=a -c user.email=a@b commit -q \
                  --allow-empty -m first && cd .. && git clone -q --bare a public/a.git && git -C public/a.git \
                  update-server-info";
    let (succeeded, said, _) = served.run(set_up).await;
    assert!(succeeded, "{said}");
    let said = served.reaches("git clone http://HOST:$TO/a.git HOST && git -C HOST log --format=%s").await;
    assert!(said.contains("first"), "{said}");
}

#[tokio::test]
async fn python_and_pip_come_through() {
    if is_missing("python", "python3") {
        return;
    }
    let served = Served::new().await;
    served.put("public/page.txt", "hello");
    let page =
        "python3 -c \"import urllib.request as u; print(u.urlopen('http://HOST:$TO/page.txt').read())\"";
    assert!(served.reaches(page).await.contains("hello"));
    if is_missing("pip", "pip") {
        return;
    }
    let wheel = "mkdir -p public/simple/tiny && python3 - <<'END'\nimport zipfile\n\
                 z = zipfile.ZipFile('public/tiny-1.0-py3-none-any.whl', 'w')\nd = 'tiny-1.0.dist-info/'\n\
                 z.writestr('tiny.py', '')\nz.writestr(d + 'METADATA', 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n')\n\
                 z.writestr(d + 'WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n\
                 z.writestr(d + 'RECORD', '')\nz.close()\nEND";
    let (succeeded, said, _) = served.run(wheel).await;
    assert!(succeeded, "{said}");
    served.put(
        "public/simple/tiny/index.html",
        "<!DOCTYPE html><a href=\"/tiny-1.0-py3-none-any.whl\">tiny-1.0-py3-none-any.whl</a>",
    );
    let download = "pip download -q --disable-pip-version-check --no-deps --retries 0 -d HOST --trusted-host HOST \
                    --index-url http://HOST:$TO/simple tiny==1.0 -f http://HOST:$TO/simple/tiny/index.html && ls HOST";
    assert!(served.reaches(download).await.contains("tiny-1.0-py3-none-any.whl"));
}

#[tokio::test]
async fn npm_comes_through() {
    if is_missing("npm", "npm") {
        return;
    }
    let served = Served::new().await;
    served.put(
        "public/tiny",
        r#"{"name":"tiny","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"tiny","version":"1.0.0","dist":{"tarball":"http://good.example/t.tgz","shasum":"0000000000000000000000000000000000000000"}}}}"#,
    );
    let said = served
        .reaches("npm view tiny version --fetch-retries=0 --cache HOST --registry http://HOST:$TO/")
        .await;
    assert!(said.contains("1.0.0"), "{said}");
}

#[tokio::test]
async fn cargo_comes_through() {
    if is_missing("cargo", "cargo") {
        return;
    }
    let served = Served::new().await;
    let url = format!("http://good.example:{}", served.site.port);
    served.put("public/config.json", format!("{{\"dl\":\"{url}/dl\"}}"));
    let digest = "0".repeat(64);
    served.put(
        "public/ti/ny/tiny",
        format!("{{\"name\":\"tiny\",\"vers\":\"1.0.0\",\"deps\":[],\"cksum\":\"{digest}\",\"features\":{{}},\"yanked\":false}}\n"),
    );
    served.put("project/src/lib.rs", "");
    let manifest = "[package]\nname = \"p\"\nversion = \"0.1.0\"\n[dependencies]\ntiny = { version = \"1\", registry = \"own\" }\n";
    served.put("project/Cargo.toml", manifest);
    let said = served
        .reaches(
            "export CARGO_HOME=$PWD/HOST-home CARGO_NET_RETRY=0; cd project && rm -f Cargo.lock && mkdir -p .cargo && \
             echo \"registries.own.index = 'sparse+http://HOST:$TO/'\" > .cargo/config.toml && cargo generate-lockfile && \
             cat Cargo.lock",
        )
        .await;
    assert!(said.contains("name = \"tiny\""), "{said}");
}
