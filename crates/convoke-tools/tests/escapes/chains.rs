//! Toolchains in a home, which commands can use, and everything beside them, which they cannot.

use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use convoke_tools::sandbox::{OpeningError, Openings, Sandbox, Toolchains};
use convoke_tools::workspace::Workspace;
use serde_json::json;

use crate::common::{Hands, SECRET};
use crate::shell::everywhere;

/// A home with files in it. Those in a folder `bin` are programs.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn with(files: &[(&str, &str)]) -> Self {
        let home = Self { folder: tempfile::tempdir().unwrap() };
        for (name, content) in files {
            let path = home.at(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, content).unwrap();
            if path.parent().unwrap().ends_with("bin") {
                std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
            }
        }
        home
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    fn link(&self, to: &str, path: &str) {
        std::fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        symlink(self.at(to), self.at(path)).unwrap();
    }

    /// What is found for somebody with these folders on the path, beside the system's.
    fn chains(&self, workspace: &Workspace, path: &[&str], variables: &[(&str, &str)]) -> Toolchains {
        let folders =
            path.iter().map(|folder| self.at(folder)).chain([PathBuf::from("/usr/bin"), "/bin".into()]);
        let path = std::env::join_paths(folders).unwrap();
        let openings = Openings::new(workspace, Some(&self.at("")), [self.at("data/own.db")]).unwrap();
        Toolchains::find(&openings, |name| match name {
            "PATH" => Some(path.clone()),
            "HOME" => Some(self.at("").into()),
            _ => variables.iter().find(|(own, _)| *own == name).map(|(_, value)| OsString::from(value)),
        })
    }

    fn sandbox(&self, sandbox: Sandbox, path: &[&str], variables: &[(&str, &str)]) -> Sandbox {
        let chains = self.chains(sandbox.workspace(), path, variables);
        sandbox.chains(&chains)
    }
}

async fn bash(hands: &Hands, command: &str) -> String {
    let result = hands.done("bash", json!({"command": command, "timeout": 20})).await;
    assert!(!result.contains(SECRET), "`{command}` gave the secret away: {result}");
    result
}

async fn fails(hands: &Hands, command: &str) {
    let result = bash(hands, command).await;
    assert!(!result.ends_with("Exit code: 0"), "`{command}` succeeded: {result}");
}

const TOOL: &str = "#!/bin/sh\necho works\n";

#[tokio::test]
async fn a_chain_on_the_path_runs_and_what_is_beside_it_stays_closed() {
    let home = Home::with(&[
        ("chain/bin/tool", TOOL),
        ("chain/bin/.env", SECRET),
        ("chain/notes.txt", SECRET),
        ("elsewhere/bin/other", TOOL),
        (".ssh/id_ed25519", SECRET),
        ("notes.txt", SECRET),
    ]);
    let set_up = |sandbox| home.sandbox(sandbox, &["chain/bin"], &[]);
    for hands in everywhere("a_chain_on_the_path_runs_and_what_is_beside_it_stays_closed", set_up) {
        // With a secret in the workspace, and without.
        for _ in 0..2 {
            assert_eq!(bash(&hands, "tool").await, "works\nExit code: 0");
            let at = |path: &str| home.at(path).display().to_string();
            fails(&hands, &at("elsewhere/bin/other")).await;
            for secret in ["chain/bin/.env", "chain/notes.txt", ".ssh/id_ed25519", "notes.txt"] {
                bash(&hands, &format!("cat {0}; cp {0} copy && cat copy", at(secret))).await;
            }
            fails(&hands, &format!("echo x > {}", at("chain/bin/tool"))).await;
            fails(&hands, &format!("touch {}", at("chain/bin/new"))).await;
            hands.put(".env", SECRET);
        }
        assert_eq!(std::fs::read_to_string(home.at("chain/bin/tool")).unwrap(), TOOL);
        assert!(!home.at("chain/bin/new").exists());
    }
}

