use core::task::{Context, Waker};

use bevy::tasks::block_on;
use bevy::tasks::futures_lite::FutureExt;

use super::*;

/// Other cooks of this process may hold turns, too: they end, and these do not.
#[test]
fn who_comes_too_many_waits_for_another_to_be_done() {
    let take = || block_on(turn(Path::new("scenes/a.GLB"))).expect("a glTF file has turns");
    let mut held: Vec<InTurn> = (0..AT_ONCE)
        .map(|_| InTurn::new(VecReader::new(Vec::new()), Some(take())))
        .collect();

    let path = Path::new("b.gltf");
    let mut next = Box::pin(turn(path));
    let mut context = Context::from_waker(Waker::noop());
    assert!(next.poll(&mut context).is_pending(), "all turns are taken");
    held.pop();
    assert!(block_on(next).is_some(), "the reader of one is dropped");
}

#[test]
fn other_files_have_no_turns() {
    for path in ["red.ppm", "gltf", "a.gltf.meta", "a.bin"] {
        assert!(block_on(turn(Path::new(path))).is_none(), "{path}");
    }
}

#[test]
fn a_reader_in_turn_reads_and_seeks() {
    let mut reader = InTurn::new(VecReader::new(b"bytes".to_vec()), None);
    let mut read = Vec::new();
    block_on(reader.read_to_end(&mut read)).unwrap();
    assert_eq!(read, b"bytes");
    assert!(reader.seekable().is_ok());
}
