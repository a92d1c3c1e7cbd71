//! The decision: never worse than to share or to copy everything, always sound, and as the rules say.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::together::at;
use crate::assets::ObjectSize;
use crate::layout::together::{LevelPlace, Together};
use crate::layout::{Asset, Choice, Home, Laid, MOST_SHARED, Scene, choose, everything};
use crate::settings::LayoutSettings;

const KIB: u64 = 1024;

fn size(bytes: u64) -> ObjectSize {
    ObjectSize {
        stored: bytes,
        read: bytes,
        unpacked: bytes,
    }
}

fn asset(users: &[usize], bytes: u64) -> Asset {
    Asset {
        users: users.iter().copied().collect(),
        size: size(bytes),
        ..Asset::default()
    }
}

/// Levels far from each other.
fn apart(levels: usize) -> Together {
    Together::new((0..levels).map(|x| at(x as f32 * 100.0, 10.0)).collect())
}

fn chosen(assets: &[Asset], together: &Together) -> Vec<Choice> {
    let settings = LayoutSettings::default();
    choose(&Scene::new(assets, together, &settings))
}

fn laid(assets: &[Asset], choice: Choice) -> Laid {
    let (together, settings) = (apart(50), LayoutSettings::default());
    let scene = Scene::new(assets, &together, &settings);
    scene.lay(&everything(&scene, choice))
}

#[test]
fn small_objects_are_copied_and_large_ones_are_shared() {
    let assets = [asset(&[0, 1], KIB), asset(&[1, 2], 10_000 * KIB), asset(&[0], 5)];
    let choices = chosen(&assets, &apart(3));
    assert_eq!(choices, [Choice::Duplicate, Choice::Share, Choice::Duplicate]);
}

/// Copies of what is there anyway are read for nothing.
#[test]
fn what_levels_use_together_is_shared_sooner() {
    let assets = [asset(&[0, 1, 2, 3, 4, 5], 8 * KIB)];
    let near = Together::new((0..6).map(|_| at(0.0, 10.0)).collect());
    assert_eq!(chosen(&assets, &apart(6)), [Choice::Duplicate]);
    assert_eq!(chosen(&assets, &near), [Choice::Share]);
}

#[test]
fn what_a_level_uses_that_is_always_loaded_goes_there() {
    let mut places = vec![LevelPlace {
        is_always_loaded: true,
        ..LevelPlace::default()
    }];
    places.extend((0..4).map(|x| at(x as f32 * 100.0, 10.0)));
    let together = Together::new(places);
    let everywhere = asset(&[1, 2, 3, 4], 300 * KIB);
    let assets = [asset(&[0, 1, 2], 300 * KIB), everywhere, asset(&[1, 2], 300 * KIB)];
    let choices = chosen(&assets, &together);
    assert_eq!(choices, [Choice::Persistent, Choice::Persistent, Choice::Share]);
}

/// What is large leads to something small with more users: that is copied with the small part of what leads to it, not opened for it.
#[test]
fn a_small_part_of_a_group_is_copied_with_what_it_leads_to() {
    let texture = asset(&[0, 1, 2], KIB);
    let material = Asset {
        references: vec![0],
        ..asset(&[0, 1], KIB)
    };
    let mesh = asset(&[0, 1], 10_000 * KIB);
    let choices = chosen(&[texture.clone(), material, mesh], &apart(3));
    assert_eq!(choices, [Choice::Duplicate, Choice::Duplicate, Choice::Share]);

    // Where what leads to it is large itself, it is shared likewise.
    let large = Asset {
        references: vec![0],
        ..asset(&[0, 1], 10_000 * KIB)
    };
    assert_eq!(chosen(&[texture, large], &apart(3)), [Choice::Share, Choice::Share]);
}

/// Payloads that are read on demand are not in copies.
#[test]
fn payloads_on_demand_do_not_count_for_copies() {
    let mut film = asset(&[0, 1], 10_000 * KIB);
    film.size.read = KIB;
    film.size.unpacked = KIB;
    assert_eq!(chosen(&[film], &apart(2)), [Choice::Duplicate]);
}

#[test]
fn what_only_seek_free_levels_use_is_no_matter() {
    let seek_free = LevelPlace {
        is_seek_free: true,
        ..at(0.0, 1.0)
    };
    let together = Together::new(vec![seek_free.clone(), seek_free]);
    assert_eq!(chosen(&[asset(&[0, 1], KIB)], &together), [Choice::Share]);
}