#[tokio::test]
async fn cargo_finds_its_packages_and_nobody_its_credentials() {
    let home = Home::with(&[
        (
            ".cargo/bin/cargo",
            "#!/bin/sh\ncat $CARGO_HOME/registry/src/a/src/credentials.rs $CARGO_HOME/config.toml\n",
        ),
        (".cargo/registry/src/a/src/credentials.rs", "mod a;\n"),
        (".cargo/config.toml", "net.offline = true\n"),
        (".cargo/credentials.toml", SECRET),
        (".cargo/credentials", SECRET),
        (".rustup/settings.toml", "version = \"12\"\n"),
        (".rustup/toolchains/stable/bin/rustc", TOOL),
    ]);
    let set_up = |sandbox| home.sandbox(sandbox, &[".cargo/bin"], &[("CARGO_REGISTRY_TOKEN", SECRET)]);
    for hands in everywhere("cargo_finds_its_packages_and_nobody_its_credentials", set_up) {
        // Names that are protected elsewhere are parts of packages there.
        assert_eq!(bash(&hands, "cargo").await, "mod a;\nnet.offline = true\nExit code: 0");
        assert_eq!(
            bash(&hands, "$RUSTUP_HOME/toolchains/stable/bin/rustc; cat $RUSTUP_HOME/settings.toml").await,
            "works\nversion = \"12\"\nExit code: 0"
        );
        fails(&hands, "cat $CARGO_HOME/credentials").await;
        fails(&hands, "cat $CARGO_HOME/credentials.toml").await;
        bash(&hands, "env; cat $CARGO_HOME/*; grep -r . $CARGO_HOME").await;
    }
}

#[tokio::test]
async fn of_installed_versions_everything_is_opened_but_their_settings() {
    let home = Home::with(&[
        (".nvm/versions/node/v20/bin/node", "#!/bin/sh\ncat \"${0%/bin/node}/lib/npm/index.js\"\n"),
        (".nvm/versions/node/v20/lib/npm/index.js", "npm\n"),
        (".nvm/versions/node/v20/etc/npmrc", SECRET),
        (".nvm/alias/default", SECRET),
        (".pyenv/shims/python", "#!/bin/sh\n"),
        (".pyenv/bin/pyenv", "#!/bin/sh\ncat $PYENV_ROOT/versions/web/lib/a.py\n"),
        (".pyenv/versions/3/lib/a.py", ""),
        (".pyenv/versions/3/envs/web/lib/a.py", "web\n"),
        (".pyenv/versions/3/envs/web/pip.conf", SECRET),
    ]);
    home.link(".pyenv/versions/3/envs/web", ".pyenv/versions/web");
    let path = [".nvm/versions/node/v20/bin", ".pyenv/bin"];
    let set_up = |sandbox| home.sandbox(sandbox, &path, &[]);
    for hands in everywhere("of_installed_versions_everything_is_opened_but_their_settings", set_up) {
        assert_eq!(bash(&hands, "node").await, "npm\nExit code: 0");
        let at = |path: &str| home.at(path).display().to_string();
        assert_eq!(bash(&hands, "pyenv").await, "web\nExit code: 0");
        for secret in [
            ".nvm/versions/node/v20/etc/npmrc",
            ".nvm/alias/default",
            ".pyenv/versions/3/envs/web/pip.conf",
            ".pyenv/versions/web/pip.conf",
        ] {
            fails(&hands, &format!("cat {}", at(secret))).await;
        }
    }
}

