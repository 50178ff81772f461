//! The threads of one handle. They end with it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use convoke_core::StoreError;

use super::job::Job;
use super::reader::Readers;
use super::traffic::Traffic;
use super::writer::Writer;

/// One writer and some readers.
pub(super) struct Threads {
    pub(super) path: PathBuf,
    pub(super) place: Arc<str>,
    pub(super) traffic: Arc<Traffic>,
    pub(super) readers: Readers,
    jobs: Option<Sender<Box<dyn Job>>>,
    writer: Option<JoinHandle<()>>,
}

impl Threads {
    /// Starts them.
    pub(super) fn start(path: PathBuf, place: Arc<str>, writer: Writer) -> Result<Self, StoreError> {
        let fail = |error| {
            StoreError::Failed(format!("{place}: no thread can be started: free some memory ({error})"))
        };
        let (jobs, queue) = channel();
        let traffic = writer.traffic();
        let readers = Readers::start(&path, &place).map_err(fail)?;
        let writer = std::thread::Builder::new()
            .name("convoke-store-writer".to_owned())
            .spawn(move || writer.work(&queue))
            .map_err(fail)?;
        Ok(Self { path, place, traffic, readers, jobs: Some(jobs), writer: Some(writer) })
    }

    /// Queues a job for the writer.
    pub(super) fn perform(&self, job: Box<dyn Job>) {
        if let Some(jobs) = &self.jobs {
            // If the writer is gone the job is dropped, and its promise with it.
            let _ = jobs.send(job);
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // The connection that is closed last moves the log into the file; it must be the one that can write.
        self.readers.stop();
        self.jobs = None;
        // A job's last wake-up may run the code that drops the store, on the writer's own thread.
        if let Some(writer) =
            self.writer.take().filter(|writer| writer.thread().id() != std::thread::current().id())
        {
            let _ = writer.join();
        }
    }
}
