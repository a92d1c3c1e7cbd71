//! Images of packages whose large mips are left there. See [`StreamedImageCodec`].

use std::sync::Arc;

use bevy_asset::{AssetId, RenderAssetUsages};
use bevy_image::Image;
#[cfg(feature = "write")]
use seamless_asset::codec::{EncodeContext, EncodeError, EncodedAsset};
use seamless_asset::{
    assets::{ImageApart, ImageCodec},
    codec::{AssetCodec, BulkUse, DecodeContext, DecodeError},
    package::Role,
};

use super::{
    MipParts,
    record::{MipRecord, is_stand_in},
    unmarked::{drawn_bytes, why_unmarked},
};
use crate::mip::{MipLedger, MipTextures, NotStreamed, work::MipWork};

/// [`ImageCodec`] for an app in which images stream: those that the cooker has marked come without their payloads, and are drawn with their mip tail
/// until more is wanted. [`MipPlugin`](crate::mip::MipPlugin) puts it in `ImageCodec`'s place; both read and write the same.
pub struct StreamedImageCodec;

impl AssetCodec for StreamedImageCodec {
    type Asset = Image;
    const VERSION: u32 = ImageCodec::VERSION;
    const ROLE: Role = ImageCodec::ROLE;
    const BULK: BulkUse = BulkUse::Marked;

    /// What streams is rendered as well, though the main world alone has its image.
    fn is_rendered(image: &Image) -> bool {
        image.asset_usage.contains(RenderAssetUsages::RENDER_WORLD) || is_stand_in(image)
    }

    #[cfg(feature = "write")]
    fn encode(image: &Image, context: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        ImageCodec::encode(image, context)
    }

    #[cfg(feature = "write")]
    fn marks(image: &Image, encoded: &EncodedAsset) -> bool {
        ImageCodec::marks(image, encoded)
    }

    fn decode(data: &[u8], bulk: Vec<Vec<u8>>, context: &DecodeContext) -> Result<Image, DecodeError> {
        if !bulk.is_empty() {
            return decode_whole(data, bulk, context);
        }
        let Some((apart, place)) = ImageApart::read(data)?.zip(context.object()) else {
            return decode_whole(data, bulk, context);
        };
        let image = MipRecord::stand_in(&apart.image);
        let (apart, path) = (Box::new(apart), place.path);
        let comer = Comer::new(MipParts::Package { apart, path });
        context.when_inserted(move |world, id| {
            if let Ok(id) = id.try_typed::<Image>() {
                MipWork::scope(world, |work, textures, ledger| comer.admit(id, work, textures, ledger));
            }
        });
        Ok(image)
    }

    fn decode_version(
        version: u32,
        data: &[u8],
        bulk: Vec<Vec<u8>>,
        context: &DecodeContext,
    ) -> Result<Image, DecodeError> {
        match version {
            1 => Self::decode(data, bulk, context),
            _ => ImageCodec::decode_version(version, data, bulk, context),
        }
    }
}

/// An image that is not marked, and why that is.
fn decode_whole(data: &[u8], bulk: Vec<Vec<u8>>, context: &DecodeContext) -> Result<Image, DecodeError> {
    let payloads = bulk.len() as u32;
    let image = ImageCodec::decode(data, bulk, context)?;
    if image.data.is_some() {
        let (why, bytes) = (why_unmarked(&image, payloads), drawn_bytes(&image));
        context.when_inserted(move |world, id| {
            if let Ok(id) = id.try_typed::<Image>() {
                MipWork::scope(world, |work, textures, ledger| {
                    work.is_whole(id, why, bytes, textures, ledger);
                });
            }
        });
    }
    Ok(image)
}

/// An image of which only the tail has come.
#[derive(Debug)]
pub(in crate::mip) enum Comer {
    Streamed(Arc<MipRecord>),
    Whole(NotStreamed, Box<MipParts>),
}

impl Comer {
    pub fn new(parts: MipParts) -> Self {
        match MipRecord::new(parts.clone()) {
            Ok(record) => Self::Streamed(Arc::new(record)),
            Err(why) => Self::Whole(why, Box::new(parts)),
        }
    }

    /// The whole image but for its pixels.
    pub fn image(&self) -> &Image {
        match self {
            Self::Streamed(record) => record.parts().image(),
            Self::Whole(_, parts) => parts.image(),
        }
    }

    /// The image is in its `Assets`.
    pub fn admit(self, id: AssetId<Image>, work: &mut MipWork, textures: &mut MipTextures, ledger: &mut MipLedger) {
        match self {
            Self::Streamed(record) => work.come(id, record, textures, ledger),
            Self::Whole(why, image) => work.come_whole(id, why, *image, textures, ledger),
        }
    }
}
