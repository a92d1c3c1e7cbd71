//! With a renderer on a thread of its own, as in games: it draws a frame while the main world makes the next one.

use seamless_tests::{picture::Frame, picture::has_driver, random::Random};

use super::{
    pictures::{COLUMNS, FLOOR, TEXTURES, assert_shows, colour, is_near, load_all, shown, write_all},
    stage::Stage,
};

/// Whether each tile shows what is there now, or what was there before.
#[track_caller]
fn assert_shows_either(frame: &Frame, tops: [&[u8; TEXTURES]; 2], when: &str) {
    assert_eq!(frame.instances, TEXTURES, "{when}: each tile is drawn");
    for tile in 0..TEXTURES {
        let found = shown(&frame.picture, tile);
        let expected = tops.map(|tops| colour(tile, tops[tile]));
        let is_one = expected.iter().any(|expected| is_near(found, *expected));
        assert!(
            is_one,
            "{when}: tile {tile} shows {found:?}, and not one of {expected:?}"
        );
    }
}

#[test]
fn a_renderer_on_another_thread_never_shows_another_mip() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_all(dir.path());
    let mut stage = Stage::pipelined(dir.path());
    let images = load_all(&mut stage);
    stage.hang(&images, COLUMNS);
    let numbers: Vec<u32> = images.iter().map(|image| stage.number(image)).collect();
    let mut tops = [FLOOR; TEXTURES];
    assert_shows(&stage.frame(), &tops, "with tails alone");
    let mut random = Random(5);
    for step in 0..12 {
        let before = tops;
        // Some become finer, some coarser, and some stay.
        tops = tops.map(|_| random.below(u64::from(FLOOR) + 1) as u8);
        let changed: Vec<usize> = (0..TEXTURES).filter(|tile| tops[*tile] != before[*tile]).collect();
        let begun: Vec<_> = changed
            .iter()
            .map(|tile| stage.begin(numbers[*tile], tops[*tile]))
            .collect();
        let begun: Vec<_> = changed.into_iter().zip(begun).collect();
        let reads = begun.iter().filter(|(tile, _)| tops[*tile] < before[*tile]);
        let reads: Vec<_> = reads.map(|(tile, id)| (numbers[*tile], *id)).collect();
        stage.until_staged(&reads, |frame| assert_shows(frame, &before, "while it is read"));
        begun.into_iter().for_each(|(tile, id)| stage.send(numbers[tile], id));
        let when = format!("step {step}");
        stage.until_idle(|frame| assert_shows_either(frame, [&before, &tops], &when));
        // What is shown last was drawn after that.
        drop(stage.frame());
        assert_shows(&stage.frame(), &tops, &when);
    }
    assert_eq!(stage.pool().ledger.stray(), 0, "each report was for a change");
}