#[test]
fn startup_content_and_what_nobody_uses_are_left_alone() {
    let mut startup = asset(&[0, 1], KIB);
    startup.is_startup = true;
    let assets = [startup, asset(&[], KIB)];
    let (together, settings) = (apart(2), LayoutSettings::default());
    let scene = Scene::new(&assets, &together, &settings);
    let laid = scene.lay(&choose(&scene));
    assert_eq!(laid.homes, [Home::Startup, Home::Nowhere]);
    assert_eq!((laid.shared, laid.originals, laid.has_persistent), (0, 0, false));
}

#[test]
fn what_the_same_levels_use_lies_together() {
    let sets: [&[usize]; 5] = [&[0, 1], &[1, 2], &[0, 1], &[0, 1, 2], &[2]];
    let assets = sets.map(|users| asset(users, 100));
    let places = [1, 2, 1, 0];
    // More users come first: what an asset refers to has at least its users.
    for (choice, home) in [
        (Choice::Share, Home::Shared as fn(usize) -> Home),
        (Choice::Duplicate, Home::Originals),
    ] {
        let homes = laid(&assets, choice).homes;
        assert_eq!(homes[..4], places.map(home));
        assert_eq!(homes[4], Home::Level(2));
    }
}

#[test]
fn there_are_never_too_many_packages() {
    let sets: Vec<Vec<usize>> = (0..20).flat_map(|a| (a + 1..20).map(move |b| vec![a, b])).collect();
    let assets: Vec<Asset> = sets.iter().map(|users| asset(users, 100)).collect();
    for choice in [Choice::Share, Choice::Duplicate] {
        let laid = laid(&assets, choice);
        assert_eq!(laid.shared + laid.originals, MOST_SHARED);
        let used: BTreeSet<String> = laid.homes.iter().map(|home| format!("{home:?}")).collect();
        assert_eq!(used.len(), MOST_SHARED);
    }
}

#[test]
fn the_cheapest_merge_wins() {
    let pairs = (0..MOST_SHARED - 1).map(|pair| asset(&[100 + 2 * pair, 101 + 2 * pair], 1_000_000));
    let assets: Vec<Asset> = [asset(&[0, 1], 100), asset(&[0, 1, 2], 100)]
        .into_iter()
        .chain(pairs)
        .collect();
    let homes = laid(&assets, Choice::Share).homes;
    assert_eq!(homes[..2], [Home::Shared(0), Home::Shared(0)]);
}

/// Any world: levels here and there, and assets that refer to earlier ones.
#[derive(Debug, Clone)]
struct World {
    places: Vec<LevelPlace>,
    assets: Vec<Asset>,
    settings: LayoutSettings,
}

fn place() -> impl Strategy<Value = LevelPlace> {
    (
        0.0_f32..300.0,
        1.0_f32..100.0,
        prop::bool::weighted(0.15),
        prop::bool::weighted(0.15),
    )
        .prop_map(|(x, half, is_always_loaded, is_seek_free)| LevelPlace {
            is_always_loaded,
            is_seek_free,
            ..at(x, half)
        })
}

fn rule() -> impl Strategy<Value = Option<Choice>> {
    let choices = [Choice::Duplicate, Choice::Share, Choice::Persistent];
    prop::option::weighted(0.2, prop::sample::select(choices.to_vec()))
}

fn world(rules: bool, references: usize) -> impl Strategy<Value = World> {
    let settings = (0_u64..400_000, 0_u32..400, 0_u32..400, 0_u32..=100);
    let asset = (
        prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        (5_u32..24, 0_u64..32, prop::bool::ANY),
        prop::bool::weighted(0.05),
        rule(),
        prop::collection::vec(any::<prop::sample::Index>(), 0..=references),
    );
    let parts = (
        prop::collection::vec(place(), 1..9),
        prop::collection::vec(asset, 1..24),
        settings,
    );
    parts.prop_map(move |(places, assets, (open_bytes, disk, resident, persistent))| {
        let levels = places.len();
        let assets = assets.into_iter().enumerate();
        let mut assets: Vec<Asset> = assets
            .map(
                |(index, (users, (power, more, is_on_demand), is_startup, forced, references))| {
                    let bytes = (1 << power) + more;
                    let read = if is_on_demand { bytes / 50 } else { bytes };
                    Asset {
                        users: users.iter().map(|user| user.index(levels)).collect(),
                        size: ObjectSize {
                            stored: bytes,
                            read,
                            unpacked: read * 2,
                        },
                        is_startup,
                        forced: forced.filter(|_| rules),
                        references: (references.iter().filter(|_| index > 0))
                            .map(|reference| reference.index(index.max(1)))
                            .collect(),
                    }
                },
            )
            .collect();
        for index in (0..assets.len()).rev() {
            let asset = assets[index].clone();
            for reference in asset.references {
                assets[reference].users.extend(&asset.users);
                assets[reference].is_startup |= asset.is_startup;
            }
        }
        let settings = LayoutSettings {
            rules: Vec::new(),
            open_bytes,
            disk_percent: disk,
            resident_percent: resident,
            persistent_percent: persistent,
        };
        World {
            places,
            assets,
            settings,
        }
    })
}

