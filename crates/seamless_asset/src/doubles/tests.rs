//! The doubles themselves.

use core::{
    pin::pin,
    task::{Context, Poll, Waker},
};
use std::{io::ErrorKind, path::Path, thread};

use bevy_asset::io::{AssetReader, AssetReaderError, Reader, memory::Dir};
use futures_lite::{
    AsyncReadExt, AsyncSeekExt,
    future::{block_on, poll_once},
};

use super::*;

const FILE: &str = "dir/file.pkg";

fn gated() -> (GatedReader, ReadGate) {
    let (dir, gate) = (Dir::default(), ReadGate::default());
    dir.insert_asset(Path::new(FILE), (0..100).collect::<Vec<u8>>());
    (GatedReader::of(&dir, &gate), gate)
}

fn read(index: usize) -> GatedRead {
    let path = FILE.to_owned();
    GatedRead { path, index }
}

async fn open(reader: &GatedReader) -> Box<dyn Reader + '_> {
    match reader.read(Path::new(FILE)).await {
        Ok(file) => Box::new(file),
        Err(error) => panic!("{error}"),
    }
}

async fn some(file: &mut dyn Reader, count: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    let got = file.read(&mut bytes).await?;
    bytes.truncate(got);
    Ok(bytes)
}

#[test]
fn each_read_waits_until_it_is_released() {
    let (reader, gate) = gated();
    block_on(async {
        let mut opening = pin!(open(&reader));
        assert!(poll_once(&mut opening).await.is_none());
        assert_eq!(gate.pending(), [read(0)]);
        assert!(gate.release(FILE, Fate::Pass));
        let mut file = opening.await;
        let mut reading = pin!(some(&mut *file, 10));
        assert!(poll_once(&mut reading).await.is_none());
        assert!(!gate.release("other.pkg", Fate::Pass));
        assert_eq!(gate.release_next(Fate::Pass), Some(read(1)));
        assert_eq!(reading.await.unwrap(), (0..10).collect::<Vec<u8>>());
        assert_eq!((gate.release_next(Fate::Pass), gate.pending()), (None, vec![]));
        assert_eq!((gate.begun(), gate.bytes()), (vec![read(0), read(1)], 10));
    });
}

#[test]
fn a_script_decides_ahead() {
    let (reader, gate) = gated();
    gate.script(FILE, 1, Fate::Fail(ErrorKind::TimedOut));
    gate.script(FILE, 3, Fate::Short(4));
    gate.otherwise(Some(Fate::Pass));
    block_on(async {
        let mut file = open(&reader).await;
        assert_eq!(some(&mut *file, 8).await.unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(some(&mut *file, 2).await.unwrap(), [0, 1], "the next one is another");
        assert_eq!(some(&mut *file, 8).await.unwrap(), [2, 3, 4, 5]);
        assert_eq!(some(&mut *file, 8).await.unwrap(), [0; 0], "there the file ends");
        assert_eq!(gate.bytes(), 6);
        drop(file);
        // Reads are counted over all openings.
        gate.script(FILE, 4, Fate::Fail(ErrorKind::NotConnected));
        let refused = reader.read(Path::new(FILE)).await.err();
        assert_eq!(
            refused,
            Some(AssetReaderError::from(std::io::Error::from(ErrorKind::NotConnected)))
        );
        gate.script(FILE, 5, Fate::Short(1));
        let mut file = open(&reader).await;
        assert_eq!(some(&mut *file, 8).await.unwrap(), [0], "a file of one byte");
        assert_eq!(some(&mut *file, 8).await.unwrap(), [0; 0]);
        gate.script(FILE, 8, Fate::Stall);
        gate.clear_script();
        open(&reader).await;
        open(&reader).await;
        assert_eq!(gate.begun().last(), Some(&read(8)));
    });
}

#[test]
fn a_stalled_read_is_gone_when_it_is_given_up() {
    let (reader, gate) = gated();
    block_on(async {
        gate.script(FILE, 1, Fate::Stall);
        gate.script(FILE, 0, Fate::Pass);
        let mut file = open(&reader).await;
        assert!(poll_once(some(&mut *file, 1)).await.is_none());
        assert_eq!((gate.pending(), gate.stalled()), (vec![], vec![read(1)]));
        // It never ends, whatever becomes of others.
        gate.otherwise(Some(Fate::Pass));
        assert!(poll_once(some(&mut *file, 1)).await.is_none());
        drop(file);
        assert_eq!(gate.stalled(), []);
        gate.otherwise(None);
        let mut opening = Box::pin(open(&reader));
        assert!(poll_once(&mut opening).await.is_none());
        assert_eq!(gate.pending(), [read(2)]);
        drop(opening);
        assert_eq!(gate.pending(), []);
    });
}

#[test]
fn what_passes_is_as_without_the_gate() {
    let (reader, gate) = gated();
    gate.otherwise(Some(Fate::Pass));
    block_on(async {
        let mut file = open(&reader).await;
        let seekable = file.seekable().unwrap();
        assert_eq!(seekable.seek(std::io::SeekFrom::Start(90)).await.unwrap(), 90);
        let mut rest = Vec::new();
        AsyncReadExt::read_to_end(&mut file, &mut rest).await.unwrap();
        assert_eq!(rest, (90..100).collect::<Vec<u8>>());
        let missing = reader.read(Path::new("missing")).await.err();
        assert_eq!(missing, Some(AssetReaderError::NotFound("missing".into())));
        assert!(reader.is_directory(Path::new("dir")).await.unwrap());
        assert!(reader.read_meta(Path::new(FILE)).await.is_err());
    });
}

/// The waker of a read that waits is called by another thread.
#[test]
fn a_test_waits_for_reads_of_other_threads() {
    let (reader, gate) = gated();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| block_on(async { some(&mut *open(&reader).await, 1).await.unwrap() }));
        }
        assert_eq!(gate.until_pending(3).len(), 3);
        gate.release_next(Fate::Pass);
        gate.script(FILE, 2, Fate::Pass);
        gate.otherwise(Some(Fate::Pass));
    });
    assert_eq!((gate.pending(), gate.bytes()), (vec![], 3));
    let mut opening = pin!(open(&reader));
    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(opening.as_mut().poll(&mut context), Poll::Ready(_)));
}
