//! Answers that do not count, and why.

use std::time::Duration;

use convoke_core::{Answer, IdempotencyKey, Path, PendingQuestion, Question, Timestamp};

fn pending(question: Question) -> PendingQuestion {
    let (run, path) = ("r".parse().unwrap(), Path::from("main/ask"));
    let id = IdempotencyKey::derive(&run, &path, 0);
    PendingQuestion { run, id, path, asked: Timestamp::now(), question }
}

fn objection(question: &PendingQuestion, answer: Answer, before: &[Answer]) -> String {
    question.objection_to(&answer, before).unwrap_or_default()
}

#[test]
fn two_different_people_must_approve_where_two_are_asked_for() {
    let question = pending(Question::approval("May it?").quorum(2).audience(["ann", "ben", "cid"]));
    let (ann, ben) = (|| Answer::approve().by("ann"), || Answer::approve().by("ben"));
    assert_eq!(objection(&question, ann(), &[]), "");
    assert_eq!(objection(&question, ann(), &[ben()]), "");
    let said = objection(&question, ann(), &[ben(), ann()]);
    assert_eq!(said, "`ann` has approved already, and 2 different people must");
    assert_eq!(
        objection(&question, Answer::reject("no").by("ann"), &[ann()]),
        "",
        "one may think better of it"
    );
    assert_eq!(objection(&question, ann(), &[Answer::reject("no").by("ann")]), "");
    assert_eq!(
        objection(&question, ann(), &[Answer::approve().by("dan")]),
        "",
        "who is not asked does not count"
    );
    let one = pending(Question::approval("May it?"));
    assert_eq!(objection(&one, ann(), &[ann()]), "", "where one is enough nobody is told to find another");
}

#[test]
fn who_is_not_asked_comes_too_late_or_says_what_does_not_fit_is_told_so() {
    let question =
        pending(Question::approval("May it?").audience(["ann"]).expires_after(Duration::from_secs(60)));
    let ben = Answer::approve().by("ben");
    assert_eq!(objection(&question, ben, &[]), "the question is for ann, and `ben` has answered");
    let nobody = objection(&question, Answer::approve(), &[]);
    assert!(nobody.contains("somebody who does not say who they are"), "{nobody}");
    let mut late = Answer::approve().by("ann");
    late.at = question.asked + Duration::from_secs(60);
    assert_eq!(objection(&question, late.clone(), &[]), "the time for an answer was over");
    late.at = question.asked + Duration::from_secs(59);
    assert_eq!(objection(&question, late, &[]), "");
    assert_ne!(objection(&question, Answer::choose("x").by("ann"), &[]), "");
}
