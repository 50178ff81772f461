//! What `convoke.toml` says about runs of Agentfiles.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use crate::place::{stderr, stdout};
use crate::workshop::{AGENTFILE, RESULT, RUN, unwatched, workshop};

#[test]
fn agents_get_the_model_of_the_profile_they_require() {
    let place =
        workshop(&unwatched().replace("\"You are a poet.\"", "\"You are a poet.\" REQUIRES \"fast\""));
    place.write("convoke.toml", "[profiles.fast]\nmodel = \"scripted/fast.toml\"\nmax_tokens = 100\n");
    place.write("fast.toml", "name = \"fast\"\n\n[[rule]]\nreply = \"Quick looms.\"\n");
    let done = place.convoke(&RUN);
    assert_eq!(stdout(&done), format!("{RESULT}\n"), "{}", stderr(&done));
    let shown = stdout(&place.convoke(&["show", "letter-1"]));
    // Agents work side by side: either may be first.
    let both =
        ["models    fast, scripted", "models    scripted, fast"].iter().any(|models| shown.contains(models));
    assert!(shown.contains("Quick looms.") && both, "{shown}");

    let config = "model = \"scripted/script.toml\"\n[profiles.quick]\nmodel = \"scripted/fast.toml\"\n";
    place.write("convoke.toml", config);
    let run = ["run", "letter.agent", "-i", "topic=x", "-m", "scripted/script.toml"];
    let missing = place.convoke(&run[..4]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("there is no profile `fast`"), "{}", stderr(&missing));
    let checked = place.convoke(&["validate", "letter.agent"]);
    assert_eq!(checked.status.code(), Some(0), "the file itself is valid");
    assert!(stderr(&checked).contains("there is no profile `fast`"), "{}", stderr(&checked));
    // Whoever names a model on the command line means all of it.
    assert_eq!(place.convoke(&run).status.code(), Some(0));
}

#[test]
fn a_profile_without_a_model_has_a_fallback_of_its_own() {
    let place =
        workshop("NAME x\nAGENT a \"A\" REQUIRES \"sure\"\nGOAL b \"Say\" USING a\nRUN main USING b\n");
    let refuses = "[[rule]]\nerror = { status = 401, message = \"no\" }\n";
    for (file, text) in [("first", refuses), ("usual", "[[rule]]\nreply = \"Usual.\"\n")] {
        place.write(&format!("{file}.toml"), text);
    }
    place.write("own.toml", "[[rule]]\nreply = \"Own.\"\n");
    let config = |profile: &str| {
        let usual = "model = \"scripted/first.toml\"\nfallback = [\"scripted/usual.toml\"]\n";
        place.write("convoke.toml", format!("{usual}[profiles.sure]\n{profile}\n"));
    };
    for (profile, said) in [("temperature = 0", "Usual.\n"), ("fallback = [\"scripted/own.toml\"]", "Own.\n")]
    {
        config(profile);
        let done = place.convoke(&["run", "letter.agent"]);
        assert_eq!(stdout(&done), said, "{profile}: {}", stderr(&done));
    }
    config("fallback = []");
    assert_eq!(place.convoke(&["run", "letter.agent"]).status.code(), Some(1), "it has none");
}

/// Refuses whoever comes first, and gives back what it was asked: the path, and the body.
fn refuse_one() -> (String, std::thread::JoinHandle<(String, serde_json::Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = std::thread::spawn(move || {
        let mut reader = BufReader::new(listener.accept().unwrap().0);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).unwrap(), 0, "it hung up: {head}");
        }
        let lower = head.to_lowercase();
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length:")).unwrap();
        let mut body = vec![0; length.trim().parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        reader.get_mut().write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n").unwrap();
        let path = head.split(' ').nth(1).unwrap().to_owned();
        (path, serde_json::from_slice(&body).unwrap())
    });
    (url, asked)
}

#[test]
fn agent_180_a_profiles_model_is_asked_at_its_service_and_thinks_as_the_profile_says() {
    let (url, asked) = refuse_one();
    let place =
        workshop("NAME x\nAGENT a \"A\" REQUIRES \"slow\"\nGOAL b \"Say\" USING a\nRUN main USING b\n");
    let config = format!(
        "model = \"compatible/usual\"\n[services.compatible]\nbase_url = \"{url}/here\"\n\
         [profiles.slow]\nreasoning = \"high\"\n"
    );
    place.write("convoke.toml", config);
    let trusted = [("CONVOKE_TRUSTED_HOSTS", "127.0.0.1")];
    assert_eq!(place.convoke_with(&["run", "letter.agent"], &trusted).status.code(), Some(1));
    let (path, body) = asked.join().unwrap();
    assert_eq!(path, "/here/chat/completions");
    assert_eq!((&body["model"], &body["reasoning_effort"]), (&"usual".into(), &"high".into()));
}

