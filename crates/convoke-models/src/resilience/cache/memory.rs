//! An in-memory reply store: how many replies are kept, and how long.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use convoke_core::{BoxFuture, Digest, ModelReply};
use tokio::time::Instant;

use super::ReplyStore;

/// An LRU store that keeps replies for as long as the process lives, within bounds: the least recently used is dropped first.
///
/// ```
/// use std::time::Duration;
/// use convoke_models::resilience::MemoryReplies;
///
/// let replies = MemoryReplies::new(1_000, 10 * 1024 * 1024).keep_for(Duration::from_hours(1));
/// ```
#[derive(Debug)]
pub struct MemoryReplies {
    most_entries: usize,
    most_bytes: usize,
    keep_for: Option<Duration>,
    kept: Mutex<CacheState>,
}

#[derive(Debug, Default)]
struct CacheState {
    entries: HashMap<Digest, CachedReply>,
    /// Keys by when they were last used, longest ago first.
    by_use: BTreeMap<u64, Digest>,
    uses: u64,
    bytes: usize,
}

#[derive(Debug)]
struct CachedReply {
    reply: ModelReply,
    bytes: usize,
    since: Instant,
    used: u64,
}

impl Default for MemoryReplies {
    /// Up to 10,000 replies, up to 64 MiB.
    fn default() -> Self {
        Self::new(10_000, 64 * 1024 * 1024)
    }
}

impl MemoryReplies {
    /// Keeps up to so many replies, and up to so many bytes of them, counted as JSON.
    #[must_use]
    pub fn new(entries: usize, bytes: usize) -> Self {
        Self { most_entries: entries, most_bytes: bytes, keep_for: None, kept: Mutex::default() }
    }

    /// Forgets replies that are older than this.
    #[must_use]
    pub fn keep_for(mut self, time: Duration) -> Self {
        self.keep_for = Some(time);
        self
    }

    /// Returns how many replies are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kept().entries.len()
    }

    /// Returns whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn find(&self, key: &Digest) -> Option<ModelReply> {
        let mut kept = self.kept();
        let age = kept.entries.get(key)?.since.elapsed();
        if self.keep_for.is_some_and(|limit| age >= limit) {
            kept.remove(key);
            return None;
        }
        kept.used(key)
    }

    fn keep(&self, key: Digest, reply: &ModelReply) {
        let bytes = serde_json::to_vec(reply).map_or(usize::MAX, |json| json.len());
        if bytes > self.most_bytes || self.most_entries == 0 {
            return;
        }
        let mut kept = self.kept();
        kept.remove(&key);
        while kept.entries.len() >= self.most_entries || kept.bytes + bytes > self.most_bytes {
            let Some(oldest) = kept.by_use.values().next().copied() else { break };
            kept.remove(&oldest);
        }
        kept.insert(key, reply.clone(), bytes);
    }

    /// Nothing under this lock runs code of others: a poisoned one is as good as any.
    fn kept(&self) -> MutexGuard<'_, CacheState> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheState {
    fn insert(&mut self, key: Digest, reply: ModelReply, bytes: usize) {
        self.uses += 1;
        self.by_use.insert(self.uses, key);
        self.bytes += bytes;
        self.entries.insert(key, CachedReply { reply, bytes, since: Instant::now(), used: self.uses });
    }

    fn used(&mut self, key: &Digest) -> Option<ModelReply> {
        let entry = self.entries.get_mut(key)?;
        self.by_use.remove(&entry.used);
        self.uses += 1;
        entry.used = self.uses;
        self.by_use.insert(self.uses, *key);
        Some(entry.reply.clone())
    }

    fn remove(&mut self, key: &Digest) {
        if let Some(entry) = self.entries.remove(key) {
            self.by_use.remove(&entry.used);
            self.bytes -= entry.bytes;
        }
    }
}

impl ReplyStore for MemoryReplies {
    fn get<'a>(&'a self, key: &'a Digest) -> BoxFuture<'a, Option<ModelReply>> {
        Box::pin(async move { self.find(key) })
    }

    fn put<'a>(&'a self, key: Digest, reply: &'a ModelReply) -> BoxFuture<'a, ()> {
        Box::pin(async move { self.keep(key, reply) })
    }
}
