//! Variables: what they are, and that they have a value when they are used.

use crate::common::{errors, only_error, valid, warnings};
use convoke_goals::agentfile::Piece;
use serde_json::json;

#[test]
fn agent_056_variables_are_replaced() {
    let file = valid(
        "NAME n\nINPUT name\nINPUT count\nGOAL g \"Hello $name, you have $count items\"\nRUN r USING g",
    );
    let text = file.goals[0].text.template.fill(|id| match file.variable(*id).name.as_str() {
        "name" => "Ann",
        _ => "3",
    });
    assert_eq!(text, "Hello Ann, you have 3 items");
}

#[test]
fn agent_060_names_are_read_whole_and_values_never() {
    let file = valid("NAME n\nINPUT topic\nINPUT topic_name\nGOAL g \"$topic_name: $topic\"\nRUN r USING g");
    let text = file.goals[0].text.template.fill(|id| match file.variable(*id).name.as_str() {
        "topic" => "costs $topic_name",
        _ => "N",
    });
    assert_eq!(text, "N: costs $topic_name");
}

#[test]
fn names_with_hyphens_are_read_as_long_as_they_exist() {
    let file = valid(
        "NAME n\nINPUT days\nGOAL security-scan \"x\"\nGOAL g \"$security-scan in a $days-day ${security-scan}-run\"\n\
         RUN r USING security-scan, g",
    );
    let names: Vec<_> = file.goals[1]
        .text
        .template
        .pieces()
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Variable(id) => format!("<{}>", file.variable(*id).name),
        })
        .collect();
    assert_eq!(names.concat(), "<security-scan> in a <days>-day <security-scan>-run");
}

#[test]
fn agentcore_129_a_dollar_is_written_twice() {
    let file = valid("NAME n\nGOAL g \"A budget of $100 or $$HOME, $(ls), $\"\nRUN r USING g");
    assert_eq!(file.goals[0].text.template.fill(|_| "?"), "A budget of $100 or $HOME, $(ls), $");
}

#[test]
fn agentcore_120_unknown_variables_are_not_declared() {
    let text = "NAME n\nAGENT a \"Know $unknown\"\nGOAL g \"x $missing\" USING a\nRUN r USING g";
    assert_eq!(errors(text), ["undefined-variable 2", "undefined-variable 3"]);
}

#[test]
fn the_place_of_a_variable_is_known_also_behind_escapes() {
    for text in ["GOAL g \"\\\"a\\\"\\n $nope\"", "GOAL g \"\"\"\na\n $nope\"\"\"", "GOAL g \"\\q $nope\""] {
        let text = format!("NAME n\n{text}\nRUN r USING g");
        assert_eq!(only_error(&text).span.of(&text), "$nope");
    }
}

#[test]
fn agentcore_121_outputs_of_goals_are_variables() {
    valid("NAME n\nGOAL p \"x\" -> plan\nGOAL g \"Do $plan, see $p\"\nRUN r USING p, g");
}

#[test]
fn agentcore_126_values_are_made_before_they_are_used() {
    let goals = "NAME n\nGOAL p \"x\" -> plan\nGOAL g \"Do $plan\"\n";
    assert_eq!(errors(&format!("{goals}RUN r USING g, p")), ["used-too-early 3"]);
    assert_eq!(errors(&format!("{goals}RUN r USING g\nRUN s USING p")), ["used-too-early 3"]);
    assert_eq!(errors(&format!("{goals}RUN r USING g")), ["used-too-early 3"]);
    valid(&format!("{goals}RUN s USING p\nRUN r USING g"));
    assert_eq!(
        errors("NAME n\nCONVERGE c \"Improve $draft\" -> draft WITHIN 3\nRUN r USING c"),
        ["used-too-early 2"]
    );
    valid("NAME n\nINPUT draft\nCONVERGE c \"Improve $draft\" -> draft WITHIN 3\nRUN r USING c");
}

#[test]
fn agents_need_their_values_too() {
    let text = "NAME n\nAGENT a \"Judge $plan\"\nGOAL p \"x\" -> plan\nGOAL g \"y\" USING a\n";
    assert_eq!(errors(&format!("{text}RUN r USING g, p")), ["used-too-early 2"]);
    valid(&format!("{text}RUN r USING p, g"));
}

#[test]
fn agentcore_127_outputs_of_agents_are_no_variables() {
    let text = "NAME n\nAGENT a \"x\" -> findings\nGOAL g \"y\" USING a\nGOAL h \"Use $findings and $a and $r\"\nRUN r USING g, h";
    assert_eq!(errors(text), ["not-a-variable 4", "not-a-variable 4", "not-a-variable 4"]);
}

#[test]
fn agentcore_128_a_goal_with_outputs_can_be_run_twice() {
    valid("NAME n\nGOAL g \"x\" -> out\nRUN r USING g\nRUN s USING g, g");
}

#[test]
fn goals_in_parallel_do_not_see_each_other() {
    let goals = "NAME n\nGOAL a \"x\" -> one\nGOAL b \"y $one\"\n";
    assert_eq!(errors(&format!("{goals}RUN r USING a, b PARALLEL")), ["used-too-early 3"]);
    valid(&format!("{goals}RUN r PARALLEL USING a\nRUN s USING b"));
    assert_eq!(errors("NAME n\nGOAL a \"x\"\nRUN r PARALLEL USING a, a"), ["contradiction 3"]);
    let both = "NAME n\nINPUT yes:bool\nGOAL a \"x\" -> one{}\nGOAL b \"y\" -> one{}\nRUN r USING a, b";
    let with = |left: &str, right: &str| both.replacen("{}", left, 1).replacen("{}", right, 1);
    assert_eq!(errors(&format!("{} PARALLEL", with("", ""))), ["contradiction 5"]);
    assert_eq!(errors(&format!("{} PARALLEL", with(" WHEN $yes", ""))), ["contradiction 5"]);
    valid(&format!("{} PARALLEL", with(" WHEN $yes", " WHEN NOT $yes")));
    valid(&with("", ""));
}