#[test]
fn configured_limits_hold_unless_the_command_line_says_otherwise() {
    let place = workshop(&unwatched());
    place.write("convoke.toml", "[budgets]\nmodel_calls = 3\ntokens = 100000\n");
    let mut arguments = RUN.to_vec();
    arguments.push("-q");
    assert_eq!(place.convoke(&arguments).status.code(), Some(7));
    let done = place.convoke(&["resume", "--budget", "20 calls"]);
    assert_eq!(stdout(&done), format!("{RESULT}\n"), "{}", stderr(&done));
}

#[test]
fn a_run_is_told_of_its_folder_as_it_was_when_it_began() {
    let place = workshop(AGENTFILE);
    place.write("README.md", "Looms.");
    assert_eq!(place.convoke(&RUN).status.code(), Some(5));
    let told = stdout(&place.convoke(&["show", "letter-1", "--full"]));
    assert!(told.contains("README.md"), "{told}");
    // Told again, a prompt must be what it was.
    place.write("CHANGELOG.md", "More.");
    let done = place.convoke(&["answer", "letter-1", "--approve", "--resume"]);
    assert_eq!(stdout(&done), format!("{RESULT}\n"), "{}", stderr(&done));
    assert!(!stdout(&place.convoke(&["show", "letter-1", "--full"])).contains("CHANGELOG.md"));

    let place = workshop(&unwatched());
    place.write("convoke.toml", "[workspace]\nsummary = false\n");
    place.write("README.md", "Looms.");
    assert_eq!(place.convoke(&RUN).status.code(), Some(0));
    assert!(!stdout(&place.convoke(&["show", "letter-1", "--full"])).contains("README.md"));
}

#[test]
fn a_supervisor_and_those_who_may_answer_are_configured() {
    let place = workshop(AGENTFILE);
    let config = "[supervision]\nmodel = \"scripted/judge.toml\"\nanswerers = [\"ben\"]\n";
    place.write("convoke.toml", config);
    place.write("judge.toml", "name = \"judge\"\n\n[[rule]]\njson = {}\n");
    assert_eq!(place.convoke(&RUN).status.code(), Some(5));
    let outsider = place.convoke(&["answer", "letter-1", "--approve"]);
    assert!(stderr(&outsider).contains("this question is for ben"), "{}", stderr(&outsider));
    let done = place.convoke(&["answer", "letter-1", "--approve", "--by", "ben", "--resume"]);
    assert_eq!(stdout(&done), format!("{RESULT}\n"), "{}", stderr(&done));
}

#[test]
fn agent_052_skills_that_are_configured_are_found_by_run_validate_and_inspect_and_kept_with_the_run() {
    let agentfile = AGENTFILE.replace("AGENT poet \"You are a poet.\"", "AGENT poet FROM rhymes");
    let place = workshop(&agentfile);
    place.write("convoke.toml", "[skills]\npaths = [\"known\"]\n");
    place.write(
        "known/rhymes/SKILL.md",
        "---\nname: rhymes\ndescription: Finds rhymes.\n---\nRhyme on looms.\n",
    );
    for command in ["validate", "inspect"] {
        let checked = place.convoke(&[command, "letter.agent"]);
        assert!(checked.status.success(), "{command}: {}", stderr(&checked));
    }
    assert_eq!(place.convoke(&RUN).status.code(), Some(5));
    assert!(stdout(&place.convoke(&["show", "letter-1", "--full"])).contains("Rhyme on looms."));
    std::fs::remove_dir_all(place.path().join("known")).unwrap();
    let done = place.convoke(&["answer", "letter-1", "--approve", "--resume"]);
    assert_eq!(stdout(&done), format!("{RESULT}\n"), "{}", stderr(&done));

    // What is named by an absolute path would not come with the file.
    place.write("absolute.agent", agentfile.replace("FROM rhymes", "FROM /etc/hostname"));
    let refused = place.convoke(&["run", "absolute.agent", "-i", "topic=x", "-m", "scripted/script.toml"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("the folder of the Agentfile"), "{}", stderr(&refused));
}

#[test]
fn a_file_of_prices_that_makes_no_sense_is_an_error_whatever_the_model() {
    let place = workshop(&unwatched());
    place.write("convoke.toml", "prices = \"prices.toml\"\n");
    let dry = [&RUN[..], &["--dry-run"]].concat();
    let chat = ["chat", "-m", "scripted/script.toml", "hello"];
    for (prices, said) in [(None, "these prices cannot be read"), (Some("prices = 3"), "[prices]")] {
        prices.into_iter().for_each(|text| place.write("prices.toml", text));
        for arguments in [&dry[..], &RUN, &chat] {
            let refused = place.convoke(arguments);
            assert_eq!(refused.status.code(), Some(1), "{arguments:?}: {}", stderr(&refused));
            let told = stderr(&refused);
            assert!(told.contains("prices.toml") && told.contains(said), "{told}");
        }
    }
    place.write("prices.toml", "[prices]\n\"groq/*\" = \"free\"\n");
    assert_eq!(place.convoke(&RUN).status.code(), Some(0), "it had not begun");
}
