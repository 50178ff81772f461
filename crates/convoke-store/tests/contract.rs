//! Both stores keep every promise of the contract, on both kinds of runtime.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;

use convoke_core::Store;
use convoke_store::contract::{self, Backend};
use convoke_store::{MemoryStore, SqliteStore};

struct Memory;

impl Backend for Memory {
    type Location = MemoryStore;

    async fn location(&self) -> MemoryStore {
        MemoryStore::new()
    }

    async fn open(&self, location: &MemoryStore) -> Arc<dyn Store> {
        Arc::new(location.clone())
    }
}

struct Sqlite;

impl Backend for Sqlite {
    type Location = tempfile::TempDir;

    async fn location(&self) -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    async fn open(&self, location: &tempfile::TempDir) -> Arc<dyn Store> {
        Arc::new(SqliteStore::open(location.path().join("a folder/runs.db")).unwrap())
    }
}

#[tokio::test]
async fn the_store_in_memory_keeps_the_contract() {
    contract::run_all(&Memory).await;
}

#[tokio::test]
async fn the_store_on_sqlite_keeps_the_contract_on_one_thread() {
    contract::run_all(&Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn the_store_on_sqlite_keeps_the_contract_on_several_threads() {
    contract::run_all(&Sqlite).await;
}
