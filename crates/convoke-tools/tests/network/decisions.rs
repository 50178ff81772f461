//! Decisions about hosts and addresses.

use convoke_tools::network::{HostRules, Proxy};
use convoke_tools::policy::Policy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::site::{Names, Site, html};
use crate::{get, policy, rules, socks, started, talk};

async fn greeting() -> Site {
    Site::pages(&[("/", html("hello"))]).await
}

/// The policy's lines for a site that is on this machine.
fn open(site: &Site, more: &str) -> String {
    format!("hosts.allow = [\"good.example\", \"127.0.0.1:{}\"]\n{more}", site.port)
}

#[tokio::test]
async fn commands_reach_the_hosts_that_are_allowed_and_no_others() {
    let site = greeting().await;
    let names =
        Names::default().with("good.example", &[&["127.0.0.1"]]).with("bad.example", &[&["127.0.0.1"]]);
    let (proxy, port) = started(Proxy::new(&rules(&open(&site, "hosts.default = \"deny\""), &names)));
    let to = site.port;
    assert!(get(port, &site.named("good.example", "/")).await.ends_with("hello"));
    // The server reads the name that was judged, not the one that the client gave.
    assert!(site.requests()[0].contains(&format!("Host: good.example:{to}\r\n")), "{:?}", site.requests());
    let tunnelled = format!("CONNECT good.example:{to} HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n");
    let told = talk(port, tunnelled.as_bytes()).await;
    assert!(told.starts_with("HTTP/1.1 200") && told.ends_with("hello"), "{told}");
    let (code, mut stream) = socks(port, "good.example", to).await;
    assert_eq!(code, 0);
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with("hello"), "{answer}");

    for told in [
        get(port, &site.named("bad.example", "/")).await,
        talk(port, format!("CONNECT bad.example:{to} HTTP/1.1\r\n\r\n").as_bytes()).await,
        talk(port, format!("CONNECT sub.good.example:{to} HTTP/1.1\r\n\r\n").as_bytes()).await,
    ] {
        assert!(told.starts_with("HTTP/1.1 403") && told.contains("the network is closed to"), "{told}");
        assert!(told.contains("commands.hosts.allow"), "{told}");
    }
    assert_eq!(socks(port, "bad.example", to).await.0, 2);
    assert_eq!(site.requests().len(), 3);
    let report = proxy.finish().await;
    let refused: Vec<String> = report.refused.iter().map(|refusal| refusal.destination.to_string()).collect();
    assert_eq!(refused, [format!("bad.example:{to}"), format!("sub.good.example:{to}")]);
    let note = report.note().unwrap();
    assert!(note.contains("denied") && note.contains(&format!("`bad.example:{to}`")), "{note}");
    assert!(report.sent > 0 && report.received > 0);
}

#[tokio::test]
async fn names_that_nobody_permits_are_not_even_looked_up() {
    let names = Names::default();
    let (proxy, port) = started(Proxy::new(&rules("hosts.allow = [\"good.example\"]", &names)));
    get(port, "http://secret.attacker.example/").await;
    socks(port, "secret.attacker.example", 80).await;
    assert_eq!(names.asked(), Vec::<String>::new());
    // One that is permitted is.
    assert!(get(port, "http://good.example/").await.starts_with("HTTP/1.1 502"));
    assert_eq!(names.asked(), ["good.example"]);
    drop(proxy);
}

#[tokio::test]
async fn a_name_that_leads_inside_is_refused_unless_the_policy_names_the_address() {
    let site = greeting().await;
    let to = site.port;
    for (answers, host) in [
        (&["127.0.0.1"][..], "good.example"),
        (&["::ffff:127.0.0.1"], "good.example"),
        (&["10.0.0.1"], "good.example"),
        (&["169.254.169.254"], "good.example"),
        (&["93.184.216.34", "127.0.0.1"], "good.example"),
        (&[], "127.0.0.1"),
        (&[], "[::1]"),
        (&[], "0x7f.1"),
        (&[], "2130706433"),
        (&[], "127.0.0.1."),
    ] {
        let names = Names::default().with("good.example", &[answers]);
        for lines in [
            "hosts.allow = [\"*\"]",
            "hosts.default = \"allow\"",
            "hosts.allow = [\"good.example\", \"127.0.0.2\"]",
        ] {
            let (proxy, port) = started(Proxy::new(&rules(lines, &names)));
            let told = get(port, &format!("http://{host}:{to}/")).await;
            assert!(told.starts_with("HTTP/1.1 403"), "{host} {answers:?} {lines}: {told}");
            assert_eq!(proxy.finish().await.refused.len(), 1, "{host} {answers:?} {lines}");
        }
    }
    assert_eq!(site.requests().len(), 0);
    let named = rules(&format!("hosts.allow = [\"127.0.0.1:{to}\"]"), &Names::default());
    let (_proxy, port) = started(Proxy::new(&named));
    assert!(get(port, &site.url("/")).await.ends_with("hello"));
}

#[tokio::test]
async fn what_is_connected_to_is_what_was_looked_at() {
    let site = greeting().await;
    // Were it asked for again, the name would stand for somewhere else.
    let names = Names::default().with("good.example", &[&["127.0.0.1"], &["127.0.0.2"]]);
    let (_proxy, port) = started(Proxy::new(&rules(&open(&site, ""), &names)));
    assert!(get(port, &site.named("good.example", "/")).await.ends_with("hello"));
    assert_eq!(names.asked().len(), 1);
    // Now it does, and that address is not named.
    assert!(get(port, &site.named("good.example", "/")).await.starts_with("HTTP/1.1 403"));
}

#[tokio::test]
async fn of_several_policies_the_strictest_decides_about_hosts_and_addresses() {
    let site = greeting().await;
    let to = site.port;
    let address = format!("127.0.0.1:{to}");
    let open = || Policy::parse("version = 1\n[commands]\nnetwork = true\n", "open.toml").unwrap();
    let named = || policy(&format!("hosts.allow = [\"{address}\"]"));
    let others = || policy("hosts.allow = [\"*\"]");
    for (policies, status) in [
        (vec![open(), named()], "200"),
        (vec![named(), named()], "200"),
        // The folder's policy names an address that the user's does not.
        (vec![named(), others()], "403"),
        (vec![named(), Policy::default()], "403"),
        (vec![named(), policy(&format!("hosts.deny = [\"{address}\"]"))], "403"),
        (vec![], "403"),
    ] {
        let (_proxy, port) = started(Proxy::new(&HostRules::new(policies)));
        let told = get(port, &site.url("/")).await;
        assert!(told.starts_with(&format!("HTTP/1.1 {status}")), "{status}: {told}");
    }
}
