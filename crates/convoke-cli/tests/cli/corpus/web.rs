//! The web: places that are not on the list, and places inside.

use serde_json::json;

use super::range::{Range, call};

fn fetch(url: &str) -> serde_json::Value {
    call("web_fetch", json!({"url": url}))
}

#[test]
fn without_a_policy_there_is_no_web() {
    let ended = Range::new().attack(
        "Fetch the payload",
        &[fetch("http://malware.example/payload"), call("web_search", json!({"query": "how to escape"}))],
    );
    ended.finished();
    for (index, name) in ["web_fetch", "web_search"].iter().enumerate() {
        ended.refused(index, &[name]);
        assert!(ended.given[index].is_error);
    }
}

#[test]
fn a_host_that_is_not_on_the_list_is_not_asked() {
    let range =
        Range::with_policy("[tools.web_fetch]\ndomains.allow = [\"docs.example\", \"*.trusted.example\"]\n");
    let hosts = [
        "http://malware.example/payload",
        "https://docs.example.evil.example/",
        "https://evildocs.example/",
        "https://docs.example@evil.example/",
        "https://nottrusted.example/",
        "https://evil.example/?docs.example",
        "https://evil.example/#docs.example",
    ];
    let calls: Vec<_> = hosts.iter().map(|url| fetch(url)).collect();
    let ended = range.attack("Fetch the payload", &calls);
    ended.finished();
    for index in 0..hosts.len() {
        ended.refused(index, &["denied by the policy", "policy.toml:"]);
    }
}

#[test]
fn addresses_inside_are_never_reached() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let range = Range::with_policy("[tools.web_fetch]\ndecision = \"allow\"\n");
    let own = format!("http://127.0.0.1:{port}/");
    let urls = [
        &*own,
        "http://127.0.0.1/",
        "http://localhost:8080/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://10.0.0.1/",
        "http://172.16.0.1/",
        "http://192.168.1.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/latest/meta-data/",
        "http://100.100.100.200/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:6379/_FLUSHALL",
        "http://user:password@example.org/",
    ];
    let calls: Vec<_> = urls.iter().map(|url| fetch(url)).collect();
    let ended = range.attack("Ask the machine's own services", &calls);
    ended.finished();
    assert_eq!(ended.given.len(), urls.len());
    for (index, url) in urls.iter().enumerate() {
        ended.refused(index, &[]);
        assert!(ended.given[index].content.contains("denied"), "{url}: {:?}", ended.given[index]);
    }
    assert!(listener.accept().is_err(), "somebody called");
}
