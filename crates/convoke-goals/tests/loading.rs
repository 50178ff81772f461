//! Names, contradictions, and the files that `FROM` names.

use std::fs;

use crate::common::{errors, errors_with, read_text, valid, valid_with, warnings};
use convoke_goals::agentfile::load::{FileLoader, LoadError, Loader, MemoryLoader, PathContent};
use convoke_goals::agentfile::model::{Agentfile, Persona};
use convoke_goals::agentfile::{Source, read};
use convoke_goals::{Equipment, Workflow};

const SKILL: &str =
    "---\nname: review\ndescription: Reviews code.\nallowed-tools: read grep\n---\n\nLook closely.\n";

fn prompt(file: &Agentfile) -> String {
    match &file.agents[0].persona {
        Persona::Prompt(text) | Persona::Skill { text, .. } => text.template.fill(|_| "?"),
        other => panic!("{other:?}"),
    }
}

fn agent_from(target: &str) -> String {
    format!("NAME n\nAGENT a FROM {target}\nGOAL g \"x\" USING a\nRUN r USING g")
}

#[test]
fn agent_041_undefined_names_are_named() {
    let (_, diagnostics) = read_text("NAME n\nGOAL g \"x\" USING nobody\nRUN r USING g, nothing");
    let messages: Vec<_> = diagnostics.iter().map(|found| found.message.as_str()).collect();
    assert_eq!(messages, ["there is no agent `nobody`", "there is no goal `nothing`"]);
}

#[test]
fn agent_042_name_and_run_are_needed_and_both_are_reported() {
    assert_eq!(errors("GOAL g \"x\"\nRUN r USING g"), ["no-name 1"]);
    assert_eq!(errors("NAME n\nGOAL g \"x\""), ["no-run 2"]);
    assert_eq!(errors("GOAL g \"x\""), ["no-name 1", "no-run 1"]);
    assert_eq!(errors(""), ["no-name 1", "no-run 1"]);
    let (_, diagnostics) = read_text("");
    let messages: Vec<_> = diagnostics.iter().map(|found| found.message.as_str()).collect();
    assert!(messages[0].contains("NAME") && messages[1].contains("RUN"), "{messages:?}");
}

#[test]
fn agent_043_what_a_person_watches_cannot_be_unsupervised() {
    let rest = "AGENT a \"x\" UNSUPERVISED\nGOAL g \"x\" USING a UNSUPERVISED\nRUN r USING g UNSUPERVISED";
    let expected = ["contradiction 3", "contradiction 4", "contradiction 5"];
    assert_eq!(errors(&format!("NAME n\nSUPERVISED HUMAN\n{rest}")), expected);
    valid(&format!("NAME n\nSUPERVISED\n{rest}"));
}

#[test]
fn agent_044_a_prompt_is_the_text_of_its_file() {
    let files = MemoryLoader::default().with("agents/critic.md", "You are a critic.\n");
    let file = valid_with(&agent_from("agents/critic.md"), &files);
    assert!(matches!(file.agents[0].persona, Persona::Prompt(_)));
    assert_eq!(prompt(&file), "You are a critic.\n");
}

#[test]
fn agentcore_213_files_and_folders_become_agents() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    fs::create_dir_all(top.join("work/agents")).unwrap();
    fs::create_dir_all(top.join("kept/review")).unwrap();
    fs::write(top.join("work/agents/critic.md"), "You are a critic.\n").unwrap();
    fs::write(top.join("kept/review/SKILL.md"), SKILL).unwrap();
    let loader = FileLoader::beside(top.join("work/Agentfile")).unwrap().with_skills(top.join("kept"));
    let text = "NAME n\nAGENT critic FROM agents/critic.md\nAGENT skilled FROM review\n\
                GOAL g \"x\" USING critic, skilled\nRUN r USING g";
    let file = valid_with(text, &loader);
    assert_eq!(prompt(&file), "You are a critic.\n");
    let Persona::Skill { skill, text } = &file.agents[1].persona else { panic!("{:?}", file.agents[1]) };
    assert_eq!(skill.folder, top.join("kept/review").to_str().unwrap(), "wherever one stands");
    assert_eq!(skill.allowed_tools.as_deref(), Some(&["read".to_owned(), "grep".to_owned()][..]));
    let told = text.template.fill(|_| "?");
    assert!(told.starts_with("Reviews code.\n\nLook closely."), "{told}");
}

