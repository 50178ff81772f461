//! All steps of a chain work on one type of state.

use convoke_core::Error;
use convoke_steps::{Chain, func};

struct Cat;
struct Dog;

fn main() {
    let bark = func("bark", |_: &mut Dog| Ok::<_, Error>(()));
    let _ = Chain::<Cat>::new("meow").then(bark);
}