fn price(scene: &Scene, choices: &[Choice]) -> u64 {
    scene.whole_cost(choices).price(scene.settings)
}

/// The place of a home's package among all.
fn position(laid: &Laid, home: Home) -> usize {
    match home {
        Home::Nowhere => usize::MAX,
        Home::Startup => 0,
        Home::Persistent => 1,
        Home::Shared(n) => 2 + n,
        Home::Originals(n) => 2 + laid.shared + n,
        Home::Level(n) => 2 + laid.shared + laid.originals + n,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn it_never_costs_more_than_sharing_or_copying_everything(world in world(false, 3)) {
        let together = Together::new(world.places);
        let scene = Scene::new(&world.assets, &together, &world.settings);
        let ours = price(&scene, &choose(&scene));
        for choice in [Choice::Share, Choice::Duplicate] {
            let theirs = price(&scene, &everything(&scene, choice));
            prop_assert!(ours <= theirs, "{ours} > {theirs} of {choice:?}");
        }
    }

    /// Whoever opens a package comes only to earlier ones, and to no originals and no level.
    #[test]
    fn references_lead_to_what_is_open(world in world(true, 3)) {
        let together = Together::new(world.places);
        let scene = Scene::new(&world.assets, &together, &world.settings);
        let laid = scene.lay(&choose(&scene));
        for (asset, home) in world.assets.iter().zip(&laid.homes) {
            for reference in asset.references.iter().filter(|_| *home != Home::Nowhere) {
                let to = laid.homes[*reference];
                prop_assert!(position(&laid, to) <= position(&laid, *home), "{home:?} leads to {to:?}");
                let is_open = match home {
                    Home::Startup => to == Home::Startup,
                    Home::Persistent => matches!(to, Home::Startup | Home::Persistent),
                    Home::Shared(_) => !matches!(to, Home::Originals(_) | Home::Level(_)),
                    _ => true,
                };
                prop_assert!(is_open, "{home:?} leads to {to:?}");
            }
        }
    }

    /// Rules that are not against each other are followed, whatever is cheaper.
    #[test]
    fn rules_are_followed(mut world in world(true, 3), choice in rule()) {
        // Of one kind, so that none is against another, and never against what has to be.
        for asset in &mut world.assets {
            asset.forced = asset.forced.and(choice);
        }
        let together = Together::new(world.places);
        let scene = Scene::new(&world.assets, &together, &world.settings);
        let choices = choose(&scene);
        for (index, choice) in choices.iter().enumerate() {
            if let Some(forced) = scene.forced(index) {
                let is_single = scene.assets[index].users.len() == 1;
                prop_assert!(*choice == forced || is_single, "{choice:?}, not {forced:?}");
            }
        }
    }

    /// What is decided does not follow from how large that is which one level uses: a layout is taken over where that alone has changed.
    #[test]
    fn what_one_level_uses_decides_nothing(mut world in world(true, 3), sizes in prop::collection::vec(0..1_u64 << 24, 64)) {
        let together = Together::new(world.places.clone());
        let decide = |assets: &[Asset]| {
            let scene = Scene::new(assets, &together, &world.settings);
            let laid = scene.lay(&choose(&scene));
            (laid.homes, laid.has_persistent, laid.shared, laid.originals)
        };
        let before = decide(&world.assets);
        let owned = before.0.iter().zip(&mut world.assets).filter(|(home, _)| matches!(home, Home::Level(_)));
        for ((_, asset), size) in owned.zip(sizes.iter().cycle()) {
            asset.size = ObjectSize { stored: size + 7, read: size / 3, unpacked: size * 2 };
        }
        prop_assert_eq!(before, decide(&world.assets));
    }

    /// Without references, groups have nothing to do with each other: no other choice is cheaper.
    #[test]
    fn without_references_nothing_is_cheaper(mut world in world(false, 0)) {
        // Nothing persistent, which costs an opened package together.
        world.places.iter_mut().for_each(|place| place.is_always_loaded = false);
        let together = Together::new(world.places);
        let scene = Scene::new(&world.assets, &together, &world.settings);
        let choices = choose(&scene);
        let ours = price(&scene, &choices);
        for group in scene.groups.iter().filter(|group| group.is_shared()) {
            for choice in [Choice::Share, Choice::Duplicate] {
                let mut others = choices.clone();
                group.assets.iter().for_each(|asset| others[*asset] = choice);
                prop_assert!(ours <= price(&scene, &others));
            }
        }
    }
}
