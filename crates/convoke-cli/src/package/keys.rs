//! `convoke keygen`, `convoke trust`

use convoke_config::Environment;
use convoke_host::trusted_folder;
use convoke_package::{PublicKey, SigningKey, TrustStore};
use serde_json::json;

use super::arguments::{Keygen, Trust};
use super::no_home;
use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::terminal::text::one_line;
use crate::terminal::{Output, Rich, Tone};

pub(super) fn generate(arguments: &Arguments, wanted: &Keygen, output: &mut Output) -> Result<(), Failure> {
    let path = match &wanted.path {
        Some(path) => path.clone(),
        None => {
            let folder = Environment::process().configuration_folder();
            let folder = folder.ok_or_else(|| no_home("this user's settings"))?;
            let unmade = |error| Failure::failed(format!("{} cannot be made: {error}", folder.display()));
            std::fs::create_dir_all(&folder).map_err(unmade)?;
            folder.join("signing.key")
        }
    };
    let key = SigningKey::generate()?;
    let public = key.save(&path)?;
    let fingerprint = key.public().fingerprint();
    if arguments.json {
        return output.json(&json!({"private": path, "public": public, "fingerprint": fingerprint.as_str()}));
    }
    let rows = [
        ("private", path.display().to_string(), "  keep it to yourself"),
        ("public", public.display().to_string(), "  for those who are to trust your packages"),
        ("fingerprint", fingerprint.to_string(), ""),
    ];
    for (label, value, what) in rows {
        let line = Rich::new(Tone::Faint, format!("{label:13}")).with(Tone::Plain, value);
        output.line(&line.with(Tone::Faint, what))?;
    }
    Ok(())
}

pub(super) fn trust(arguments: &Arguments, wanted: &Trust, output: &mut Output) -> Result<(), Failure> {
    let folder = trusted_folder(&Environment::process()).ok_or_else(|| no_home("this user's settings"))?;
    if let (Some(key), Some(name)) = (&wanted.key, &wanted.name) {
        TrustStore::add(&folder, name, &PublicKey::read(key)?)?;
    }
    let store = TrustStore::read(&folder)?;
    if arguments.json {
        let keys: Vec<_> = store
            .iter()
            .map(|(name, key)| json!({"name": name, "key": key.fingerprint().as_str()}))
            .collect();
        return output.json(&json!({"folder": folder, "keys": keys}));
    }
    if store.iter().len() == 0 {
        output.note("no key is trusted; `convoke trust KEY --as NAME` trusts one");
    }
    for (name, key) in store.iter() {
        let line = Rich::new(Tone::Faint, key.fingerprint().to_string());
        output.line(&line.with(Tone::Strong, format!("  {}", one_line(name))))?;
    }
    Ok(())
}
