use bevy_app::TaskPoolPlugin;
use bevy_ecs::query::Allow;
use bevy_transform::TransformPlugin;

use super::*;
use crate::{
    InHiddenLevel,
    hide::{ShownFirst, show_first},
};

/// What the level says of where its entities stand, which is nowhere near the truth: who looks, finds out.
const SAID: Transform = Transform::from_xyz(1000.0, 0.0, 0.0);

/// A level with a root, a room and a chair, each one unit further, hidden and all there.
struct Level {
    app: App,
    entities: [Entity; 3],
    came_at: CameAt,
}

fn step() -> Transform {
    Transform::from_xyz(1.0, 0.0, 0.0)
}

fn app() -> App {
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), TransformPlugin));
    app.world_mut().register_disabling_component::<InHiddenLevel>();
    add_systems(&mut app);
    app
}

impl Level {
    fn new() -> Self {
        Self::of(app())
    }

    fn of(mut app: App) -> Self {
        app.update();
        let world = app.world_mut();
        let said = GlobalTransform::from(SAID);
        let root = world.spawn((step(), said, InHiddenLevel)).id();
        let room = world.spawn((step(), said, InHiddenLevel, ChildOf(root))).id();
        let chair = world.spawn((step(), said, InHiddenLevel, ChildOf(room))).id();
        // As it is when both ends of each relationship are spawned.
        let mut came_at = CameAt::default();
        came_at.bring(world, |world| {
            let now = world.change_tick();
            let came = ComponentTicks {
                added: now,
                changed: now,
            };
            crate::spawn::rewrite_ticks(world, &[root, room, chair], |_| Some(came), |_, _, before| before);
        });
        app.update();
        Self {
            app,
            entities: [root, room, chair],
            came_at,
        }
    }

    /// Shows it; whether Bevy is told that it is settled.
    fn show(&mut self) -> bool {
        self.show_as(true).settled_at.is_some()
    }

    /// Shows it as one that came with its final places, or without.
    fn show_as(&mut self, is_settled: bool) -> ShownFirst {
        let world = self.app.world_mut();
        let untouched = Untouched::new(world, is_settled, 2, 2, core::mem::take(&mut self.came_at));
        let shown = show_first(world, &self.entities, untouched);
        if let Some(at) = shown.settled_at {
            world.resource_mut::<SettledTrees>().come(at);
        }
        shown
    }

    fn x(&self, entity: Entity) -> f32 {
        self.app.world().get::<GlobalTransform>(entity).unwrap().translation().x
    }

    fn said(&self) -> [bool; 3] {
        self.entities.map(|entity| self.x(entity) == SAID.translation.x)
    }

    /// When they were marked. Bevy on one thread works them out whether they are marked or not.
    fn marks(&self) -> [Tick; 3] {
        let mark = |entity: Entity| self.app.world().entity(entity).get_ref::<TransformTreeChanged>();
        self.entities.map(|entity| mark(entity).unwrap().last_changed())
    }

    fn true_places(&self) -> [f32; 3] {
        self.entities.map(|entity| self.x(entity))
    }

    fn move_to(&mut self, entity: Entity, x: f32) {
        self.app.world_mut().get_mut::<Transform>(entity).unwrap().translation.x = x;
    }

    fn is_enabled(&self) -> bool {
        self.app.world().resource::<StaticTransformOptimizations>().is_enabled()
    }
}

#[derive(Resource, Default, Debug, PartialEq, Eq)]
struct Heard([usize; 4]);

fn hear(
    added: Query<(), Added<Transform>>,
    changed: Query<(), (Changed<Transform>, Changed<GlobalTransform>)>,
    trees: Query<(), Added<TransformTreeChanged>>,
    parents: Query<(), Changed<ChildOf>>,
    mut heard: ResMut<Heard>,
) {
    heard.0 = [
        added.iter().count(),
        changed.iter().count(),
        trees.iter().count(),
        parents.iter().count(),
    ];
}

#[test]
fn bevy_does_not_look_at_a_settled_level_and_everybody_else_hears_of_it() {
    let mut app = app();
    app.init_resource::<Heard>().add_systems(bevy_app::Last, hear);
    let mut level = Level::of(app);
    let marks = level.marks();
    assert!(level.show());
    level.app.update();
    assert_eq!(level.marks(), marks);
    assert_eq!(*level.app.world().resource::<Heard>(), Heard([3, 3, 3, 2]));
    assert!(level.is_enabled());
    level.app.update();
    assert_eq!(level.marks(), marks);
    assert_eq!(*level.app.world().resource::<Heard>(), Heard::default());
}

