//! `StandardMaterial`, there and back.

use bevy::{
    app::TaskPoolPlugin,
    material::OpaqueRendererMethod,
    math::Affine2,
    mesh::UvChannel,
    pbr::ParallaxMappingMethod,
    prelude::*,
    reflect::{PartialReflect, TypeRegistry, structs::Struct},
};
use seamless_asset::codec::{AssetCodec, DecodeContext, DecodeError, EncodeContext, EntityRows};
use wgpu_types::Face;

use crate::StandardMaterialCodec;

/// The types of a game, and two images.
struct Bed {
    types: AppTypeRegistry,
    images: [Handle<Image>; 2],
}

impl Bed {
    fn new() -> Self {
        let mut app = App::new();
        app.add_plugins((TaskPoolPlugin::default(), AssetPlugin::default()))
            .init_asset::<Image>()
            .register_asset_reflect::<Image>()
            .register_type::<StandardMaterial>();
        let mut images = app.world_mut().resource_mut::<Assets<Image>>();
        Self {
            images: [images.add(Image::default()), images.add(Image::default())],
            types: app.world().resource::<AppTypeRegistry>().clone(),
        }
    }

    /// The data of the export, and what it refers to.
    fn encode(&self, material: &StandardMaterial) -> (Vec<u8>, Vec<UntypedHandle>) {
        let registry = self.types.read();
        let rows = EntityRows::default();
        let mut context = EncodeContext::new(&registry, &rows);
        let encoded = StandardMaterialCodec::encode(material, &mut context).expect("it is encoded");
        assert_eq!(encoded.bulk.len(), 0);
        (encoded.data, context.into_references())
    }

    fn decode(&self, data: &[u8], references: Vec<UntypedHandle>) -> Result<StandardMaterial, DecodeError> {
        let registry: &TypeRegistry = &self.types.read();
        let handles: Vec<_> = references.into_iter().map(Some).collect();
        let context = DecodeContext {
            registry,
            entities: &[],
            handles: &handles,
            mesh_attributes: &[],
            object: None,
        };
        StandardMaterialCodec::decode(data, Vec::new(), &context)
    }

    fn round_trip(&self, material: &StandardMaterial) -> StandardMaterial {
        let (data, references) = self.encode(material);
        self.decode(&data, references).expect("it is decoded")
    }
}

/// Sets a field to what no field has by default.
fn change(field: &mut dyn Reflect, image: &Handle<Image>) {
    let type_path = field.reflect_type_path().to_owned();
    if let Some(value) = field.downcast_mut::<f32>() {
        *value = 0.3125;
    } else if let Some(value) = field.downcast_mut::<bool>() {
        *value = !*value;
    } else if let Some(value) = field.downcast_mut::<u8>() {
        *value = 9;
    } else if let Some(value) = field.downcast_mut::<Color>() {
        *value = Color::linear_rgba(0.1, 0.2, 0.3, 0.4);
    } else if let Some(value) = field.downcast_mut::<LinearRgba>() {
        *value = LinearRgba::new(5.0, 6.0, 7.0, 8.0);
    } else if let Some(value) = field.downcast_mut::<UvChannel>() {
        *value = UvChannel::Uv1;
    } else if let Some(value) = field.downcast_mut::<Option<Handle<Image>>>() {
        *value = Some(image.clone());
    } else if let Some(value) = field.downcast_mut::<AlphaMode>() {
        *value = AlphaMode::Mask(0.75);
    } else if let Some(value) = field.downcast_mut::<ParallaxMappingMethod>() {
        *value = ParallaxMappingMethod::Relief { max_steps: 7 };
    } else if let Some(value) = field.downcast_mut::<OpaqueRendererMethod>() {
        *value = OpaqueRendererMethod::Deferred;
    } else if let Some(value) = field.downcast_mut::<Affine2>() {
        *value = Affine2::from_scale_angle_translation(Vec2::new(2.0, 3.0), 0.5, Vec2::new(4.0, 5.0));
    } else {
        panic!("Bevy's material has a field of a new type, `{type_path}`: say here how to change it");
    }
}

fn names() -> Vec<String> {
    let material = StandardMaterial::default();
    let fields = 0..Struct::field_len(&material);
    fields
        .map(|at| material.name_at(at).expect("a name").to_owned())
        .collect()
}

fn change_named(material: &mut StandardMaterial, name: &str, image: &Handle<Image>) {
    let field = material.field_mut(name).and_then(PartialReflect::try_as_reflect_mut);
    change(field.expect("the field is reflected"), image);
}

