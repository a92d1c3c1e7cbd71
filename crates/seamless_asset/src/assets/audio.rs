//! Bevy's sounds. See [`AudioSourceCodec`].

use bevy_app::App;
use bevy_asset::{AssetApp, Assets};
use bevy_audio::{AudioPlayer, AudioSource, PlaybackSettings, SpatialListener};
use seamless_package::Role;

use crate::SeamlessAssetApp;
use crate::codec::{AssetCodec, DecodeContext, DecodeError};
#[cfg(feature = "write")]
use crate::codec::{EncodeContext, EncodeError, EncodedAsset};

/// The codec of [`AudioSource`]: the file whole, as one payload. The writer compresses it only if that pays, which it does for WAV and hardly
/// ever for Ogg Vorbis, MP3 and FLAC. Only clients hear.
pub struct AudioSourceCodec;

impl AssetCodec for AudioSourceCodec {
    type Asset = AudioSource;
    const VERSION: u32 = 1;
    const ROLE: Role = Role::CLIENT;

    /// A level is shown without waiting for the GPU to have its sounds.
    fn is_rendered(_: &AudioSource) -> bool {
        false
    }

    #[cfg(feature = "write")]
    fn encode(sound: &AudioSource, _: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        Ok(EncodedAsset {
            data: Vec::new(),
            bulk: vec![sound.bytes.to_vec()],
        })
    }

    fn decode(data: &[u8], bulk: Vec<Vec<u8>>, _: &DecodeContext) -> Result<AudioSource, DecodeError> {
        let payloads = bulk.len();
        match <[Vec<u8>; 1]>::try_from(bulk) {
            Ok([bytes]) if data.is_empty() => Ok(AudioSource { bytes: bytes.into() }),
            _ => Err(DecodeError::Malformed(format!(
                "a sound has one payload and no data, not {payloads} and {} bytes",
                data.len()
            ))),
        }
    }
}

/// Adds what sounds need and Bevy's `AudioPlugin` does not bring, or is not there to bring: the asset type, its dialogue
/// ([`DialogueVariants`](crate::DialogueVariants)), and its components for reflection. [`SeamlessAssetPlugin`](crate::SeamlessAssetPlugin)
/// calls it, and so does the cooker.
pub fn add_audio(app: &mut App) {
    if !app.world().contains_resource::<Assets<AudioSource>>() {
        app.init_asset::<AudioSource>();
    }
    app.register_type::<AudioPlayer>()
        .register_type::<PlaybackSettings>()
        .register_type::<SpatialListener>()
        .add_dialogue::<AudioSource>();
}

#[cfg(all(test, feature = "write"))]
mod tests {
    use bevy_reflect::TypeRegistry;

    use super::*;
    use crate::codec::EntityRows;

    #[test]
    fn a_sound_comes_back_whole_and_what_is_none_is_refused() {
        let registry = TypeRegistry::default();
        let rows = EntityRows::default();
        let bytes: Vec<u8> = (0..=255).collect();
        let sound = AudioSource {
            bytes: bytes.clone().into(),
        };
        let encoded = AudioSourceCodec::encode(&sound, &mut EncodeContext::new(&registry, &rows)).unwrap();
        let context = DecodeContext {
            registry: &registry,
            entities: &[],
            handles: &[],
            mesh_attributes: &[],
        };
        let back = AudioSourceCodec::decode(&encoded.data, encoded.bulk, &context).unwrap();
        assert_eq!(*back.bytes, *bytes);
        assert!(!AudioSourceCodec::is_rendered(&back));
        for (data, bulk) in [(&[][..], 0), (&[][..], 2), (&[7][..], 1)] {
            let error = AudioSourceCodec::decode(data, vec![vec![1]; bulk], &context)
                .err()
                .unwrap();
            assert!(matches!(error, DecodeError::Malformed(_)), "{error}");
        }
    }
}