#[test]
fn agentcore_214_what_cannot_be_an_agent() {
    let folder = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("kept/review/SKILL.md", SKILL);
    put("secret.md", "secret");
    put("work/stuff/readme.md", "x");
    put("work/critic.txt", "x");
    let loader = FileLoader::new(folder.path().join("work")).unwrap().with_skills(folder.path().join("kept"));
    valid_with(&agent_from("review"), &loader);
    for (target, error) in [
        ("stuff", "invalid-skill 2"),
        ("nothing", "not-found 2"),
        ("critic.txt", "cannot-load 2"),
        ("missing.md", "not-found 2"),
        // A path is looked for in one place, and only a mere name where skills are kept.
        ("kept/review", "not-found 2"),
        ("./review", "not-found 2"),
        ("../secret.md", "cannot-load 2"),
        ("../kept/../secret.md", "cannot-load 2"),
    ] {
        assert_eq!(errors_with(&agent_from(target), &loader), [error], "{target}");
    }
}

#[test]
fn agentcore_215_a_goal_in_a_file() {
    let text = "NAME n\nINPUT topic\nGOAL g FROM goal.md\nRUN r USING g";
    let file = valid_with(text, &MemoryLoader::default().with("goal.md", "About $topic."));
    assert_eq!(file.goals[0].text.template.fill(|_| "tea"), "About tea.");
    assert_eq!(file.goals[0].text.path.as_deref(), Some("goal.md"));
    assert_eq!(errors_with(text, &MemoryLoader::default()), ["not-found 3"]);
    // Where there are no files beside it at all.
    assert_eq!(errors(text), ["not-found 3"]);
    let (_, diagnostics) = read_text(text);
    assert_eq!(diagnostics.iter().next().unwrap().message, "`goal.md` was not found");
}

#[test]
fn agent_045_a_folder_is_a_skill() {
    let files = MemoryLoader::default()
        .with("skills/review/SKILL.md", SKILL)
        .with("skills/review/scripts/lint.sh", "");
    let file = valid_with(&agent_from("skills/review"), &files);
    let Persona::Skill { skill, .. } = &file.agents[0].persona else { panic!() };
    assert_eq!(skill.name, "review");
    assert_eq!(skill.allowed_tools.as_deref(), Some(&["read".to_owned(), "grep".to_owned()][..]));
    let prompt = prompt(&file);
    assert!(prompt.starts_with("Reviews code.\n\nLook closely."));
    assert!(prompt.contains("- lint.sh"));

    let without = MemoryLoader::default().with("skills/review/SKILL.md", SKILL);
    let file = valid_with(&agent_from("skills/review"), &without);
    assert_eq!(self::prompt(&file), "Reviews code.\n\nLook closely.", "nothing is said of scripts");
}

#[test]
fn skills_are_found_by_name() {
    let files = MemoryLoader::default().with("kept/review/SKILL.md", SKILL).with_skills("kept");
    assert!(matches!(valid_with(&agent_from("review"), &files).agents[0].persona, Persona::Skill { .. }));
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("kept/review")).unwrap();
    fs::create_dir_all(folder.path().join("work")).unwrap();
    fs::write(folder.path().join("kept/review/SKILL.md"), SKILL).unwrap();
    let files = FileLoader::new(folder.path().join("work")).unwrap().with_skills(folder.path().join("kept"));
    assert!(matches!(valid_with(&agent_from("review"), &files).agents[0].persona, Persona::Skill { .. }));
    assert_eq!(errors_with(&agent_from("nothing"), &files), ["not-found 2"]);
}

