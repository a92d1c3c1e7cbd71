//! Any content, reloaded as any other content: the world is the one of a level that comes anew.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const THINGS: u8 = 7;

fn thing_of(number: u8) -> impl Strategy<Value = Thing> {
    let other = proptest::option::of(0..THINGS);
    let parent = proptest::option::of(0..THINGS);
    let values = (
        proptest::option::of("[ab]"),
        proptest::option::of(0..2_u8),
        proptest::option::of(0..3_u8),
        any::<bool>(),
        proptest::option::of(any::<bool>()),
        any::<bool>(),
    );
    (parent, 0..4_u8, 0..2_u8, other.clone(), other, values).prop_map(
        move |(parent, rank, place, likes, follows, (label, weight, serves, is_shown, is_hidden, is_placed))| Thing {
            // No circles.
            parent: parent.filter(|parent| *parent < number),
            rank,
            place,
            label,
            weight,
            likes,
            follows,
            serves,
            is_shown,
            is_hidden,
            is_placed,
        },
    )
}

fn content() -> impl Strategy<Value = Content> {
    let things: Vec<_> = (0..THINGS)
        .map(|number| proptest::option::weighted(0.7, thing_of(number)))
        .collect();
    (things, proptest::collection::vec("[xy]", 0..3)).prop_map(|(things, titles)| Content {
        things: (0..)
            .zip(things)
            .filter_map(|(number, thing)| Some((number, thing?)))
            .collect(),
        titles,
    })
}

/// The second differs from the first in a few things only, or wholly.
fn two() -> impl Strategy<Value = (Content, Content)> {
    (
        content(),
        content(),
        proptest::collection::vec(0..THINGS, 0..4),
        any::<bool>(),
    )
        .prop_map(|(old, other, changed, wholly)| {
            if wholly {
                return (old, other);
            }
            let mut new = old.clone();
            for number in changed {
                match other.things.get(&number) {
                    Some(thing) => new.things.insert(number, thing.clone()),
                    None => new.things.remove(&number),
                };
            }
            new.titles.clone_from(&other.titles);
            (old, new)
        })
}

/// The ticks of all components, by thing and component.
fn ticks(world: &World, root: Entity) -> BTreeMap<(u8, String), (Entity, u32, u32)> {
    let mut ticks = BTreeMap::new();
    for number in 0..THINGS {
        let Some(id) = entity(world, root, "a.pkg", number) else {
            continue;
        };
        let entity = world.entity(id);
        for component in entity.archetype().components() {
            let name = name_of(world, *component);
            let of = entity.get_change_ticks_by_id(*component).unwrap();
            ticks.insert((number, name), (id, of.added.get(), of.changed.get()));
        }
    }
    ticks
}

/// What game code may do to a thing.
#[derive(Clone, Debug)]
enum Change {
    Relabel(u8),
    Move(u8),
    Unlabel(u8),
    Unfollow(u8),
    Despawn(u8),
    /// Below one of a smaller number, so there are no circles.
    Hang(u8, u8),
}

fn change() -> impl Strategy<Value = Change> {
    let number = || 0..THINGS;
    prop_oneof![
        number().prop_map(Change::Relabel),
        number().prop_map(Change::Move),
        number().prop_map(Change::Unlabel),
        number().prop_map(Change::Unfollow),
        number().prop_map(Change::Despawn),
        (number(), number()).prop_map(|(a, b)| Change::Hang(a.max(b), a.min(b))),
    ]
}

