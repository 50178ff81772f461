//! Tests of the library and the catalogue.
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod server;

use convoke_weights::{
    Catalogue, Digest, FileSource, Library, ModelKind, PullOptions, PullSource, WeightsError,
};
use server::model;

fn library() -> (tempfile::TempDir, Library) {
    let folder = tempfile::tempdir().unwrap();
    let library = Library::open(folder.path().join("models")).unwrap();
    (folder, library)
}

#[test]
fn the_catalogue_has_sizes_licences_and_one_default_of_each_kind() {
    let catalogue = Catalogue::builtin();
    for kind in [ModelKind::Chat, ModelKind::Embedding] {
        let defaults = catalogue.entries().iter().filter(|entry| entry.kind == kind && entry.is_default);
        assert_eq!(defaults.count(), 1);
        assert!(catalogue.default_of(kind).unwrap().bytes() < 2_000_000_000, "it must fit a laptop");
    }
    for entry in catalogue.entries() {
        assert_eq!(entry.licence, "Apache-2.0");
        assert!(entry.context_tokens > 0 && entry.bytes() > 1_000_000, "{entry:?}");
        for file in &entry.files {
            let offline = file.sources.iter().any(|source| matches!(source, FileSource::Wheels(_)));
            assert!(offline, "{} cannot be had where only packages are", file.name);
            for source in &file.sources {
                if let FileSource::Address(address) = source {
                    assert!(address.starts_with("https://") && address.ends_with(&file.name), "{address}");
                }
            }
        }
    }
    assert_eq!(catalogue.get("smollm2"), catalogue.get("smollm2-135m"));
    assert_eq!(catalogue.get("smollm3"), None);
}

#[test]
fn a_catalogue_that_makes_no_sense_is_refused() {
    let model = |name: &str, source: &str| {
        let digest = Digest::of(b"");
        format!(
            "[[model]]\nname = '{name}'\ntitle = 't'\nkind = 'chat'\nlicence = 'MIT'\ncontext_tokens = 1\n\
             [[model.file]]\nname = 'f'\nbytes = 1\nsha256 = '{digest}'\n[[model.file.source]]\n{source}\n"
        )
    };
    let told = |text: &str| Catalogue::parse(text).unwrap_err().to_string();
    let fine = model("a", "address = 'https://h/f'");
    assert!(Catalogue::parse(&fine).is_ok());
    assert!(told(&format!("{fine}{fine}")).contains("two models are called `a`"));
    assert!(told(&model("../a", "address = 'https://h/f'")).contains("cannot be a model's name"));
    assert!(told(&model("a", "package = 'p'")).contains("model `a`: a source has `address`"));
    assert!(told(&model("a", "adress = 'x'")).contains("unknown field `adress`"));
    assert!(told(&fine.replace("'chat'", "'talk'")).contains("unknown variant `talk`"));
    assert!(told(&fine.replace("sha256 = '", "sha256 = 'x")).contains("64 digits"));
}

#[tokio::test]
async fn a_file_is_copied_checked_listed_and_removed() {
    let (folder, library) = library();
    let content = model(700_000);
    let file = folder.path().join("My Model.gguf");
    std::fs::write(&file, &content).unwrap();
    let mut seen = Vec::new();
    let wanted = library.pull_source(file.to_str().unwrap()).unwrap();
    let installed =
        library.pull(&wanted, PullOptions::default(), |progress| seen.push(progress)).await.unwrap();
    assert_eq!((installed.name.as_str(), installed.bytes()), ("my-model", 700_000));
    assert_eq!(installed.files[0].sha256, Digest::of(&content));
    assert_eq!(installed.licence, None);
    assert_eq!(std::fs::read(library.path_of("my-model").unwrap()).unwrap(), content);
    assert!(
        seen.iter().any(|progress| progress.to_string() == "copying my-model.gguf: 0.7 of 0.7 MB"),
        "{seen:?}"
    );
    assert_eq!(library.list().unwrap().first(), Some(&installed));
    assert_eq!(library.info("my-model").unwrap().installed, Some(installed));

    // The copy is a copy.
    std::fs::write(&file, b"GGUF changed").unwrap();
    assert_eq!(std::fs::read(library.path_of("my-model").unwrap()).unwrap(), content);
    let error = library.pull(&wanted, PullOptions::default(), |_| {}).await.unwrap_err();
    assert!(matches!(error, WeightsError::NameTaken { .. }), "{error}");
    let other = library.pull(&wanted, PullOptions::default().name("other"), |_| {}).await.unwrap();
    assert_eq!(other.name, "other");
    let again = library.pull(&wanted, PullOptions::default().name("other"), |_| {}).await.unwrap();
    assert_eq!(again, other);

    library.remove("my-model").unwrap();
    assert!(matches!(library.remove("my-model"), Err(WeightsError::NotInstalled { .. })));
    assert_eq!(library.list().unwrap(), [other]);
    assert!(matches!(library.path_of("my-model"), Err(WeightsError::Unknown { .. })));
}