#[test]
fn agent_047_a_folder_without_a_skill_is_none() {
    let files = MemoryLoader::default().with("stuff/readme.md", "x");
    let (_, diagnostics) = read(&Source::new("x", agent_from("stuff")), &files);
    let error = diagnostics.iter().next().unwrap();
    assert!(error.message.contains("not a valid skill"), "{}", error.message);
}

#[test]
fn agentcore_216_heads_of_skills() {
    let with = |skill: &str| MemoryLoader::default().with("s/SKILL.md", skill);
    for (skill, reason) in [
        ("name: a\n", "must begin with"),
        ("---\nname: a\ndescription: b\n", "must begin with"),
        ("---\nname: [\n---\n", "its head cannot be read: line 1: a `[` or `{` does not end as it begins"),
        ("---\ndescription: b\n---\n", "no `name`"),
        ("---\nname: a\n---\n", "no `description`"),
    ] {
        let (_, diagnostics) = read(&Source::new("x", agent_from("s")), &with(skill));
        let error = diagnostics.iter().next().unwrap();
        assert_eq!(error.code.name(), "invalid-skill");
        assert!(error.message.contains(reason), "{}", error.message);
    }
    valid_with(&agent_from("s"), &with("---\r\nname: s\r\ndescription: b\r\n---\r\nbody"));
}

#[test]
fn agent_048_what_is_not_there_is_not_found() {
    let (_, diagnostics) = read_text(&agent_from("agents/critic.md"));
    let error = diagnostics.iter().next().unwrap();
    assert_eq!(error.message, "`agents/critic.md` was not found");
    assert_eq!(error.help.len(), 1);
    // A mere name may be that of a skill.
    let (_, diagnostics) = read_text(&agent_from("review"));
    let error = diagnostics.iter().next().unwrap();
    assert_eq!(error.message, "`review` was not found");
    assert!(error.help.iter().any(|help| help.text.contains("--skills FOLDER")), "{error:?}");
}

#[test]
fn agent_049_instructions_are_in_md_files() {
    let files = MemoryLoader::default().with("critic.txt", "x");
    let (_, diagnostics) = read(&Source::new("x", agent_from("critic.txt")), &files);
    assert!(diagnostics.iter().next().unwrap().message.contains("must be .md"));
}

#[test]
fn agent_050_a_goal_can_be_in_a_file_of_any_kind() {
    let text = "NAME n\nINPUT topic\nGOAL g FROM goal.txt\nRUN r USING g";
    let file = valid_with(text, &MemoryLoader::default().with("goal.txt", "About $topic."));
    assert_eq!(file.goals[0].text.template.fill(|_| "tea"), "About tea.");
    let (_, diagnostics) = read_text(text);
    let error = diagnostics.iter().next().unwrap();
    assert!(error.message.contains("goal.txt"));
    assert_eq!(Source::new("x", text).position(error.span.start).line, 3);
}

#[test]
fn what_validation_lets_pass_can_be_prepared() {
    let empty = MemoryLoader::default().with("empty.md", " \n");
    assert_eq!(errors_with(&agent_from("empty.md"), &empty), ["missing-text 2"]);
    assert_eq!(errors_with("NAME n\nGOAL g FROM empty.md\nRUN r USING g", &empty), ["missing-text 2"]);
    let long = |length: usize| {
        let name = "n".repeat(length);
        format!("NAME {name}\nAGENT {name} \"x\"\nGOAL {name} \"x\" USING {name}\nRUN {name} USING {name}")
    };
    assert_eq!(errors(&long(201)), ["bad-name 1", "bad-name 2", "bad-name 3", "bad-name 4"]);
    assert!(Workflow::from(&valid(&long(200))).prepare(&Equipment::default()).is_ok());
    let text = "NAME n\nINPUT a-\nAGENT p \"x\" -> b-\nGOAL g- \"${a-}\" -> c-, d USING p\nRUN r USING g-";
    assert_eq!(errors(text), ["bad-name 2", "bad-name 3", "bad-name 4"]);
}

