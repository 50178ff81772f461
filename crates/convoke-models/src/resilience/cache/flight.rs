//! Coalesces identical requests that are made at the same time into one call.
//!
//! A flight is a future that looks the reply up or has it made, and notes its pieces. All who wait for it own it together:
//! whichever of them is awake moves it on, and it is dropped, and the call with it, when the last of them is gone. So no
//! task is needed, and nobody's giving up harms the others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use convoke_core::{
    BoxFuture, CallContext, Digest, FinishReason, Model, ModelError, ModelRequest, ReplyBuilder, ReplyDelta,
    ReplyStream, Usage,
};
use futures_util::future::{FutureExt, Shared, WeakShared};
use futures_util::{StreamExt, stream};
use tokio::sync::watch;

use super::{ReplyStore, ResponseCache, replay};

type FlightFuture = Shared<BoxFuture<'static, ()>>;
type Piece = Result<ReplyDelta, ModelError>;

/// The calls under way.
#[derive(Default, Clone)]
pub(super) struct Flights {
    table: Arc<Mutex<FlightTable>>,
}

#[derive(Default)]
struct FlightTable {
    flights: HashMap<Digest, Flight>,
    begun: u64,
}

struct Flight {
    number: u64,
    moving: WeakShared<BoxFuture<'static, ()>>,
    log: Arc<FlightLog>,
}

/// What has come of a flight so far.
struct FlightLog {
    noted: Mutex<LoggedPieces>,
    /// How many pieces there are.
    length: watch::Sender<usize>,
}

#[derive(Default)]
struct LoggedPieces {
    /// Everything but the usage, ending with `Finished` or an error.
    pieces: Vec<Piece>,
    bill: Bill,
}

/// Who is to report what was used.
#[derive(Default)]
enum Bill {
    /// Nobody: nothing was used, or somebody has reported it.
    #[default]
    Settled,
    /// Whoever gets to the end first reports this, if the model said anything.
    Open(Option<Usage>),
}

impl Flights {
    /// The pieces of the flight under this key, which begins now unless it is under way.
    pub(super) fn join(
        &self,
        key: Digest,
        model: &Arc<dyn Model>,
        store: &Arc<dyn ReplyStore>,
        request: ModelRequest,
        call: CallContext,
    ) -> ReplyStream<'static> {
        let mut table = self.lock();
        let under_way = table.flights.get(&key).and_then(|flight| {
            let moving = flight.moving.upgrade()?;
            Some((moving, Arc::clone(&flight.log)))
        });
        let (moving, log) = under_way.unwrap_or_else(|| {
            table.begun += 1;
            let guard = FlightGuard { flights: self.clone(), key, number: table.begun };
            let (moving, log) = begin(guard, Arc::clone(model), Arc::clone(store), request, call);
            // It has not come to its end, so there is something to refer to.
            if let Some(weak) = moving.downgrade() {
                let flight = Flight { number: table.begun, moving: weak, log: Arc::clone(&log) };
                table.flights.insert(key, flight);
            }
            (moving, log)
        });
        drop(table);
        let updates = log.length.subscribe();
        let reader = FlightReader { moving: Some(moving), log, updates, read: 0, reported_usage: false };
        Box::pin(stream::unfold(reader, async |mut reader| {
            let piece = reader.next().await?;
            Some((piece, reader))
        }))
    }

    /// Nothing under this lock runs code of others: a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, FlightTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Strikes a flight off when it is over or given up: whoever comes later looks in the store, or begins another.
struct FlightGuard {
    flights: Flights,
    key: Digest,
    number: u64,
}

impl Drop for FlightGuard {
    fn drop(&mut self) {
        let mut table = self.flights.lock();
        // Another may have begun under the same key since everybody left this one.
        if table.flights.get(&self.key).is_some_and(|flight| flight.number == self.number) {
            table.flights.remove(&self.key);
        }
    }
}

