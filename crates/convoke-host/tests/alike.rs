//! What several files and folders have in common is read in one way.

use std::path::{Path, PathBuf};

use convoke_config::{Environment, Loader};
use convoke_core::Timestamp;
use convoke_history::When;
use convoke_host::packages_folder;
use convoke_text::xdg;
use convoke_tools::policy::Policy;

/// What is said of a text as `convoke.toml`, and as `policy.toml`.
fn said(text: &str) -> (String, String) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let write = |name: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).expect("it can be written");
        file
    };
    (configuration(folder.path(), &write("convoke.toml")), policy(&write("policy.toml")))
}

fn configuration(folder: &Path, file: &Path) -> String {
    let loader = Loader::new(Environment::of([])).folder(folder).file(Some(file.to_owned()));
    loader.load().expect_err("it is not valid").to_string()
}

fn policy(file: &Path) -> String {
    Policy::load_existing(file).expect_err("it is not valid").to_string()
}

#[test]
fn what_is_found_where_a_section_belongs_is_called_alike_in_configurations_and_policies() {
    for (value, called) in [("5", "a whole number"), ("true", "true or false"), ("[]", "a list")] {
        let (configuration, policy) = said(&format!("mcp = {value}\n"));
        let message = format!("`mcp` is a section, not {called}");
        assert!(configuration.contains(&message), "{configuration}");
        assert!(policy.contains(&message), "{policy}");
    }
}

#[test]
fn files_that_nobody_wrote_are_read_neither_as_a_configuration_nor_as_a_policy() {
    let (configuration, policy) = said(&"# long\n".repeat(200_000));
    assert!(configuration.contains("it is larger than 1 MiB, which is no configuration"), "{configuration}");
    assert!(policy.contains("it is larger than 1 MiB, which is no policy"), "{policy}");
    let folder = tempfile::tempdir().unwrap();
    for said in [self::configuration(folder.path(), folder.path()), self::policy(folder.path())] {
        assert!(said.contains("it is not a regular file"), "{said}");
    }
}

#[test]
fn runs_packages_and_settings_are_below_the_same_folders_of_a_user() {
    for variables in [
        &[("HOME", "/home/ann")][..],
        &[("HOME", "/home/ann"), ("XDG_DATA_HOME", "/data"), ("XDG_CONFIG_HOME", "/settings")],
        &[("HOME", "/home/ann"), ("XDG_DATA_HOME", "data"), ("XDG_CONFIG_HOME", "settings")],
        &[("HOME", "home")],
    ] {
        let environment = Environment::from_iter(variables.iter().copied());
        let variable = |name: &str| environment.get(name).map(PathBuf::from);
        let places = Loader::new(environment.clone()).folder("/").locations();
        let data = xdg::data_folder(variable).map(|folder| folder.join("convoke"));
        assert_eq!(places.project.data, data);
        assert_eq!(packages_folder(&environment), data.map(|folder| folder.join("packages")));
        let settings = xdg::config_folder(variable).map(|folder| folder.join("convoke"));
        assert_eq!(places.user, settings.map(|folder| folder.join("convoke.toml")));
    }
}

#[test]
fn times_that_runs_are_shown_with_can_be_given_back_to_lists_of_runs() {
    for micros in [0, 951_782_400_000_000, 1_767_603_600_123_000, 4_107_542_399_999_000] {
        let time = Timestamp::from_micros(micros);
        assert_eq!(time.to_string().parse::<When>(), Ok(When::At(time)), "{time}");
    }
    assert!("2026-02-31".parse::<When>().is_err(), "there is no such day");
}
