//! The process that is killed.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use convoke::core::store::{
    Batch, DueRun, Lease, Mail, NewMail, NewRun, OnBusy, PostReceipt, Retention, RunQuery, RunRecord,
    StoreError, Ticket,
};
use convoke::core::{BoxFuture, Digest, Entry, PendingQuestion, Timestamp};
use convoke::prelude::*;
use futures_util::FutureExt;
use futures_util::stream::BoxStream;

use crate::interceptors::{Asking, Labelling};
use crate::points::{die, is_due, point, report};
use crate::workflow::{Report, build, runtime_model};
use crate::world::World;

/// Names the folder of the trial.
pub(crate) const FOLDER: &str = "CONVOKE_KILL_FOLDER";

pub(crate) fn run_if_asked() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let folder = Path::new(&folder);
    let world = World::at(&folder.join("world"));
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    tokio.expect("a runtime").block_on(async {
        let store = Arc::new(SqliteStore::open(folder.join("runs.db")).expect("the store opens"));
        let runtime = Runtime::builder()
            .store(Watched(store))
            .model(runtime_model(&world))
            .patience(Duration::ZERO)
            .interceptor(Labelling)
            .interceptor(Asking)
            .build();
        let run: RunId = "trial".parse().expect("a valid id");
        let outcome = runtime.start(&build(&world), Report::default()).id(run).await.expect("the run begins");
        match outcome.status {
            RunStatus::Completed => {
                println!("DONE {}", serde_json::to_string(&outcome.state).expect("plain data"));
            }
            RunStatus::Suspended => println!("SUSPENDED"),
            other => println!("ENDED {other}: {:?}", outcome.error),
        }
    });
    report();
}

/// A store with points before and after every append.
struct Watched(Arc<SqliteStore>);

impl Store for Watched {
    fn append(&self, lease: &Lease, batch: Batch) -> Ticket {
        point("before a journal append");
        let ticket = self.0.append(lease, batch);
        if is_due("after a journal append") {
            let (done, wait) = std::sync::mpsc::channel();
            let written = ticket.clone();
            std::thread::spawn(move || {
                let _ = done
                    .send(tokio::runtime::Builder::new_current_thread().build().map(|r| r.block_on(written)));
            });
            let _ = wait.recv();
            die();
        }
        ticket
    }

    fn create(&self, run: NewRun) -> BoxFuture<'_, Result<Lease, StoreError>> {
        self.0.create(run)
    }

    fn claim<'a>(&'a self, run: &'a RunId, busy: OnBusy) -> BoxFuture<'a, Result<Lease, StoreError>> {
        self.0.claim(run, busy)
    }

    fn release(&self, lease: &Lease) {
        self.0.release(lease);
    }

    fn run<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<RunRecord>, StoreError>> {
        self.0.run(run)
    }

    fn entries<'a>(
        &'a self,
        run: &'a RunId,
        from: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StoreError>> {
        self.0.entries(run, from, limit)
    }

    fn blob_digests<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Vec<Digest>, StoreError>> {
        self.0.blob_digests(run)
    }

    fn blobs<'a>(
        &'a self,
        run: &'a RunId,
        digests: &'a [Digest],
    ) -> BoxFuture<'a, Result<HashMap<Digest, convoke::core::store::Bytes>, StoreError>> {
        self.0.blobs(run, digests).boxed()
    }

    fn runs<'a>(&'a self, query: &'a RunQuery) -> BoxFuture<'a, Result<Vec<RunRecord>, StoreError>> {
        self.0.runs(query)
    }

    fn questions<'a>(
        &'a self,
        run: Option<&'a RunId>,
    ) -> BoxFuture<'a, Result<Vec<PendingQuestion>, StoreError>> {
        self.0.questions(run)
    }

    fn post<'a>(&'a self, run: &'a RunId, mail: NewMail) -> BoxFuture<'a, Result<PostReceipt, StoreError>> {
        self.0.post(run, mail)
    }

    fn mail<'a>(
        &'a self,
        run: &'a RunId,
        channel: &'a str,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Mail>, StoreError>> {
        self.0.mail(run, channel, after, limit)
    }

    fn mail_by_key<'a>(
        &'a self,
        run: &'a RunId,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Mail>, StoreError>> {
        self.0.mail_by_key(run, key)
    }

    fn due(&self, by: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<DueRun>, StoreError>> {
        self.0.due(by, limit)
    }

    fn watch(&self, run: Option<&RunId>) -> BoxStream<'static, ()> {
        self.0.watch(run)
    }

    fn follow(&self, run: &RunId) -> BoxStream<'static, ()> {
        self.0.follow(run)
    }

    fn delete<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.0.delete(run)
    }

    fn purge<'a>(&'a self, retention: &'a Retention) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.0.purge(retention)
    }
}
