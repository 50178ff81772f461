//! Ways to have a page fetched that is none of the web's business: each must be denied, and its counterpart must pass.
#![allow(clippy::unwrap_used, reason = "tests")]

mod site;

use convoke_tools::policy::{PolicyFiles, PolicySet};
use convoke_tools::web::{AddressRules, Domains, Fetcher, WebError, WebLimits, hop_judge};
use site::{Names, Site, html, redirect};

async fn secret() -> Site {
    Site::pages(&[("/", html("<p>the secret inside</p>"))]).await
}

/// Fetches with everything allowed but the address, and says why not.
async fn denied(fetcher: &Fetcher, url: &str) -> String {
    let error = fetcher.fetch(url).await.map(|page| page.text().to_owned()).unwrap_err().to_string();
    assert!(error.contains("denied"), "{url} is not a denial: {error}");
    error
}

#[tokio::test]
async fn this_machine_is_not_reached_in_any_spelling() {
    let inside = secret().await;
    let names = Names::default()
        .with("localhost", &[&["127.0.0.1"], &["::1"]])
        .with("inside.test", &[&["127.0.0.1"]])
        .with("localhost.", &[&["127.0.0.1"]]);
    let fetcher = Fetcher::builder().port(inside.port).resolver(names).build().unwrap();
    for host in [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.1.",
        "127.255.255.254",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        "%31%32%37.0.0.1",
        "１２７.0.0.1",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "inside.test",
    ] {
        let said = denied(&fetcher, &inside.named(host, "/")).await;
        assert!(
            said.contains("loopback") || said.contains("no address") || said.contains("reserved"),
            "{host}: {said}"
        );
    }
    assert_eq!(inside.requests().len(), 0, "somebody came");
    // The legitimate counterpart: an address that whoever wrote the program has named.
    let page = inside.fetcher().build().unwrap().fetch(&inside.url("/")).await.unwrap();
    assert_eq!(page.text(), "the secret inside");
}

#[test]
fn only_public_addresses_are_public() {
    let rules = AddressRules::public();
    for address in [
        "10.0.0.1",
        "10.255.255.255",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "100.64.0.1",
        "100.127.255.255",
        "169.254.0.1",
        "169.254.169.254",
        "169.254.170.2",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "192.0.0.1",
        "0.0.0.0",
        "0.1.2.3",
        "127.0.0.1",
        "224.0.0.1",
        "239.1.1.1",
        "240.0.0.1",
        "255.255.255.255",
        "192.0.2.1",
        "198.51.100.1",
        "203.0.113.1",
        "198.18.0.1",
        "192.88.99.1",
        "::",
        "::1",
        "::10.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::10.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "2002:a00:1::1",
        "2002:a9fe:a9fe::",
        "2001::1",
        "2001:db8::1",
        "3fff::1",
        "fc00::1",
        "fd00:ec2::254",
        "fdff::1",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "ff02::1",
        "100::1",
        "4000::1",
        "2001:4860::5efe:a00:1",
    ] {
        assert!(rules.check(address.parse().unwrap()).is_err(), "{address}");
    }
    for address in [
        "1.1.1.1",
        "8.8.8.8",
        "93.184.216.34",
        "100.63.255.255",
        "100.128.0.1",
        "172.15.0.1",
        "172.32.0.1",
        "169.253.1.1",
        "192.0.1.1",
        "223.255.255.255",
        "2606:4700::1111",
        "2001:4860:4860::8888",
        "2a00::1",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
    ] {
        assert!(rules.check(address.parse().unwrap()).is_ok(), "{address}");
    }
}

