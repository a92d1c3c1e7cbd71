use super::*;

fn shown(fades: &Fades, texture: usize) -> f32 {
    fades.least[texture + 1]
}

#[test]
fn what_becomes_finer_shows_what_it_has_shown_and_goes_on_from_there() {
    let mut fades = Fades::new(8);
    assert!(!fades.step(1.0), "nothing fades");
    fades.replaced(3, 5, 2);
    assert_eq!(shown(&fades, 3), 3.0);
    assert!(fades.step(0.5));
    assert_eq!(shown(&fades, 3), 2.5);
    // One mip more on the way, and then one less.
    fades.replaced(3, 2, 1);
    assert_eq!(shown(&fades, 3), 3.5);
    fades.replaced(3, 1, 2);
    assert_eq!(shown(&fades, 3), 2.5);
    assert!(fades.step(9.0), "the last step is told");
    assert_eq!((shown(&fades, 3), fades.step(1.0)), (0.0, false));
}

#[test]
fn what_becomes_coarser_is_so_at_once() {
    let mut fades = Fades::new(8);
    fades.replaced(0, 0, 4);
    assert_eq!((shown(&fades, 0), fades.step(1.0)), (0.0, false));
    fades.replaced(0, 4, 3);
    fades.replaced(0, 3, 5);
    fades.replaced(0, 5, 4);
    fades.step(0.25);
    assert_eq!(shown(&fades, 0), 0.75, "it goes once, though it was told twice");
}

#[test]
fn beyond_the_last_place_nothing_fades() {
    let mut fades = Fades::new(2);
    for texture in [2, 99, u32::MAX] {
        fades.replaced(texture, 5, 0);
    }
    assert!(!fades.step(1.0));
    assert_eq!(fades.bytes(), [0; 12]);
    fades.replaced(1, 1, 0);
    assert_eq!(fades.bytes()[8..], 1.0_f32.to_le_bytes());
}

#[test]
fn a_texture_that_does_not_stream_has_the_place_that_never_fades() {
    let mut textures = MipTextures::new(4);
    let record = crate::mip::textures::tests::record();
    for number in 0..3 {
        textures.insert(crate::mip::textures::tests::id(number), record.clone());
    }
    let fades = MipFades {
        seconds: 0.2,
        buffer: Handle::default(),
        fades: Fades::new(2),
        now: 0.0,
    };
    let places = [0, 1, 2, 9].map(|number| fades.place(&textures, crate::mip::textures::tests::id(number)));
    assert_eq!(places, [1, 2, 0, 0]);
}
