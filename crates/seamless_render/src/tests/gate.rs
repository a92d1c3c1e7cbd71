//! The gate's books. That it opens, and not too early, is seen in pictures by the integration tests.

use bevy_asset::{Asset, AssetId, UntypedAssetId, uuid::Uuid};
use bevy_ecs::{system::RunSystemOnce, world::World};
use bevy_image::Image;
use bevy_mesh::Mesh;
use bevy_pbr::{PreparedMaterial, StandardMaterial};
use bevy_reflect::TypePath;
use bevy_render::{
    erased_render_asset::ErasedRenderAssets, mesh::RenderMesh, render_asset::RenderAssets, texture::GpuImage,
};
use core::any::TypeId;
use seamless_asset::RevealGate;

use crate::{
    GpuGate,
    gate::{note_prepared, start_over},
};

/// Nothing that a renderer knows.
#[derive(Asset, TypePath)]
struct Sound;

fn id<A: Asset>(number: u128) -> UntypedAssetId {
    AssetId::<A>::Uuid {
        uuid: Uuid::from_u128(number),
    }
    .untyped()
}

fn prepare(gate: &GpuGate, id: UntypedAssetId) {
    gate.lock().assets.get_mut(&id).expect("it is watched").0 = true;
}

#[test]
fn it_opens_when_the_last_asset_is_prepared() {
    let gate = GpuGate::default();
    let assets = [id::<Mesh>(1), id::<Image>(2)];
    assert!(!gate.is_open(&assets), "nobody watches them yet");
    gate.watch(&assets);
    assert!(!gate.is_open(&assets));
    prepare(&gate, assets[0]);
    assert!(!gate.is_open(&assets));
    assert!(gate.is_open(&assets[..1]));
    prepare(&gate, assets[1]);
    assert!(gate.is_open(&assets));
    assert!(gate.is_open(&[]));
}

#[test]
fn assets_without_a_renderer_do_not_hold_it() {
    let gate = GpuGate::default();
    let material = id::<StandardMaterial>(3);
    gate.watch(&[id::<Sound>(1), material]);
    assert!(gate.is_open(&[id::<Sound>(1), id::<Sound>(2), material]));
    assert!(gate.lock().assets.is_empty());
    gate.add_material(TypeId::of::<StandardMaterial>());
    gate.watch(&[material]);
    assert!(!gate.is_open(&[id::<Sound>(1), material]));
}

#[test]
fn an_asset_is_watched_until_its_last_user_forgets_it() {
    let gate = GpuGate::default();
    let (mesh, other) = (id::<Mesh>(1), id::<Mesh>(2));
    gate.watch(&[mesh, other]);
    gate.watch(&[mesh]);
    prepare(&gate, mesh);
    gate.forget(&[mesh, other]);
    assert!(gate.is_open(&[mesh]), "the second user still waits for it");
    assert!(!gate.is_open(&[other]));
    assert_eq!(gate.lock().assets.len(), 1);
    gate.forget(&[mesh]);
    gate.forget(&[mesh, other, id::<Sound>(3)]);
    assert!(gate.lock().assets.is_empty());
    assert!(!gate.is_open(&[mesh]), "what was prepared once may be gone by now");
}

#[test]
fn what_is_not_in_the_render_world_is_not_prepared() {
    let gate = GpuGate::default();
    gate.add_material(TypeId::of::<StandardMaterial>());
    let assets = [id::<Mesh>(1), id::<Image>(2), id::<StandardMaterial>(3)];
    gate.watch(&assets);
    let mut world = World::new();
    world.insert_resource(gate.clone());
    world.init_resource::<RenderAssets<GpuImage>>();
    world.init_resource::<RenderAssets<RenderMesh>>();
    world.init_resource::<ErasedRenderAssets<PreparedMaterial>>();
    world.run_system_once(note_prepared).expect("it has its resources");
    for asset in assets {
        assert!(!gate.is_open(&[asset]));
    }
}

#[test]
fn on_another_device_nothing_is_prepared() {
    let gate = GpuGate::default();
    let mesh = id::<Mesh>(1);
    gate.watch(&[mesh]);
    prepare(&gate, mesh);
    let mut world = World::new();
    world.insert_resource(gate.clone());
    world.run_system_once(start_over).expect("it has its resources");
    assert!(!gate.is_open(&[mesh]));
    prepare(&gate, mesh);
    assert!(gate.is_open(&[mesh]), "it is watched as before");
}
