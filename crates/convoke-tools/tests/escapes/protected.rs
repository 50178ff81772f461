//! Attempts at protected files.

use serde_json::json;

use crate::common::{Hands, SECRET, assert_denied};

const SECRETS: &[&str] = &[
    "convoke.toml",
    "policy.toml",
    "agent.toml",
    "credentials.toml",
    "deep/credentials.json",
    ".env",
    "app/.env.production",
    "keys/server.pem",
    "keys/server.key",
    "home/.ssh/config",
    "home/.ssh/id_ed25519",
    "id_rsa",
    "convoke.db",
    "convoke.db-wal",
    ".ENV",
    ".netrc",
];

#[tokio::test]
async fn secrets_are_neither_read_nor_changed_by_any_tool() {
    let hands = Hands::new();
    hands.put("plain.txt", "plain");
    for path in SECRETS {
        hands.put(path, SECRET);
        for (tool, arguments) in [
            ("read", json!({"path": path})),
            ("head", json!({"path": path})),
            ("tail", json!({"path": path})),
            ("grep", json!({"pattern": ".", "path": path})),
            ("diff", json!({"file_a": "plain.txt", "file_b": path})),
            ("cp", json!({"source": path, "destination": "copy.txt"})),
            ("mv", json!({"source": path, "destination": "moved.txt"})),
            ("write", json!({"path": path, "content": "x"})),
            ("edit", json!({"path": path, "old": SECRET, "new": "x"})),
            ("patch", json!({"path": path, "patch": format!("@@ -1 +1 @@\n-{SECRET}\n+x\n")})),
            ("cp", json!({"source": "plain.txt", "destination": path, "replace": true})),
            ("mv", json!({"source": "plain.txt", "destination": path, "replace": true})),
            ("rm", json!({"path": path})),
        ] {
            assert_denied(&hands.refused(tool, arguments).await, "is protected");
        }
        assert_eq!(hands.content(path), SECRET);
    }
    let found = hands.done("grep", json!({"pattern": "secret"})).await;
    assert!(!found.contains(SECRET) && found.contains("not searched"), "{found}");
    let found = hands.done("glob", json!({"pattern": "**/*.toml"})).await;
    assert!(found.contains("[4 protected paths not shown]"), "{found}");
    assert_eq!(hands.done("read", json!({"path": "plain.txt"})).await, "plain");
}

#[tokio::test]
async fn files_that_usually_hold_secrets_are_protected() {
    let hands = Hands::new();
    for path in [
        "prod.env",
        "deploy/app.env",
        "app.env.production",
        "terraform.tfstate",
        "infra/terraform.tfstate.backup",
        "prod.tfvars",
        "prod.auto.tfvars.json",
        ".pgpass",
        "secrets.yaml",
        "config/Secrets.json",
        "secrets.prod.yml",
        "service-account.json",
        "service_account-prod.json",
        "serviceAccountKey.json",
        "client_secret_123.json",
        "kubeconfig",
        "kubeconfig.yaml",
        "cluster.kubeconfig",
        ".vault-token",
        ".yarnrc.yml",
        ".config/gh/hosts.yml",
        "keys/server.ppk",
        "AuthKey_1.p8",
        ".my.cnf",
        ".htpasswd",
        ".m2/settings.xml",
    ] {
        assert_denied(&hands.refused("read", json!({"path": path})).await, "is protected");
        assert_denied(&hands.refused("write", json!({"path": path, "content": "x"})).await, "is protected");
    }
}

#[tokio::test]
async fn neither_whether_a_secret_exists() {
    let hands = Hands::new();
    assert_denied(&hands.refused("read", json!({"path": ".env"})).await, "is protected");
    assert_denied(&hands.refused("ls", json!({"path": ".ssh"})).await, "is protected");
}

#[tokio::test]
async fn a_folder_with_a_secret_in_it_is_not_moved_copied_or_removed() {
    let hands = Hands::new();
    hands.put("app/src/main.rs", "");
    hands.put("app/config/.env", SECRET);
    for (tool, arguments) in [
        ("mv", json!({"source": "app", "destination": "elsewhere"})),
        ("cp", json!({"source": "app", "destination": "elsewhere"})),
        ("rm", json!({"path": "app", "recursive": true})),
    ] {
        assert_denied(&hands.refused(tool, arguments).await, "`app/config/.env` in it");
    }
    assert_eq!(hands.content("app/config/.env"), SECRET);
    hands.done("mv", json!({"source": "app/src", "destination": "elsewhere"})).await;
}

#[tokio::test]
async fn a_link_to_a_secret_is_no_way_to_it() {
    let hands = Hands::new();
    hands.put(".env", SECRET);
    hands.put("home/.ssh/key", SECRET);
    hands.link(".env", "notes.txt");
    hands.link("home/.ssh", "folder");
    assert_denied(&hands.refused("read", json!({"path": "notes.txt"})).await, "`.env` is protected");
    assert_denied(
        &hands.refused("write", json!({"path": "notes.txt", "content": "x"})).await,
        "`.env` is protected",
    );
    assert_denied(
        &hands.refused("read", json!({"path": "folder/key"})).await,
        "`home/.ssh/key` is protected",
    );
    assert_denied(&hands.refused("ls", json!({"path": "folder"})).await, "is protected");
}