#[test]
fn who_moves_beside_it_in_that_frame_is_moved() {
    let mut level = Level::new();
    let world = level.app.world_mut();
    let cart = world.spawn(step()).id();
    let barrel = world.spawn((step(), ChildOf(cart))).id();
    level.app.update();
    assert_eq!(level.x(barrel), 2.0);
    level.move_to(cart, 5.0);
    let marks = level.marks();
    assert!(level.show());
    level.app.update();
    assert_eq!((level.x(cart), level.x(barrel)), (5.0, 6.0));
    assert_eq!(level.marks(), marks);
    // And the child alone, the frame after.
    level.move_to(barrel, 3.0);
    level.app.update();
    assert_eq!(level.x(barrel), 8.0);
}

#[test]
fn who_loses_its_parent_in_that_frame_stands_alone() {
    let mut level = Level::new();
    let cart = level.app.world_mut().spawn(step()).id();
    let barrel = level
        .app
        .world_mut()
        .spawn((step(), ChildOf(cart), Children::default()))
        .id();
    let _nail = level.app.world_mut().spawn((step(), ChildOf(barrel))).id();
    level.app.update();
    assert_eq!(level.x(barrel), 2.0);
    level.app.world_mut().entity_mut(barrel).remove::<ChildOf>();
    assert!(level.show());
    level.app.update();
    assert_eq!(level.x(barrel), 1.0);
}

#[test]
fn what_is_moved_of_the_level_itself_is_moved_with_all_below() {
    for moved in 0..3 {
        let mut level = Level::new();
        assert!(level.show());
        level.move_to(level.entities[moved], 10.0);
        level.app.update();
        let places = level.true_places();
        let mut expected = [1.0, 2.0, 3.0];
        expected[moved..].iter_mut().for_each(|x| *x += 9.0);
        assert_eq!(places[moved..], expected[moved..], "entity {moved}");
    }
}

#[test]
fn a_level_that_was_touched_while_it_was_hidden_is_looked_at() {
    type Touch = fn(&mut World, [Entity; 3]);
    let touches: [Touch; 8] = [
        |world, [_, room, _]| world.get_mut::<Transform>(room).unwrap().translation.x = 1.0,
        |world, [.., chair]| {
            world.spawn((step(), ChildOf(chair)));
        },
        |world, [root, ..]| {
            world.spawn((step(), ChildOf(root)));
        },
        |world, [.., chair]| {
            world.entity_mut(chair).remove::<ChildOf>();
        },
        |world, [root, ..]| {
            let cart = world.spawn(Transform::IDENTITY).id();
            world.entity_mut(root).insert(ChildOf(cart));
        },
        // Nothing of this is a change: it is all added anew.
        |world, [_, room, _]| {
            world.entity_mut(room).remove::<Transform>().insert(step());
        },
        |world, [_, room, _]| {
            let mut room = world.entity_mut(room);
            room.remove_with_requires::<Transform>().insert(step());
        },
        |world, [_, room, chair]| {
            world.entity_mut(chair).remove::<ChildOf>().insert(ChildOf(room));
        },
    ];
    for (number, touch) in touches.into_iter().enumerate() {
        let mut level = Level::new();
        touch(level.app.world_mut(), level.entities);
        level.app.update();
        let marks = level.marks();
        assert!(!level.show(), "touch {number}");
        level.app.update();
        let is_marked = level.marks().iter().zip(&marks).all(|(now, before)| now != before);
        assert!(is_marked, "touch {number}");
        assert_eq!(level.said()[..2], [false; 2], "touch {number}");
        assert_eq!(level.true_places()[..2], [1.0, 2.0], "touch {number}");
    }
}

