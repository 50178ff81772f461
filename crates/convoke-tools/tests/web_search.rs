//! Requests of `web_search`, and how answers and refusals of services are shown.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;
mod site;

use std::sync::Arc;

use common::call;
use convoke_core::{Origin, Repeat, Tool, ToolEffect};
use convoke_tools::web::{Search, SearchService, web_search};
use serde_json::{Value, json};
use site::{Reply, Site, reply, with_headers};

const KEY: &str = "key-that-nobody-may-see";

fn tool(service: Option<SearchService>) -> Arc<dyn Tool> {
    Arc::new(web_search(&Search::new(service).unwrap()))
}

fn brave(site: &Site) -> Arc<dyn Tool> {
    tool(Some(SearchService::brave(KEY).unwrap().asked_at(&site.url("/search")).unwrap()))
}

fn tavily(site: &Site) -> Arc<dyn Tool> {
    tool(Some(SearchService::tavily(KEY).unwrap().asked_at(&site.url("/search")).unwrap()))
}

async fn answering(answer: Value) -> Site {
    Site::new(move |_| Reply::Bytes(reply("200 OK", "application/json", &answer.to_string()))).await
}

#[tokio::test]
async fn without_a_service_it_says_what_to_set() {
    let said = call(&tool(None), json!({"query": "rust"})).await.unwrap_err();
    assert_eq!(
        said,
        "no search service is set up: set BRAVE_API_KEY, TAVILY_API_KEY or SEARXNG_URL, or do without web_search"
    );
}

#[tokio::test]
async fn brave_is_asked_and_understood() {
    let site = answering(json!({"web": {"results": [
        {"title": "A &amp; B", "url": "https://a.org/", "description": "the <strong>first</strong>\none"},
        {"title": "C", "url": "https://c.org/"},
        {"title": "D", "url": "https://d.org/", "description": "not asked for"},
    ]}}))
    .await;
    let told = call(&brave(&site), json!({"query": "rust & c++", "count": 2})).await.unwrap();
    assert_eq!(told, "1. A & B\n   https://a.org/\n   the first one\n2. C\n   https://c.org/\n");
    let request = site.requests().remove(0);
    assert!(request.starts_with("GET /search?q=rust+%26+c%2B%2B&count=2 HTTP"), "{request}");
    assert!(request.to_lowercase().contains(&format!("x-subscription-token: {KEY}")), "{request}");
    let nothing = answering(json!({"type": "search"})).await;
    assert_eq!(call(&brave(&nothing), json!({"query": "x"})).await.unwrap(), "No results found.");
}

#[tokio::test]
async fn tavily_is_asked_and_understood() {
    let site = answering(
        json!({"results": [{"title": "A", "url": "https://a.org/", "content": "x".repeat(2_000)}]}),
    )
    .await;
    let told = call(&tavily(&site), json!({"query": "rust"})).await.unwrap();
    assert!(
        told.starts_with("1. A\n   https://a.org/\n   xxx") && told.ends_with("…\n") && told.len() < 700,
        "{told}"
    );
    let request = site.requests().remove(0);
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("POST /search HTTP")
            && head.to_lowercase().contains(&format!("authorization: bearer {KEY}"))
    );
    assert_eq!(serde_json::from_str::<Value>(body).unwrap(), json!({"query": "rust", "max_results": 5}));
}

#[tokio::test]
async fn searxng_is_asked_and_understood() {
    let site =
        answering(json!({"results": [{"title": "A", "url": "https://a.org/", "content": null}]})).await;
    let tool = tool(Some(SearchService::searxng(&site.url("/sub/")).unwrap()));
    assert_eq!(call(&tool, json!({"query": "rust"})).await.unwrap(), "1. A\n   https://a.org/\n");
    assert!(site.requests()[0].starts_with("GET /sub/search?q=rust&format=json HTTP"));
    let shut = Site::new(|_| Reply::Bytes(reply("403 Forbidden", "text/html", "no"))).await;
    let tool = tool_of(&shut);
    assert!(call(&tool, json!({"query": "x"})).await.unwrap_err().contains("add `json` to `search.formats`"));
}

