//! The reader threads.
//!
//! Each has a connection of its own that cannot write. A query sees everything that was durable when it began.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use convoke_core::StoreError;
use rusqlite::Connection;

use super::failure::{Fault, explain, stopped};
use super::glance::glance;
use super::open;
use super::promise::promise;
use super::wait_mode::WaitState;

/// So many queries can be under way at once.
const THREADS: usize = 3;

type Query = Box<dyn FnOnce(&mut ReadSource) + Send>;

/// A few threads that answer queries.
pub(super) struct Readers {
    place: Arc<str>,
    /// Not the writer's: nobody spins until the end of a query.
    waits: Arc<WaitState>,
    queries: Option<Sender<Query>>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    pub(super) fn start(source: &ReadSource) -> std::io::Result<Self> {
        let (sender, queries) = channel();
        let queries = Arc::new(Mutex::new(queries));
        let threads = (0..THREADS)
            .map(|_| {
                let (source, queries) = (source.another(), Arc::clone(&queries));
                std::thread::Builder::new()
                    .name("convoke-store-reader".to_owned())
                    .spawn(move || read(source, &queries))
            })
            .collect::<std::io::Result<_>>()?;
        Ok(Self { place: Arc::clone(&source.place), waits: Arc::default(), queries: Some(sender), threads })
    }

    /// Asks the database something.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        query: impl Fn(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = promise(&self.waits);
        let query: Query = Box::new(move |source| reply.keep(source.ask(&query)));
        if let Some(queries) = &self.queries {
            // If all threads are gone the query is dropped, and its answer never comes.
            let _ = queries.send(query);
        }
        answer.await.unwrap_or_else(|| Err(stopped(&self.place)))
    }
}

fn read(mut source: ReadSource, queries: &Mutex<Receiver<Query>>) {
    loop {
        let query = queries.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(query) = query else { return };
        query(&mut source);
    }
}

/// Where a thread reads.
pub(super) struct ReadSource {
    path: PathBuf,
    place: Arc<str>,
    way: ReadMode,
}

enum ReadMode {
    /// Through a connection that is kept, opened when it is first needed. The writer of this handle has the file open too.
    Lasting(Option<Connection>),
    /// Each time anew, leaving no trace.
    Fleeting,
}

impl ReadSource {
    /// A file that is open anyway.
    pub(super) fn lasting(path: &Path, place: &Arc<str>) -> Self {
        Self { path: path.to_owned(), place: Arc::clone(place), way: ReadMode::Lasting(None) }
    }

    /// A file that may be read and nothing else.
    pub(super) fn fleeting(path: &Path, place: &Arc<str>) -> Self {
        Self { way: ReadMode::Fleeting, ..Self::lasting(path, place) }
    }

    fn another(&self) -> Self {
        match self.way {
            ReadMode::Lasting(_) => Self::lasting(&self.path, &self.place),
            ReadMode::Fleeting => Self::fleeting(&self.path, &self.place),
        }
    }

    fn ask<T>(&mut self, query: &dyn Fn(&Connection) -> Result<T, Fault>) -> Result<T, StoreError> {
        match &mut self.way {
            ReadMode::Lasting(connection) => {
                if connection.is_none() {
                    *connection =
                        Some(open::to_read(&self.path).map_err(|error| explain(&self.place, &error))?);
                }
                match connection {
                    Some(connection) => query(connection).map_err(|fault| fault.at(&self.place)),
                    None => Err(stopped(&self.place)),
                }
            }
            ReadMode::Fleeting => glance(&self.path, &self.place, query),
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
