//! The threads that read.
//!
//! Each has a connection of its own that cannot write, opened when it is first needed. A query sees everything that
//! was durable when it began.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use convoke_core::StoreError;
use rusqlite::Connection;

use super::failure::{Fault, explain, stopped};
use super::open;
use super::promise::promise;
use super::traffic::Traffic;

/// So many queries can be under way at once.
const THREADS: usize = 3;

type Query = Box<dyn FnOnce(Result<&Connection, StoreError>) + Send>;

/// A few threads that answer queries.
pub(super) struct Readers {
    place: Arc<str>,
    /// Not the writer's: nobody looks out for the end of a query.
    traffic: Arc<Traffic>,
    queries: Option<Sender<Query>>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    pub(super) fn start(path: &Path, place: &Arc<str>) -> std::io::Result<Self> {
        let (sender, queries) = channel();
        let queries = Arc::new(Mutex::new(queries));
        let threads = (0..THREADS)
            .map(|_| {
                let (path, place, queries) = (path.to_owned(), Arc::clone(place), Arc::clone(&queries));
                std::thread::Builder::new()
                    .name("convoke-store-reader".to_owned())
                    .spawn(move || read(&path, &place, &queries))
            })
            .collect::<std::io::Result<_>>()?;
        Ok(Self { place: Arc::clone(place), traffic: Arc::default(), queries: Some(sender), threads })
    }

    /// Asks the database something.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = promise(&self.traffic);
        let place = Arc::clone(&self.place);
        let query: Query = Box::new(move |connection| {
            let result =
                connection.and_then(|connection| query(connection).map_err(|fault| fault.at(&place)));
            reply.keep(result);
        });
        if let Some(queries) = &self.queries {
            // If all threads are gone the query is dropped, and its answer never comes.
            let _ = queries.send(query);
        }
        answer.await.unwrap_or_else(|| Err(stopped(&self.place)))
    }
}

fn read(path: &Path, place: &str, queries: &Mutex<Receiver<Query>>) {
    let mut connection = None;
    loop {
        let query = queries.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(query) = query else { return };
        if connection.is_none() {
            match open::to_read(path) {
                Ok(opened) => connection = Some(opened),
                Err(error) => {
                    query(Err(explain(place, &error)));
                    continue;
                }
            }
        }
        if let Some(connection) = &connection {
            query(Ok(connection));
        }
    }
}

impl Readers {
    /// Ends the threads and closes their connections.
    pub(super) fn stop(&mut self) {
        self.queries = None;
        for thread in self.threads.drain(..) {
            // A query's last wake-up may run the code that drops the store, on the reader's own thread.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}
