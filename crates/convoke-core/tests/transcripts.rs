//! Conversations that go on from others.

use convoke_core::{Message, Transcript};

#[test]
fn what_came_after_an_earlier_conversation_is_known() {
    let mut talk = Transcript::from("hello");
    let before = talk.clone();
    assert_eq!(talk.added_to(&before), Some(vec![]));
    talk.extend([Message::assistant("hi"), Message::user("bye")]);
    let added: Vec<String> = talk.added_to(&before).unwrap().into_iter().map(Message::text).collect();
    assert_eq!(added, ["hi", "bye"]);
    assert_eq!(talk.added_to(&Transcript::new()).map(|all| all.len()), Some(3));
    assert_eq!(before.added_to(&talk), None);
    assert_eq!(talk.added_to(&Transcript::from("good day")), None);
}
