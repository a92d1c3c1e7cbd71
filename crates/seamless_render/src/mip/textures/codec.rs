//! Images of packages whose large mips are left there. See [`StreamedImageCodec`].

use std::sync::Arc;

use bevy_asset::{AssetId, RenderAssetUsages};
use bevy_ecs::world::World;
use bevy_image::Image;
#[cfg(feature = "write")]
use seamless_asset::codec::{EncodeContext, EncodeError, EncodedAsset};
use seamless_asset::{
    assets::{ImageApart, ImageCodec},
    codec::{AssetCodec, BulkUse, DecodeContext, DecodeError, DecodedPlace},
    package::Role,
};

use super::record::{MipRecord, is_stand_in};
use crate::mip::{NotStreamed, work::MipWork};

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
            return ImageCodec::decode(data, bulk, context);
        }
        let Some((apart, place)) = ImageApart::read(data)?.zip(context.object()) else {
            return ImageCodec::decode(data, bulk, context);
        };
        let image = MipRecord::stand_in(&apart);
        let comer = Comer::new(apart, place);
        context.when_inserted(move |world, id| {
            if let Ok(id) = id.try_typed::<Image>() {
                comer.admit(world, id);
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

/// An image of which only the tail has come.
enum Comer {
    Streamed(Arc<MipRecord>),
    Whole(NotStreamed, Box<WholeImage>),
}

/// An image that is to be whole, and of which only the tail has come.
#[derive(Debug, Clone)]
pub(in crate::mip) struct WholeImage {
    pub apart: ImageApart,
    /// As a [`BulkRequest`](seamless_asset::BulkRequest) takes it.
    pub path: String,
}

impl Comer {
    fn new(apart: ImageApart, place: DecodedPlace) -> Self {
        match MipRecord::new(apart.clone(), place.clone()) {
            Ok(record) => Self::Streamed(Arc::new(record)),
            Err(why) => {
                let path = place.path;
                Self::Whole(why, Box::new(WholeImage { apart, path }))
            }
        }
    }

    fn admit(self, world: &mut World, id: AssetId<Image>) {
        MipWork::scope(world, |work, textures, ledger| match self {
            Self::Streamed(record) => work.come(id, record, textures, ledger),
            Self::Whole(why, image) => work.come_whole(id, why, *image, textures, ledger),
        });
    }
}
