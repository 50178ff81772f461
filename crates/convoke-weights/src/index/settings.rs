//! Determines which index this machine uses, from the settings of pip and uv.

use std::path::{Path, PathBuf};

/// The address that is set, if one is. Variables go before files, and files that are nearer to the user before others.
pub(super) fn index_url(
    variable: &dyn Fn(&str) -> Option<String>,
    home: Option<&Path>,
    read: &dyn Fn(&Path) -> Option<String>,
) -> Option<String> {
    let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    let variables = ["PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"];
    if let Some(address) = variables.into_iter().find_map(set) {
        return Some(address.trim().to_owned());
    }
    let folder = |name: &str| set(name).map(PathBuf::from);
    let config = folder("XDG_CONFIG_HOME").or_else(|| home.map(|home| home.join(".config")));
    let files = [
        folder("PIP_CONFIG_FILE"),
        folder("VIRTUAL_ENV").map(|place| place.join("pip.conf")),
        config.map(|place| place.join("pip/pip.conf")),
        home.map(|home| home.join(".pip/pip.conf")),
        Some(PathBuf::from("/etc/xdg/pip/pip.conf")),
        Some(PathBuf::from("/etc/pip.conf")),
    ];
    files.into_iter().flatten().find_map(|file| of_file(&read(&file)?))
}

/// `index-url` under `[global]`; the value may stand on the next line.
fn of_file(text: &str) -> Option<String> {
    let mut is_global = false;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_global = section.trim() == "global";
            continue;
        }
        let Some((key, value)) = line.split_once(['=', ':']).filter(|_| is_global) else { continue };
        if key.trim().replace('_', "-") != "index-url" {
            continue;
        }
        let below = lines.peek().filter(|next| next.starts_with([' ', '\t'])).map(|next| next.trim());
        return [value.trim(), below.unwrap_or_default()]
            .into_iter()
            .find(|value| !value.is_empty())
            .map(str::to_owned);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)], files: &[(&str, &str)]) -> Option<String> {
        let get = |list: &[(&str, &str)], name: &str| {
            list.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let read = |path: &Path| get(files, path.to_str().unwrap());
        index_url(&|name| get(variables, name), Some(Path::new("/home/me")), &read)
    }

    #[test]
    fn variables_go_before_files_and_near_files_before_far_ones() {
        let files = [
            ("/etc/pip.conf", "[global]\nindex-url = https://far/simple\n"),
            ("/home/me/.config/pip/pip.conf", "[global]\ntimeout = 60\nindex-url = https://near/simple\n"),
        ];
        assert_eq!(found(&[], &files).as_deref(), Some("https://near/simple"));
        assert_eq!(found(&[], &files[..1]).as_deref(), Some("https://far/simple"));
        assert_eq!(found(&[("UV_INDEX_URL", "https://uv/")], &files).as_deref(), Some("https://uv/"));
        let both = [("UV_INDEX_URL", "https://uv/"), ("PIP_INDEX_URL", " https://pip/ ")];
        assert_eq!(found(&both, &files).as_deref(), Some("https://pip/"));
        assert_eq!(found(&[("PIP_INDEX_URL", "")], &files[..1]).as_deref(), Some("https://far/simple"));
        let venv = [("/venv/pip.conf", "[global]\nindex_url=https://venv/"), files[0], files[1]];
        assert_eq!(found(&[("VIRTUAL_ENV", "/venv")], &venv).as_deref(), Some("https://venv/"));
    }

    #[test]
    fn only_the_global_index_url_counts() {
        let of = |text| found(&[], &[("/etc/pip.conf", text)]);
        assert_eq!(of("[install]\nindex-url = https://a/\n[global]\ncert = x"), None);
        assert_eq!(of("# [global]\nindex-url = https://a/"), None);
        assert_eq!(
            of("[global]\nextra-index-url = https://a/\nindex-url =\n    https://b/\n").as_deref(),
            Some("https://b/")
        );
        assert_eq!(of("[global]\nindex-url:https://c/").as_deref(), Some("https://c/"));
        assert_eq!(found(&[], &[]), None);
    }
}
