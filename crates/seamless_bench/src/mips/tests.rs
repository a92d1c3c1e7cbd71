use super::*;

/// In every frame of a part of the second round.
#[test]
fn both_sides_want_the_same() {
    let world = World::new(8_000);
    let mut ours = Ours::new(&world);
    let mut peer = BruteForce::new(&world);
    let count = world.frames.len();
    let mut looks = 0;
    // In the first frames, not everybody has been looked at yet, nor all that was seen before the first is known.
    for frame in 0..count + count / 4 {
        looks += ours.frame(&world, frame % count);
        peer.frame(&world, frame % count);
        if frame >= count {
            check(&world, &ours, &peer, frame);
        }
    }
    assert!(ours.swaps > 300, "{} swaps", ours.swaps);
    assert!(
        looks > count && looks < world.things.len() * count / 10,
        "{looks} looks"
    );
    assert_eq!(ours.ledger.stray(), 0);
}