#[track_caller]
fn assert_equal(found: &StandardMaterial, expected: &StandardMaterial) {
    for name in names() {
        let (found, expected) = (
            found.field(&name).expect("a field"),
            expected.field(&name).expect("a field"),
        );
        assert_eq!(
            found.reflect_partial_eq(expected),
            Some(true),
            "{name}: {found:?} instead of {expected:?}"
        );
    }
    assert_eq!(found.cull_mode, expected.cull_mode);
}

#[test]
fn every_reflected_field_survives() {
    let bed = Bed::new();
    let names = names();
    assert!(names.len() > 30, "{names:?}");
    let mut all = StandardMaterial::default();
    for (at, name) in names.iter().enumerate() {
        let mut material = StandardMaterial::default();
        change_named(&mut material, name, &bed.images[0]);
        let changed = material.field(name).expect("a field");
        let default = StandardMaterial::default();
        assert_ne!(
            default.field(name).and_then(|d| d.reflect_partial_eq(changed)),
            Some(true),
            "{name} is changed"
        );
        assert_equal(&bed.round_trip(&material), &material);
        change_named(&mut all, name, &bed.images[at % 2]);
    }
    assert_equal(&bed.round_trip(&all), &all);
    assert_equal(
        &bed.round_trip(&StandardMaterial::default()),
        &StandardMaterial::default(),
    );
}

#[test]
fn the_cull_mode_survives() {
    let bed = Bed::new();
    for cull_mode in [None, Some(Face::Front), Some(Face::Back)] {
        let material = StandardMaterial {
            cull_mode,
            ..StandardMaterial::default()
        };
        assert_equal(&bed.round_trip(&material), &material);
    }
}

#[test]
fn textures_are_references() {
    let bed = Bed::new();
    let [base, normal] = bed.images.clone();
    let material = StandardMaterial {
        base_color_texture: Some(base.clone()),
        emissive_texture: Some(base.clone()),
        normal_map_texture: Some(normal.clone()),
        ..StandardMaterial::default()
    };
    let (data, references) = bed.encode(&material);
    assert_eq!(
        references,
        [base.untyped(), normal.clone().untyped()],
        "each image once, in the order of the fields"
    );
    // What counts is the place in the list, not which image the cooker saw.
    let decoded = bed
        .decode(&data, vec![normal.clone().untyped(), normal.clone().untyped()])
        .expect("it is decoded");
    assert_eq!(decoded.base_color_texture, Some(normal));
    assert!(bed.decode(&data, Vec::new()).is_err(), "references to nothing");
}

#[test]
fn wrong_bytes_are_errors() {
    let bed = Bed::new();
    let (data, references) = bed.encode(&StandardMaterial::default());
    let malformed = |data: &[u8]| match bed.decode(data, references.clone()) {
        Err(DecodeError::Malformed(text)) => text,
        other => panic!("{other:?}"),
    };
    let mut wrong = data.clone();
    wrong[0] = 3;
    assert!(malformed(&wrong).contains("cull mode"));
    assert!(malformed(&[]).contains("cull mode"));
    let mut long = data.clone();
    long.push(0);
    assert!(malformed(&long).contains("too many"));
    for length in 0..data.len() {
        assert!(
            bed.decode(&data[..length], references.clone()).is_err(),
            "cut to {length} bytes"
        );
    }
}

/// A material whose fields were others is read by its stored layout; the byte in front of them is the codec's own.
#[test]
fn an_older_layout_keeps_its_cull_mode() {
    let bed = Bed::new();
    let material = StandardMaterial {
        cull_mode: Some(Face::Front),
        metallic: 0.25,
        ..StandardMaterial::default()
    };
    let (data, _) = bed.encode(&material);
    let read = |rest: &[u8]| {
        assert_eq!(rest.len(), data.len() - 1);
        let today = StandardMaterial {
            metallic: 0.75,
            ..StandardMaterial::default()
        };
        Ok(Box::new(today) as Box<dyn Reflect>)
    };
    let read = StandardMaterialCodec::decode_layout(&data, Vec::new(), &read).expect("it is decoded");
    assert_eq!((read.cull_mode, read.metallic), (Some(Face::Front), 0.75));
    let other = |_: &[u8]| Ok(Box::new(0_u8) as Box<dyn Reflect>);
    assert!(StandardMaterialCodec::decode_layout(&data, Vec::new(), &other).is_err());
}