#[test]
fn settings_with_a_key_in_them_are_not_opened_and_that_is_said() {
    let workspace = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(workspace.path()).unwrap();
    for (settings, has_key) in [
        ("[source.crates-io]\nreplace-with = \"mirror\"\n", false),
        ("[registries.own]\nindex = \"sparse+https://example.com/\"\n", false),
        ("[registry]\nglobal-credential-providers = [\"cargo:token\"]\n", false),
        ("[registry]\ntoken = \"abc\"\n", true),
        ("registries = { own = { token = \"abc\" } }\n", true),
        ("[env]\nSERVICE_KEY = { value = \"abc\" }\n", true),
        ("http.proxy = \"http://ann:abc@example.com\"\n", true),
        ("not toml at all", true),
    ] {
        let home = Home::with(&[(".cargo/bin/cargo", TOOL), (".cargo/config.toml", settings)]);
        let chains = home.chains(&workspace, &[".cargo/bin"], &[]);
        assert_eq!(chains.names(), ["cargo"], "{settings}");
        assert_eq!(!chains.remarks().is_empty(), has_key, "{settings}");
        assert!(!chains.remarks().concat().contains("abc"));
    }
}

#[tokio::test]
async fn chains_are_told_where_they_are_and_links_are_followed() {
    let home = Home::with(&[
        ("py/shims/python", ""),
        ("py/bin/pyenv", "#!/bin/sh\ncat $PYENV_ROOT/versions/3/lib/x.pem; echo $PYENV_VERSION\n"),
        ("py/versions/3/lib/x.pem", "certificate\n"),
        ("apps/one/bin/app", TOOL),
        ("apps/one/private.txt", SECRET),
        ("node/v20/bin/node", "#!/bin/sh\necho node\n"),
        (".local/bin/plain", TOOL),
        (".ssh/bin/evil", SECRET),
    ]);
    home.link("apps/one/bin/app", ".local/bin/app");
    home.link("notes.txt", ".local/bin/nothing");
    home.link(".ssh/bin/evil", ".local/bin/evil");
    home.link("node/v20", "shells/1");
    let root = home.at("py").display().to_string();
    let variables = [("PYENV_ROOT", root.as_str()), ("PYENV_VERSION", "3")];
    let path = ["py/bin", ".local/bin", "shells/1/bin"];
    let set_up = |sandbox| home.sandbox(sandbox, &path, &variables);
    for hands in everywhere("chains_are_told_where_they_are_and_links_are_followed", set_up) {
        assert_eq!(bash(&hands, "pyenv").await, "certificate\n3\nExit code: 0");
        assert_eq!(bash(&hands, "app; plain; node").await, "works\nworks\nnode\nExit code: 0");
        fails(&hands, "evil").await;
        fails(&hands, &format!("cat {}", home.at("apps/one/private.txt").display())).await;
    }
    let workspace = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(workspace.path()).unwrap();
    let chains = home.chains(&workspace, &path, &variables);
    assert_eq!(chains.names(), ["pyenv", "~/.local/bin", "~/node/v20/bin"]);
}

#[test]
fn a_path_that_leads_to_a_home_to_secrets_or_to_the_program_opens_nothing() {
    let home = Home::with(&[
        (".ssh/bin/tool", TOOL),
        ("data/bin/tool", TOOL),
        ("data/own.db", SECRET),
        ("bin/tool", TOOL),
        ("src/notes.txt", SECRET),
        ("pkg/tool/x", ""),
    ]);
    home.link("", "loop");
    let workspace = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(workspace.path()).unwrap();
    let chains =
        home.chains(&workspace, &["", "loop", ".ssh", ".ssh/bin", "data", "gone", "src/notes.txt"], &[]);
    assert!(chains.names().is_empty(), "{chains:?}");
    // Folders of a home that look like a chain's are none.
    let chains = home.chains(&workspace, &["bin"], &[]);
    assert_eq!(chains.names(), ["~/bin"]);
    assert!(!format!("{chains:?}").contains("src"), "{chains:?}");
    // Nor is the whole machine anybody's home.
    let openings = Openings::new(&workspace, Some(Path::new("/")), []).unwrap();
    let chains = Toolchains::find(&openings, |name| (name == "PATH").then(|| "/usr/bin:/bin".into()));
    assert!(chains.names().is_empty(), "{chains:?}");
    assert!(openings.folder(Path::new("/")).is_err());
    // Nor is a variable believed that names the whole home.
    let whole = home.at("").display().to_string();
    let chains = home.chains(&workspace, &["bin"], &[("GOMODCACHE", &whole), ("RUSTUP_HOME", &whole)]);
    assert_eq!(chains.names(), ["~/bin"], "{chains:?}");
}

