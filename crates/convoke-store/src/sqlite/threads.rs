//! The threads of one store handle. They end with it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use convoke_core::StoreError;
use futures_util::stream::BoxStream;

use super::failure::{read_only, stopped};
use super::file_identity::WatchedFile;
use super::job::{Job, Task};
use super::reader::{ReadSource, Readers};
use super::wait_mode::WaitState;
use super::writer::Writer;
use crate::notifier::{ChangeNotifier, IsFirst, Topic};

/// How often those look who may only read.
const GLANCE: Duration = Duration::from_secs(1);

/// One writer and some readers.
pub(super) struct Threads {
    pub(super) path: PathBuf,
    pub(super) place: Arc<str>,
    pub(super) waits: Arc<WaitState>,
    pub(super) readers: Readers,
    pub(super) notifier: Arc<ChangeNotifier>,
    /// The file as it was when it was opened.
    file: WatchedFile,
    jobs: Option<Sender<Box<dyn Job>>>,
    writer: Option<JoinHandle<()>>,
}

impl Threads {
    /// Starts them.
    pub(super) fn start(path: PathBuf, place: Arc<str>, writer: Writer) -> Result<Self, StoreError> {
        let notifier = Arc::clone(&writer.notifier);
        let fail = |error| no_thread(&place, &error);
        let (jobs, queue) = channel();
        let waits = writer.waits();
        let readers = Readers::start(&ReadSource::lasting(&path, &place)).map_err(fail)?;
        let writer = std::thread::Builder::new()
            .name("convoke-store-writer".to_owned())
            .spawn(move || writer.work(&queue))
            .map_err(fail)?;
        let file = WatchedFile::at(&path);
        Ok(Self { path, place, waits, readers, notifier, file, jobs: Some(jobs), writer: Some(writer) })
    }

    /// Starts those that read. There is no writer.
    pub(super) fn reading(path: PathBuf, place: Arc<str>) -> Result<Self, StoreError> {
        let readers = Readers::start(&ReadSource::fleeting(&path, &place));
        let readers = readers.map_err(|error| no_thread(&place, &error))?;
        let (waits, notifier) = (Arc::default(), Arc::default());
        let file = WatchedFile::at(&path);
        Ok(Self { path, place, waits, readers, notifier, file, jobs: None, writer: None })
    }

    /// Refuses if the file is not there any more, or another one is.
    pub(super) fn must_be_there(&self) -> Result<(), StoreError> {
        self.file.must_be_there(&self.place)
    }

    /// Says when it is worth looking again.
    pub(super) fn watch(&self, topic: Topic) -> BoxStream<'static, ()> {
        let (watch, is_first) = self.notifier.watch(topic);
        if is_first == IsFirst(true) {
            self.wake_writer();
        }
        watch
    }

    /// Looks for what others write from now on, as long as somebody waits for it.
    fn wake_writer(&self) {
        if self.writer.is_some() {
            // Whoever sleeps until there is a job notices that there are rounds to make.
            self.perform(Task::queue(&self.waits, None, 0, |_| Ok(())).0);
        } else {
            let notifier = Arc::clone(&self.notifier);
            // Should there be no thread, nothing is noticed: whoever waits has other things to wait for, too.
            let _ = std::thread::Builder::new().name("convoke-store-look".to_owned()).spawn(move || {
                while notifier.is_watched() {
                    std::thread::sleep(GLANCE);
                    notifier.notify_everybody();
                }
            });
        }
    }

    /// Why a job was not done, should it not be.
    pub(super) fn gone(&self) -> WriterGone {
        WriterGone { place: Arc::clone(&self.place), has_writer: self.writer.is_some() }
    }

    /// Queues a job for the writer.
    pub(super) fn perform(&self, job: Box<dyn Job>) {
        if let Some(jobs) = &self.jobs {
            // If the writer is gone the job is dropped, and its promise with it.
            let _ = jobs.send(job);
        }
    }
}

/// A writer that is gone, or never was.
pub(super) struct WriterGone {
    place: Arc<str>,
    has_writer: bool,
}

impl WriterGone {
    pub(super) fn error(&self) -> StoreError {
        if self.has_writer { stopped(&self.place) } else { read_only(&self.place) }
    }
}

fn no_thread(place: &str, error: &std::io::Error) -> StoreError {
    StoreError::Failed(format!("{place}: no thread can be started: free some memory ({error})"))
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
