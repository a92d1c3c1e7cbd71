use bevy_ecs::system::RunSystemOnce;

use super::*;
use crate::mip::{
    plan::tests::{come, plan_for_nobody, world},
    textures::tests::id,
};

#[test]
fn it_tells_of_each_texture_and_of_the_worst() {
    let mut world = world();
    for number in [7, 8] {
        come(&mut world, number);
    }
    plan_for_nobody(&mut world);
    let told = |mips: Mips| {
        assert_eq!(mips.residency(id(9)), None);
        (
            mips.residency(id(7)),
            mips.worst(9),
            mips.worst(1).len(),
            mips.under_resolved(),
            mips.is_settled(),
        )
    };
    let (residency, worst, one, under_resolved, is_settled) = world.run_system_once(told).expect("it runs");
    // For a second, nobody was known to draw with them, so they are wanted whole; mip 2 is there of 256 texels.
    let expected = Residency {
        top: 2,
        wanted: 0,
        planned: 0,
        bytes: 64 * 64 + 32 * 32 + 16 * 16 + 64 + 16 + 4 + 1,
        is_changing: true,
    };
    assert_eq!(residency, Some(expected));
    let images: Vec<_> = worst.iter().map(|of| (of.image, of.top, of.wanted)).collect();
    assert_eq!(images, [(id(7), 2, 0), (id(8), 2, 0)]);
    assert_eq!((one, under_resolved, is_settled), (1, 2, false));
}
