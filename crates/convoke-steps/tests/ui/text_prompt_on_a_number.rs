//! The text of an answer goes into a text (gains 17).

use convoke_steps::prompt;

struct Review {
    score: u32,
}

fn main() {
    let _ = prompt("judge", |_: &Review| "How good is it?").text(|review| &mut review.score);
}