#[tokio::test]
async fn what_is_no_model_is_not_taken() {
    let (folder, library) = library();
    for (name, content) in [("text.gguf", &b"hello"[..]), ("short.gguf", b"GG"), ("empty.gguf", b"")] {
        let file = folder.path().join(name);
        std::fs::write(&file, content).unwrap();
        let error = library.pull(&PullSource::file(&file), PullOptions::default(), |_| {}).await.unwrap_err();
        assert!(matches!(error, WeightsError::NotGguf { .. }), "{name}: {error}");
    }
    let error =
        library.pull(&PullSource::file("/no/such.gguf"), PullOptions::default(), |_| {}).await.unwrap_err();
    assert!(error.to_string().starts_with("cannot read `/no/such.gguf`"), "{error}");
    assert_eq!(library.list().unwrap(), []);
}

#[test]
fn names_that_lead_elsewhere_are_none() {
    let (_folder, library) = library();
    for name in ["../x", "a/b", ".locks", "", "a b", "ä", &"x".repeat(101)] {
        assert!(matches!(library.remove(name), Err(WeightsError::BadName { .. })), "{name}");
        assert!(matches!(library.path_of(name), Err(WeightsError::BadName { .. })), "{name}");
    }
}

#[test]
fn what_is_meant_is_told_from_what_is_written() {
    let (_folder, library) = library();
    let debug = |text: &str| {
        library.pull_source(text).map(|wanted| format!("{wanted:?}")).map_err(|error| error.to_string())
    };
    assert_eq!(debug("smollm2").unwrap(), "PullSource(smollm2-135m)");
    assert_eq!(debug("./x").unwrap(), "PullSource(./x)");
    assert_eq!(debug("x.gguf").unwrap(), "PullSource(x.gguf)");
    assert_eq!(
        debug("https://me:secret@h.example/a/x.gguf?token=secret").unwrap(),
        "PullSource(https://h.example/a/x.gguf)"
    );
    let error = debug("smollm3").unwrap_err();
    assert!(error.contains("no model `smollm3`") && error.contains("smollm2-135m"), "{error}");
    for (address, reason) in [
        ("http://h.example/x.gguf", "use https, or put #sha256"),
        ("ftp://h.example/x.gguf", "it must begin with https://"),
        ("https://h.example/x.zip", "it must name a .gguf file"),
        ("https://h.example/x.gguf#sha256=12", "64 digits"),
        ("https://h.example/x.gguf#md5=12", "only #sha256"),
        ("https://me:secret@/x.gguf", "empty host"),
    ] {
        let error = debug(address).unwrap_err();
        assert!(error.contains(reason) && !error.contains("secret"), "{address}: {error}");
    }
}

#[test]
fn a_note_that_cannot_be_read_is_named_and_can_be_removed() {
    let (_folder, library) = library();
    let place = library.folder().join("broken");
    std::fs::create_dir_all(&place).unwrap();
    assert_eq!(library.list().unwrap(), [], "a folder without a note is no model");
    std::fs::write(place.join("model.json"), "{").unwrap();
    let error = library.list().unwrap_err().to_string();
    assert!(error.contains("broken/model.json") && error.contains("Remove the model"), "{error}");
    library.remove("broken").unwrap();
    assert_eq!(library.list().unwrap(), []);
}

#[tokio::test]
async fn a_model_whose_file_has_gone_is_not_here() {
    let (folder, library) = library();
    let file = folder.path().join("a.gguf");
    std::fs::write(&file, model(10)).unwrap();
    let installed = library.pull(&PullSource::file(&file), PullOptions::default(), |_| {}).await.unwrap();
    std::fs::remove_file(installed.path()).unwrap();
    assert_eq!(library.list().unwrap(), []);
    library.pull(&PullSource::file(&file), PullOptions::default(), |_| {}).await.unwrap();
    assert_eq!(library.list().unwrap().len(), 1);
}