const KINDS: &str = "NAME n\nGOAL sort \"x\" -> kind:bug|wish|other, size:int\n";

#[test]
fn what_a_condition_may_skip_may_have_no_value() {
    let text = format!(
        "{KINDS}GOAL fix \"x\" -> patch WHEN $kind IS bug\nGOAL tell \"See $patch\"\nRUN r USING sort, fix, tell"
    );
    assert_eq!(errors(&text), ["used-too-early 4"]);
    for condition in [
        "$kind IS bug",
        "$kind IN bug AND $size > 3",
        "NOT $flag AND $kind IS NOT wish AND $kind IS NOT other",
    ] {
        valid(&format!(
            "{KINDS}INPUT flag:bool\nGOAL fix \"x\" -> patch WHEN $kind IS bug\n\
             GOAL tell \"See $patch $flag\" WHEN {condition}\nRUN r USING sort, fix, tell"
        ));
    }
}

#[test]
fn alternatives_that_leave_no_gap_make_a_value_in_any_case() {
    let goals = |second: &str| {
        format!(
            "{KINDS}GOAL fix \"x\" -> plan WHEN $kind IS bug\nGOAL build \"x\" -> plan WHEN {second}\n\
             GOAL tell \"See $plan\"\nRUN r USING sort, fix, build, tell"
        )
    };
    valid(&goals("$kind IS NOT bug"));
    valid(&goals("$kind IN wish, other"));
    valid(&goals("$kind IS wish OR $kind IS other"));
    assert_eq!(errors(&goals("$kind IS wish")), ["used-too-early 5"]);
    assert_eq!(warnings(&goals("$kind IS NOT bug")), [""; 0]);
}

#[test]
fn steps_have_conditions_too() {
    let text = |tell: &str| {
        format!(
            "{KINDS}GOAL fix \"x\" -> patch\nGOAL tell \"See $patch\"\nRUN a USING sort\nRUN b USING fix WHEN $kind IS bug\nRUN c USING tell{tell}"
        )
    };
    valid(&text(" WHEN $kind IS bug"));
    assert_eq!(errors(&text("")), ["used-too-early 4"]);
}

#[test]
fn conditions_look_only_at_what_is_there() {
    let text = "NAME n\nGOAL a \"x\" -> ok:bool\nGOAL b \"x\" WHEN $ok\nRUN r USING b, a";
    assert_eq!(errors(text), ["used-too-early 3"]);
    let guarded = format!(
        "{KINDS}GOAL rate \"x\" -> severity:int WHEN $kind IS bug\n\
         GOAL fix \"x\" WHEN $kind IS bug AND $severity >= 3\nRUN r USING sort, rate, fix"
    );
    valid(&guarded);
    assert_eq!(errors(&guarded.replace("$kind IS bug AND $severity", "$severity")), ["used-too-early 4"]);
}

#[test]
fn conditions_fit_the_types_of_their_variables() {
    let goal = |condition: &str| {
        format!(
            "{KINDS}INPUT key SECRET\nINPUT tags:[string]\nGOAL g \"$key $tags\" WHEN {condition}\nRUN r USING sort, g"
        )
    };
    for condition in [
        "$kind IS bgu",
        "$size IS big",
        "$kind > 3",
        "$size",
        "$kind CONTAINS bug",
        "$key IS x",
        "$nope IS x",
        "kind IS bug",
        "$kind = bug",
        "$kind is bug",
    ] {
        assert_eq!(errors(&goal(condition)).len(), 1, "{condition}");
    }
    for condition in
        ["$size <= 2.5", "$tags CONTAINS urgent", "$sort CONTAINS \"a word\"", "$size NOT IN 1, 2"]
    {
        valid(&goal(condition));
    }
}

#[test]
fn conditions_can_be_evaluated() {
    let file = valid(&format!(
        "{KINDS}GOAL g \"x\" WHEN $kind IN bug, wish AND $size > 3 OR $kind IS other\nRUN r USING sort, g"
    ));
    let condition = file.goals[1].when.as_ref().unwrap();
    for (kind, size, expected) in [("bug", 4, true), ("bug", 3, false), ("other", 0, true), ("wish", 9, true)]
    {
        let (kind, size) = (json!(kind), json!(size));
        let holds = condition.holds(|id| match file.variable(*id).name.as_str() {
            "kind" => Some(&kind),
            "size" => Some(&size),
            _ => None,
        });
        assert_eq!(holds, expected, "{kind} {size}");
    }
}

#[test]
fn two_values_for_one_variable_are_noticed() {
    let text = "NAME n\nGOAL a \"x\" -> out\nGOAL b \"x\" -> out\nRUN r USING a, b";
    assert_eq!(warnings(text), ["shadowed-variable 3"]);
    let typed = "NAME n\nGOAL a \"x\" -> out:int\nGOAL b \"x\" -> out\nRUN r USING a, b";
    assert_eq!(errors(typed), ["conflicting-types 3"]);
    assert_eq!(warnings("NAME n\nGOAL out \"x\" -> out\nRUN r USING out"), [""; 0]);
}
