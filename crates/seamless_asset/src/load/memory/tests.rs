use proptest::prelude::*;

use super::*;

const INPUTS: StartInputs = StartInputs {
    ceiling: Some(100),
    used: 40,
    coming: 30,
    is_any_coming: true,
    going: 0,
    is_any_there: true,
    brings: Expected::Known(30),
    is_essential: false,
};

#[test]
fn pressure_rises_with_what_is_used() {
    let of = |used| MemoryPressure::of(used, Some(1000));
    assert_eq!((of(0), of(849)), (MemoryPressure::Calm, MemoryPressure::Calm));
    assert_eq!((of(850), of(999)), (MemoryPressure::Tight, MemoryPressure::Tight));
    assert_eq!((of(1000), of(u64::MAX)), (MemoryPressure::Over, MemoryPressure::Over));
    assert_eq!(MemoryPressure::of(u64::MAX, None), MemoryPressure::Calm);
    assert_eq!(MemoryPressure::of(0, Some(0)), MemoryPressure::Over);
}

#[test]
fn what_fits_starts_and_what_does_not_waits() {
    assert_eq!(may_start(&INPUTS), MayStart::Yes);
    let more = StartInputs { used: 47, ..INPUTS };
    assert_eq!(may_start(&more), MayStart::Short(7));
    let soon = StartInputs { going: 5, ..more };
    assert_eq!(may_start(&soon), MayStart::Short(2), "some of it is about to go");
    let essential = StartInputs {
        is_essential: true,
        used: 5000,
        ..INPUTS
    };
    assert_eq!(may_start(&essential), MayStart::Yes);
    let without = StartInputs {
        ceiling: None,
        used: u64::MAX,
        ..INPUTS
    };
    assert_eq!(may_start(&without), MayStart::Yes);
}

#[test]
fn what_was_never_here_is_tried_when_nothing_else_comes() {
    let at = |used, is_any_coming| {
        may_start(&StartInputs {
            used,
            is_any_coming,
            coming: 0,
            brings: Expected::Unknown(90),
            ..INPUTS
        })
    };
    assert_eq!(at(50, false), MayStart::Yes);
    assert_eq!(at(50, true), MayStart::Short(40));
    assert_eq!(at(5, true), MayStart::Short(0), "it may be larger still");
    let first_of_all = StartInputs {
        used: 0,
        brings: Expected::Unknown(0),
        ..INPUTS
    };
    assert_eq!(
        may_start(&first_of_all),
        MayStart::Short(0),
        "nobody knows how large the first ones are"
    );
    assert_eq!(at(100, false), MayStart::Short(90), "there is no room for anything");
}

#[test]
fn what_is_larger_than_all_comes_alone() {
    let at = |used| {
        may_start(&StartInputs {
            used,
            is_any_coming: false,
            is_any_there: used > 0,
            coming: 0,
            brings: Expected::Known(500),
            ..INPUTS
        })
    };
    assert_eq!((at(0), at(1)), (MayStart::Yes, MayStart::Short(401)));
}

#[test]
fn sizes_are_remembered_and_others_are_as_large_as_any() {
    let path = |name: &str| AssetPath::parse(name).into_owned();
    let mut sizes = Sizes::default();
    assert_eq!(sizes.level(&path("a.pkg")), Expected::Unknown(0));
    sizes.note_level(&path("a.pkg"), 10);
    sizes.note_level(&path("b.pkg"), 90);
    sizes.note_assets(&path("b.pkg"), 5);
    assert_eq!(sizes.level(&path("a.pkg")), Expected::Known(10));
    assert_eq!(sizes.assets(&path("a.pkg")), Expected::Unknown(5));
    assert_eq!(sizes.level(&path("c.pkg")), Expected::Unknown(90));
    let both = [sizes.level(&path("a.pkg")), sizes.assets(&path("b.pkg"))];
    assert_eq!(both.into_iter().sum::<Expected>(), Expected::Known(15));
    let one_unknown = [sizes.level(&path("a.pkg")), sizes.assets(&path("a.pkg"))];
    assert_eq!(one_unknown.into_iter().sum::<Expected>(), Expected::Unknown(15));
    let number = |index: usize| path(&format!("{index}.pkg"));
    for index in 0..3 * KNOWN {
        sizes.note_level(&number(index), 1);
        sizes.note_assets(&number(index - index % 10), 2);
    }
    assert!(sizes.known.len() <= KNOWN && sizes.before.len() <= KNOWN);
    let is_known = |index: usize| sizes.level(&number(index)) == Expected::Known(1);
    assert!((2 * KNOWN..3 * KNOWN).all(is_known), "the latest are remembered");
    assert!(!(0..KNOWN).any(is_known));
    assert_eq!(sizes.assets(&number(20 * (KNOWN / 10))), Expected::Known(2));
}

proptest! {
    /// Levels of any sizes come in any order, four at a time, and come again; some are let go whenever the next one waits. What is there is
    /// never above the ceiling by more than one level, if that is not so large that half of the room is too little for four.
    #[test]
    fn the_ceiling_is_exceeded_by_one_level_at_most(
        sizes in prop::collection::vec(1..100_u64, 1..12),
        steps in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..300),
        ceiling in 800..1500_u64,
    ) {
        let path = |index: usize| AssetPath::parse(&format!("{index}.pkg")).into_owned();
        let (mut known, mut coming, mut there): (Sizes, Vec<usize>, Vec<usize>) = Default::default();
        let largest = *sizes.iter().max().unwrap_or(&0);
        for (wanted, other) in steps {
            let wanted = wanted.index(sizes.len());
            let used: u64 = there.iter().map(|index| sizes[*index]).sum();
            let start = may_start(&StartInputs {
                ceiling: Some(ceiling),
                used,
                coming: coming.iter().map(|index| known.level(&path(*index)).bytes()).sum(),
                is_any_coming: !coming.is_empty(),
                going: 0,
                is_any_there: !there.is_empty(),
                brings: known.level(&path(wanted)),
                is_essential: false,
            });
            match start {
                MayStart::Yes if coming.len() < 4 => coming.push(wanted),
                _ if coming.is_empty() && !there.is_empty() => drop(there.swap_remove(other.index(there.len()))),
                _ => {}
            }
            if !coming.is_empty() && other.index(3) != 0 {
                let came = coming.swap_remove(other.index(coming.len()));
                known.note_level(&path(came), sizes[came]);
                there.push(came);
            }
            let used: u64 = there.iter().map(|index| sizes[*index]).sum();
            prop_assert!(used <= ceiling + largest, "{used} of {ceiling}");
        }
    }
}

/// A range that ends behind every file.
#[test]
fn what_was_asked_for_may_be_more_than_there_can_be() {
    let account = MemoryAccount {
        levels: 4096,
        in_flight: u64::MAX - 10,
        ..MemoryAccount::default()
    };
    assert_eq!(account.total(), u64::MAX);
}
