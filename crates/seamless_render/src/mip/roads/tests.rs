use bevy_ecs::system::RunSystemOnce;
use bevy_pbr::StandardMaterial;

use super::*;
use crate::mip::{
    MipImage, MipPool, MipSwap, MipTextures,
    textures::tests::{id, record},
};

#[test]
fn own_touches_are_told_once_for_each() {
    let mut own = OwnTouches::default();
    let id = AssetId::<StandardMaterial>::invalid().untyped();
    assert!(!own.take(id));
    own.add(id);
    own.add(id);
    assert!(own.take(id) && own.take(id) && !own.take(id));
    own.add(id);
    own.forget(id);
    assert!(!own.take(id) && own.0.is_empty());
}

/// A world with three materials, of which the first two have a texture that is replaced in this frame, and what was sent on the quiet road, and touched.
fn renewed(is_touched: bool) -> (Vec<usize>, Vec<usize>) {
    let mut app = App::new();
    app.add_plugins((
        bevy_app::TaskPoolPlugin::default(),
        bevy_asset::AssetPlugin::default(),
        seamless_asset::SeamlessAssetPlugin::default(),
    ));
    let world = app.world_mut();
    world.insert_resource(MipTextures::new(9));
    world.init_resource::<MipPool>();
    world.init_resource::<MipWork>();
    world.init_resource::<MipUsers>();
    world.init_resource::<OwnTouches>();
    world.init_resource::<Assets<StandardMaterial>>();
    world.insert_resource(MipRoads::of(vec![false, is_touched]));
    world.insert_resource(RoadOf::<StandardMaterial> { number: 1, ids: vec![] });
    world.insert_resource(Renewed::<StandardMaterial>(vec![]));
    let mut materials = world.resource_mut::<Assets<StandardMaterial>>();
    let handles = [(); 3].map(|()| materials.add(StandardMaterial::default()));
    let images: [&[u32]; 3] = [&[7, 8], &[7], &[9]];
    for (handle, images) in handles.iter().zip(images) {
        let images = images.iter().map(|number: &u32| MipImage::new(id(*number)));
        let mut users = world.resource_mut::<MipUsers>();
        users.materials.note(handle.id().untyped(), images.collect());
    }
    MipWork::scope(world, |work, textures, ledger| {
        for number in [7, 8] {
            work.come(id(number), record(), textures, ledger);
        }
        for texture in [0, 1] {
            let change = ledger.begin(texture, record().chain(), 0).expect("it can");
            work.swap(&MipSwap {
                id: change.id,
                texture,
                from: 2,
                to: 0,
            });
        }
        work.send(textures);
    });
    assert_eq!(world.resource::<MipWork>().commands().len(), 2);
    world.clear_trackers();
    world.run_system_once(renew::<StandardMaterial>).expect("it runs");
    let place = |id: AssetId<StandardMaterial>| handles.iter().position(|handle| handle.id() == id).expect("known");
    let quiet = world.resource::<Renewed<StandardMaterial>>().0.iter();
    let quiet = quiet.map(|(id, _)| place(*id)).collect();
    let ids = handles.each_ref().map(|handle| handle.id().untyped());
    let mut own = world.resource_mut::<OwnTouches>();
    let touched = (0..3).filter(|at| own.take(ids[*at])).collect();
    assert_eq!(world.is_resource_changed::<Assets<StandardMaterial>>(), is_touched);
    (quiet, touched)
}

#[test]
fn each_material_of_a_replaced_texture_goes_its_road_once() {
    assert_eq!(renewed(false), (vec![0, 1], vec![]));
    assert_eq!(renewed(true), (vec![], vec![0, 1]));
}
