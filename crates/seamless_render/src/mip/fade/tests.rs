use super::*;
use crate::mip::textures::tests::{id, record};

fn placed(textures: u32) -> Fades {
    let mut fades = Fades::new(textures);
    for number in 0..textures {
        assert_eq!(fades.place(id(number)), number + 1);
    }
    fades
}

fn shown(fades: &Fades, texture: usize) -> f32 {
    fades.least[texture + 1]
}

#[test]
fn what_becomes_finer_shows_what_it_has_shown_and_goes_on_from_there() {
    let mut fades = placed(8);
    assert!(!fades.step(1.0), "nothing fades");
    assert!(fades.replaced(id(3), 5, 2));
    assert_eq!(shown(&fades, 3), 3.0);
    assert!(fades.step(0.5));
    assert_eq!(shown(&fades, 3), 2.5);
    // One mip more on the way, and then one less.
    fades.replaced(id(3), 2, 1);
    assert_eq!(shown(&fades, 3), 3.5);
    fades.replaced(id(3), 1, 2);
    assert_eq!(shown(&fades, 3), 2.5);
    assert!(fades.step(9.0), "the last step is told");
    assert_eq!((shown(&fades, 3), fades.step(1.0)), (0.0, false));
}

#[test]
fn what_becomes_coarser_is_so_at_once() {
    let mut fades = placed(8);
    fades.replaced(id(0), 0, 4);
    assert_eq!((shown(&fades, 0), fades.step(1.0)), (0.0, false));
    fades.replaced(id(0), 4, 3);
    fades.replaced(id(0), 3, 5);
    fades.replaced(id(0), 5, 4);
    fades.step(0.25);
    assert_eq!(shown(&fades, 0), 0.75, "it goes once, though it was told twice");
}

#[test]
fn without_a_place_nothing_fades() {
    let mut fades = placed(2);
    assert_eq!(fades.place(id(2)), 0, "there are too many");
    assert!(!fades.replaced(id(2), 5, 0) && !fades.step(1.0));
    assert_eq!(fades.bytes(), [0; 12]);
    fades.replaced(id(1), 1, 0);
    assert_eq!(fades.bytes()[8..], 1.0_f32.to_le_bytes());
}

#[test]
fn a_place_is_an_images_until_nobody_uses_it() {
    let mut fades = placed(2);
    fades.replaced(id(0), 4, 0);
    assert_eq!(fades.place(id(0)), 1, "as before");
    fades.let_go(id(0));
    fades.let_go(id(7));
    assert_eq!(fades.place(id(5)), 1);
    assert_eq!(shown(&fades, 0), 0.0, "nothing is left of the other's");
    assert!(!fades.replaced(id(0), 4, 0));
}

/// What the renderer could not do is taken back.
#[test]
fn the_books_tell_what_became_of_a_swap() {
    type End = fn(&mut MipLedger, MipCommand);
    let ends: [(End, Outcome); 4] = [
        (|_, _| {}, Outcome::Open),
        (|ledger, of| ledger.swapped(of.texture, of.change), Outcome::Done),
        (|ledger, of| ledger.failed(of.texture, of.change), Outcome::Failed),
        (|ledger, of| _ = ledger.remove(of.texture), Outcome::Failed),
    ];
    for (end, expected) in ends {
        let (mut ledger, record) = (MipLedger::default(), record());
        let chain = record.chain();
        let (from, to) = (chain.floor(), 0);
        ledger.insert(0, chain, from);
        let change = ledger.begin(0, chain, to).expect("it may change").id;
        ledger.staged(0, change);
        ledger.sent(0, change);
        let command = MipCommand {
            texture: 0,
            id: id(0),
            change,
            from,
            to,
        };
        end(&mut ledger, command);
        assert_eq!(outcome(&command, &ledger), expected);
    }
}