#[test]
fn agent_051_paths_are_relative_to_the_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("agents")).unwrap();
    fs::write(folder.path().join("agents/a.md"), "Hello").unwrap();
    fs::write(folder.path().join("plan.agent"), agent_from("agents/a.md")).unwrap();
    let loader = FileLoader::beside(folder.path().join("plan.agent")).unwrap();
    assert_eq!(prompt(&valid_with(&agent_from("agents/a.md"), &loader)), "Hello");
}

#[test]
fn agent_053_limits_and_variables_are_checked_before_anything_runs() {
    assert_eq!(errors("NAME n\nCONVERGE c \"x\" WITHIN 0\nRUN r USING c"), ["bad-value 2"]);
    assert_eq!(errors("NAME n\nCONVERGE c \"x\" WITHIN $max\nRUN r USING c"), ["undefined-variable 2"]);
    assert_eq!(errors("NAME n\nGOAL g \"x $never\"\nRUN r USING g"), ["undefined-variable 2"]);
    assert_eq!(
        errors("NAME n\nINPUT m DEFAULT x\nCONVERGE c \"x\" WITHIN $m\nRUN r USING c"),
        ["bad-value 2"]
    );
    assert_eq!(errors("NAME n\nINPUT m:bool\nCONVERGE c \"x\" WITHIN $m\nRUN r USING c"), ["bad-value 3"]);
}

#[test]
fn what_lies_outside_of_the_folder_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    fs::write(folder.path().join("secret.md"), "secret").unwrap();
    fs::write(inner.join("ok.md"), "fine").unwrap();
    let loader = FileLoader::new(&inner).unwrap();
    let outside = |path: &str| matches!(loader.find(path), Err(LoadError::Outside { .. }));
    assert!(outside("../secret.md"));
    assert!(outside("../missing.md"));
    assert!(outside("/etc/passwd"));
    assert_eq!(loader.find("./x/../ok.md"), Ok(PathContent::Nothing));
    let absolute = inner.canonicalize().unwrap().join("ok.md");
    assert_eq!(loader.find(absolute.to_str().unwrap()), Ok(PathContent::Text("fine".to_owned())));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.path().join("secret.md"), inner.join("link.md")).unwrap();
        std::os::unix::fs::symlink(inner.join("ok.md"), inner.join("good.md")).unwrap();
        assert!(outside("link.md"));
        assert_eq!(loader.find("good.md"), Ok(PathContent::Text("fine".to_owned())));
    }
    assert_eq!(errors_with(&agent_from("../secret.md"), &loader), ["cannot-load 2"]);
    fs::write(inner.join("image.md"), [0xff, 0xfe, 0x00]).unwrap();
    assert_eq!(errors_with(&agent_from("image.md"), &loader), ["cannot-load 2"]);
}

#[test]
fn quoted_paths_may_have_spaces() {
    let files = MemoryLoader::default().with("my agents/a b.md", "Hello");
    assert_eq!(prompt(&valid_with(&agent_from("\"my agents/a b.md\""), &files)), "Hello");
}

#[test]
fn agentcore_040_046_unknown_variables_in_other_files_are_left_alone_with_a_warning() {
    let files = MemoryLoader::default().with("a.md", "Run echo $HOME and $topic");
    let source = Source::new("x", format!("{}\nINPUT topic", agent_from("a.md")));
    let (file, diagnostics) = read(&source, &files);
    assert_eq!(prompt(&file.unwrap()), "Run echo $HOME and ?");
    let codes: Vec<_> = diagnostics.iter().map(|found| found.code.name()).collect();
    assert_eq!(codes, ["unknown-in-file"]);
    let files = MemoryLoader::default().with("g.md", "$unknown rest");
    let file = valid_with("NAME n\nGOAL g FROM g.md\nRUN r USING g", &files);
    assert_eq!(file.goals[0].text.template.fill(|_| "?"), "$unknown rest");
}

