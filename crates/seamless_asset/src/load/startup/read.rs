//! A thread that reads a file ahead of whoever decodes it. See [`read_ahead`].

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

use bevy_asset::AssetPath;
use futures_lite::future::block_on;

use super::{LoadError, LoadServices, Progress, Read, Stop, panicked};
use crate::load::{
    intake::Intake,
    open::{io_error, open_reader},
    stall::Pulse,
};

/// How a startup package is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StartupWindows {
    /// Bytes of each window but the last.
    pub bytes: usize,
    /// Windows that may wait for whoever decodes, the one that is being read not counted.
    pub ahead: usize,
}

/// A file in order, window by window; a fault ends it.
pub(super) type Windows = Receiver<Window>;

type Window = Result<Vec<u8>, Box<LoadError>>;

/// Opens the file at `path` once and reads it on a thread of its own, while `decode` takes the windows. The thread is never more
/// than [`StartupWindows::ahead`] windows ahead, and stops when `decode` has what it needs.
pub(super) fn read_ahead<T>(
    services: &LoadServices,
    path: &AssetPath<'static>,
    windows: StartupWindows,
    decode: impl FnOnce(Windows) -> Result<T, Stop>,
) -> Result<T, Stop> {
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(windows.ahead);
        let reading = move || block_on(read(services, path, windows.bytes, &sender));
        let thread = thread::Builder::new().name("Startup".to_owned());
        let thread = thread
            .spawn_scoped(scope, reading)
            .map_err(|error| io_error(path, &error))?;
        // Whatever becomes of it, it lets go of the windows, and so the thread ends.
        let result = decode(receiver);
        match thread.join() {
            Ok(()) => result,
            // The asset source may be the game's own.
            Err(panic) => Err(panicked(path, &*panic)),
        }
    })
}

async fn read(services: &LoadServices, path: &AssetPath<'static>, bytes: usize, windows: &SyncSender<Window>) {
    if let Err(Stop::Failed(error)) = read_windows(services, path, bytes, windows).await {
        let _ = windows.send(Err(error));
    }
}

async fn read_windows(
    services: &LoadServices,
    path: &AssetPath<'static>,
    bytes: usize,
    windows: &SyncSender<Window>,
) -> Result<(), Stop> {
    // Nobody cancels it, and nobody looks how long it takes.
    let (progress, pulse, mut counted) = (Arc::new(Progress::default()), Pulse::default(), Read::default());
    let intake = &mut Intake::new(&progress, &pulse, &mut counted);
    let mut reader = open_reader(services, path, intake).await?;
    loop {
        let mut window = vec![0; bytes];
        let got = intake.fill(path, &mut *reader, &mut window).await?;
        window.truncate(got);
        // Nobody takes it when all that is needed has arrived, or something was wrong.
        if windows.send(Ok(window)).is_err() || got < bytes {
            return Ok(());
        }
    }
}
