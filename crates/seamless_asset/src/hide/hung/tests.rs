use bevy_platform::collections::HashSet;
use proptest::prelude::*;

use super::*;
use crate::{
    LevelHiders, OfLevel,
    hide::{Hiding, hide, hide_hung},
};

#[derive(Component)]
struct Other;

fn world() -> World {
    let mut world = World::new();
    world.register_disabling_component::<InHiddenLevel>();
    world.init_resource::<LevelHiders>();
    world
}

/// A level of six entities in two archetypes, the first with the second below it.
fn level(world: &mut World) -> (Entity, Members) {
    let root = world.spawn_empty().id();
    let mut entities: Vec<Entity> = Vec::new();
    for index in 0..6 {
        let below = if index == 1 { entities[0] } else { root };
        let mut entity = world.spawn(ChildOf(below));
        if index % 2 == 1 {
            entity.insert(Other);
        }
        entities.push(entity.id());
    }
    let members = Members {
        entities: entities.into(),
        ..Members::default()
    };
    (root, members)
}

fn hide_now(world: &mut World, root: Entity, members: &Members) -> Hiding {
    let heard = world.increment_change_tick();
    hide(world, root, members, heard)
}

fn sets(all: &Everything) -> [HashSet<Entity>; 3] {
    [&all.own, &all.others[..], &all.foreign].map(|list| list.iter().copied().collect())
}

/// What game code does to a level, by numbers that choose whom.
#[derive(Debug, Clone)]
enum Deed {
    Hang { below: usize },
    Bind,
    Despawn { which: usize },
    HangLevel { below: usize },
    HideOther,
    ListsAreKnown,
}

fn deed() -> impl Strategy<Value = Deed> {
    let number = || 0..64_usize;
    prop_oneof![
        4 => number().prop_map(|below| Deed::Hang { below }),
        1 => Just(Deed::Bind),
        1 => number().prop_map(|which| Deed::Despawn { which }),
        1 => number().prop_map(|below| Deed::HangLevel { below }),
        1 => Just(Deed::HideOther),
        1 => Just(Deed::ListsAreKnown),
    ]
}

proptest! {
    /// Who is looked for among what has just been hidden is who is found by looking through the level before.
    #[test]
    fn a_level_that_was_hidden_is_all_that_it_was(deeds in prop::collection::vec(deed(), 0..24)) {
        let mut world = world();
        let (root, mut members) = level(&mut world);
        let (other, others) = level(&mut world);
        let mut places: Vec<Entity> = members.entities.iter().copied().chain([root]).collect();
        let mut is_other_hidden = false;
        for deed in deeds {
            let at = |index: usize| places[index % places.len()];
            match deed {
                Deed::Hang { below } if world.get_entity(at(below)).is_ok() => {
                    let hung = world.spawn(ChildOf(at(below))).id();
                    places.push(hung);
                }
                Deed::Bind => places.push(world.spawn(OfLevel(root)).id()),
                Deed::Despawn { which } if at(which) != root => {
                    world.try_despawn(at(which)).ok();
                }
                Deed::HangLevel { below } if world.get_entity(at(below)).is_ok() => {
                    world.spawn((crate::LevelInstance::default(), ChildOf(at(below))));
                }
                Deed::HideOther if !is_other_hidden => {
                    hide_now(&mut world, other, &others);
                    is_other_hidden = true;
                }
                Deed::ListsAreKnown if places.len() == 7 => members.hung_since = Some(world.increment_change_tick()),
                _ => {}
            }
        }
        let expected = sets(&Everything::of(&world, root, &members));
        let hiding = hide_now(&mut world, root, &members);
        prop_assert_eq!(sets(&hiding.all), expected);
        let all = hiding.all.lists().concat();
        prop_assert!(all.iter().all(|entity| world.get::<InHiddenLevel>(*entity).is_some()));
    }
}

/// A level that nobody has touched since it was hidden is not looked through when it goes, whatever others do meanwhile.
#[test]
fn nobody_is_looked_for_where_nothing_was_hung() {
    let mut world = world();
    let (root, members) = level(&mut world);
    let mut hiding = hide_now(&mut world, root, &members);
    let may_be = |world: &World, hiding: &Hiding| may_be_hung(world, root, hiding.since, 1024);
    assert!(!may_be(&world, &hiding));
    // Others are on their way, hidden, with lists that are newer.
    let (other, others) = level(&mut world);
    hide_now(&mut world, other, &others);
    assert!(!may_be(&world, &hiding));
    assert!(
        may_be_hung(&world, root, hiding.since, 3),
        "with more of these than are looked at, nobody knows"
    );
    let ages_ago = Tick::new(world.read_change_tick().get().wrapping_sub(MAX_CHANGE_AGE));
    assert!(may_be_hung(&world, root, ages_ago, 1024), "nor after so long");
    // In a level that can be seen, anything goes.
    let (third, _) = level(&mut world);
    world.spawn(ChildOf(third));
    assert!(!may_be(&world, &hiding));
    let hung = world.spawn(ChildOf(members.entities[3])).id();
    assert!(may_be(&world, &hiding));
    hide_hung(&mut world, root, &members, &mut hiding);
    assert!(world.get::<InHiddenLevel>(hung).is_some() && hiding.all.others.contains(&hung));
    assert!(!may_be(&world, &hiding));
    let bound = world.spawn(OfLevel(root)).id();
    assert!(may_be(&world, &hiding));
    hide_hung(&mut world, root, &members, &mut hiding);
    assert!(world.get::<InHiddenLevel>(bound).is_some() && hiding.all.others.contains(&bound));
}
