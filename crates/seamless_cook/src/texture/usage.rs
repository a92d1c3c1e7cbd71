//! What textures are used for. See [`TextureUse`].

use core::fmt;

use bevy::asset::Handle;
use bevy::image::Image;
use bevy::pbr::StandardMaterial;
use bevy::prelude::{Alpha, AlphaMode};
use bevy::reflect::structs::Struct;
use serde::{Deserialize, Serialize};

/// A set of a texture's four channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Channels(u8);

impl Channels {
    /// Red.
    pub const R: Self = Self(1);
    /// Green.
    pub const G: Self = Self(2);
    /// Blue.
    pub const B: Self = Self(4);
    /// Alpha.
    pub const A: Self = Self(8);
    /// Red and green.
    pub const RG: Self = Self(3);
    /// Red, green and blue.
    pub const RGB: Self = Self(7);
    /// All four.
    pub const RGBA: Self = Self(15);

    /// The channels of both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The channels that both have.
    #[must_use]
    pub const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `other` has all of these.
    #[must_use]
    pub const fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }
}

impl fmt::Display for Channels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = [(Self::R, 'r'), (Self::G, 'g'), (Self::B, 'b'), (Self::A, 'a')];
        named
            .iter()
            .filter(|(channel, _)| channel.is_within(*self))
            .try_for_each(|(_, name)| write!(f, "{name}"))
    }
}

/// What the alpha of a colour texture is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AlphaUse {
    /// Nothing.
    Ignored,
    /// Something that has nothing to do with how much of the colour is seen.
    Independent,
    /// Texels below a cutoff are not drawn.
    Mask {
        /// The smallest alpha that is drawn, in steps of 1/255; at least one.
        visible: u8,
    },
    /// How much of the colour is seen.
    Blend,
}

impl AlphaUse {
    /// A mask of a material whose own alpha is `factor`: what counts is their product. Where all of it is drawn, or none, alpha does
    /// not matter.
    #[must_use]
    pub fn mask(cutoff: f32, factor: f32) -> Self {
        let visible = (cutoff / factor * 255.0).ceil();
        if (1.0..=255.0).contains(&visible) {
            Self::Mask { visible: visible as u8 }
        } else {
            Self::Ignored
        }
    }

    fn of(mode: AlphaMode, factor: f32) -> Self {
        match mode {
            AlphaMode::Opaque => Self::Ignored,
            AlphaMode::Mask(cutoff) => Self::mask(cutoff, factor),
            // Bevy sharpens alpha around this cutoff, its default.
            AlphaMode::AlphaToCoverage => Self::mask(0.5, factor),
            // The colour is multiplied with alpha already.
            AlphaMode::Premultiplied => Self::Independent,
            AlphaMode::Blend | AlphaMode::Add | AlphaMode::Multiply => Self::Blend,
        }
    }

    fn join(self, other: Self) -> Self {
        match (self, other) {
            (alpha, Self::Ignored) | (Self::Ignored, alpha) => alpha,
            (one, two) if one == two => one,
            _ => Self::Blend,
        }
    }
}

/// How a normal map is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NormalUse {
    /// Two channels are enough: `StandardMaterial` computes the third for formats that have two.
    TwoChannels,
    /// All three must be there. Bevy looks at the format of `normal_map_texture` only, and takes the coat's normals to be
    /// stored likewise.
    ThreeChannels,
}

/// What a texture is used for. Uses are joined when several materials share an image: the result serves all of them, in
/// whichever order they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TextureUse {
    /// Colour or light.
    Color(AlphaUse),
    /// Directions in tangent space.
    Normal(NormalUse),
    /// Numbers, in these channels.
    Data(Channels),
    /// Not known, or different things: the image stays as it is.
    Unknown,
}

impl TextureUse {
    /// The use that serves both.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Color(one), Self::Color(two)) => Self::Color(one.join(two)),
            (Self::Normal(one), Self::Normal(two)) => Self::Normal(one.max(two)),
            (Self::Data(one), Self::Data(two)) => Self::Data(one.union(two)),
            // In glTF the strength of a reflection may lie in the alpha of its colour.
            (Self::Color(color), Self::Data(Channels::A)) | (Self::Data(Channels::A), Self::Color(color)) => {
                Self::Color(color.join(AlphaUse::Independent))
            }
            _ => Self::Unknown,
        }
    }

    /// The channels that are read.
    pub(super) fn channels(self) -> Channels {
        match self {
            Self::Color(AlphaUse::Ignored) | Self::Normal(_) => Channels::RGB,
            Self::Color(_) | Self::Unknown => Channels::RGBA,
            Self::Data(channels) => channels,
        }
    }
}

impl fmt::Display for TextureUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Color(AlphaUse::Ignored) => f.write_str("color"),
            Self::Color(AlphaUse::Independent) => f.write_str("color, and data in alpha"),
            Self::Color(AlphaUse::Mask { visible }) => write!(f, "color, cut out below alpha {visible}/255"),
            Self::Color(AlphaUse::Blend) => f.write_str("color, blended"),
            Self::Normal(NormalUse::TwoChannels) => f.write_str("normal map"),
            Self::Normal(NormalUse::ThreeChannels) => f.write_str("normal map of three channels"),
            Self::Data(channels) => write!(f, "data in {channels}"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

/// Every image of a material with what it is used for, in the order of its fields. By reflection, so that fields that exist with some of Bevy's
/// features only are found; one that is not known here counts as [`TextureUse::Unknown`].
#[must_use]
pub fn material_uses(material: &StandardMaterial) -> Vec<(Handle<Image>, TextureUse)> {
    (0..material.field_len())
        .filter_map(|index| {
            let image = material
                .field_at(index)?
                .try_downcast_ref::<Option<Handle<Image>>>()?
                .as_ref()?;
            Some((image.clone(), field_use(material.name_at(index)?, material)))
        })
        .collect()
}

/// What Bevy's shader reads of the texture in a field, `pbr_fragment.wgsl` of 0.19.
pub(super) fn field_use(field: &str, material: &StandardMaterial) -> TextureUse {
    match field {
        "base_color_texture" => TextureUse::Color(AlphaUse::of(material.alpha_mode, material.base_color.alpha())),
        "emissive_texture" | "specular_tint_texture" => TextureUse::Color(AlphaUse::Ignored),
        "normal_map_texture" if has_coat_normals(material) => TextureUse::Normal(NormalUse::ThreeChannels),
        "normal_map_texture" => TextureUse::Normal(NormalUse::TwoChannels),
        "clearcoat_normal_texture" => TextureUse::Normal(NormalUse::ThreeChannels),
        "metallic_roughness_texture" => TextureUse::Data(Channels::G.union(Channels::B)),
        "occlusion_texture" | "depth_map" | "specular_transmission_texture" | "clearcoat_texture" => {
            TextureUse::Data(Channels::R)
        }
        "thickness_texture" | "clearcoat_roughness_texture" => TextureUse::Data(Channels::G),
        "diffuse_transmission_texture" | "specular_texture" => TextureUse::Data(Channels::A),
        "anisotropy_texture" => TextureUse::Data(Channels::RGB),
        _ => TextureUse::Unknown,
    }
}

fn has_coat_normals(material: &StandardMaterial) -> bool {
    let field = material.field("clearcoat_normal_texture");
    field
        .and_then(|field| field.try_downcast_ref::<Option<Handle<Image>>>())
        .is_some_and(Option::is_some)
}
