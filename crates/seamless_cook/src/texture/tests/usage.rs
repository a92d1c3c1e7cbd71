//! What textures are used for: joined in any order, and read off materials.

use bevy::asset::{Assets, Handle};
use bevy::pbr::StandardMaterial;
use bevy::prelude::{AlphaMode, Color};
use bevy::reflect::{TypeInfo, Typed};

use super::*;
use crate::texture::usage::field_use;

fn all_uses() -> Vec<TextureUse> {
    let alphas = [
        AlphaUse::Ignored,
        AlphaUse::Independent,
        AlphaUse::Mask { visible: 100 },
        AlphaUse::Mask { visible: 200 },
        AlphaUse::Blend,
    ];
    let normals = [NormalUse::TwoChannels, NormalUse::ThreeChannels];
    let data = [Channels::R, Channels::G, Channels::A, Channels::RG, Channels::RGBA];
    let uses = alphas.into_iter().map(TextureUse::Color);
    let uses = uses.chain(normals.into_iter().map(TextureUse::Normal));
    uses.chain(data.into_iter().map(TextureUse::Data))
        .chain([TextureUse::Unknown])
        .collect()
}

#[test]
fn uses_are_joined_in_any_order() {
    let uses = all_uses();
    for &a in &uses {
        assert_eq!(a.join(a), a);
        assert_eq!(a.join(TextureUse::Unknown), TextureUse::Unknown);
        for &b in &uses {
            assert_eq!(a.join(b), b.join(a));
            assert_eq!(a.join(b).join(b), a.join(b), "a join serves both");
            for &c in &uses {
                assert_eq!(a.join(b).join(c), a.join(b.join(c)), "{a} with {b} and {c}");
            }
        }
    }
    assert_eq!(COLOR.join(MASK), MASK);
    assert_eq!(MASK.join(BLEND), BLEND);
    let strength = COLOR.join(TextureUse::Data(Channels::A));
    assert_eq!(strength, TextureUse::Color(AlphaUse::Independent));
    assert_eq!(COLOR.join(NORMAL), TextureUse::Unknown);
}

#[test]
fn uses_have_names_of_their_own() {
    let mut names: Vec<String> = all_uses().iter().map(ToString::to_string).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// A new field of Bevy's material has to be looked up in its shader first.
#[test]
fn every_image_of_a_standard_material_is_known() {
    let TypeInfo::Struct(info) = StandardMaterial::type_info() else {
        panic!("a struct")
    };
    let images = info.iter().filter(|field| field.is::<Option<Handle<Image>>>());
    let names: Vec<&str> = images.map(|field| field.name()).collect();
    assert!(names.len() >= 6, "{names:?}");
    for name in names {
        assert_ne!(
            field_use(name, &StandardMaterial::default()),
            TextureUse::Unknown,
            "{name}"
        );
    }
    assert_eq!(field_use("other", &StandardMaterial::default()), TextureUse::Unknown);
}

#[test]
fn materials_tell_what_their_images_are_for() {
    let images = Assets::<Image>::default();
    let [color, light, bumps, rough, shade, depth] = [0; 6].map(|_| images.reserve_handle());
    let material = StandardMaterial {
        base_color: Color::linear_rgba(1.0, 1.0, 1.0, 0.8),
        base_color_texture: Some(color.clone()),
        emissive_texture: Some(light.clone()),
        normal_map_texture: Some(bumps.clone()),
        metallic_roughness_texture: Some(rough.clone()),
        occlusion_texture: Some(shade.clone()),
        depth_map: Some(depth.clone()),
        alpha_mode: AlphaMode::Mask(0.4),
        ..StandardMaterial::default()
    };
    let mut found = material_uses(&material);
    let mut expected = vec![
        (color, MASK),
        (light, COLOR),
        (rough, TextureUse::Data(Channels::G.union(Channels::B))),
        (bumps, NORMAL),
        (shade, TextureUse::Data(Channels::R)),
        (depth, TextureUse::Data(Channels::R)),
    ];
    for uses in [&mut found, &mut expected] {
        uses.sort_by_key(|(image, _)| image.id());
    }
    assert_eq!(found, expected);
    assert_eq!(material_uses(&StandardMaterial::default()), []);
}

#[test]
fn alpha_modes_tell_what_alpha_is_for() {
    let usage = |mode| {
        let material = StandardMaterial {
            alpha_mode: mode,
            ..StandardMaterial::default()
        };
        field_use("base_color_texture", &material)
    };
    assert_eq!(usage(AlphaMode::Opaque), COLOR);
    assert_eq!(usage(AlphaMode::Mask(0.5)), MASK);
    assert_eq!(usage(AlphaMode::AlphaToCoverage), MASK);
    for mode in [AlphaMode::Blend, AlphaMode::Add, AlphaMode::Multiply] {
        assert_eq!(usage(mode), BLEND);
    }
    assert_eq!(
        usage(AlphaMode::Premultiplied),
        TextureUse::Color(AlphaUse::Independent)
    );
    for everything_or_nothing in [0.0, -1.0, 1.5, f32::NAN, f32::INFINITY] {
        assert_eq!(usage(AlphaMode::Mask(everything_or_nothing)), COLOR);
    }
    assert_eq!(AlphaUse::mask(0.5, 0.0), AlphaUse::Ignored, "nothing is drawn");
}
