//! A command in a network of its own, which reaches other machines through a socket that was handed out of it.

use std::net::TcpListener;
use std::process::Command;

use convoke_tools::network::{Proxy, variables};
use rustix::thread::UnshareFlags;
use tokio::sync::oneshot;

use crate::clients::is_missing;
use crate::common::skipped;
use crate::rules;
use crate::site::{Names, Site, html};

/// Makes a network with nothing but loopback for this thread and what it starts, and listens in it.
#[expect(deprecated, reason = "only the sharing of descriptors makes it unsafe, and that stays as it is")]
fn own_network() -> Result<TcpListener, String> {
    rustix::thread::unshare(UnshareFlags::NEWNET).map_err(|error| error.to_string())?;
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).status();
    match up {
        Ok(status) if status.success() => TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string()),
        other => Err(format!("loopback stays down: {other:?}")),
    }
}

#[tokio::test]
async fn a_command_in_a_network_of_its_own_reaches_what_the_proxy_lets_it_and_nothing_else() {
    if is_missing("a_command_in_a_network_of_its_own", "curl") {
        return;
    }
    let site = Site::pages(&[("/", html("hello"))]).await;
    let names = Names::default().with("good.example", &[&["127.0.0.1"]]);
    let rules = rules(&format!("hosts.allow = [\"good.example\", \"127.0.0.1:{}\"]", site.port), &names);
    let (hand_out, handed_out) = oneshot::channel();
    let (begin, begun) = oneshot::channel::<u16>();
    let to = site.port;
    let inside = std::thread::spawn(move || {
        hand_out.send(own_network()).unwrap();
        let Ok(port) = begun.blocking_recv() else { return Vec::new() };
        let curl = |more: &[&str], url: String| {
            let mut command = Command::new("curl");
            command.args(["-sS"]).args(more).arg(url).env_clear().envs(variables(port));
            let output = command.env("PATH", std::env::var_os("PATH").unwrap()).output().unwrap();
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
        };
        vec![
            curl(&[], format!("http://good.example:{to}/")),
            curl(&["--proxytunnel"], format!("http://good.example:{to}/")),
            curl(&[], format!("http://bad.example:{to}/")),
            curl(&["--noproxy", "*"], format!("http://127.0.0.1:{to}/")),
            curl(&["--noproxy", "*"], format!("http://good.example:{to}/")),
        ]
    });
    let listener = match handed_out.await.unwrap() {
        Ok(listener) => listener,
        Err(why) => return skipped("a_command_in_a_network_of_its_own", &why),
    };
    let port = listener.local_addr().unwrap().port();
    let proxy = Proxy::new(&rules).start([listener]).unwrap();
    begin.send(port).unwrap();
    let said = tokio::task::spawn_blocking(move || inside.join().unwrap()).await.unwrap();
    assert_eq!(said[..2], ["hello", "hello"]);
    assert!(said[2].contains("the network is closed to"), "{}", said[2]);
    assert!(said[3].contains("connect") && said[4].contains("resolve"), "{said:?}");
    assert_eq!(site.requests().len(), 2);
    assert!(proxy.finish().await.note().unwrap().contains("bad.example"));
}
