//! The folders of a user, by the XDG Base Directory Specification.
//!
//! Both look at variables through a function, so that a test can make them up. The specification wants paths that are not absolute to
//! be ignored.

use std::path::PathBuf;

/// Returns where the user's data is: `XDG_DATA_HOME`, or `.local/share` in `HOME`.
///
/// ```
/// use convoke_text::xdg;
///
/// let variable = |name: &str| (name == "HOME").then(|| "/home/ann".into());
/// assert_eq!(xdg::data_folder(variable), Some("/home/ann/.local/share".into()));
/// assert_eq!(xdg::config_folder(variable), Some("/home/ann/.config".into()));
/// ```
pub fn data_folder(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    folder(variable, "XDG_DATA_HOME", ".local/share")
}

/// Returns where the user's settings are: `XDG_CONFIG_HOME`, or `.config` in `HOME`.
pub fn config_folder(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    folder(variable, "XDG_CONFIG_HOME", ".config")
}

fn folder(variable: impl Fn(&str) -> Option<PathBuf>, name: &str, below_home: &str) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|path| path.is_absolute());
    set(name).or_else(|| Some(set("HOME")?.join(below_home)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_absolute_is_ignored_and_without_a_home_there_is_none() {
        let of = |variables: &'static [(&'static str, &'static str)]| {
            let variable = |name: &str| {
                variables.iter().find(|(own, _)| *own == name).map(|(_, value)| PathBuf::from(value))
            };
            (data_folder(variable), config_folder(variable))
        };
        let named = of(&[("XDG_DATA_HOME", "/data"), ("XDG_CONFIG_HOME", "/settings"), ("HOME", "/home")]);
        assert_eq!(named, (Some("/data".into()), Some("/settings".into())));
        let relative = of(&[("XDG_DATA_HOME", "data"), ("XDG_CONFIG_HOME", "./settings"), ("HOME", "/home")]);
        assert_eq!(relative, (Some("/home/.local/share".into()), Some("/home/.config".into())));
        assert_eq!(of(&[("HOME", "home")]), (None, None));
    }
}
