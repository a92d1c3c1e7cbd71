//! How tasks read. See [`Intake`].

use core::convert::Infallible;
use std::sync::Arc;

use async_channel::{Receiver, Sender, bounded};
use bevy_asset::{AssetPath, io::Reader};
use futures_lite::{AsyncReadExt, future::or};

use super::{
    Progress,
    gatekeeper::Permit,
    open::io_error,
    stage::Stage,
    stall::Pulse,
    task::{Read, Stop},
};
use crate::error::{LoadError, LoadErrorKind};

/// Something that is said once, and that tasks can wait for. Whoever says it takes no lock: nothing is sent, the channel is closed.
pub(super) struct Signal {
    sender: Sender<Infallible>,
    receiver: Receiver<Infallible>,
}

impl Default for Signal {
    fn default() -> Self {
        let (sender, receiver) = bounded(1);
        Self { sender, receiver }
    }
}

impl Signal {
    pub fn give(&self) {
        self.sender.close();
    }

    pub fn is_given(&self) -> bool {
        self.sender.is_closed()
    }

    pub async fn given(&self) {
        // It ends with the channel.
        let _ = self.receiver.recv().await;
    }
}

/// What a task reads with: counts the bytes, and gives a read up when nobody wants the load any more, or when it does not move.
///
/// A read is given up where its reader waits. One that holds its thread until it is done, as a reader of the game's own may do, is
/// waited for.
pub(super) struct Intake<'t> {
    progress: &'t Arc<Progress>,
    pulse: &'t Pulse,
    read: &'t mut Read,
}

impl<'t> Intake<'t> {
    pub fn new(progress: &'t Arc<Progress>, pulse: &'t Pulse, read: &'t mut Read) -> Self {
        Self { progress, pulse, read }
    }

    /// What is read from now on is for this.
    pub fn enter(&mut self, stage: Stage) {
        self.read.stage = stage;
    }

    /// What a reader of the file at `path` does, unless the load is cancelled before, or it takes too long.
    pub async fn wait<T>(&self, path: &AssetPath<'static>, reading: impl Future<Output = T>) -> Result<T, Stop> {
        let cancelled = async {
            self.progress.cancelled.given().await;
            Err(Stop::Cancelled)
        };
        let stalled = async {
            let seconds = self.pulse.stalled().await;
            let kind = LoadErrorKind::Stalled { seconds };
            Err(LoadError::package(path.to_string(), kind).into())
        };
        self.pulse.step();
        // What is there is taken, and counted.
        let result = or(async { Ok(reading.await) }, or(cancelled, stalled)).await;
        self.pulse.step();
        result
    }

    /// Waits for one of the places that packages have, which this one has until the permit is dropped, unless the load is cancelled before.
    pub async fn begin(&self) -> Result<Option<Permit>, Stop> {
        match &self.pulse.gates {
            Some(gates) => self.permit(gates.loads.take_turn(self.progress)).await,
            None => Ok(None),
        }
    }

    /// Waits until so many bytes more may be in flight, which they are until the permit is dropped, unless the load is cancelled before.
    /// To wait for that is no read.
    pub async fn pass(&self, bytes: u64) -> Result<Option<Permit>, Stop> {
        match &self.pulse.gates {
            Some(gates) => self.permit(gates.bytes.pass(bytes, self.progress)).await,
            None => Ok(None),
        }
    }

    /// Waits until it is this task's turn to decode, which it is until the permit is dropped, unless the load is cancelled before.
    pub async fn take_turn(&self) -> Result<Option<Permit>, Stop> {
        match &self.pulse.gates {
            Some(gates) => self.permit(gates.decoding.take_turn(self.progress)).await,
            None => Ok(None),
        }
    }

    async fn permit(&self, waiting: impl Future<Output = Permit>) -> Result<Option<Permit>, Stop> {
        let cancelled = async {
            self.progress.cancelled.given().await;
            Err(Stop::Cancelled)
        };
        or(async { Ok(Some(waiting.await)) }, cancelled).await
    }

    /// Fills `buffer` as far as the file goes; returns how far.
    pub async fn fill(
        &mut self,
        path: &AssetPath<'static>,
        reader: &mut dyn Reader,
        buffer: &mut [u8],
    ) -> Result<usize, Stop> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let count = self.wait(path, reader.read(rest)).await?;
            let count = count.map_err(|error| io_error(path, &error))?;
            if count == 0 {
                break;
            }
            filled += count;
            self.read.bytes += count as u64;
        }
        Ok(filled)
    }
}
