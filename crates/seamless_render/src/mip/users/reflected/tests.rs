use bevy_asset::{AssetId, Handle, uuid::Uuid};
use bevy_image::Image;
use bevy_math::{Affine2, Vec2};
use bevy_mesh::Mesh;
use bevy_platform::collections::HashMap;
use bevy_reflect::Reflect;

use super::*;

fn handle(number: u128) -> Handle<Image> {
    Handle::Uuid(Uuid::from_u128(number), core::marker::PhantomData)
}

fn id(number: u128) -> AssetId<Image> {
    handle(number).id()
}

fn found(value: &dyn PartialReflect) -> Vec<MipImage> {
    let mut found = Vec::new();
    images_of(value, &mut |image| found.push(image));
    found
}

#[derive(Reflect)]
enum Cover {
    None,
    One(Handle<Image>),
    Both {
        dry: Option<Handle<Image>>,
        wet: Handle<Image>,
    },
}

#[derive(Reflect)]
struct Odd {
    layers: Vec<Handle<Image>>,
    pair: (f32, Option<Handle<Image>>),
    four: [Cover; 3],
    nested: Nested,
    mesh: Handle<Mesh>,
    weights: Vec<f32>,
    #[reflect(ignore)]
    hidden: Handle<Image>,
}

#[derive(Reflect)]
struct Nested(
    HashMap<String, Handle<Image>>,
    bevy_asset::UntypedHandle,
    bevy_asset::UntypedHandle,
);

#[test]
fn handles_are_found_wherever_they_are() {
    let mesh: Handle<Mesh> = Handle::Uuid(Uuid::from_u128(90), core::marker::PhantomData);
    let odd = Odd {
        layers: vec![handle(1), handle(2), handle(1)],
        pair: (0.5, Some(handle(3))),
        four: [
            Cover::None,
            Cover::One(handle(4)),
            Cover::Both {
                dry: None,
                wet: handle(5),
            },
        ],
        nested: Nested(
            [("moss".to_owned(), handle(6))].into_iter().collect(),
            handle(7).untyped(),
            mesh.clone().untyped(),
        ),
        mesh,
        weights: vec![1.0; 1000],
        hidden: handle(9),
    };
    let images = found(&odd);
    let ids: Vec<_> = images.iter().map(|image| image.id).collect();
    assert_eq!(
        ids,
        [1, 2, 1, 3, 4, 5, 6, 7].map(id),
        "but for what reflection does not see"
    );
    assert!(images.iter().all(|image| *image == MipImage::new(image.id)));
    assert!(found(&odd.weights).is_empty() && found(&odd.hidden).len() == 1);
    assert_eq!(found(&odd.four[2]).len(), 1);
}

/// As `ExtendedMaterial` is: a base, and more.
#[derive(Reflect)]
struct Extended {
    base: StandardMaterial,
    extension: Vec<Handle<Image>>,
}

#[test]
fn a_standard_material_within_tells_more() {
    let uv = Affine2::from_scale(Vec2::splat(3.0));
    let extended = Extended {
        base: StandardMaterial {
            base_color_texture: Some(handle(1)),
            uv_transform: uv,
            ..StandardMaterial::default()
        },
        extension: vec![handle(2)],
    };
    let base = MipImage {
        uv,
        ..MipImage::new(id(1))
    };
    assert_eq!(found(&extended), [base, MipImage::new(id(2))]);
    let standard = standard_in(&extended).expect("it has one");
    assert_eq!(standard.uv_transform, uv);
    assert!(standard_in(&extended.extension).is_none());
}
