//! Tests of downloads: broken, resumed, checked, locked.
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod server;

use std::time::Duration;

use convoke_weights::{
    Catalogue, Digest, InstalledModel, Library, Progress, PullOptions, PullSource, Stage, WeightsError,
};
use server::{Fault, Served, Server, model};
use tempfile::TempDir;
use tokio::sync::mpsc;

const LENGTH: usize = 200_000;

fn library() -> (TempDir, Library) {
    let folder = tempfile::tempdir().unwrap();
    let library = Library::open(folder.path()).unwrap();
    (folder, library)
}

fn options() -> PullOptions {
    PullOptions::default().pause(Duration::from_millis(1))
}

async fn pull(
    library: &Library,
    address: &str,
    options: PullOptions,
) -> Result<InstalledModel, WeightsError> {
    library.pull(&PullSource::address(address).unwrap(), options, |_| {}).await
}

/// The names in a model's folder.
fn files(library: &Library, name: &str) -> Vec<String> {
    let place = library.folder().join(name);
    let names =
        std::fs::read_dir(place).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_file_is_downloaded_and_checked() {
    let (_folder, library) = library();
    let server = Server::start().await;
    let content = model(LENGTH);
    server.put("/x.gguf", Served::new(content.clone()));
    let address = format!("{}/x.gguf#sha256={}", server.url, Digest::of(&content));
    let mut seen: Vec<Progress> = Vec::new();
    let wanted = library.pull_source(&address).unwrap();
    let installed = library.pull(&wanted, options(), |progress| seen.push(progress)).await.unwrap();
    assert_eq!(std::fs::read(installed.path()).unwrap(), content);
    assert_eq!(installed.origin, format!("{}/x.gguf", server.url));
    assert_eq!(files(&library, "x"), ["model.json", "x.gguf"]);
    let downloading: Vec<u64> = seen
        .iter()
        .filter(|progress| progress.stage == Stage::Downloading)
        .map(|progress| progress.bytes)
        .collect();
    assert!(
        downloading.is_sorted()
            && downloading.first() == Some(&0)
            && downloading.last() == Some(&(LENGTH as u64))
    );
    assert!(
        seen.iter()
            .all(|progress| progress.stage != Stage::Downloading || progress.total == Some(LENGTH as u64))
    );
    // It is here already.
    assert_eq!(pull(&library, &address, options()).await.unwrap(), installed);
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_file_that_is_elsewhere_is_fetched_there_and_gone_on_with_there() {
    let (_folder, library) = library();
    let (server, store) = (Server::start().await, Server::start().await);
    let content = model(LENGTH);
    server.put("/x.gguf", Served::elsewhere("/moved"));
    server.put("/moved", Served::elsewhere(format!("{}/kept?signed=1", store.url)));
    store.put("/kept", Served::new(content.clone()).tag("\"one\"").first(Fault::Cut(50_000)));
    let address = server.url.replace("http://", "http://me:secret@") + "/x.gguf";
    let installed = pull(&library, &address, options()).await.unwrap();
    assert_eq!(std::fs::read(installed.path()).unwrap(), content);
    assert_eq!(store.ranges("/kept"), [None, Some("bytes=50000-".to_owned())]);
    // The password stays with the server it is for.
    assert!(server.asked().iter().all(|asked| asked.authorization.is_some()));
    assert!(store.asked().iter().all(|asked| asked.authorization.is_none()));
}

#[tokio::test]
async fn a_circle_of_servers_ends() {
    let (_folder, library) = library();
    let server = Server::start().await;
    server.put("/x.gguf", Served::elsewhere("/x.gguf"));
    let error = pull(&library, &format!("{}/x.gguf", server.url), options()).await.unwrap_err();
    assert!(matches!(error, WeightsError::Redirected { .. }), "{error}");
    assert_eq!(server.asked().len(), 11);
}

#[tokio::test]
async fn a_connection_that_breaks_is_gone_on_with() {
    let (_folder, library) = library();
    let server = Server::start().await;
    let content = model(LENGTH);
    let served = Served::new(content.clone()).tag("\"one\"");
    server
        .put("/x.gguf", served.first(Fault::Cut(50_000)).first(Fault::Status(503)).first(Fault::Cut(60_000)));
    let installed = pull(&library, &format!("{}/x.gguf", server.url), options()).await.unwrap();
    assert_eq!(std::fs::read(installed.path()).unwrap(), content);
    let ranges = server.ranges("/x.gguf");
    assert_eq!(ranges[0], None);
    // How much of it arrives before the connection breaks is up to the network; that it is not asked for again is not.
    let starts: Vec<usize> = ranges[1..]
        .iter()
        .map(|range| {
            range.as_deref().unwrap().strip_prefix("bytes=").unwrap().trim_end_matches('-').parse().unwrap()
        })
        .collect();
    assert_eq!(starts.len(), 3);
    assert!(starts[0] > 0 && starts[0] == starts[1] && starts[2] > starts[1], "{starts:?}");
}

#[tokio::test]
async fn a_server_that_knows_no_ranges_begins_anew() {
    let (_folder, library) = library();
    let server = Server::start().await;
    let content = model(LENGTH);
    let served = Served::new(content.clone()).tag("\"one\"").without_ranges();
    server.put("/x.gguf", served.first(Fault::Cut(50_000)));
    let installed = pull(&library, &format!("{}/x.gguf", server.url), options()).await.unwrap();
    assert_eq!(std::fs::read(installed.path()).unwrap(), content);
    assert_eq!(server.ranges("/x.gguf").len(), 2);
}

#[tokio::test]
async fn a_file_that_has_changed_meanwhile_is_not_mixed_with_the_old_one() {
    let (_folder, library) = library();
    let server = Server::start().await;
    let address = format!("{}/x.gguf", server.url);
    server.put("/x.gguf", Served::new(model(LENGTH)).tag("\"one\"").first(Fault::Cut(50_000)));
    pull(&library, &address, options().retries(0)).await.unwrap_err();
    let mut other = model(LENGTH);
    other.reverse();
    other[..4].copy_from_slice(b"GGUF");
    server.put("/x.gguf", Served::new(other.clone()).tag("\"two\""));
    let installed = pull(&library, &address, options()).await.unwrap();
    assert_eq!(std::fs::read(installed.path()).unwrap(), other);
    assert!(server.ranges("/x.gguf")[1].is_some(), "it was asked for the rest");
}

#[tokio::test]
async fn without_digest_and_tag_nothing_is_gone_on_with() {
    let (_folder, library) = library();
    let server = Server::start().await;
    server.put("/x.gguf", Served::new(model(LENGTH)).first(Fault::Cut(50_000)));
    pull(&library, &format!("{}/x.gguf", server.url), options()).await.unwrap();
    assert_eq!(server.ranges("/x.gguf"), [None, None]);
}

#[tokio::test]
async fn a_pull_in_a_later_process_goes_on_where_the_last_one_ended() {
    let (folder, library) = library();
    let server = Server::start().await;
    let content = model(LENGTH);
    let address = format!("{}/x.gguf#sha256={}", server.url, Digest::of(&content));
    server.put("/x.gguf", Served::new(content.clone()).first(Fault::Cut(50_000)));
    let error = pull(&library, &address, options().retries(0)).await.unwrap_err();
    assert!(error.to_string().contains("What came so far is kept"), "{error}");
    assert_eq!(files(&library, "x"), ["x.gguf.partial", "x.gguf.partial.json"]);
    assert!(library.list().unwrap().is_empty());
    let kept = library.folder().join("x/x.gguf.partial").metadata().unwrap().len();
    assert!(kept > 0);

    let library = Library::open(folder.path()).unwrap();
    let installed = pull(&library, &address, options()).await.unwrap();
    assert_eq!(std::fs::read(installed.path()).unwrap(), content);
    assert_eq!(server.ranges("/x.gguf")[1], Some(format!("bytes={kept}-")));
}

#[tokio::test]
async fn a_file_that_is_whole_but_has_no_name_yet_needs_no_server() {
    let (_folder, library) = library();
    let server = Server::start().await;
    let content = model(LENGTH);
    let address = format!("{}/x.gguf#sha256={}", server.url, Digest::of(&content));
    server.put("/x.gguf", Served::new(content.clone()).first(Fault::Cut(50_000)));
    pull(&library, &address, options().retries(0)).await.unwrap_err();
    std::fs::write(library.folder().join("x/x.gguf.partial"), &content).unwrap();
    pull(&library, &address, options()).await.unwrap();
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_wrong_digest_is_an_error_and_the_file_is_gone() {
    let (_folder, library) = library();
    let server = Server::start().await;
    let content = model(LENGTH);
    server.put("/x.gguf", Served::new(content.clone()));
    let (expected, found) = (Digest::of(b"something else"), Digest::of(&content));
    let address = format!("{}/x.gguf#sha256={expected}", server.url);
    let error = pull(&library, &address, options()).await.unwrap_err();
    assert!(error.to_string().contains(&format!("its SHA-256 is {found}, expected {expected}")), "{error}");
    assert_eq!(files(&library, "x"), [""; 0]);
    assert_eq!(server.asked().len(), 1, "a wrong file is not asked for again and again");
}

#[tokio::test]
async fn what_is_no_model_is_not_kept() {
    let (_folder, library) = library();
    let server = Server::start().await;
    server.put("/x.gguf", Served::new("<html>Please log in</html>"));
    let error = pull(&library, &format!("{}/x.gguf", server.url), options()).await.unwrap_err();
    assert!(matches!(error, WeightsError::NotGguf { .. }), "{error}");
    assert_eq!(files(&library, "x"), [""; 0]);
}

#[tokio::test]
async fn refusals_and_absent_servers_are_told_without_passwords() {
    let (_folder, library) = library();
    let server = Server::start().await;
    let secret = server.url.replace("//", "//me:secret-word@");
    let error =
        pull(&library, &format!("{secret}/none.gguf?token=secret-word"), options()).await.unwrap_err();
    assert!(matches!(error, WeightsError::Refused { status: 404, .. }), "{error}");
    assert!(!format!("{error}{error:?}").contains("secret-word"), "{error:?}");
    assert!(server.asked()[0].authorization.is_some(), "the password was sent");

    server.put("/x.gguf", Served::new(model(10)).first(Fault::Status(500)).first(Fault::Status(500)));
    let error = pull(&library, &format!("{}/x.gguf", server.url), options().retries(1)).await.unwrap_err();
    assert!(matches!(error, WeightsError::Refused { status: 500, .. }), "{error}");
    assert_eq!(server.ranges("/x.gguf").len(), 2);

    // Bound, so that nobody else is given its port, and without anybody who listens.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(std::net::SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let port = socket.local_addr().unwrap().port();
    let error = pull(&library, &format!("http://me:secret-word@127.0.0.1:{port}/x.gguf"), options())
        .await
        .unwrap_err();
    assert!(matches!(error, WeightsError::Network { .. }), "{error}");
    assert!(!format!("{error}{error:?}").contains("secret-word"), "{error:?}");
}

#[tokio::test]
async fn a_server_that_falls_silent_is_given_up() {
    let (_folder, library) = library();
    let server = Server::start().await;
    let content = model(LENGTH);
    let digest = Digest::of(&content);
    server.put("/x.gguf", Served::new(content).first(Fault::Hang(50_000)));
    let patient = options().patience(Duration::from_millis(300));
    pull(&library, &format!("{}/x.gguf#sha256={digest}", server.url), patient).await.unwrap();
    assert!(server.ranges("/x.gguf").len() >= 2);
}

#[tokio::test]
async fn a_cancelled_pull_can_be_gone_on_with() {
    let (_folder, library) = library();
    let server = Server::start().await;
    let content = model(LENGTH);
    let address = format!("{}/x.gguf#sha256={}", server.url, Digest::of(&content));
    server.put("/x.gguf", Served::new(content.clone()).first(Fault::Hang(50_000)));
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let wanted = PullSource::address(&address).unwrap();
    {
        let pulling = library.pull(&wanted, options(), |progress| {
            let _ = sender.send(progress.bytes);
        });
        let all = async { while receiver.recv().await != Some(50_000) {} };
        tokio::select! {
            result = pulling => panic!("the server hangs, and yet: {result:?}"),
            () = all => {}
        }
    }
    let installed = pull(&library, &address, options()).await.unwrap();
    assert_eq!(std::fs::read(installed.path()).unwrap(), content);
    assert_eq!(server.ranges("/x.gguf"), [None, Some("bytes=50000-".to_owned())]);
}

#[tokio::test]
async fn only_one_at_a_time_works_on_a_model() {
    let (folder, library) = library();
    let server = Server::start().await;
    server.put("/x.gguf", Served::new(model(LENGTH)).first(Fault::Hang(50_000)));
    server.put("/y.gguf", Served::new(model(LENGTH)));
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let wanted = PullSource::address(&format!("{}/x.gguf", server.url)).unwrap();
    let pulling = library.pull(&wanted, options(), move |progress| {
        let _ = sender.send(progress.bytes);
    });
    let meanwhile = async {
        while receiver.recv().await != Some(50_000) {}
        // Another process would see the same: locks belong to open files.
        let other = Library::open(folder.path()).unwrap();
        assert!(matches!(other.remove("x"), Err(WeightsError::Busy { .. })));
        let error = pull(&other, &format!("{}/x.gguf", server.url), options()).await.unwrap_err();
        assert!(matches!(error, WeightsError::Busy { .. }), "{error}");
        pull(&other, &format!("{}/y.gguf", server.url), options()).await.unwrap();
    };
    tokio::select! {
        result = pulling => panic!("the server hangs, and yet: {result:?}"),
        () = meanwhile => {}
    }
}

#[tokio::test]
async fn two_pulls_at_once_end_with_one_good_file() {
    let (folder, library) = library();
    let server = Server::start().await;
    let content = model(LENGTH);
    server.put("/x.gguf", Served::new(content.clone()));
    let address = format!("{}/x.gguf#sha256={}", server.url, Digest::of(&content));
    let other = Library::open(folder.path()).unwrap();
    let (one, two) = tokio::join!(pull(&library, &address, options()), pull(&other, &address, options()));
    assert_eq!(one.unwrap(), two.unwrap());
    assert_eq!(std::fs::read(library.path_of("x").unwrap()).unwrap(), content);
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_full_disk_is_told_before_anything_is_downloaded() {
    let (_folder, library) = library();
    let digest = Digest::of(b"");
    let catalogue = Catalogue::parse(&format!(
        "[[model]]\nname = 'huge'\ntitle = 't'\nkind = 'chat'\nlicence = 'MIT'\ncontext_tokens = 1\n[[model.file]]\n\
         name = 'f.gguf'\nbytes = 9000000000000000000\nsha256 = '{digest}'\n[[model.file.source]]\n\
         address = 'http://127.0.0.1:1/f.gguf'"
    ));
    let library = library.with_catalogue(catalogue.unwrap());
    let error = library.pull(&library.pull_source("huge").unwrap(), options(), |_| {}).await.unwrap_err();
    assert!(matches!(error, WeightsError::NoSpace { needed: 9_000_000_000_000_000_000, .. }), "{error}");
    assert!(error.to_string().contains("set CONVOKE_MODELS"), "{error}");
}

#[test]
fn a_pull_can_be_spawned() {
    fn spawned(library: &'static Library, wanted: &'static PullSource) {
        fn is_send(_: impl Future<Output = Result<InstalledModel, WeightsError>> + Send) {}
        is_send(library.pull(wanted, PullOptions::default(), |_| {}));
    }
    let _ = spawned;
}
