//! Scenes find what Bevy's own plugin gives them.

use std::any::TypeId;
use std::collections::BTreeSet;

use bevy::core_pipeline::CorePipelinePlugin;
use bevy::mesh::MeshPlugin;
use bevy::prelude::*;

use super::CoreOfScenes;

fn app(core: impl Plugin) -> App {
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin::default(),
        AssetPlugin::default(),
        ImagePlugin::default(),
        MeshPlugin,
    ));
    app.init_asset::<Shader>();
    app.add_plugins(core);
    app
}

fn types(app: &App) -> BTreeSet<&'static str> {
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let paths = registry.iter().map(|registration| registration.type_info().type_path());
    paths.collect()
}

/// The components that one entity gets with this one.
fn given<C: Component + Default>(app: &mut App) -> BTreeSet<Option<TypeId>> {
    let world = app.world_mut();
    let entity = world.spawn(C::default()).id();
    let infos = world.inspect_entity(entity).expect("it was spawned");
    infos.map(|info| info.type_id()).collect()
}

#[test]
fn scenes_find_the_types_and_required_components_of_bevys_own() {
    let (mut ours, mut bevys) = (app(CoreOfScenes), app(CorePipelinePlugin));
    assert_eq!(types(&ours), types(&bevys));
    assert_eq!(given::<Camera3d>(&mut ours), given::<Camera3d>(&mut bevys));
    assert_eq!(given::<Camera2d>(&mut ours), given::<Camera2d>(&mut bevys));
    assert!(given::<Camera3d>(&mut ours).len() > 10);
}
