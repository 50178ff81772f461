//! Writes a download and computes its digest meanwhile, on a thread where that may block.

use std::fs::File;
use std::io::{self, Write};

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::digest::Hasher;
use crate::library::Lock;

/// How many pieces may wait to be written.
const WAITING: usize = 16;

/// Writes pieces to a file. If it is dropped, what was given to it is still written, and the lock held until then.
pub(super) struct FileWriter {
    sender: mpsc::Sender<Bytes>,
    work: JoinHandle<io::Result<Hasher>>,
}

impl FileWriter {
    /// Goes on with this file; `hasher` knows what is in it already.
    pub(super) fn begin(mut file: File, mut hasher: Hasher, lock: Lock) -> Self {
        let (sender, mut receiver) = mpsc::channel::<Bytes>(WAITING);
        let work = spawn_blocking(move || {
            while let Some(bytes) = receiver.blocking_recv() {
                file.write_all(&bytes)?;
                hasher.update(&bytes);
            }
            drop(lock);
            Ok(hasher)
        });
        Self { sender, work }
    }

    /// Takes a piece. False if writing has failed; [`finish`](Self::finish) says why.
    pub(super) async fn write(&self, bytes: Bytes) -> bool {
        self.sender.send(bytes).await.is_ok()
    }

    /// Waits until all is written.
    pub(super) async fn finish(self) -> io::Result<Hasher> {
        drop(self.sender);
        self.work.await.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}
