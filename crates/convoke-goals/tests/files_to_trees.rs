//! Compiling an Agentfile into a tree.

use crate::common::{valid, valid_with};
use convoke_goals::agentfile::load::MemoryLoader;
use convoke_goals::{Equipment, Goal, SecurityMode, Sequence, Workflow};

fn main_with(goals: impl IntoIterator<Item = Goal>) -> Workflow {
    Workflow::new("w").sequence(goals.into_iter().fold(Sequence::new("main"), Sequence::goal))
}

#[test]
fn agentcore_213_218_files_become_trees_with_all_they_name() {
    let skill = "---\nname: s\ndescription: Sums up.\nallowed-tools: read grep\n---\nBe brief.\n";
    let files = MemoryLoader::default()
        .with("critic.md", "You review $topic for $unknown.")
        .with("goal.md", "Look at $topic.")
        .with("s/SKILL.md", skill)
        .with("sub.agent", "NAME sub\nINPUT task\nGOAL g \"$task\"\nRUN main USING g\n");
    let file = valid_with(
        "NAME w\nINPUT topic\nAGENT critic FROM critic.md\nAGENT sum FROM s\nAGENT sub FROM sub.agent\n\
         GOAL look FROM goal.md USING critic, sum, sub\nRUN main USING look",
        &files,
    );
    let tree = Workflow::from(&file);
    let prepared = tree.prepare(&Equipment::default()).unwrap_or_else(|problems| panic!("{problems}"));
    // Tools may be there another time: that they are not is said, and is no reason to refuse.
    let found: Vec<String> = prepared.warnings().iter().map(ToString::to_string).collect();
    let unknown = |tool: &str| {
        let of_the_skill =
            found.iter().filter(|warning| warning.starts_with("agent `sum` in `w/main/look`: "));
        of_the_skill.filter(|warning| warning.contains(&format!("no tool is called `{tool}`"))).count()
    };
    assert_eq!((found.len(), unknown("read"), unknown("grep")), (2, 1, 1), "{found:?}");
    let outline = prepared.outline();
    let look = &outline.children[0].children[0];
    let agents: Vec<&str> = look.children.iter().map(|child| child.name.as_str()).collect();
    assert_eq!(agents, ["critic", "sum", "sub"]);
    assert_eq!(look.children[2].children[0].name, "sub");
}

#[test]
fn agentcore_217_the_smallest_file_needs_nothing_and_any_mode_will_do() {
    let digest = |security: &str| {
        let file = valid(&format!("NAME w\n{security}GOAL g \"x\"\nRUN main USING g"));
        let prepared = Workflow::from(&file).prepare(&Equipment::default()).unwrap();
        assert_eq!(prepared.warnings(), []);
        prepared.digest()
    };
    let plain = || main_with([Goal::new("g", "x")]);
    let built = |tree: Workflow| tree.prepare(&Equipment::default()).unwrap().digest();
    assert_eq!(digest(""), built(plain()));
    for (text, mode) in [
        ("SECURITY default\n", SecurityMode::Default),
        ("SECURITY paranoid\n", SecurityMode::Paranoid),
        ("SECURITY research \"our lab\"\n", SecurityMode::Research { scope: "our lab".into() }),
    ] {
        assert_eq!(digest(text), built(plain().security(mode)), "{text}");
    }
    assert_ne!(digest("SECURITY research \"our lab\"\n"), digest(""));
}
