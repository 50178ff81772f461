//! Hosts that a person is asked about while a command waits.

use std::sync::{Arc, Mutex};

use convoke_agent::{FunctionTool, ToolContext};
use convoke_core::{
    Answer, BoxFuture, Error, PendingQuestion, Responder, Runtime, Scope, Step, Tool, ToolCall, Workflow,
};
use convoke_tools::network::{HostRules, Proxy};
use serde_json::json;

use crate::site::{Names, Site, html};
use crate::{get, rules, started};

/// A person who says yes to hosts that begin with `good`.
#[derive(Clone, Default)]
struct Person(Arc<Mutex<Vec<String>>>);

impl Responder for Person {
    fn respond<'a>(&'a self, asked: &'a PendingQuestion) -> BoxFuture<'a, Option<Answer>> {
        Box::pin(async move {
            let question = &asked.question;
            self.0.lock().unwrap().push(question.title.clone());
            let is_good = question.subject["host"].as_str().unwrap().starts_with("good");
            Some(if is_good { Answer::approve() } else { Answer::reject("no") })
        })
    }
}

/// Calls a tool whose command reads these pages one after the other, twice; gives the statuses, and the note.
async fn read_pages(runtime: Runtime, rules: HostRules, pages: Vec<String>) -> String {
    let tool =
        FunctionTool::with_context("reads", "Reads.", move |context: ToolContext, _: serde_json::Value| {
            let (rules, pages) = (rules.clone(), pages.clone());
            async move {
                let proxy = Proxy::new(&rules);
                if !context.scope.is_attended() {
                    return Ok::<_, Error>(reading(proxy, pages).await);
                }
                let (asker, questions) = rules.questions();
                tokio::select! {
                    read = reading(proxy.asker(asker), pages) => Ok(read),
                    stop = questions.put_to(&context.scope) => Err(stop),
                }
            }
        });
    let step = Reads(Arc::new(tool));
    let outcome = runtime.start(&Workflow::new(step), String::new()).await.unwrap();
    outcome.completed().unwrap()
}

async fn reading(proxy: Proxy, pages: Vec<String>) -> String {
    let (proxy, port) = started(proxy);
    let mut told = String::new();
    for page in pages.iter().chain(&pages) {
        told.push_str(&get(port, page).await[9..13]);
    }
    told + &proxy.finish().await.note().unwrap_or_default()
}

struct Reads(Arc<dyn Tool>);

impl Step<String> for Reads {
    fn name(&self) -> &str {
        "reads"
    }

    fn run<'a>(&'a self, scope: &'a Scope, state: &'a mut String) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let call = ToolCall { id: "1".to_owned(), name: "reads".to_owned(), arguments: json!({}) };
            *state = scope.tool_scope(&*self.0, None).tool(&self.0, &call).await?.content;
            Ok(())
        })
    }
}

async fn site_and_rules() -> (Site, HostRules, Vec<String>) {
    let site = Site::pages(&[("/", html("hello"))]).await;
    let names = Names::default().with("good.example", &[&["127.0.0.1"]]);
    let rules = rules(&format!("hosts.allow = [\"127.0.0.1:{}\"]", site.port), &names);
    let pages = vec![site.named("good.example", "/"), site.named("bad.example", "/")];
    (site, rules, pages)
}

#[tokio::test]
async fn a_new_host_is_asked_about_once_and_the_command_waits_for_the_answer() {
    let (site, rules, pages) = site_and_rules().await;
    let person = Person::default();
    let runtime = Runtime::builder().responder(person.clone()).build();
    let told = read_pages(runtime, rules, pages).await;
    assert!(told.starts_with("200 403 200 403 denied"), "{told}");
    assert!(told.contains("it was not approved"), "{told}");
    let to = site.port;
    let asked = |host: &str| format!("May commands of this run reach `{host}:{to}`?");
    assert_eq!(*person.0.lock().unwrap(), [asked("good.example"), asked("bad.example")]);
}

#[tokio::test]
async fn where_nobody_is_there_to_be_asked_new_hosts_are_refused_and_the_run_goes_on() {
    let (site, rules, pages) = site_and_rules().await;
    let told = read_pages(Runtime::new(), rules, pages).await;
    assert!(told.starts_with("403 403 403 403 denied"), "{told}");
    assert!(told.contains("nobody is there to be asked"), "{told}");
    assert!(told.contains(&format!("commands.hosts.allow = [\"bad.example:{}\"]", site.port)), "{told}");
}