#[tokio::test]
async fn a_hard_link_to_a_secret_is_no_way_to_it() {
    let hands = Hands::new();
    let env = hands.put(".env", SECRET);
    std::fs::hard_link(env, hands.inside("notes.txt")).unwrap();
    assert_denied(&hands.refused("read", json!({"path": "notes.txt"})).await, "one of which is protected");
    assert_denied(
        &hands.refused("cp", json!({"source": "notes.txt", "destination": "x"})).await,
        "hard links",
    );
    assert!(!hands.done("grep", json!({"pattern": "secret"})).await.contains(SECRET));
}

#[tokio::test]
async fn what_git_executes_is_read_but_not_changed() {
    let hands = Hands::new();
    hands.put(".git/config", "[core]\n");
    hands.put(".git/hooks/pre-commit.sample", "#!/bin/sh\n");
    hands.put("plain.txt", "plain");
    assert_eq!(hands.done("read", json!({"path": ".git/config"})).await, "[core]\n");
    for path in [".git/config", ".git/hooks/pre-commit", ".git/hooks", "vendored/.git/config"] {
        assert_denied(&hands.refused("write", json!({"path": path, "content": "x"})).await, "is protected");
    }
    for (tool, arguments) in [
        ("mv", json!({"source": ".git", "destination": "x"})),
        ("rm", json!({"path": ".git", "recursive": true})),
        ("cp", json!({"source": "plain.txt", "destination": ".git/hooks/post-checkout"})),
        ("mv", json!({"source": "plain.txt", "destination": ".git/hooks"})),
    ] {
        assert_denied(&hands.refused(tool, arguments).await, "protected");
    }
    hands.done("write", json!({"path": ".gitignore", "content": "target\n"})).await;
}

#[tokio::test]
async fn the_store_in_use_is_protected_whatever_it_is_called() {
    use convoke_tools::workspace::{Protected, Workspace};
    let hands = Hands::new();
    for path in ["my runs", "my runs-wal", "my runs-shm"] {
        hands.put(path, SECRET);
    }
    let protected = Protected::defaults().store(hands.inside("my runs"));
    let workspace = Workspace::open_with(hands.workspace.path(), protected).unwrap();
    let tools = convoke_tools::files::all(&workspace);
    for path in ["my runs", "my runs-wal", "my runs-shm"] {
        let read = crate::common::call(&tools[0], json!({"path": path})).await;
        assert_denied(&read.unwrap_err(), "is protected");
    }
}

#[tokio::test]
async fn what_a_server_is_started_from_is_read_but_not_changed() {
    use convoke_tools::workspace::{Protected, Workspace};
    let mut hands = Hands::new();
    for path in ["tools/server.py", "server.py", "src/server.py"] {
        hands.put(path, "original");
    }
    // A list of exceptions is about names, not about this.
    let protected = Protected::defaults().except("*.py").unwrap();
    let protected = protected.program(hands.inside("tools")).program(hands.inside("server.py"));
    hands.workspace = Workspace::open_with(hands.workspace.path(), protected).unwrap();
    hands.tools = convoke_tools::files::all(&hands.workspace);
    assert_eq!(hands.done("read", json!({"path": "tools/server.py"})).await, "original");
    for (tool, arguments) in [
        ("write", json!({"path": "tools/server.py", "content": "x"})),
        ("write", json!({"path": "tools/json.py", "content": "x"})),
        ("edit", json!({"path": "server.py", "old": "original", "new": "x"})),
        ("rm", json!({"path": "server.py"})),
        ("rm", json!({"path": "tools", "recursive": true})),
        ("mv", json!({"source": "tools", "destination": "other"})),
        ("mv", json!({"source": "src/server.py", "destination": "server.py", "replace": true})),
        ("cp", json!({"source": "src/server.py", "destination": "tools/new.py"})),
    ] {
        assert_denied(&hands.refused(tool, arguments).await, "read-only");
    }
    // Another file of that name is one like others.
    hands.done("write", json!({"path": "src/server.py", "content": "changed"})).await;
    #[cfg(target_os = "linux")]
    if crate::has_landlock() {
        use convoke_tools::sandbox::{Confinement, Sandbox};
        let sandbox = Sandbox::new(&hands.workspace).unwrap().confinement(Confinement::Landlock);
        let bash = convoke_tools::shell::bash(&sandbox);
        let command =
            "echo x > server.py; echo x > tools/server.py; echo x > tools/json.py; echo x > mine.py";
        let told = crate::common::call(&(std::sync::Arc::new(bash) as _), json!({"command": command})).await;
        assert_denied(&told.unwrap(), "tools/json.py");
        assert_eq!(hands.content("mine.py"), "x\n");
    }
    assert_eq!(
        (hands.content("server.py"), hands.content("tools/server.py")),
        ("original".into(), "original".into())
    );
    assert!(!hands.inside("tools/json.py").exists());
}

