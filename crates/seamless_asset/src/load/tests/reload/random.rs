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
}
