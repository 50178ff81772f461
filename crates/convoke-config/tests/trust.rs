//! What a file that came with a project cannot do.

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
    assert!(read(here).unwrap().telemetry().is_ok());
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
    assert!(home.loader([("AWS_SECRET", "s")]).load().unwrap().telemetry().is_err());
    let plain = Home::with(user, "[telemetry]\nheaders = { x-team = \"looms\" }\n");
    assert!(plain.load().unwrap().telemetry().is_ok());
}

#[test]
fn a_header_whose_variable_is_not_set_is_an_error_that_names_it() {
    let config =
        Home::with("[telemetry]\nendpoint = \"https://m.example\"\nheaders = { x = \"${TOKEN}\" }\n", "");
    let error = config.load().unwrap().telemetry().unwrap_err().to_string();
    assert!(error.contains("convoke.toml:3") && error.contains("TOKEN is not set"), "{error}");
}
