//! An app whose time the tests move.

use core::time::Duration;
use std::{path::Path, time::Instant};

use bevy_app::{App, TaskPoolPlugin};
use bevy_asset::{
    Asset, AssetApp, AssetPlugin, Assets, Handle,
    io::{AssetSourceBuilder, AssetSourceId, memory::Dir},
};
use bevy_ecs::{entity::Entity, resource::Resource, world::World};
use bevy_time::Time;
use seamless_asset::{
    SeamlessAssetPlugin,
    doubles::{Fate, GatedReader, ReadGate},
};

use crate::*;

pub fn tag(name: &str) -> GameplayTag {
    GameplayTag::new(name).expect("a tag")
}

pub fn tags(names: &[&str]) -> TagSet {
    names.iter().map(|name| tag(name)).collect()
}

pub fn mana() -> GameplayTag {
    tag("Attribute.Mana")
}

pub fn seconds(time: f32) -> Duration {
    Duration::from_secs_f32(time)
}

/// What observers have heard, in its order.
#[derive(Resource, Default)]
pub struct Heard(pub Vec<String>);

/// An app that reads from memory; the gate lets everything pass, and knows of it.
pub fn app() -> (App, Dir, ReadGate) {
    let (dir, gate) = (Dir::default(), ReadGate::default());
    gate.otherwise(Some(Fate::Pass));
    let mut app = App::new();
    let source = {
        let (dir, gate) = (dir.clone(), gate.clone());
        AssetSourceBuilder::new(move || Box::new(GatedReader::of(&dir, &gate)))
    };
    app.register_asset_source(AssetSourceId::Default, source)
        .add_plugins((
            TaskPoolPlugin::default(),
            AssetPlugin::default(),
            SeamlessAssetPlugin::default(),
            AbilityPlugin::default(),
        ))
        .init_resource::<Time>()
        .init_resource::<Heard>();
    app.finish();
    app.cleanup();
    (app, dir, gate)
}

pub fn put(dir: &Dir, path: &str, bytes: impl Into<Vec<u8>>) {
    dir.insert_asset(Path::new(path), bytes.into());
}

/// A frame of so many seconds.
pub fn frame(app: &mut App, time: f32) {
    app.world_mut().resource_mut::<Time>().advance_by(seconds(time));
    app.update();
}

pub fn run_until(app: &mut App, mut done: impl FnMut(&mut World) -> bool) {
    let start = Instant::now();
    // By the clock, and long: the threads that load are of the lowest priority, and on a busy machine get next to nothing of it.
    while start.elapsed() < Duration::from_secs(240) {
        frame(app, 0.0);
        if done(app.world_mut()) {
            return;
        }
        std::thread::yield_now();
    }
    panic!("it takes too long");
}

pub fn add<A: Asset>(app: &mut App, asset: A) -> Handle<A> {
    app.world_mut().resource_mut::<Assets<A>>().add(asset)
}

/// Somebody with a hundred mana.
pub fn hero(app: &mut App) -> Entity {
    let attributes = Attributes::new([AttributeDef::new(mana(), 100.0).min(0.0).max(100.0)]).expect("attributes");
    app.world_mut().spawn((attributes, Abilities::default())).id()
}

/// Gives somebody an ability.
pub fn grant(app: &mut App, entity: Entity, ability: Ability) -> AbilityId {
    let handle = add(app, ability);
    let spec = AbilitySpec::new(handle);
    let granted = app.world_mut().gameplay(move |gameplay| gameplay.grant(entity, spec));
    granted.expect("the plugin is there").expect("there is room")
}

pub fn activate(app: &mut App, entity: Entity, id: AbilityId) -> Result<(), AbilityRefused> {
    let activated = app
        .world_mut()
        .gameplay(move |gameplay| gameplay.try_activate(entity, id, Aim::default()));
    activated.expect("the plugin is there")
}

pub fn is_active(app: &App, entity: Entity, id: AbilityId) -> bool {
    let abilities = app.world().get::<Abilities>(entity).expect("it has abilities");
    abilities.get(id).is_some_and(GrantedAbility::is_active)
}

pub fn has(app: &App, entity: Entity, name: &str) -> bool {
    app.world()
        .get::<OwnedTags>(entity)
        .expect("it has tags")
        .has(tag(name))
}

pub fn value(app: &App, entity: Entity) -> f32 {
    let attributes = app.world().get::<Attributes>(entity).expect("it has attributes");
    attributes.current(mana()).expect("it has mana")
}
