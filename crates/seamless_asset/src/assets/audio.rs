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
        if !is_sound(&sound.bytes) {
            return Err(EncodeError::UnknownSound);
        }
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

/// Whether a file may be one that Bevy plays, whatever its name is. A game finds out only when it plays it, and panics; decoders look for
/// their marks behind all kinds of tags, so only what is surely none is refused: nothing, text, and other kinds of RIFF.
#[cfg(feature = "write")]
fn is_sound(bytes: &[u8]) -> bool {
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    match bytes {
        [b'R', b'I', b'F', b'F', _, _, _, _, rest @ ..] => rest.starts_with(b"WAVE"),
        [_, _, _, _, ..] => !bytes.iter().take(16).all(is_text),
        _ => false,
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
