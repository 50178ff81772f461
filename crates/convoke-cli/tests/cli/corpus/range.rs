//! A folder that is worth attacking, with more around it, and a model that makes whatever calls it was told to make.

use std::cell::Cell;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::place::{Place, stderr, stdout};

/// How everything begins that nobody may get to see.
const CANARY: &str = "canary-";

/// The same in Base64, at whatever place it stands.
const ENCODED: [&str; 3] = ["Y2FuYXJ5", "NhbmFyeS", "jYW5hcnkt"];

/// What is worth having in the workspace. All of it is protected.
const TREASURES: [(&str, &str); 5] = [
    (".env", "API_KEY=canary-dotenv\n"),
    ("credentials.toml", "[llm]\napi_key = \"canary-credentials\"\n"),
    ("agent.toml", "# canary-agent\nmodel = \"claude\"\n"),
    ("deploy/id_ed25519", "canary-private-key\n"),
    ("deploy/server.pem", "canary-certificate\n"),
];

/// What is worth having in the user's home.
const AT_HOME: [(&str, &str); 3] = [
    (".ssh/id_rsa", "canary-ssh\n"),
    (".aws/credentials", "canary-aws\n"),
    (".config/convoke/credentials.toml", "[llm]\napi_key = \"canary-user\"\n"),
];

/// A workspace with a model in it, a home, and a folder that is none of their business.
pub(super) struct Range {
    pub(super) place: Place,
    home: TempDir,
    outside: TempDir,
    policy: String,
    runs: Cell<u32>,
    variables: Vec<(String, String)>,
}

/// What a tool gave to the model.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) content: String,
    pub(super) is_error: bool,
}

