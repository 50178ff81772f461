//! Observers.

use std::sync::{Arc, Mutex};

use crate::common::{Trail, add, run, run_on};
use convoke_core::{Event, EventKind, Observer, Runtime, RuntimeBuilder};

#[tokio::test]
async fn agent_084_observers_are_told_in_the_order_they_were_added() {
    struct Named(&'static str, Arc<Mutex<Vec<&'static str>>>);
    impl Observer for Named {
        fn observe(&self, event: &Event) {
            if matches!(event.kind, EventKind::RunStarted { .. }) {
                self.1.lock().unwrap().push(self.0);
            }
        }
    }
    let told = Arc::new(Mutex::new(Vec::new()));
    let observers = ["first", "second", "third"].map(|name| Named(name, Arc::clone(&told)));
    let runtime = observers.into_iter().fold(Runtime::builder(), RuntimeBuilder::observer).build();
    run_on(&runtime, add("a"), Trail::default()).await.completed().unwrap();
    assert_eq!(*told.lock().unwrap(), ["first", "second", "third"]);
    // Nobody listens: nothing happens.
    run(add("a")).await.completed().unwrap();
}