#[test]
fn an_agentfile_can_be_an_agent() {
    let inner =
        "NAME inner\nINPUT topic\nAGENT w FROM helper.md\nGOAL i \"About $topic\" USING w\nRUN r USING i";
    let files = MemoryLoader::default().with("sub/inner.agent", inner).with("sub/helper.md", "Help");
    let file = valid_with(&agent_from("sub/inner.agent"), &files);
    let Persona::Workflow { file: nested, task, .. } = &file.agents[0].persona else { panic!() };
    assert_eq!((nested.name.as_str(), task.as_str()), ("inner", "topic"));

    let two = "NAME inner\nINPUT a\nINPUT b\nGOAL i \"$a $b\"\nRUN r USING i";
    let files = MemoryLoader::default().with("inner.agent", two);
    assert_eq!(errors_with(&agent_from("inner.agent"), &files), ["cannot-load 2"]);
    let broken = MemoryLoader::default().with("inner.agent", "NAME");
    assert_eq!(errors_with(&agent_from("inner.agent"), &broken), ["cannot-load 2"]);
}

#[test]
fn what_is_in_a_package_sees_nothing_else() {
    // A loader that opens packages shows them as folders.
    let inside = |statements: &str| {
        let inner = format!("NAME inner\nINPUT task\n{statements}\nRUN r USING i");
        MemoryLoader::default()
            .with("p.agent/Agentfile", inner)
            .with("/secret.md", "$task")
            .with("kept/review/SKILL.md", SKILL)
            .with_skills("kept")
    };
    for (statements, found) in [
        ("GOAL i FROM /secret.md", "cannot-load 2"),
        ("AGENT a FROM /secret.md\nGOAL i \"$task\" USING a", "cannot-load 2"),
        ("AGENT a FROM review\nGOAL i \"$task\" USING a", "cannot-load 2"),
    ] {
        assert_eq!(errors_with(&agent_from("p.agent"), &inside(statements)), [found], "{statements}");
    }
    valid_with(&agent_from("p.agent"), &inside("GOAL i \"$task\""));
}

#[test]
fn agentfiles_cannot_use_each_other_in_a_circle() {
    let inner = |other: &str| format!("{}\nINPUT task", agent_from(other).replace("\"x\"", "\"$task\""));
    let files = MemoryLoader::default().with("a.agent", inner("b.agent")).with("b.agent", inner("a.agent"));
    assert_eq!(errors_with(&agent_from("a.agent"), &files), ["circular 2"]);
}

#[test]
fn what_is_not_used_is_said() {
    let text = "NAME n\nINPUT i\nAGENT a \"x\"\nGOAL g \"x\"\nGOAL h \"x\"\nRUN r USING g";
    assert_eq!(warnings(text), ["unused-input 2", "unused-agent 3", "unused-goal 5"]);
    assert_eq!(
        warnings("NAME n\nAGENT a \"x\"\nGOAL g \"x\" USING a, a\nRUN r USING g"),
        ["repeated-agent 3"]
    );
    assert_eq!(errors("NAME n\nAGENT a \"\"\nGOAL g \"x\" USING a\nRUN r USING g"), ["missing-text 2"]);
    assert_eq!(warnings("NAME n\nGOAL g \"x\"\n  SUPERVISED\nRUN r USING g"), ["stray-modifier 3"]);
    let weaker = "NAME n\nGOAL g \"x\" UNSUPERVISED\nRUN r USING g SUPERVISED HUMAN";
    assert_eq!(warnings(weaker), ["no-effect 2"]);
}
