//! Bevy's server loads files by these. See [`StreamedKtx2Loader`] and [`StreamedImageLoader`].

use core::panic::AssertUnwindSafe;
use std::{panic::catch_unwind, sync::Arc};

use bevy_asset::{
    AssetLoader, AssetPath, LoadContext, RenderAssetUsages,
    io::{Reader, VecReader},
};
use bevy_image::{
    CompressedImageFormats, Image, ImageFormat, ImageFormatSetting, ImageLoader, ImageLoaderSettings, ImageType,
};
use bevy_reflect::TypePath;
use futures_lite::FutureExt;

use super::{Arrivals, StreamedImage, StreamedImageError, head::Ktx2Head, read::Parts};
use crate::mip::{
    MipChain, NotStreamed,
    textures::{Comer, MipFile, MipLevel, MipParts},
};

/// The most bytes of the mips that are read when a file is loaded.
const MOST_TAIL: u64 = 4 << 20;

/// Loads a KTX2 file as an [`Image`] that streams: files that are named `….stream.ktx2`, and those whose `.meta` file names this loader,
/// `seamless_render::mip::StreamedKtx2Loader`. See [`StreamedImage`].
#[derive(TypePath, Clone)]
#[type_path = "seamless_render::mip"]
pub struct StreamedKtx2Loader(pub(in crate::mip) Ktx2Files);

/// Loads any KTX2 file as a [`StreamedImage`].
#[derive(TypePath, Clone)]
#[type_path = "seamless_render::mip"]
pub struct StreamedImageLoader(pub(in crate::mip) Ktx2Files);

/// What both have.
#[derive(Clone)]
pub(in crate::mip) struct Ktx2Files {
    /// What the GPU takes.
    pub supported: CompressedImageFormats,
    pub arrivals: Arrivals,
}

impl AssetLoader for StreamedKtx2Loader {
    type Asset = Image;
    type Settings = ImageLoaderSettings;
    type Error = StreamedImageError;

    async fn load(
        &self,
        reader: &mut dyn Reader,
        settings: &ImageLoaderSettings,
        load_context: &mut LoadContext<'_>,
    ) -> Result<Image, StreamedImageError> {
        self.0.load(reader, settings, load_context).await
    }

    fn extensions(&self) -> &[&str] {
        &["stream.ktx2"]
    }
}

impl AssetLoader for StreamedImageLoader {
    type Asset = StreamedImage;
    type Settings = ImageLoaderSettings;
    type Error = StreamedImageError;

    async fn load(
        &self,
        reader: &mut dyn Reader,
        settings: &ImageLoaderSettings,
        load_context: &mut LoadContext<'_>,
    ) -> Result<StreamedImage, StreamedImageError> {
        let image = self.0.load(reader, settings, load_context).await?;
        let image = load_context.add_labeled_asset("Image", image);
        Ok(StreamedImage { image })
    }
}

impl Ktx2Files {
    async fn load(
        &self,
        reader: &mut dyn Reader,
        settings: &ImageLoaderSettings,
        load_context: &mut LoadContext<'_>,
    ) -> Result<Image, StreamedImageError> {
        let mut in_memory = VecReader::new(Vec::new());
        let mut parts = Parts::open(reader, &mut in_memory, load_context.path()).await?;
        let head = parts.head().await?;
        let path = load_context.path().clone().without_label().into_owned();
        match self.tail(&mut parts, &head, settings, &path).await? {
            Ok(file) => {
                let comer = Comer::new(MipParts::File(Arc::new(file)));
                Ok(self.arrivals.stands_in(comer, &path))
            }
            Err(why) => self.whole(parts, &head, why, settings, load_context).await,
        }
    }

    /// Reads what is drawn first; or says why the texture does not stream.
    async fn tail(
        &self,
        parts: &mut Parts<'_>,
        head: &Ktx2Head,
        settings: &ImageLoaderSettings,
        path: &AssetPath<'static>,
    ) -> Result<Result<MipFile, NotStreamed>, StreamedImageError> {
        let tail = match head.tail(settings) {
            Ok(tail) => tail,
            Err(why) => return Ok(Err(why)),
        };
        let mips = head.mips() as u8;
        let mut bytes = 0_u64;
        for mip in tail..mips {
            bytes = bytes.saturating_add(head.level(mip)?.1);
        }
        if bytes > MOST_TAIL {
            return Ok(Err(NotStreamed::Tail { bytes, most: MOST_TAIL }));
        }
        let dfd = parts.read(head.dfd()?, "its data format descriptor").await?;
        let mut levels = read_levels(parts, head, tail..mips).await?;
        head.check_texels(tail, levels.first().map_or(0, |level| level.len() as u64))?;
        let smaller = head.smaller(&dfd, tail, &levels);
        let mut image = self.decode(&smaller, settings)?;
        if image.data.take().is_none_or(|data| data != levels.concat()) {
            return Ok(Err(NotStreamed::Transcoded));
        }
        let chain = match complete(&mut image, head, tail) {
            Ok(chain) => chain,
            Err(why) => return Ok(Err(why)),
        };
        let floor = chain.floor();
        let bytes = chain.bytes(floor);
        if bytes > MOST_TAIL {
            return Ok(Err(NotStreamed::Tail { bytes, most: MOST_TAIL }));
        }
        check_sizes(head, &chain)?;
        let more = read_levels(parts, head, floor..tail.max(floor)).await?;
        levels.splice(0..0, more);
        let large = (0..floor).map(|mip| {
            let range = head.level(mip)?.0;
            let is_zstd = head.is_zstd();
            Ok(MipLevel { range, is_zstd })
        });
        Ok(Ok(MipFile {
            name: path.to_string(),
            path: path.clone(),
            head: head.bytes.clone().into(),
            image,
            levels: large.collect::<Result<_, StreamedImageError>>()?,
            tail: levels.concat(),
            chain,
        }))
    }

