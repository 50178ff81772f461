//! The places of a user's files and of projects.

use std::path::Path;

use convoke_config::FileLocations;
use convoke_history::lines::Rich;
use convoke_history::{Tone, human};
use serde_json::{Value, json};

use super::View;
use crate::store::KeptProject;

/// The places where files are looked for here.
#[derive(Debug)]
pub struct Places<'a> {
    /// Those of the configuration.
    pub locations: &'a FileLocations,
    /// The file with the runs; `None` if that is not known.
    pub store: Option<&'a Path>,
}

impl View for Places<'_> {
    fn document(&self) -> Value {
        let file = |path: Option<&Path>| path.map(|path| json!({"path": path, "exists": path.exists()}));
        let FileLocations { user, named, folder, credentials, old_store, .. } = self.locations;
        json!({
            "user": file(user.as_deref()),
            "named": file(named.as_deref()),
            "folder": file(folder.as_deref()),
            "credentials": file(credentials.as_deref()),
            "store": file(self.store),
            "earlier_store": file(old_store.as_deref()),
        })
    }

    fn lines(&self, _: Option<usize>) -> Vec<Rich> {
        let FileLocations { user, named, folder, credentials, old_store, project, .. } = self.locations;
        let line = |name: &str, path: Option<&Path>, otherwise: &str| {
            let said = path.map_or_else(|| otherwise.to_owned(), |path| path.display().to_string());
            let there = path.map_or("", |path| if path.exists() { "" } else { "  (not there)" });
            Rich::plain(format!("{name:13}{said}")).with(Tone::Faint, there)
        };
        let nowhere = match project.store() {
            Some(_) => "not known: the configuration is not valid (`convoke config show` says why)",
            None => "none: neither HOME nor XDG_DATA_HOME is set to an absolute path",
        };
        let mut lines = vec![
            line("user", user.as_deref(), "none: neither HOME nor XDG_CONFIG_HOME is set"),
            match named {
                Some(named) => line("named", Some(named), ""),
                None => line("folder", folder.as_deref(), "none; it would be ./convoke.toml"),
            },
            line("credentials", credentials.as_deref(), "none"),
            line("store", self.store, nowhere),
        ];
        lines.extend(old_store.iter().map(|earlier| line("earlier", Some(earlier), "")));
        lines
    }
}

impl View for [KeptProject] {
    fn document(&self) -> Value {
        let all = self.iter().map(|kept| {
            let (folder, store) = (&kept.folder, &kept.store);
            json!({"folder": folder, "exists": folder.exists(), "store": store, "bytes": size(store)})
        });
        all.collect()
    }

    fn lines(&self, _: Option<usize>) -> Vec<Rich> {
        let lines = self.iter().flat_map(|kept| {
            let gone = if kept.folder.exists() { "" } else { "  (not there)" };
            let store = format!("  {}  {}", kept.store.display(), human::bytes(size(&kept.store)));
            let folder = Rich::new(Tone::Strong, kept.folder.display().to_string());
            [folder.with(Tone::Caution, gone), Rich::new(Tone::Faint, store)]
        });
        lines.collect()
    }

    fn notes(&self) -> Vec<String> {
        let none = "no runs of any project are kept yet";
        let moved =
            "if a folder was moved: go there, and `convoke store move --from PATH` takes its runs along";
        let moved = self.iter().any(|kept| !kept.folder.exists()).then_some(moved);
        self.is_empty().then_some(none).into_iter().chain(moved).map(str::to_owned).collect()
    }
}

fn size(store: &Path) -> u64 {
    store.metadata().map_or(0, |metadata| metadata.len())
}
