//! Names of files that are never packed, nor accepted from a package.
//!
//! Whoever packs a folder does not mean to give these away, and whoever installs a package does not mean to take them: Convoke would
//! go by settings, policies, credentials and stores that it finds. So the list is one, for both.

/// Why a file or folder of this name is in no package, if it is not.
pub(crate) fn by_name(name: &str) -> Option<&'static str> {
    const KEYS: [&str; 9] = [".pem", ".key", ".p12", ".p8", ".pfx", ".ppk", ".jks", ".keystore", ".kdbx"];
    const DATABASES: [&str; 3] = [".db", ".sqlite", ".sqlite3"];
    // What databases have beside them, `convoke.db-journal` among it: a database reads it as its own.
    const BESIDE_DATABASES: [&str; 3] = [".db-", ".sqlite-", ".sqlite3-"];
    const IDENTITIES: [&str; 7] =
        ["id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "id_xmss"];
    const SETTINGS: [&str; 3] = ["convoke.toml", "policy.toml", "agent.toml"];
    let name = name.to_ascii_lowercase();
    let is_identity = |name: &str| {
        // A copy of a key is called `id_rsa.bak`, its public half `id_rsa.pub`.
        let rest = |own: &&str| name.strip_prefix(*own).map(str::to_owned);
        IDENTITIES.iter().filter_map(rest).any(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    };
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if name.starts_with('.') {
        Some("hidden files stay where they are")
    } else if name == "signature" {
        Some("`signature` is the name of a package's own")
    } else if name == "credentials" || name.starts_with("credentials.") || name == "_netrc" {
        Some("credentials stay where they are")
    } else if SETTINGS.contains(&name.as_str()) {
        // What they say is for this machine, and may have keys in it.
        Some("settings and policies stay where they are")
    } else if ends(&KEYS) || is_identity(&name) {
        Some("keys stay where they are")
    } else if ends(&DATABASES) || BESIDE_DATABASES.iter().any(|part| name.contains(part)) {
        Some("databases stay where they are")
    } else {
        None
    }
}
