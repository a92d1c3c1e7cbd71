use bevy_asset::{Handle, UntypedAssetId, uuid::Uuid};
use bevy_ecs::schedule::Schedule;
use bevy_image::Image;
use bevy_pbr::StandardMaterial;
use bevy_reflect::PartialReflect;
use seamless_asset::LevelHider;

use super::*;
use crate::mip::users::MipHider;

fn image(number: u128) -> Handle<Image> {
    Handle::Uuid(Uuid::from_u128(number), core::marker::PhantomData)
}

/// A world with materials, whose events are told in each frame.
struct Bed {
    world: World,
    schedule: Schedule,
}

impl Bed {
    fn new() -> Self {
        let mut world = World::new();
        world.init_resource::<Assets<StandardMaterial>>();
        world.init_resource::<bevy_ecs::message::Messages<AssetEvent<StandardMaterial>>>();
        world.init_resource::<MipUsers>();
        world.init_resource::<StreamingClock>();
        world.init_resource::<roads::OwnTouches>();
        let images = |material: &StandardMaterial, found: &mut dyn FnMut(MipImage)| {
            reflected::images_of(material.as_partial_reflect(), found);
        };
        world.insert_resource(ImagesIn::<StandardMaterial> {
            images,
            standard: |material| Some(material),
        });
        let mut schedule = Schedule::default();
        schedule.add_systems(note_materials::<StandardMaterial>);
        Self { world, schedule }
    }

    fn materials(&mut self) -> Mut<'_, Assets<StandardMaterial>> {
        self.world.resource_mut()
    }

    fn tell(&mut self, events: impl IntoIterator<Item = AssetEvent<StandardMaterial>>) {
        self.world.write_message_batch(events);
        self.schedule.run(&mut self.world);
    }

    /// The materials that are known to have an image.
    fn having(&self, number: u128) -> Vec<UntypedAssetId> {
        let users = self.world.resource::<MipUsers>();
        users.materials.of_image(image(number).id()).collect()
    }
}

fn with(number: u128) -> StandardMaterial {
    StandardMaterial {
        base_color_texture: Some(image(number)),
        ..StandardMaterial::default()
    }
}

#[test]
fn materials_are_known_by_what_they_have_now() {
    let mut bed = Bed::new();
    let handle = bed.materials().add(with(1));
    let id = handle.id();
    assert!(bed.having(1).is_empty());
    bed.tell([AssetEvent::Added { id }]);
    assert_eq!(bed.having(1), [id.untyped()]);
    bed.materials().insert(id, with(2)).expect("it is there");
    bed.tell([AssetEvent::Modified { id }, AssetEvent::LoadedWithDependencies { id }]);
    assert_eq!((bed.having(1), bed.having(2)), (vec![], vec![id.untyped()]));
    bed.tell([AssetEvent::Removed { id }]);
    assert!(bed.having(2).is_empty());
}

#[test]
fn own_touches_are_nothing_new() {
    let mut bed = Bed::new();
    let handle = bed.materials().add(with(1));
    let id = handle.id();
    bed.tell([AssetEvent::Added { id }]);
    bed.materials().insert(id, with(2)).expect("it is there");
    bed.world.resource_mut::<roads::OwnTouches>().add(id.untyped());
    bed.tell([AssetEvent::Modified { id }]);
    assert_eq!(bed.having(1), [id.untyped()], "not looked at again for that");
    // Touched and edited in one frame.
    bed.world.resource_mut::<roads::OwnTouches>().add(id.untyped());
    bed.tell([AssetEvent::Modified { id }, AssetEvent::Modified { id }]);
    assert_eq!(bed.having(2), [id.untyped()]);
}

#[test]
fn the_last_way_to_tell_of_a_type_counts() {
    let mut app = App::new();
    app.add_mip_material::<StandardMaterial>();
    app.add_mip_material_with(|_: &StandardMaterial, found| found(MipImage::new(image(9).id())));
    app.add_mip_material::<StandardMaterial>();
    let mut found = vec![];
    let images_in = app.world().resource::<ImagesIn<StandardMaterial>>();
    (images_in.images)(&with(1), &mut |image: MipImage| found.push(image.id));
    assert_eq!(found, [image(9).id()]);
    assert_eq!(app.world().resource::<MipMaterialTypes>().waiting.len(), 1);
}

#[test]
fn types_that_bevy_does_not_know_and_late_ones_are_left_out() {
    let mut app = App::new();
    app.add_mip_material::<StandardMaterial>();
    install_types(&mut app);
    assert!(
        !app.world().contains_resource::<roads::MipRoads>(),
        "its systems would panic"
    );
    let mut app = App::new();
    install_types(&mut app);
    app.init_resource::<Assets<StandardMaterial>>()
        .init_resource::<EntitiesNeedingSpecialization<StandardMaterial>>()
        .add_mip_material::<StandardMaterial>();
    assert!(app.world().resource::<MipMaterialTypes>().waiting.is_empty());
    let mut app = App::new();
    app.init_resource::<Assets<StandardMaterial>>()
        .init_resource::<EntitiesNeedingSpecialization<StandardMaterial>>()
        .add_mip_material::<StandardMaterial>();
    install_types(&mut app);
    assert!(app.world().contains_resource::<roads::MipRoads>());
}

#[test]
fn materials_count_as_changed_when_they_are_shown() {
    let mut app = App::new();
    app.add_mip_material::<StandardMaterial>();
    let component = app.world_mut().register_component::<MeshMaterial3d<StandardMaterial>>();
    assert_eq!(MipHider.always_changed(app.world()), [component]);
}
