//! Component hooks of a game's own run at the reveal when the whole level is there, whoever brings the component.

use std::{collections::BTreeMap, fs, path::Path};

use bevy::{
    ecs::{component::ComponentId, lifecycle::HookContext, world::DeferredWorld},
    prelude::*,
};
use bevy_seamless::{asset::LevelInstance, prelude::*};
use seamless_tests::{
    app::run_until,
    cooked::{Ask, Cooked, STREAM_LIMIT, ask, reveal, state},
};

/// Entities of each level; each has a wire to the next, the last one to the first.
const RING: usize = 12;
const LEVELS: [&str; 3] = ["lamps", "bulbs", "sockets"];

/// A reference to another entity of the level.
#[derive(Component, Reflect)]
#[reflect(Component, no_auto_register)]
struct Wire(#[entities] Entity);

/// Its hook is part of the type.
#[derive(Component, Reflect)]
#[reflect(Component, no_auto_register)]
#[component(on_add = look_around)]
struct Lamp;

/// It brings a component with a hook.
#[derive(Component, Reflect)]
#[reflect(Component, no_auto_register)]
#[require(Glow)]
struct Bulb;

/// Nobody registers it for reflection, and no level has it.
#[derive(Component, Default)]
#[component(on_add = look_around)]
struct Glow;

/// Its hook is set by the app.
#[derive(Component, Reflect)]
#[reflect(Component, no_auto_register)]
struct Socket;

/// How often the hooks of each component ran, and how often they did not find the whole level.
#[derive(Resource, Default)]
struct Seen(BTreeMap<ComponentId, (usize, usize)>);

fn look_around(mut world: DeferredWorld, context: HookContext) {
    let whole = is_whole(&world, context.entity);
    // The cooker, too, may make such components.
    if let Some(mut seen) = world.get_resource_mut::<Seen>() {
        let (ran, torn) = seen.0.entry(context.component_id).or_default();
        *ran += 1;
        *torn += usize::from(!whole);
    }
}

/// Whether the entity's wire leads to an entity with its components, and all others of its level are there with theirs.
fn is_whole(world: &World, entity: Entity) -> bool {
    let is_there = |entity: Entity| {
        world.get::<Transform>(entity).is_some()
            && world.get::<Name>(entity).is_some()
            && world.get::<Wire>(entity).is_some()
    };
    let root = world.get::<ChildOf>(entity).map(ChildOf::parent);
    let level = root.and_then(|root| world.get::<LevelInstance>(root));
    world.get::<Wire>(entity).is_some_and(|wire| is_there(wire.0))
        && level.is_some_and(|level| level.objects.len() == RING && level.objects.entities().all(is_there))
}

/// The text of a scene whose entities all have a `C`.
fn ring<C: TypePath>() -> String {
    let (name, transform, wire, own) = (
        Name::type_path(),
        Transform::type_path(),
        Wire::type_path(),
        C::type_path(),
    );
    let at_rest = "(translation: (0.0, 0.0, 0.0), rotation: (0.0, 0.0, 0.0, 1.0), scale: (1.0, 1.0, 1.0))";
    let entity = |at: usize| {
        // 1 is Bevy's placeholder.
        let (this, next) = (at + 100, (at + 1) % RING + 100);
        format!(
            "{this}: (components: {{\"{name}\": \"{this}\", \"{transform}\": {at_rest}, \"{wire}\": ({next}), \"{own}\": ()}}),"
        )
    };
    let entities: String = (0..RING).map(entity).collect();
    format!("(resources: {{}}, entities: {{ {entities} }})")
}

fn write_rings(dir: &Path) {
    for (level, scene) in LEVELS
        .into_iter()
        .zip([ring::<Lamp>(), ring::<Bulb>(), ring::<Socket>()])
    {
        fs::write(dir.join(format!("{level}.scn.ron")), scene).expect("the scene is written");
    }
}

fn register(app: &mut App) {
    app.register_type::<Wire>()
        .register_type::<Lamp>()
        .register_type::<Bulb>()
        .register_type::<Socket>();
}

fn register_and_listen(app: &mut App) {
    register(app);
    app.init_resource::<Seen>();
    let hooks = app.world_mut().register_component_hooks::<Socket>();
    hooks.on_insert(look_around);
}

/// For each kind of level: how often hooks ran, and how often they did not find it whole.
fn seen(ecs: &World) -> [(usize, usize); 3] {
    let ids = [
        ecs.component_id::<Lamp>(),
        ecs.component_id::<Glow>(),
        ecs.component_id::<Socket>(),
    ];
    let seen = &ecs.resource::<Seen>().0;
    ids.map(|id| id.and_then(|id| seen.get(&id)).copied().unwrap_or_default())
}

#[test]
fn hooks_find_the_whole_level() {
    let levels = LEVELS.map(|level| format!("(name: \"{level}\", source: \"{level}.scn.ron\")"));
    let cooked = Cooked::new(write_rings, &format!("(levels: [{}])", levels.join(", ")), register);
    let (mut app, world) = cooked.start(register_and_listen);
    // The second time, nothing about the level is new to Bevy.
    for times in 1..=2 {
        for level in LEVELS {
            reveal(&mut app, world, level);
        }
        assert_eq!(
            seen(app.world()),
            [(times * RING, 0); 3],
            "runs, and runs with a part of the level missing, of the hooks of {LEVELS:?}"
        );
        for level in LEVELS {
            ask(&mut app, level, Ask::Unload);
        }
        let gone = run_until(&mut app, STREAM_LIMIT, |ecs| {
            LEVELS
                .iter()
                .all(|level| state(ecs, world, level) == LevelState::Unloaded)
        });
        assert!(gone, "all levels leave");
    }
    // The hook itself: it sees a wire that leads nowhere.
    app.world_mut().spawn((Lamp, Wire(Entity::PLACEHOLDER)));
    assert_eq!(seen(app.world())[0], (2 * RING + 1, 1));
}
