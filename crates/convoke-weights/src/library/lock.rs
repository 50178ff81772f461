//! The lock on a model's folder, held by whoever changes it.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::WeightsError;

/// How often to try, and how long to wait in between: work that was just cancelled needs a moment to let go.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// The lock on one model, until the last clone is dropped. The system lets go of it when the process ends.
#[derive(Debug, Clone)]
pub(crate) struct Lock {
    _file: Arc<File>,
}

impl Lock {
    /// The lock, unless somebody has it. Its file stays for ever: one that is removed could be locked twice.
    pub(crate) fn take(folder: &Path, name: &str) -> Result<Option<Self>, WeightsError> {
        let locks = folder.join(".locks");
        std::fs::create_dir_all(&locks).map_err(WeightsError::files("make the folder", &locks))?;
        let path = locks.join(name);
        let file = File::create(&path).map_err(WeightsError::files("write", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: Arc::new(file) })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(WeightsError::files("lock", &path)(source)),
        }
    }

    /// The lock, also if somebody is just letting go of it.
    pub(crate) async fn get(folder: &Path, name: &str) -> Result<Self, WeightsError> {
        for _ in 0..TRIES {
            if let Some(lock) = Self::take(folder, name)? {
                return Ok(lock);
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(WeightsError::Busy { name: name.to_owned() })
    }
}