/// A flight that has not moved yet.
fn begin(
    guard: FlightGuard,
    model: Arc<dyn Model>,
    store: Arc<dyn ReplyStore>,
    request: ModelRequest,
    call: CallContext,
) -> (FlightFuture, Arc<FlightLog>) {
    let log = Arc::new(FlightLog { noted: Mutex::default(), length: watch::Sender::new(0) });
    let noting = Arc::clone(&log);
    let moving: BoxFuture<'static, ()> = Box::pin(async move {
        fly(&*model, &*store, guard.key, request, call, &noting).await;
        drop(guard);
    });
    (moving.shared(), log)
}

/// Looks the reply up, or has it made and keeps it if it is good.
async fn fly(
    model: &dyn Model,
    store: &dyn ReplyStore,
    key: Digest,
    request: ModelRequest,
    call: CallContext,
    log: &FlightLog,
) {
    if let Some(reply) = store.get(&key).await {
        log.note(replay::pieces(reply, model.name()).into_iter().map(Ok), Bill::Settled);
        return;
    }
    let mut builder = ReplyBuilder::new(model.name(), "kept");
    let mut usage = None;
    let mut pieces = model.reply(request, call);
    while let Some(piece) = pieces.next().await {
        if let Ok(delta) = &piece {
            builder.add(delta);
        }
        match piece {
            Ok(ReplyDelta::Usage(used)) => usage = Some(used),
            // Only once it is kept is it told: then whoever asks next finds it.
            Ok(ReplyDelta::Finished { reason, .. }) => {
                if let (FinishReason::Stop | FinishReason::ToolCalls, Ok(reply)) = (reason, builder.finish())
                {
                    store.put(key, &reply).await;
                }
                log.note([piece], Bill::Open(usage));
                // The model may have something to do after the end: leave its connection to the next call.
                while let Some(Ok(_)) = pieces.next().await {}
                return;
            }
            Err(_) => {
                log.note([piece], Bill::Open(usage));
                return;
            }
            Ok(_) => log.note([piece], Bill::Settled),
        }
    }
    // A stream that ends without an end was cut off, and has been paid for all the same.
    if let Err(cut_off) = builder.finish() {
        log.note([Err(cut_off)], Bill::Open(usage));
    }
}

impl FlightLog {
    fn note(&self, pieces: impl IntoIterator<Item = Piece>, bill: Bill) {
        let length = {
            let mut noted = self.noted();
            noted.pieces.extend(pieces);
            noted.bill = bill;
            noted.pieces.len()
        };
        self.length.send_replace(length);
    }

    /// Nothing under this lock runs code of others: a poisoned one is as good as any.
    fn noted(&self) -> MutexGuard<'_, LoggedPieces> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One who waits for a flight.
struct FlightReader {
    /// The flight, until it is over.
    moving: Option<FlightFuture>,
    log: Arc<FlightLog>,
    updates: watch::Receiver<usize>,
    /// How many pieces it has had.
    read: usize,
    reported_usage: bool,
}

impl FlightReader {
    async fn next(&mut self) -> Option<Piece> {
        loop {
            if let Some(piece) = self.noted() {
                return Some(piece);
            }
            let moving = self.moving.as_mut()?;
            tokio::select! {
                biased;
                () = moving => self.moving = None,
                // Cannot fail: the sender is in the log, which is held here.
                _ = self.updates.changed() => {}
            }
        }
    }

    /// The next piece that is there. Before the end, the first to get there reports what was used, and all others that
    /// they used nothing.
    fn noted(&mut self) -> Option<Piece> {
        let mut noted = self.log.noted();
        let piece = noted.pieces.get(self.read)?.clone();
        if matches!(piece, Ok(ReplyDelta::Finished { .. }) | Err(_)) && !self.reported_usage {
            self.reported_usage = true;
            let usage = match std::mem::take(&mut noted.bill) {
                Bill::Open(usage) => usage,
                Bill::Settled => Some(ResponseCache::NOTHING),
            };
            if let Some(usage) = usage {
                return Some(Ok(ReplyDelta::Usage(usage)));
            }
        }
        self.read += 1;
        Some(piece)
    }
}
