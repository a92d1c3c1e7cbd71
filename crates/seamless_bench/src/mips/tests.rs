use super::*;

/// In every frame of a part of the second round.
#[test]
fn both_sides_want_the_same() {
    let world = World::new(8_000);
    let mut ours = Ours::new(&world);
    let mut peer = BruteForce::new(&world, &mut ours);
    let count = world.frames.len();
    let mut looks = 0;
    // In the first frames, not everybody has been looked at yet, nor all that was seen before the first is known.
    for frame in 0..count + count / 4 {
        let moment = &world.frames[frame % count];
        let lead = ours.begin(moment);
        ours.0.frame(FRAME_SECONDS, moment.position);
        let view = ours.0.view().expect("there is a camera");
        peer.frame(ours.0.world().1, view, lead);
        looks += ours.0.stats().looks;
        if frame >= count {
            check(&world, &ours, &peer, frame);
            peer.frame_by_things(ours.0.world().1, view, lead);
            check(&world, &ours, &peer, frame);
        }
    }
    assert!(ours.0.swaps() > 300, "{} swaps", ours.0.swaps());
    let most = (world.things.len() * count / 10) as u64;
    assert!(looks > count as u64 && looks < most, "{looks} looks");
}