    /// What Bevy makes of a small file.
    fn decode(&self, file: &[u8], settings: &ImageLoaderSettings) -> Result<Image, StreamedImageError> {
        let decode = AssertUnwindSafe(|| {
            Image::from_buffer(
                file,
                ImageType::Format(ImageFormat::Ktx2),
                self.supported,
                settings.is_srgb,
                settings.sampler.clone(),
                RenderAssetUsages::RENDER_WORLD,
            )
        });
        let image = catch_unwind(decode).map_err(|_| StreamedImageError::Panicked)?;
        Ok(image?)
    }

    /// What Bevy's loader makes of all of the file.
    async fn whole(
        &self,
        parts: Parts<'_>,
        head: &Ktx2Head,
        why: NotStreamed,
        settings: &ImageLoaderSettings,
        load_context: &mut LoadContext<'_>,
    ) -> Result<Image, StreamedImageError> {
        let file = plain(parts, head).await?;
        let settings = ImageLoaderSettings {
            format: ImageFormatSetting::Format(ImageFormat::Ktx2),
            ..settings.clone()
        };
        let loader = ImageLoader::new(self.supported);
        let mut file = VecReader::new(file);
        let loading = AssertUnwindSafe(loader.load(&mut file, &settings, load_context)).catch_unwind();
        let mut image = loading.await.map_err(|_| StreamedImageError::Panicked)??;
        let size = &mut image.texture_descriptor.size;
        size.height = size.height.max(1);
        check_whole(&image)?;
        Ok(self.arrivals.is_whole(image, why, load_context.path()))
    }
}

/// The file with all mips unpacked, of as many bytes as it says and not more.
async fn plain(mut parts: Parts<'_>, head: &Ktx2Head) -> Result<Vec<u8>, StreamedImageError> {
    if head.is_zstd() {
        let dfd = parts.read(head.dfd()?, "its data format descriptor").await?;
        let levels = read_levels(&mut parts, head, 0..head.mips() as u8).await?;
        head.check_texels(0, levels.first().map_or(0, |level| level.len() as u64))?;
        return Ok(head.smaller(&dfd, 0, &levels));
    }
    head.dfd()?;
    head.check_whole()?;
    let mut file = parts.all().await?;
    // None: whoever loads it is to make others, which Bevy does not.
    if let Some(count) = file.get_mut(40..44) {
        count.copy_from_slice(&head.mips().to_le_bytes());
    }
    Ok(file)
}

/// Reads mips, the smallest first, as they lie in a file.
async fn read_levels(
    parts: &mut Parts<'_>,
    head: &Ktx2Head,
    mips: core::ops::Range<u8>,
) -> Result<Vec<Vec<u8>>, StreamedImageError> {
    let mut levels = Vec::with_capacity(mips.len());
    for mip in mips.rev() {
        levels.push(parts.level(head, mip).await?);
    }
    levels.reverse();
    Ok(levels)
}

/// Makes the descriptor of a tail that of the whole.
fn complete(image: &mut Image, head: &Ktx2Head, tail: u8) -> Result<MipChain, NotStreamed> {
    let is_compressed = image.is_compressed();
    let texture = &mut image.texture_descriptor;
    texture.size = head.size();
    texture.mip_level_count = head.mips();
    texture.dimension = head.dimension(is_compressed);
    MipChain::new(
        texture.size,
        texture.dimension,
        texture.sample_count,
        texture.format,
        texture.mip_level_count,
        u32::from(tail),
    )
}

/// Whether each mip is as large as it must be.
fn check_sizes(head: &Ktx2Head, chain: &MipChain) -> Result<(), StreamedImageError> {
    for mip in 0..chain.mips() {
        let (found, needed) = (head.level(mip)?.1, chain.payload_bytes(mip));
        if found != needed {
            let what = format!("has {found} bytes where it needs {needed}");
            return Err(StreamedImageError::Mip { mip, what });
        }
    }
    Ok(())
}

/// Bevy's loader looks at nothing that wgpu would end the app for.
fn check_whole(image: &Image) -> Result<(), StreamedImageError> {
    let texture = &image.texture_descriptor;
    let unusable = |what: String| Err(StreamedImageError::Unusable(what));
    let (mips, most) = (texture.mip_level_count, texture.size.max_mips(texture.dimension));
    if !(1..=most).contains(&mips) {
        return unusable(format!("it has {mips} mips, and from 1 to {most} are possible"));
    }
    let (width, height) = texture.format.block_dimensions();
    let size = texture.size;
    if !size.width.is_multiple_of(width) || !size.height.is_multiple_of(height) {
        return unusable(format!("its sides are no multiples of {width} and {height} texels"));
    }
    let Some(block) = texture.format.block_copy_size(None) else {
        return unusable(format!("{:?} has no texels to copy", texture.format));
    };
    let mip_bytes = |mip: u32| {
        let size = size.mip_level_size(mip, texture.dimension);
        let blocks = u64::from(size.width.div_ceil(width)) * u64::from(size.height.div_ceil(height));
        blocks
            .saturating_mul(u64::from(block))
            .saturating_mul(u64::from(size.depth_or_array_layers))
    };
    let needed = (0..mips).map(mip_bytes).fold(0, u64::saturating_add);
    let found = image.data.as_ref().map_or(0, Vec::len) as u64;
    if found < needed {
        return unusable(format!("it has {found} bytes of texels where it needs {needed}"));
    }
    Ok(())
}
