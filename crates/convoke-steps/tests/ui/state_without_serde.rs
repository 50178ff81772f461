//! A state is plain data that can be stored and read back.

use convoke_core::{Error, Runtime, Workflow};
use convoke_steps::func;

struct Order {
    cents: u64,
}

fn main() {
    let pay = func("pay", |order: &mut Order| {
        order.cents = 0;
        Ok::<_, Error>(())
    });
    let workflow = Workflow::new(pay);
    let _ = Runtime::new().start(&workflow, Order { cents: 100 });
}