#[tokio::test]
async fn a_chain_that_leads_into_the_workspace_is_no_way_around_it() {
    let home = Home::with(&[(".pyenv/bin/pyenv", TOOL), (".pyenv/versions/3/lib/a.py", "a\n")]);
    let set_up = |sandbox: Sandbox| {
        let inner = sandbox.workspace().path().join("venv");
        std::fs::create_dir_all(inner.join("lib")).unwrap();
        std::fs::write(inner.join("lib/.env"), SECRET).unwrap();
        let _ = std::fs::remove_file(home.at(".pyenv/versions/mine"));
        symlink(&inner, home.at(".pyenv/versions/mine")).unwrap();
        home.sandbox(sandbox, &[".pyenv/bin"], &[])
    };
    for hands in everywhere("a_chain_that_leads_into_the_workspace_is_no_way_around_it", set_up) {
        assert_eq!(
            bash(&hands, "pyenv; cat $PYENV_ROOT/versions/3/lib/a.py").await,
            "works\na\nExit code: 0"
        );
        bash(&hands, "cat $PYENV_ROOT/versions/mine/lib/.env; cat venv/lib/.env").await;
    }
}

#[test]
fn what_may_be_opened_is_judged_where_it_really_is() {
    let home = Home::with(&[
        ("fine/x", ""),
        ("data/own.db", ""),
        (".config/convoke/keys/x", ""),
        (".aws/config", ""),
    ]);
    home.link("", "loop");
    let work = home.at("projects/one");
    std::fs::create_dir_all(work.join("inner")).unwrap();
    let workspace = Workspace::open(&work).unwrap();
    let own = [home.at("data/own.db"), home.at("settings")];
    let openings = Openings::new(&workspace, Some(&home.at("")), own).unwrap();
    let judged = |path: &Path| openings.folder(path);
    assert_eq!(judged(&home.at("fine")).unwrap(), home.at("fine"));
    assert_eq!(judged(&home.at("loop/fine")).unwrap(), home.at("fine"));
    assert_eq!(judged(&home.at("gone")), Err(OpeningError::Missing));
    assert_eq!(judged(&home.at("projects/one/inner")), Err(OpeningError::InWorkspace));
    std::fs::create_dir_all(home.at("settings/deep")).unwrap();
    for (path, why) in [
        ("/", "the whole home"),
        ("/proc/self", "processes"),
        ("/dev", "devices"),
        (&*home.at("").display().to_string(), "the whole home"),
        (&*home.at("loop").display().to_string(), "the whole home"),
        (&*home.at("projects").display().to_string(), "around the workspace"),
        (&*std::env::temp_dir().display().to_string(), "the whole home"),
        (&*home.at("data").display().to_string(), "own.db"),
        (&*home.at("settings/deep").display().to_string(), "settings"),
        (&*home.at(".config/convoke/keys").display().to_string(), "protected"),
        (&*home.at(".aws").display().to_string(), "protected"),
    ] {
        let refused = judged(Path::new(path)).unwrap_err().to_string();
        assert!(refused.contains(why), "{path}: {refused}");
    }
}

#[tokio::test]
async fn sockets_in_folders_that_may_be_read_are_nobodys() {
    let home = Home::with(&[("chain/bin/tool", TOOL)]);
    let socket = home.at("chain/bin/socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let set_up = |sandbox| home.sandbox(sandbox, &["chain/bin"], &[]);
    for hands in everywhere("sockets_in_folders_that_may_be_read_are_nobodys", set_up) {
        let connect = format!(
            "tool; perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) && connect(S, sockaddr_un(\"{}\")) || exit 9'",
            socket.display()
        );
        assert!(bash(&hands, &connect).await.starts_with("works\n"));
        fails(&hands, &connect).await;
    }
}
