use bevy_asset::{AssetId, uuid::Uuid};
use bevy_math::{Affine2, Vec2};
use bevy_reflect::{PartialReflect, structs::Struct};

use super::*;

fn handle(number: usize) -> Handle<Image> {
    Handle::Uuid(Uuid::from_u128(number as u128), core::marker::PhantomData)
}

fn found(material: &StandardMaterial) -> Vec<MipImage> {
    let mut found = Vec::new();
    images_of(material, &mut |image| found.push(image));
    found
}

/// Writes all fields of a type, by their names.
fn set<T: Reflected>(material: &mut StandardMaterial, value: impl Fn(usize, &str) -> Option<T>) -> usize {
    let mut written = 0;
    for at in 0..material.field_len() {
        let name = material.name_at(at).expect("it has a name").to_owned();
        let field = material
            .field_at_mut(at)
            .and_then(|field| field.try_downcast_mut::<T>());
        if let Some((field, value)) = field.zip(value(at, &name)) {
            *field = value;
            written += 1;
        }
    }
    written
}

trait Reflected: bevy_reflect::Reflect {}
impl Reflected for Option<Handle<Image>> {}
impl Reflected for UvChannel {}

#[test]
fn all_textures_are_told_with_their_channel() {
    let mut material = StandardMaterial {
        uv_transform: Affine2::from_scale_angle_translation(Vec2::new(2.0, 4.0), 0.5, Vec2::ONE),
        ..StandardMaterial::default()
    };
    assert!(found(&material).is_empty());
    let textures = set(&mut material, |at, _| Some(Some(handle(at))));
    let plain = found(&material);
    assert_eq!(plain.len(), textures);
    assert!(
        textures >= 6,
        "colour, emission, metal, normals, occlusion, depth at least"
    );
    assert!(
        plain
            .iter()
            .all(|image| image.uv == material.uv_transform && image.channel == 0)
    );
    // One after the other in the second channel.
    let channels: Vec<String> = (0..material.field_len())
        .filter_map(|at| material.name_at(at)?.strip_suffix("_channel").map(str::to_owned))
        .collect();
    assert!(channels.len() >= 5, "{channels:?}");
    for stem in channels {
        let channel = format!("{stem}_channel");
        let second = |is_this: bool| if is_this { UvChannel::Uv1 } else { UvChannel::Uv0 };
        set(&mut material, |_, name| Some(second(name == channel)));
        let at = (0..material.field_len()).find(|at| material.name_at(*at) == Some(&format!("{stem}_texture")));
        let expected = handle(at.expect("each channel has a texture")).id();
        let found: Vec<AssetId<Image>> = found(&material)
            .iter()
            .filter(|image| image.channel == 1)
            .map(|image| image.id)
            .collect();
        assert_eq!(found, [expected], "{stem}");
    }
}

#[test]
fn a_height_map_is_whole() {
    let material = StandardMaterial {
        base_color_texture: Some(handle(1)),
        depth_map: Some(handle(2)),
        ..StandardMaterial::default()
    };
    let wholes: Vec<_> = found(&material)
        .iter()
        .map(|image| (image.id, image.is_whole))
        .collect();
    assert_eq!(wholes, [(handle(1).id(), false), (handle(2).id(), true)]);
    assert!(
        material
            .as_partial_reflect()
            .try_downcast_ref::<StandardMaterial>()
            .is_some()
    );
}
