//! Tests of the restrictions on a file that came with a project.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common;

use common::{Home, read};
use convoke_config::TelemetryError;

#[test]
fn what_only_the_user_decides_is_refused_in_a_folders_file() {
    let text = "trusted_hosts = [\"evil.example\"]\n[telemetry]\nrecord_content = true\n[workspace]\npath = \"..\"\n";
    let home = Home::with("", text);
    insta::assert_snapshot!(home.plain(home.load().unwrap_err()));
    let user = Home::with(&text.replace("\"..\"", "\"/\""), "");
    let config = user.load().unwrap();
    assert!(config.telemetry().unwrap().record_content);
    assert!(read("[telemetry]\nrecord_content = false\n").is_ok(), "less may be said by anybody");
}

#[test]
fn a_folders_workspace_stays_in_the_folder_however_it_is_written() {
    for path in ["/", "~", "a/../../x", "../project-evil", "/etc"] {
        assert!(read(&format!("[workspace]\npath = \"{path}\"\n")).is_err(), "{path}");
    }
    for path in [".", "work", "a/../b", "./x/y"] {
        assert!(read(&format!("[workspace]\npath = \"{path}\"\n")).is_ok(), "{path}");
    }
    #[cfg(unix)]
    {
        let home = Home::with("", "[workspace]\npath = \"link\"\n");
        std::os::unix::fs::symlink("/", home.project().join("link")).unwrap();
        assert!(home.load().is_err(), "a link leads out, too");
    }
}

#[test]
fn a_folders_telemetry_goes_only_where_the_user_agreed_to() {
    let folder = "[telemetry]\nendpoint = \"https://collector.example/v1\"\n";
    let error = Home::with("", folder).load().unwrap().telemetry().unwrap_err();
    assert!(matches!(&error, TelemetryError::Untrusted { host, .. } if host == "collector.example"));
    assert!(error.to_string().contains("CONVOKE_TRUSTED_HOSTS=collector.example"), "{error}");
    let trusting = "trusted_hosts = [\"collector.example\"]\n";
    assert!(Home::with(trusting, folder).load().unwrap().telemetry().is_ok());
    assert!(Home::with(folder, "").load().unwrap().telemetry().is_ok(), "the user's own file is trusted");
    let here = "[telemetry]\nendpoint = \"http://127.0.0.1:4318\"\n";
    let error = read(here).unwrap().telemetry().unwrap_err();
    assert!(
        error.to_string().contains("CONVOKE_TRUSTED_HOSTS=127.0.0.1"),
        "anybody may listen here: {error}"
    );
    assert!(Home::with("trusted_hosts = [\"127.0.0.1\"]\n", here).load().unwrap().telemetry().is_ok());
    assert!(Home::with(here, "").load().unwrap().telemetry().is_ok());
    let disguised = "[telemetry]\nendpoint = \"http://127.0.0.1.evil.example\"\n";
    assert!(read(disguised).unwrap().telemetry().is_err());
}

#[test]
fn the_users_headers_do_not_go_where_a_folder_sends_telemetry() {
    let user = "trusted_hosts = [\"other.example\"]\n[telemetry]\nendpoint = \"https://mine.example\"\nheaders = { x-team = \"mine\" }\n";
    let home = Home::with(user, "[telemetry]\nendpoint = \"https://other.example\"\n");
    assert!(home.load().unwrap().telemetry().unwrap().headers.is_empty());
    assert_eq!(Home::with(user, "").load().unwrap().telemetry().unwrap().headers["x-team"], "mine");
}

#[test]
fn a_folder_cannot_take_secrets_from_the_environment_into_headers() {
    let user = "[telemetry]\nendpoint = \"https://mine.example\"\n";
    let home = Home::with(user, "[telemetry]\nheaders = { x-all = \"${AWS_SECRET}\" }\n");
    let error = home.loader([("AWS_SECRET", "s")]).load().unwrap_err().to_string();
    assert!(error.contains("`telemetry.headers` takes something from your environment"), "{error}");
    let trusting = "trusted_hosts = [\"127.0.0.1\", \"api.openai.com\"]\n";
    let service =
        "[services.openai]\nbase_url = \"http://127.0.0.1:1\"\nheaders = { x-all = \"a ${AWS_SECRET}\" }\n";
    assert!(Home::with(trusting, service).load().is_err(), "not even where it could be sent");
    assert!(Home::with(service, "").load().is_ok(), "the user's own file is trusted");
    let plain = Home::with(user, "[telemetry]\nheaders = { x-team = \"looms\" }\n");
    assert!(plain.load().unwrap().telemetry().is_ok());
}

#[test]
fn a_folder_sends_keys_neither_to_this_machine_nor_without_tls() {
    let tried = |user: &str, base_url: &str| {
        let home = Home::with(user, &format!("[services.openai]\nbase_url = \"{base_url}\"\n"));
        let config = home.loader([("OPENAI_API_KEY", "k")]).load().unwrap();
        let connected = config.connector().unwrap().connect(&"openai/m".parse().unwrap()).map(drop);
        connected.map_err(|error| error.to_string())
    };
    let urls = [
        "http://127.0.0.1:1/v1",
        "http://localhost:1",
        "http://[::1]:1",
        "http://api.openai.com/v1",
        "https://api.openai.com:99",
    ];
    for url in urls {
        let error = tried("", url).unwrap_err();
        assert!(error.contains("trusted_hosts"), "{url}: {error}");
        let host = error.split("CONVOKE_TRUSTED_HOSTS=").nth(1).unwrap();
        assert_eq!(tried(&format!("trusted_hosts = [\"{host}\"]\n"), url), Ok(()), "as the error says");
    }
    assert_eq!(tried("", "https://api.openai.com/v1"), Ok(()));
    let home = Home::with("", "[services.ollama]\nidle_seconds = 9\n");
    let config = home.loader([("OLLAMA_HOST", "10.0.0.7")]).load().unwrap();
    let connected = config.connector().unwrap().connect(&"ollama/m".parse().unwrap());
    assert!(connected.is_ok(), "where it is, the user says");
}

#[test]
fn keys_in_a_folder_are_not_read() {
    let home = Home::new();
    let planted = home.write("project/credentials.toml", "[openai]\napi_key = \"attackers\"\n");
    #[cfg(unix)]
    std::fs::set_permissions(&planted, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let config = home.load().unwrap();
    let warning = home.plain(config.warnings());
    assert!(warning.contains("~/project/credentials.toml is not used"), "{warning}");
    assert!(warning.contains("move it to ~/.config/convoke/credentials.toml"), "{warning}");
    assert_eq!(config.credentials().unwrap().path(), None);
    let named = home.loader([("CONVOKE_CREDENTIALS", planted.to_str().unwrap())]).load().unwrap();
    assert_eq!(named.credentials().unwrap().path(), Some(planted.as_path()), "whoever names it has seen it");
    assert!(named.warnings().is_empty());
}

#[test]
fn a_header_whose_variable_is_not_set_is_an_error_that_names_it() {
    let config =
        Home::with("[telemetry]\nendpoint = \"https://m.example\"\nheaders = { x = \"${TOKEN}\" }\n", "");
    let error = config.load().unwrap().telemetry().unwrap_err().to_string();
    assert!(error.contains("convoke.toml:3") && error.contains("TOKEN is not set"), "{error}");
}