#[tokio::test]
async fn what_only_looks_like_a_secret_is_a_file() {
    let hands = Hands::new();
    for path in [
        ".env.example",
        "src/id_map.rs",
        "config.toml",
        "environment.txt",
        "keyboard.rs",
        "credential_form.html",
        "example.env",
        "prod.example.env",
        "terraform.tfvars.example",
        "example.tfvars",
        "secrets.example.yaml",
        "src/secrets.rs",
        "src/secrets.test.ts",
        "docs/secrets.md",
        "src/service_account.rs",
        "vite-env.d.ts",
        ".config/ghostty/config",
    ] {
        hands.done("write", json!({"path": path, "content": "x"})).await;
        assert_eq!(hands.done("read", json!({"path": path})).await, "x");
    }
}

/// By base name anywhere and through links, for write and edit; other configuration is free.
#[tokio::test]
async fn agent_168_configuration_is_protected_anywhere_and_through_links() {
    let hands = Hands::new();
    for name in ["agent.toml", "policy.toml", "credentials.toml"] {
        hands.put(&format!("any/where/{name}"), "x");
        hands.link(format!("any/where/{name}"), &format!("{name}.link"));
        for path in [format!("any/where/{name}"), format!("{name}.link")] {
            assert_denied(
                &hands.refused("write", json!({"path": path, "content": "y"})).await,
                "is protected",
            );
            assert_denied(
                &hands.refused("edit", json!({"path": path, "old": "x", "new": "y"})).await,
                "is protected",
            );
        }
    }
    hands.done("write", json!({"path": "any/where/config.toml", "content": "y"})).await;
    hands.done("edit", json!({"path": "any/where/config.toml", "old": "y", "new": "z"})).await;
    assert_eq!(hands.content("any/where/config.toml"), "z");
}

/// A base name is protected anywhere, also behind a link; a path (a store) protects that one file.
#[tokio::test]
async fn agentcore_239_names_are_protected_anywhere_and_paths_exactly() {
    use convoke_tools::workspace::{Protected, Protection};
    use std::path::Path;
    let hands = Hands::new();
    let protected = Protected::defaults().store(hands.inside("data/runs"));
    let workspace =
        convoke_tools::workspace::Workspace::open_with(hands.workspace.path(), protected).unwrap();
    // The store's folder is not there yet, so its place is not known; once it is, the path is exact.
    assert_eq!(workspace.protected().of(Path::new("any/policy.toml")), Some(Protection::Secret));
    std::fs::create_dir(hands.inside("data")).unwrap();
    let protected = Protected::defaults().store(hands.inside("data/runs"));
    let workspace =
        convoke_tools::workspace::Workspace::open_with(hands.workspace.path(), protected).unwrap();
    assert_eq!(workspace.protected().of(Path::new("data/runs")), Some(Protection::Secret));
    assert_eq!(workspace.protected().of(Path::new("data/runs-wal")), Some(Protection::Secret));
    assert_eq!(workspace.protected().of(Path::new("other/runs")), None);
    assert_eq!(workspace.protected().of(Path::new("data/runs.txt")), None);
    hands.put("deep/policy.toml", "x");
    hands.link("deep/policy.toml", "innocent.toml");
    assert_denied(
        &hands.refused("write", json!({"path": "innocent.toml", "content": "y"})).await,
        "is protected",
    );
}

/// Whoever works in their home has Convoke's own folder in the workspace.
#[tokio::test]
async fn whom_the_user_trusts_is_not_for_tools_to_say() {
    let hands = Hands::new();
    hands.put(".config/convoke/trusted/ann.pub", SECRET);
    for path in [".config/convoke/trusted/ann.pub", ".config/convoke/trusted/evil.pub"] {
        assert_denied(&hands.refused("write", json!({"path": path, "content": "x"})).await, "is protected");
        assert_denied(&hands.refused("read", json!({"path": path})).await, "is protected");
    }
    hands.done("write", json!({"path": ".config/other/x.pub", "content": "x"})).await;
}

/// A store is protected from the first moment on, also where its folder is still to be made.
#[tokio::test]
async fn a_store_whose_folder_is_not_there_yet_is_protected_when_it_is() {
    use convoke_tools::workspace::{Protected, Workspace};
    let hands = Hands::new();
    let protected = Protected::defaults().store(hands.inside("data/deep/runs"));
    let workspace = Workspace::open_with(hands.workspace.path(), protected).unwrap();
    hands.put("data/deep/runs", SECRET);
    let tools = convoke_tools::files::all(&workspace);
    let read = crate::common::call(&tools[0], json!({"path": "data/deep/runs"})).await;
    assert_denied(&read.unwrap_err(), "is protected");
}