#[test]
fn what_comes_in_a_step_has_a_tick_of_it() {
    let mut world = World::new();
    // Over the edge of what a tick can count.
    let near_the_end = CameAt {
        first: Some(Tick::new(u32::MAX - 1)),
        spans: vec![(0, 1), (4, 4), (6, 9)],
    };
    let has = |at: &CameAt, tick: u32| at.step_of(Tick::new(tick)).is_some();
    let first = u32::MAX - 1;
    let found: Vec<u32> = (0..12)
        .filter(|at| has(&near_the_end, first.wrapping_add(*at)))
        .collect();
    assert_eq!(found, [0, 1, 4, 6, 7, 8, 9]);
    assert!(!has(&near_the_end, first - 1) && !has(&CameAt::default(), 0));
    let mut came_at = CameAt::default();
    let mut outside = vec![world.change_tick()];
    let mut inside = Vec::new();
    for others in 0..3 {
        came_at.bring(&mut world, |world| {
            for _ in 0..=others {
                inside.push(world.change_tick());
                world.increment_change_tick();
            }
            inside.push(world.change_tick());
        });
        outside.push(world.change_tick());
    }
    assert!(inside.iter().all(|tick| came_at.step_of(*tick).is_some()));
    assert!(outside.iter().all(|tick| came_at.step_of(*tick).is_none()));
}

/// Somebody observes places, so they come after the level is seen: Bevy works them out as always.
#[test]
fn a_level_whose_places_are_still_to_come_is_looked_at() {
    let mut level = Level::new();
    let [_, room, _] = level.entities;
    level.app.world_mut().entity_mut(room).remove::<GlobalTransform>();
    let shown = level.show_as(true);
    assert!(shown.settled_at.is_none() && shown.hung_since.is_some());
}

/// Wherever it stands: its lists of children need not be gone through then when it is hidden.
#[test]
fn a_level_is_known_to_be_hung_as_it_came() {
    type Touch = fn(&mut World, [Entity; 3]);
    let touches: [(bool, Touch); 6] = [
        (true, |_, _| ()),
        (true, |world, [_, room, _]| {
            world.get_mut::<Transform>(room).unwrap().translation.x = 1.0;
        }),
        (false, |world, [.., chair]| {
            world.spawn(ChildOf(chair));
        }),
        (false, |world, [root, ..]| {
            world.spawn(ChildOf(root));
        }),
        (false, |world, [.., chair]| {
            world.entity_mut(chair).remove::<ChildOf>();
        }),
        (false, |world, [_, room, chair]| {
            world.entity_mut(chair).remove::<ChildOf>().insert(ChildOf(room));
        }),
    ];
    for is_settled in [false, true] {
        for (number, (is_as_hung, touch)) in touches.into_iter().enumerate() {
            let mut level = Level::new();
            touch(level.app.world_mut(), level.entities);
            let shown = level.show_as(is_settled);
            assert_eq!(shown.hung_since.is_some(), is_as_hung, "touch {number}");
            assert_eq!(shown.settled_at.is_some(), is_settled && number == 0, "touch {number}");
        }
    }
}

#[test]
fn who_moves_between_the_two_systems_is_moved_at_last() {
    #[derive(Resource)]
    struct Cart(Entity);
    let mut app = app();
    let cart = app.world_mut().spawn(step()).id();
    let barrel = app.world_mut().spawn((step(), ChildOf(cart))).id();
    app.insert_resource(Cart(cart));
    fn push(cart: Res<Cart>, mut frames: Local<u32>, mut places: Query<&mut Transform>) {
        *frames += 1;
        if *frames == 3 {
            places.get_mut(cart.0).unwrap().translation.x = 7.0;
        }
    }
    app.add_systems(PostUpdate, push.after(mark_other_trees).before(mark_dirty_trees));
    let mut level = Level::of(app);
    assert!(level.show());
    level.app.update();
    level.app.update();
    assert_eq!((level.x(cart), level.x(barrel)), (7.0, 8.0));
}

#[test]
fn who_wants_all_to_be_looked_at_has_it() {
    let mut level = Level::new();
    let world = level.app.world_mut();
    *world.resource_mut::<StaticTransformOptimizations>() = StaticTransformOptimizations::Disabled;
    assert!(level.show());
    level.app.update();
    assert_eq!(level.true_places(), [1.0, 2.0, 3.0]);
    assert!(!level.is_enabled());
}

/// Nothing of it is there for others meanwhile.
#[test]
fn the_level_is_hidden_until_it_is_shown() {
    let mut level = Level::new();
    let world = level.app.world_mut();
    assert_eq!(world.query::<&Transform>().iter(world).count(), 0);
    let mut all = world.query_filtered::<&Transform, Allow<InHiddenLevel>>();
    assert_eq!(all.iter(world).count(), 3);
}