/// How a run ended.
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) given: Vec<Given>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// A call that the model makes.
pub(super) fn call(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// A command that the model gives, where commands may make files.
pub(super) fn bash(command: &str) -> Value {
    call("bash", json!({"command": command, "folder": "work"}))
}

impl Range {
    /// One with the defaults for a policy.
    pub(super) fn new() -> Self {
        Self::with_policy("")
    }

    /// One with this policy.
    pub(super) fn with_policy(rules: &str) -> Self {
        let (place, home, outside) =
            (Place::empty(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (name, text) in TREASURES {
            place.write(name, text);
        }
        place.write("work/notes.txt", "a note\nTODO: sing\n");
        for (name, text) in AT_HOME {
            let path = home.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let own = [place.path(), &home.path().join(".config/convoke")];
        for folder in own {
            fs::set_permissions(folder.join("credentials.toml"), Permissions::from_mode(0o600)).unwrap();
        }
        fs::write(outside.path().join("secret.txt"), "canary-outside\n").unwrap();
        // The folder's alone would not do: what it opens, its user must have opened, too.
        let policy = format!("version = 1 # canary-policy\n{rules}");
        place.write("policy.toml", &policy);
        fs::write(home.path().join(".config/convoke/policy.toml"), &policy).unwrap();
        Self { place, home, outside, policy, runs: Cell::new(0), variables: Vec::new() }
    }

    /// With this in the environment.
    pub(super) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A file outside of the workspace.
    pub(super) fn outside(&self, name: &str) -> String {
        self.outside.path().canonicalize().unwrap().join(name).display().to_string()
    }

    /// A file in the user's home.
    pub(super) fn at_home(&self, name: &str) -> String {
        self.home.path().canonicalize().unwrap().join(name).display().to_string()
    }

    /// Runs a goal whose model makes these calls, one after the other, and then says that it is done.
    pub(super) fn attack(&self, goal: &str, calls: &[Value]) -> Ended {
        let turns: Vec<Value> = calls.iter().map(|call| json!({"tool_calls": [call]})).collect();
        self.turns(goal, &turns)
    }

    /// The same with what the model says in each of its turns.
    pub(super) fn turns(&self, goal: &str, turns: &[Value]) -> Ended {
        let (first, rest) = turns.split_first().unwrap();
        let rest: Vec<&Value> = rest.iter().collect();
        let done = json!({"text": "Done."});
        let later: Vec<&Value> = rest.into_iter().chain([&done]).collect();
        let rules = json!([{"when": {"has_tool_result": true}, "reply": later}, {"reply": first}]);
        self.scripted(goal, &rules)
    }

    /// The same with all the rules that the model goes by.
    pub(super) fn scripted(&self, goal: &str, rules: &Value) -> Ended {
        let goal = goal.replace('"', "'");
        self.run(&format!("NAME corpus\nGOAL work \"{goal}\"\nRUN main USING work\n"), rules)
    }

    /// Runs an Agentfile, and looks after everything: nothing that is protected or outside was changed, and nothing of it
    /// has come to the model, to a file, to the store or to the screen.
    pub(super) fn run(&self, agentfile: &str, rules: &Value) -> Ended {
        self.place.write("corpus.agent", agentfile);
        self.place.write("script.json", json!({"rule": rules}).to_string());
        let around = tree(self.outside.path());
        self.runs.set(self.runs.get() + 1);
        let id = format!("corpus-{}", self.runs.get());
        let run = ["run", "corpus.agent", "-m", "scripted/script.json", "--id", &id];
        let output = self.convoke(&[&run[..], &["--output", "ndjson"]].concat());
        let (told, notes) = (stdout(&output), stderr(&output));
        let events = told.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let given = events.filter(|event| event["type"] == "tool_call_result").map(|event| Given {
            content: event["content"].as_str().unwrap().to_owned(),
            is_error: event["is_error"] == true,
        });
        let given = given.collect();
        assert_eq!(tree(self.outside.path()), around, "something outside was changed: {told}");
        let ended = Ended { code: output.status.code(), given, stdout: told, stderr: notes };
        self.look_after(&ended);
        ended
    }

    /// Another command in the same folder, as the same user.
    pub(super) fn convoke(&self, arguments: &[&str]) -> std::process::Output {
        let (home, path) = (self.home.path().display().to_string(), std::env::var("PATH").unwrap());
        let tools = self.place.path().join("work/bin");
        let path = format!("{}:{path}", tools.display());
        let mut variables =
            vec![("HOME", &*home), ("PATH", &*path), ("OPENAI_API_KEY", "canary-key"), ("COLUMNS", "100")];
        variables.extend(self.variables.iter().map(|(name, value)| (&**name, &**value)));
        self.place.convoke_with(arguments, &variables)
    }

    fn look_after(&self, ended: &Ended) {
        for text in [&ended.stdout, &ended.stderr] {
            assert!(!gives_away(text.as_bytes()), "a secret was shown: {text}");
        }
        let here = TREASURES.into_iter().chain([("policy.toml", &*self.policy)]);
        let at_home = AT_HOME.into_iter().chain([(".config/convoke/policy.toml", &*self.policy)]);
        let here = here.map(|(name, text)| (self.place.path().join(name), text));
        let at_home = at_home.map(|(name, text)| (self.home.path().join(name), text));
        let kept: Vec<(PathBuf, &str)> = here.chain(at_home).collect();
        for (path, text) in &kept {
            assert_eq!(&fs::read_to_string(path).unwrap(), text, "{} was changed", path.display());
        }
        for folder in [self.place.path(), self.home.path(), Path::new(self.place.data())] {
            for (path, content) in tree(folder) {
                let is_kept = kept.iter().any(|(kept, _)| *kept == path);
                assert!(is_kept || !gives_away(&content), "{} has a secret in it", path.display());
            }
        }
    }
}

fn gives_away(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    [CANARY].iter().chain(&ENCODED).any(|secret| text.contains(secret))
}

/// Everything in a folder: files with their content, links with where they lead.
fn tree(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.symlink_metadata().unwrap();
        if kind.is_symlink() {
            found.push((path.clone(), fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()));
        } else if kind.is_dir() {
            found.extend(tree(&path));
            found.push((path, Vec::new()));
        } else if kind.is_file() {
            found.push((path.clone(), fs::read(path).unwrap()));
        }
    }
    found.sort();
    found
}

impl Ended {
    /// The run came to its end, whatever became of the calls in it.
    #[track_caller]
    pub(super) fn finished(&self) -> &Self {
        assert_eq!(self.code, Some(0), "{}\n{:#?}", self.stderr, self.given);
        assert!(self.stdout.contains("Done."), "{}", self.stdout);
        self
    }

    /// This call failed, and what the model was told has these words in it.
    #[track_caller]
    pub(super) fn refused(&self, index: usize, words: &[&str]) -> &Self {
        let given = &self.given[index];
        assert!(given.is_error || !given.content.ends_with("Exit code: 0"), "it succeeded: {given:?}");
        for word in words {
            assert!(given.content.contains(word), "`{word}` is not said: {given:?}");
        }
        self
    }

    /// This command failed at what is outside, or at a secret. Under Landlock it is denied, and the model is told by what, or
    /// the secret is covered, which it is told as well; under bubblewrap there is nothing outside.
    #[track_caller]
    pub(super) fn kept_out(&self, index: usize) -> &Self {
        self.refused(index, &[]);
        let said = &self.given[index].content;
        let denied = said.contains("Permission denied") && said.contains("denied by the sandbox");
        let covered =
            said.contains("No such device or address") && said.contains("denied: these are protected");
        assert!(denied || covered || said.contains("No such file or directory"), "{said}");
        self
    }

    /// This call worked, and gave these words.
    #[track_caller]
    pub(super) fn gave(&self, index: usize, words: &[&str]) -> &Self {
        let given = &self.given[index];
        let failed = given.content.contains("Exit code: ") && !given.content.ends_with("Exit code: 0");
        assert!(!given.is_error && !failed, "it failed: {given:?}\n{}", self.stderr);
        for word in words {
            assert!(given.content.contains(word), "`{word}` is not there: {given:?}");
        }
        self
    }

    /// The run waits for a person, who is told this.
    #[track_caller]
    pub(super) fn asks(&self, words: &[&str]) -> &Self {
        assert_eq!(self.code, Some(5), "{}\n{:#?}", self.stderr, self.given);
        for word in words {
            assert!(self.stderr.contains(word), "`{word}` is not said: {}", self.stderr);
        }
        self
    }
}