/// Each range by its first and its last address, with those just outside if they are public.
#[test]
fn ranges_end_where_they_end_and_are_called_what_they_are() {
    let rules = AddressRules::public();
    let check = |address: &str| rules.check(address.parse().unwrap()).map_err(|error| error.to_string());
    for (addresses, what) in [
        (&["0.0.0.0", "::", "::ffff:0.0.0.0"][..], "no address at all"),
        (&["127.0.0.0", "127.255.255.255", "::1", "64:ff9b::127.0.0.1"], "this machine (loopback)"),
        (&["10.0.0.0", "10.255.255.255"], "in a private network"),
        (&["172.16.0.0", "172.31.255.255"], "in a private network"),
        (&["192.168.0.0", "192.168.255.255"], "in a private network"),
        (&["fc00::", "fd00:ec1:ffff::", "fd00:ec3::"], "in a private network"),
        (&["fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"], "in a private network"),
        (&["fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"], "in a private network"),
        (&["2002:a00:1::1", "2001:4860::5efe:a00:1", "2001:4860::200:5efe:a00:1"], "in a private network"),
        (&["100.64.0.0", "100.100.100.199", "100.100.100.201"], "in a provider's shared network"),
        (&["100.127.255.255"], "in a provider's shared network"),
        (&["169.254.0.0", "169.254.169.252", "169.254.170.3", "169.254.255.255"], "link-local"),
        (&["fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"], "link-local"),
        (&["169.254.169.254", "169.254.169.253", "169.254.169.123"], "where a cloud keeps its metadata"),
        (&["169.254.170.2", "169.254.170.23", "100.100.100.200"], "where a cloud keeps its metadata"),
        (&["168.63.129.16", "192.0.0.192", "::ffff:169.254.169.254"], "where a cloud keeps its metadata"),
        (&["fd00:ec2::", "fd00:ec2:ffff:ffff:ffff:ffff:ffff:ffff"], "where a cloud keeps its metadata"),
        (&["224.0.0.0", "239.255.255.255"], "multicast"),
        (&["ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"], "multicast"),
        (&["192.0.2.0", "192.0.2.255", "198.51.100.0", "198.51.100.255"], "reserved for documentation"),
        (&["203.0.113.0", "203.0.113.255"], "reserved for documentation"),
        (&["2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"], "reserved for documentation"),
        (&["3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"], "reserved for documentation"),
        (&["0.0.0.1", "0.255.255.255", "192.0.0.0", "192.0.0.255"], "reserved"),
        (&["192.88.99.0", "192.88.99.255", "198.18.0.0", "198.19.255.255"], "reserved"),
        (&["240.0.0.0", "255.255.255.255"], "reserved"),
        (&["::2", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"], "reserved"),
        (&["4000::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"], "reserved"),
        (&["fe00::", "fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff"], "reserved"),
        (&["2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"], "reserved"),
        (&["2002:808:808::", "2002:ffff:ffff::"], "reserved"),
    ] {
        for address in addresses {
            let address: std::net::IpAddr = address.parse().unwrap();
            let said = format!("{address} is {what}, and only public addresses may be reached");
            assert_eq!(check(&address.to_string()), Err(said));
        }
    }
    for address in [
        "1.0.0.0",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.15",
        "168.63.129.17",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.0.1.255",
        "192.0.3.0",
        "192.88.98.255",
        "192.88.100.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "198.51.99.255",
        "198.51.101.0",
        "203.0.112.255",
        "203.0.114.0",
        "223.255.255.255",
        "2000::",
        "2001:200::",
        "2001:db9::",
        "2003::",
        "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
        "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "3fff:1000::",
        "2001:4860::5efe:808:808",
    ] {
        assert_eq!(check(address), Ok(()), "{address}");
    }
}

#[tokio::test]
async fn a_name_that_changes_its_mind_is_asked_once_for_each_hop_and_connected_to_as_it_was_checked() {
    let site = Site::pages(&[("/", html("first")), ("/again", redirect("/"))]).await;
    // Public at first; inside when asked again.
    let rebinding = || Names::default().with("rebind.test", &[&["127.0.0.1"], &["127.0.0.2"]]);

    let names = rebinding();
    let fetcher = site.fetcher().resolver(names.clone()).build().unwrap();
    assert_eq!(fetcher.fetch(&site.named("rebind.test", "/")).await.unwrap().text(), "first");
    assert_eq!(names.asked(), ["rebind.test"], "between the look and the connection nobody asks again");
    let said = denied(&fetcher, &site.named("rebind.test", "/")).await;
    assert!(said.contains("127.0.0.2"), "{said}");

    let names = rebinding();
    let fetcher = site.fetcher().resolver(names.clone()).build().unwrap();
    let said = denied(&fetcher, &site.named("rebind.test", "/again")).await;
    assert!(said.contains("redirects to") && said.contains("127.0.0.2"), "{said}");
    assert_eq!(names.asked().len(), 2, "a hop to the same host is looked at again");
}

#[tokio::test]
async fn a_name_with_one_public_address_and_one_inside_is_not_reached_at_all() {
    let site = secret().await;
    for answer in [["127.0.0.1", "10.0.0.1"], ["fe80::1", "127.0.0.1"], ["127.0.0.1", "169.254.169.254"]] {
        let names = Names::default().with("both.test", &[&answer]);
        let fetcher = site.fetcher().resolver(names).build().unwrap();
        denied(&fetcher, &site.named("both.test", "/")).await;
    }
    assert_eq!(site.requests().len(), 0);
}

#[tokio::test]
async fn redirects_lead_nowhere_one_could_not_have_gone() {
    let targets = [
        ("/loopback", "http://127.0.0.2/"),
        ("/localhost", "http://localhost/"),
        ("/metadata", "http://169.254.169.254/latest/meta-data/iam/security-credentials/"),
        ("/decimal", "http://2130706434/"),
        ("/mapped", "http://[::ffff:10.0.0.1]/"),
        ("/nat64", "http://[64:ff9b::192.168.0.1]/"),
        ("/relative", "//10.0.0.1/"),
        ("/port", "http://127.0.0.1:22/"),
        ("/password", "http://admin:hunter2@127.0.0.1/"),
    ];
    let pages: Vec<_> = targets.iter().map(|(path, to)| (*path, redirect(to))).collect();
    let site = Site::pages(&pages).await;
    let names = Names::default().with("localhost", &[&["127.0.0.1", "::1"]]);
    let fetcher = site.fetcher().resolver(names).build().unwrap();
    for (path, to) in targets {
        let said = denied(&fetcher, &site.url(path)).await;
        assert!(said.starts_with(&site.url(path)) && said.contains("redirects to"), "{to}: {said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
    assert_eq!(site.requests().len(), targets.len());
    for (scheme, to) in
        [("file", "file:///etc/passwd"), ("ftp", "ftp://example.org/"), ("data", "data:text/html,hello")]
    {
        let site = Site::pages(&[("/", redirect(to))]).await;
        let error = site.fetcher().build().unwrap().fetch(&site.url("/")).await.unwrap_err().to_string();
        assert!(error.contains(&format!("`{scheme}` is not a way to read pages")), "{error}");
    }
}

#[tokio::test]
async fn agent_169_domains_hold_on_every_hop() {
    let site = Site::pages(&[("/", html("hello")), ("/out", redirect("http://evil.test/"))]).await;
    let names = Names::default();
    let names = [
        "trusted.test",
        "a.trusted.test",
        "b.a.trusted.test",
        "evil.test",
        "nottrusted.test",
        "exact.test",
        "a.exact.test",
    ]
    .into_iter()
    .fold(names, |names, host| names.with(host, &[&["127.0.0.1"]]));
    let domains = Domains::only(["*.trusted.test", "exact.test"]).unwrap();
    let fetcher = site.fetcher().resolver(names.clone()).domains(domains).build().unwrap();
    for host in ["trusted.test", "a.trusted.test", "B.a.Trusted.test", "exact.test"] {
        assert_eq!(fetcher.fetch(&site.named(host, "/")).await.unwrap().text(), "hello", "{host}");
    }
    for host in ["evil.test", "nottrusted.test", "a.exact.test", "127.0.0.1"] {
        let said = denied(&fetcher, &site.named(host, "/")).await;
        assert!(said.contains("not among the domains"), "{said}");
    }
    let said = denied(&fetcher, &site.named("trusted.test", "/out")).await;
    assert!(
        said.contains("redirects to http://evil.test/") && said.contains("not among the domains"),
        "{said}"
    );

    // A policy that has allowed one call decides about each of its hops.
    let judge = |url: &url::Url, _: &url::Url| match url.host_str() {
        Some("trusted.test") => Ok(()),
        other => Err(format!("{other:?} was not asked for; fetch it by itself")),
    };
    let fetcher = site.fetcher().resolver(names).judge(judge).build().unwrap();
    assert_eq!(fetcher.fetch(&site.named("trusted.test", "/")).await.unwrap().text(), "hello");
    assert!(denied(&fetcher, &site.named("trusted.test", "/out")).await.contains("fetch it by itself"));
    assert!(Domains::only(["*"]).is_err() && Domains::only(["a b"]).is_err());
}

#[tokio::test]
async fn a_redirection_to_a_host_that_must_be_asked_about_is_made_once_a_call_for_it_was_let_through() {
    let site = Site::pages(&[("/", html("hello"))]).await;
    let to = |host: &str| redirect(&site.named(host, "/"));
    let from = Site::pages(&[
        ("/asked", to("asked.test")),
        ("/denied", to("denied.test")),
        ("/known", to("known.test")),
    ])
    .await;
    let hosts = ["known.test", "asked.test", "denied.test"];
    let names = hosts.into_iter().fold(Names::default(), |names, host| names.with(host, &[&["127.0.0.1"]]));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.toml");
    let policy = "version = 1\n[tools.web_fetch.domains]\nallow = [\"known.test\"]\nask = [\"asked.test\"]\n";
    std::fs::write(&file, policy).unwrap();
    let policies = std::sync::Arc::new(PolicySet::load(PolicyFiles::new(None, Some(file))).unwrap());
    let fetcher = from.fetcher().port(site.port).resolver(names).judge(hop_judge(&policies)).build().unwrap();

    assert_eq!(fetcher.fetch(&from.named("known.test", "/known")).await.unwrap().text(), "hello");
    let said = denied(&fetcher, &from.named("known.test", "/asked")).await;
    assert!(said.contains("so that a person can be asked"), "{said}");
    assert!(!denied(&fetcher, &from.named("known.test", "/denied")).await.contains("can be asked"));

    let called = fetcher.fetch(&site.named("asked.test", "/")).await.unwrap();
    assert_eq!(called.text(), "hello");
    assert_eq!(fetcher.fetch(&from.named("known.test", "/asked")).await.unwrap().text(), "hello");
}

#[tokio::test]
async fn agent_169_private_and_link_local_addresses_are_refused_though_their_domain_is_allowed() {
    let site = secret().await;
    let inside = [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "::1",
        "fe80::1",
        "fd00::1",
    ];
    for address in inside {
        let names = Names::default().with("trusted.test", &[&[address]]);
        let domains = Domains::only(["trusted.test"]).unwrap();
        let fetcher = Fetcher::builder().port(site.port).resolver(names).domains(domains).build().unwrap();
        denied(&fetcher, &site.named("trusted.test", "/")).await;
    }
    assert_eq!(site.requests().len(), 0, "somebody came");
}

#[tokio::test]
async fn addresses_that_are_none_or_carry_more_than_an_address_are_refused() {
    let site = secret().await;
    let fetcher = site.fetcher().build().unwrap();
    for (url, because) in [
        ("file:///etc/passwd", "not a way to read pages"),
        ("gopher://127.0.0.1/", "not a way to read pages"),
        ("javascript:alert(1)", "not a way to read pages"),
        ("ftp://user:hunter2@example.org/", "`ftp://example.org/`"),
        ("example.org", "begins with https://"),
        ("", "begins with https://"),
        ("http://", "begins with https://"),
        ("http://user:hunter2@example.org/", "user name or password"),
        ("http://user@example.org/", "user name or password"),
        ("http://x:hunter2@", "begins with https://"),
        ("http://example.org:22/", "port 22"),
        ("http://example.org:6379/", "port 6379"),
        ("https://example.org:25/", "port 25"),
    ] {
        let error = fetcher.fetch(url).await.unwrap_err().to_string();
        assert!(error.contains(because), "{url}: {error}");
        assert!(!error.contains("hunter2"), "{url}: the password is out: {error}");
    }
    assert_eq!(site.requests().len(), 0);
}

#[tokio::test]
async fn redirects_end() {
    let site = Site::new(|request| {
        let number: u32 = request.split(' ').nth(1).unwrap()[1..].parse().unwrap();
        site::Reply::Bytes(if number == 0 { html("arrived") } else { redirect(&format!("/{}", number - 1)) })
    })
    .await;
    let fetcher = site.fetcher().build().unwrap();
    let page = fetcher.fetch(&site.url("/5")).await.unwrap();
    assert_eq!((page.text(), page.redirected_from.len()), ("arrived", 5));
    assert!(matches!(fetcher.fetch(&site.url("/6")).await, Err(WebError::TooManyRedirects { most: 5, .. })));
    let around = Site::pages(&[("/", redirect("/"))]).await;
    assert!(matches!(
        around.fetcher().build().unwrap().fetch(&around.url("/")).await,
        Err(WebError::TooManyRedirects { .. })
    ));
    assert_eq!(around.requests().len(), 6);
    let none = WebLimits { redirects: 0, ..WebLimits::default() };
    let fetcher = site.fetcher().limits(none).build().unwrap();
    assert!(fetcher.fetch(&site.url("/0")).await.is_ok() && fetcher.fetch(&site.url("/1")).await.is_err());
}

#[tokio::test]
async fn nothing_of_the_users_goes_along() {
    let cookie = site::with_headers("302 Found", &[("set-cookie", "id=tracked"), ("location", "/b")], b"");
    let site = Site::pages(&[("/a", cookie), ("/b", html("b"))]).await;
    site.fetcher().build().unwrap().fetch(&site.url("/a#mine")).await.unwrap();
    for request in site.requests() {
        let request = request.to_lowercase();
        for header in ["cookie", "authorization", "referer", "#mine"] {
            assert!(!request.contains(header), "{request}");
        }
    }
}