fn tool_of(site: &Site) -> Arc<dyn Tool> {
    tool(Some(SearchService::searxng(&site.url("")).unwrap()))
}

#[tokio::test]
async fn refusals_are_understood_and_never_show_the_key() {
    let cases = [
        ("401 Unauthorized", "does not accept the key (401): look at BRAVE_API_KEY"),
        ("403 Forbidden", "does not accept the key (403): look at BRAVE_API_KEY"),
        ("429 Too Many Requests", "Brave has had too many searches (429); try again in 30 seconds"),
        ("500 Internal Server Error", "Brave answered 500: you sent (hidden)"),
        ("302 Found", "Brave answered 302"),
    ];
    for (status, because) in cases {
        let headers = [("retry-after", "30"), ("location", "http://127.0.0.1:1/")];
        let bytes = with_headers(status, &headers, format!("you sent {KEY}").as_bytes());
        let site = Site::new(move |_| Reply::Bytes(bytes.clone())).await;
        let said = call(&brave(&site), json!({"query": "x"})).await.unwrap_err();
        assert!(said.contains(because), "{status}: {said}");
        assert!(!said.contains(KEY), "{said}");
        assert_eq!(site.requests().len(), 1);
    }
    let used_up = Site::new(|_| Reply::Bytes(reply("432 Plan", "text/plain", ""))).await;
    assert!(
        call(&tavily(&used_up), json!({"query": "x"})).await.unwrap_err().contains("(432); try again later")
    );
    let nonsense = Site::new(|_| Reply::Bytes(reply("200 OK", "text/html", "<html>"))).await;
    assert!(call(&brave(&nonsense), json!({"query": "x"})).await.unwrap_err().contains("makes no sense"));
    let service = SearchService::brave(KEY).unwrap();
    assert!(!format!("{service:?} {:?}", Search::new(Some(service.clone())).unwrap()).contains(KEY));
    assert!(!format!("{:?}", SearchService::brave("bad\nkey-part").unwrap_err()).contains("key-part"));
}

#[test]
fn the_service_is_the_first_that_is_set_up() {
    let with = |set: &'static [(&'static str, &'static str)]| {
        let found = SearchService::from_settings(|name| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        });
        found.map(|service| service.map(|service| service.name()))
    };
    assert_eq!(with(&[]).unwrap(), None);
    assert_eq!(with(&[("BRAVE_API_KEY", "  ")]).unwrap(), None);
    let all = &[("SEARXNG_URL", "http://localhost:8888"), ("TAVILY_API_KEY", "t"), ("BRAVE_API_KEY", "b")];
    assert_eq!(with(all).unwrap(), Some("Brave"));
    assert_eq!(
        with(&[("SEARXNG_URL", "http://localhost:8888"), ("TAVILY_API_KEY", "t")]).unwrap(),
        Some("Tavily")
    );
    assert_eq!(with(&[("SEARXNG_URL", "http://localhost:8888")]).unwrap(), Some("SearXNG"));
    assert!(with(&[("SEARXNG_URL", "localhost")]).unwrap_err().to_string().starts_with("SEARXNG_URL "));
}

#[tokio::test]
async fn counts_and_queries_are_checked() {
    let site = answering(json!({})).await;
    let tool = brave(&site);
    for arguments in [
        json!({"query": "x", "count": 0}),
        json!({"query": "x", "count": 11}),
        json!({"query": " "}),
        json!({}),
    ] {
        call(&tool, arguments).await.unwrap_err();
    }
    assert_eq!(site.requests().len(), 0);
    let spec = tool.spec();
    assert!(spec.effects.contains(ToolEffect::Network) && spec.repeat == Repeat::Safe);
    assert_eq!(tool.origin(&json!({"query": "x"})), Origin::Web("Brave".to_owned()));
}
