//! Whoever joins branches says what becomes of those that are not needed any more.

use convoke_steps::{Join, Parallel};

fn main() {
    let _ = Parallel::<String>::builder("both", Join::all());
}
