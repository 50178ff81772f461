//! Both stores keep every promise of the contract, on both kinds of runtime.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;

use convoke_core::Store;
use convoke_store::contract::{self, Backend};
use convoke_store::{MemoryStore, SqliteStore};

struct Memory;

impl Backend for Memory {
    type Place = MemoryStore;

    async fn place(&self) -> MemoryStore {
        MemoryStore::new()
    }

    async fn open(&self, place: &MemoryStore) -> Arc<dyn Store> {
        Arc::new(place.clone())
    }
}

struct Sqlite;

impl Backend for Sqlite {
    type Place = tempfile::TempDir;

    async fn place(&self) -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    async fn open(&self, place: &tempfile::TempDir) -> Arc<dyn Store> {
        Arc::new(SqliteStore::open(place.path().join("a folder/runs.db")).unwrap())
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