impl Change {
    fn run(&self, world: &mut World, root: Entity) {
        let find = |world: &World, number| {
            entity(world, root, "a.pkg", number).filter(|entity| world.get_entity(*entity).is_ok())
        };
        let (Self::Relabel(number)
        | Self::Move(number)
        | Self::Unlabel(number)
        | Self::Unfollow(number)
        | Self::Despawn(number)
        | Self::Hang(number, _)) = *self;
        let Some(entity) = find(world, number) else { return };
        match *self {
            Self::Relabel(_) => {
                if let Some(mut label) = world.get_mut::<Label>(entity) {
                    label.0 = "of the game".into();
                }
            }
            Self::Move(_) => world.get_mut::<Transform>(entity).unwrap().translation.y = 7.0,
            Self::Unlabel(_) => drop(world.entity_mut(entity).remove::<Label>()),
            Self::Unfollow(_) => drop(world.entity_mut(entity).remove::<Follows>()),
            Self::Despawn(_) => drop(world.despawn(entity)),
            Self::Hang(above, below) => {
                if let Some(parent) = find(world, below).filter(|_| above != below) {
                    world.entity_mut(entity).insert(ChildOf(parent));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn a_reload_ends_where_a_load_does((old, new) in two()) {
        let dir = Dir::default();
        let (mut app, _, root) = live(&dir, &old);
        let before = ticks(app.world(), root);
        let report = reload(&mut app, &dir, &new, ReloadPolicy::Overwrite);
        prop_assert_eq!(picture(app.world_mut(), root, "a.pkg"), fresh(&new));
        let after = ticks(app.world(), root);
        for ((number, component), (id, added, changed)) in &before {
            let Some(now) = after.get(&(*number, component.clone())) else { continue };
            prop_assert_eq!(*id, now.0, "kept entities keep their ids");
            let is_equal = old.things[number] == new.things[number];
            // What Bevy requires may go and come again as a default. Lists of followers are Bevy's.
            let of_bevy = ["bevy_camera::", "bevy_transform::", "bevy_mesh::"];
            let is_reset = !is_equal && of_bevy.iter().any(|of| component.starts_with(of));
            let is_list = component.ends_with("FollowedBy");
            prop_assert!(*added == now.1 || is_reset || is_list, "{} of {} was added again", component, number);
            // These may refer to what has come or gone.
            let links = ["Children", "ChildOf", "Follows", "FollowedBy", "Likes", "Serves"];
            if is_equal && !links.iter().any(|link| component.ends_with(link)) {
                prop_assert_eq!(*changed, now.2, "{} of {} was touched", component, number);
            }
        }
        prop_assert_eq!(report.entities_kept, old.things.keys().filter(|number| new.things.contains_key(*number)).count());
        // Once more there is nothing to do.
        let again = reload(&mut app, &dir, &new, ReloadPolicy::Refuse);
        prop_assert_eq!((again.components_written, again.components_removed, again.assets_replaced), (0, 0, 0));
        prop_assert_eq!(ticks(app.world(), root), after);
    }

    #[test]
    fn whatever_was_changed_the_file_wins((old, new) in two(), changes in proptest::collection::vec(change(), 0..6)) {
        let dir = Dir::default();
        let (mut app, _, root) = live(&dir, &old);
        changes.iter().for_each(|change| change.run(app.world_mut(), root));
        app.update();
        // What was kept once is not forgotten.
        reload(&mut app, &dir, &old, ReloadPolicy::KeepEdits);
        reload(&mut app, &dir, &new, ReloadPolicy::Overwrite);
        prop_assert_eq!(picture(app.world(), root, "a.pkg"), fresh(&new));
    }

    #[test]
    fn what_was_changed_stays((old, new) in two(), number in 0..THINGS) {
        let dir = Dir::default();
        let (mut app, _, root) = live(&dir, &old);
        Change::Relabel(number).run(app.world_mut(), root);
        let was = entity(app.world(), root, "a.pkg", number).and_then(|entity| label(&app, entity));
        reload(&mut app, &dir, &new, ReloadPolicy::KeepEdits);
        let is = entity(app.world(), root, "a.pkg", number).and_then(|entity| label(&app, entity));
        match new.things.get(&number) {
            Some(_) if was.is_some() => prop_assert_eq!(is, was),
            thing => prop_assert_eq!(is, thing.and_then(|thing| thing.label.clone())),
        }
    }
}
