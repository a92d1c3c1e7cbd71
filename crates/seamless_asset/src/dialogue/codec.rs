//! Sets of variants as bytes.

use core::marker::PhantomData;

use bevy_asset::Asset;
use bevy_reflect::TypeRegistry;
use seamless_package::{Cursor, Role, Schema};

use super::{DialogueVariant, DialogueVariants};
use crate::codec::{AssetCodec, DecodeContext, DecodeError, Encoding, has_layout, schema, typed_handle};
#[cfg(feature = "write")]
use crate::codec::{EncodeContext, EncodeError, EncodedAsset};

/// The codec of [`DialogueVariants`]: eight bytes a variant. Only clients hear.
pub struct DialogueVariantsCodec<S>(PhantomData<fn() -> S>);

/// A variant as it is stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoredVariant {
    /// The sound's place in the export's reference list.
    pub reference: u32,
    /// Its weight.
    pub weight: f32,
}

/// Bytes of a [`StoredVariant`].
const VARIANT_BYTES: usize = 8;

/// Reads the bytes of a set.
///
/// # Errors
/// When the bytes are no whole variants.
pub fn read_variants(data: &[u8]) -> Result<Vec<StoredVariant>, DecodeError> {
    let mut cursor = Cursor::new(data);
    let mut variants = Vec::with_capacity(data.len() / VARIANT_BYTES);
    for _ in 0..data.len() / VARIANT_BYTES {
        variants.push(StoredVariant {
            reference: cursor.u32()?,
            weight: cursor.f32()?,
        });
    }
    cursor.finish()?;
    Ok(variants)
}

/// The bytes of a set.
#[cfg(feature = "write")]
#[must_use]
pub fn write_variants(variants: &[StoredVariant]) -> Vec<u8> {
    let bytes = |variant: &StoredVariant| [variant.reference.to_le_bytes(), variant.weight.to_le_bytes()].concat();
    variants.iter().flat_map(bytes).collect()
}

/// What the stored names of all sets start with.
const TYPE_PATH: &str = "seamless_asset::dialogue::DialogueVariants<";

const VERSION: u32 = 1;

fn layout(sound: &str) -> String {
    format!("variants of {sound}")
}

/// Whether the type of this name is a [`DialogueVariants`], of whichever sounds.
#[must_use]
pub fn is_variants(type_path: &str) -> bool {
    sound_of(type_path).is_some()
}

fn sound_of(type_path: &str) -> Option<&str> {
    type_path.strip_prefix(TYPE_PATH)?.strip_suffix('>')
}

/// Whether [`read_variants`] reads objects of this schema: a game may have a codec of its own for them.
#[must_use]
pub fn stores_variants(stored: &Schema) -> bool {
    sound_of(&stored.type_path).is_some_and(|sound| {
        let own = schema(&stored.type_path, Encoding::Asset, VERSION, &layout(sound));
        has_layout(stored, &own)
    })
}

impl<S: Asset> AssetCodec for DialogueVariantsCodec<S> {
    type Asset = DialogueVariants<S>;
    const VERSION: u32 = VERSION;
    const ROLE: Role = Role::CLIENT;

    fn is_rendered(_: &Self::Asset) -> bool {
        false
    }

    fn layout(_: &TypeRegistry) -> String {
        layout(S::type_path())
    }

    #[cfg(feature = "write")]
    fn encode(set: &Self::Asset, context: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        let stored = set.variants().iter().map(|variant| StoredVariant {
            reference: context.reference(&variant.sound.clone().untyped()),
            weight: variant.weight,
        });
        let stored: Vec<StoredVariant> = stored.collect();
        Ok(EncodedAsset {
            data: write_variants(&stored),
            bulk: Vec::new(),
        })
    }

    fn decode(data: &[u8], _: Vec<Vec<u8>>, context: &DecodeContext) -> Result<Self::Asset, DecodeError> {
        let variant = |stored: StoredVariant| {
            Ok(DialogueVariant {
                sound: typed_handle(context, stored.reference)?,
                weight: stored.weight,
            })
        };
        let variants: Result<Vec<_>, DecodeError> = read_variants(data)?.into_iter().map(variant).collect();
        DialogueVariants::new(variants?).map_err(|error| DecodeError::Malformed(error.to_string()))
    }
}
