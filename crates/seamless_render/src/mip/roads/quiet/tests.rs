use std::sync::Arc;

use bevy_asset::uuid::Uuid;
use bevy_ecs::system::RunSystemOnce;
use bevy_material::MaterialProperties;
use bevy_pbr::StandardMaterial;

use super::*;

fn id(number: u128) -> AssetId<StandardMaterial> {
    AssetId::Uuid {
        uuid: Uuid::from_u128(number),
    }
}

fn material(number: f32) -> StandardMaterial {
    StandardMaterial {
        reflectance: number,
        ..StandardMaterial::default()
    }
}

/// A render world; the main world has sent these.
fn extract(world: &mut World, sent: &[(u128, f32)]) {
    let sent = sent.iter().map(|(number, of)| (id(*number), material(*of)));
    let mut main = MainWorld::default();
    main.insert_resource(Renewed(sent.collect()));
    world.insert_resource(main);
    world
        .run_system_once(extract_again::<StandardMaterial>)
        .expect("it runs");
    let main = world.resource::<MainWorld>();
    assert!(main.resource::<Renewed<StandardMaterial>>().0.is_empty());
}

fn render_world() -> World {
    let mut world = World::new();
    world.init_resource::<Again<StandardMaterial>>();
    world.init_resource::<RenderMaterialBindings>();
    world.init_resource::<ExtractedAssets<MeshMaterial3d<StandardMaterial>>>();
    world.init_resource::<ErasedRenderAssets<PreparedMaterial>>();
    world
}

fn told(materials: &[(AssetId<StandardMaterial>, StandardMaterial)]) -> Vec<(AssetId<StandardMaterial>, f32)> {
    materials
        .iter()
        .map(|(id, material)| (*id, material.reflectance))
        .collect()
}

#[test]
fn the_latest_of_each_waits() {
    let mut world = render_world();
    extract(&mut world, &[(1, 0.1), (2, 0.2)]);
    extract(&mut world, &[]);
    extract(&mut world, &[(1, 0.3), (3, 0.4)]);
    let again = &world.resource::<Again<StandardMaterial>>().materials;
    assert_eq!(told(again), [(id(2), 0.2), (id(1), 0.3), (id(3), 0.4)]);
    world
        .run_system_once(forget_again::<StandardMaterial>)
        .expect("it runs");
    assert!(world.resource::<Again<StandardMaterial>>().materials.is_empty());
}

#[test]
fn what_is_prepared_and_stays_is_prepared_again() {
    let mut world = render_world();
    let mut prepared = world.resource_mut::<ErasedRenderAssets<PreparedMaterial>>();
    for number in [1, 2, 3] {
        let material = PreparedMaterial {
            binding: bevy_pbr::MaterialBindingId::default(),
            properties: Arc::new(MaterialProperties::default()),
        };
        prepared.insert(id(number), material);
    }
    let mut extracted = world.resource_mut::<ExtractedAssets<MeshMaterial3d<StandardMaterial>>>();
    extracted.removed.insert(id(2));
    extracted.added.insert(id(3));
    extract(&mut world, &[(1, 0.1), (2, 0.2), (3, 0.3), (4, 0.4)]);
    world
        .run_system_once(prepare_again::<StandardMaterial>)
        .expect("it runs");
    let extracted = world.resource::<ExtractedAssets<MeshMaterial3d<StandardMaterial>>>();
    assert_eq!(
        told(&extracted.extracted),
        [(id(1), 0.1)],
        "2 goes, 3 is prepared anyway, 4 is not yet"
    );
    assert!(extracted.added.contains(&id(1)) && extracted.added.len() == 2);
    assert!(world.resource::<Again<StandardMaterial>>().materials.is_empty());
}
