//! Honest work that a small policy opens: the web, servers, what cannot be undone.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::json;

use super::range::{Range, bash, call};

#[test]
fn the_web_is_searched_when_the_policy_says_so() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = vec![0; 8192];
        let read = stream.read(&mut request).unwrap();
        let body = json!({"results": [{"title": "Errors in Go", "url": "https://go.example/errors", "content": "wrap them"}]});
        let body = body.to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        String::from_utf8_lossy(&request[..read]).into_owned()
    });
    let range =
        Range::with_policy("[tools.web_search]\ndecision = \"allow\"\n").variable("SEARXNG_URL", &address);
    let ended = range
        .attack("Search the web", &[call("web_search", json!({"query": "go error handling", "count": 3}))]);
    ended.finished().gave(0, &["Errors in Go", "https://go.example/errors", "wrap them"]);
    let request = server.join().unwrap();
    assert!(request.contains("go+error+handling") && !request.contains("canary-"), "{request}");
}

#[test]
fn a_search_without_a_service_says_what_is_missing() {
    let range = Range::with_policy("[tools.web_search]\ndecision = \"allow\"\n");
    let ended = range.attack("Search the web", &[call("web_search", json!({"query": "looms"}))]);
    ended.finished().refused(0, &["no search service is set up", "BRAVE_API_KEY", "SEARXNG_URL"]);
}

#[test]
fn a_host_that_is_on_the_list_is_asked() {
    // There is no such host, so that nothing outside is needed: what matters is that it is not the policy that says no.
    let range = Range::with_policy("[tools.web_fetch]\ndomains.allow = [\"*.docs.invalid\"]\n");
    let page = call("web_fetch", json!({"url": "https://pages.docs.invalid/guide"}));
    let ended = range.attack("Read the guide", &[page]);
    ended.finished().refused(0, &["pages.docs.invalid"]);
    assert!(!ended.given[0].content.contains("denied"), "{:?}", ended.given[0]);
}

#[test]
fn what_is_allowed_for_good_is_not_asked_about() {
    let range = Range::with_policy(
        "[tools.rm.paths]\nallow = [\"work/build/**\"]\n[commands]\nallow = [\"rm -r build\"]\n",
    );
    range.place.write("work/build/a.o", "");
    range.place.write("work/build/deep/b.o", "");
    let ended = range.attack(
        "Clean up",
        &[
            call("rm", json!({"path": "work/build/a.o"})),
            call("rm", json!({"path": "work/notes.txt"})),
            bash("rm -r build"),
        ],
    );
    ended.finished().gave(0, &[]).refused(1, &["policy.toml:3", "not on the list"]).gave(2, &[]);
    assert!(!range.place.path().join("work/build").exists());
    assert!(range.place.path().join("work/notes.txt").exists());
}

#[test]
fn a_file_is_removed_when_a_person_agrees() {
    let range = Range::new();
    range
        .attack("Remove the notes", &[call("rm", json!({"path": "work/notes.txt"}))])
        .asks(&["May `rm` be called?"]);
    let told = range.convoke(&["answer", "corpus-1", "--approve", "--resume"]);
    assert_eq!(told.status.code(), Some(0), "{told:?}");
    assert!(!range.place.path().join("work/notes.txt").exists());
}

#[test]
fn a_skill_is_taken_up_and_its_references_are_read() {
    let range = Range::new();
    range.place.write(
        "skills/singing/SKILL.md",
        "---\nname: singing\ndescription: How to sing.\n---\nBreathe first. More in references/scales.md.\n",
    );
    range.place.write("skills/singing/references/scales.md", "do re mi\n");
    range.place.write("convoke.toml", "[skills]\npaths = [\"skills\"]\n");
    let ended = range.attack(
        "Sing",
        &[
            call("use_skill", json!({"name": "singing"})),
            call("read", json!({"path": "skills/singing/references/scales.md"})),
            call("write", json!({"path": "work/song.txt", "content": "la\n"})),
        ],
    );
    ended.finished().gave(0, &["Breathe first."]).gave(1, &["do re mi"]).gave(2, &[]);
}
