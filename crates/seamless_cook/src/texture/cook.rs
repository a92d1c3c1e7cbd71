//! Cooks one texture. See [`cook_texture`].

use core::num::NonZeroUsize;
use core::ops::Range;
use std::sync::Arc;

use bevy::image::{Image, ImageSampler};
use bevy::render::render_resource::{
    TextureDataOrder, TextureDescriptor, TextureDimension, TextureFormat, TextureUsages,
};

use super::choose::{Choice, Content, choose, look};
use super::compress::{Compression, compress};
use super::coverage;
use super::encoder::{BlockFormat, TextureEncoder};
use super::expand::expanded;
use super::measure::{Errors, Measure};
use super::mips::{Base, Filter, Mip, chain, full_count};
use super::parts::rows;
use super::pixel::PixelFormat;
use super::report::{Kept, TextureReport};
use super::settings::TextureSettings;
use super::usage::{AlphaUse, Channels, TextureUse};
use crate::parts::in_parts;

/// A cooked texture.
#[derive(Debug, Clone)]
pub struct Cooked {
    /// The image as the game gets it. Sampler, view, label and usages are as they were.
    pub image: Image,
    /// What was done, and how good it is.
    pub report: TextureReport,
}

/// Gives an image mips and compresses it, as far as its use, its format and the settings allow. Never fails: what cannot be done
/// stays as it is, and the report says why. It works on so many threads, the calling one included; what it makes does not depend on that.
#[must_use]
pub fn cook_texture(
    image: &Image,
    usage: TextureUse,
    settings: &TextureSettings,
    encoder: &dyn TextureEncoder,
    threads: NonZeroUsize,
) -> Cooked {
    let plain = if settings.target.bc { None } else { expanded(image) };
    let mut cooked = cook(plain.as_ref().unwrap_or(image), usage, settings, encoder, threads);
    if plain.is_some() {
        let was = new_report(image, usage, None);
        (cooked.report.from_format, cooked.report.bytes_before) = (was.from_format, was.bytes_before);
    }
    cooked
}

fn cook(
    image: &Image,
    usage: TextureUse,
    settings: &TextureSettings,
    encoder: &dyn TextureEncoder,
    threads: NonZeroUsize,
) -> Cooked {
    let source = match Source::of(image, usage, threads) {
        Ok(source) => source,
        Err(kept) => {
            return Cooked {
                image: image.clone(),
                report: new_report(image, usage, Some(kept)),
            };
        }
    };
    let plan = Plan::new(image, &source, settings);
    let mut report = new_report(image, usage, None);
    report.no_mips = plan.no_mips;
    let compressed = plan
        .choices
        .as_ref()
        .map_err(|kept| *kept)
        .and_then(|choices| source.compress(&plan, choices, settings, encoder));
    let (format, data, errors) = compressed.unwrap_or_else(|kept| {
        report.no_compression = Some(kept);
        let (data, errors) = source.plain(&plan);
        (image.texture_descriptor.format, data, errors)
    });
    errors.tell(&mut report);
    let image = with_pixels(image, &plan, format, data);
    tell_result(&image, &mut report);
    Cooked { image, report }
}

/// An image whose texels can be worked with.
struct Source<'a> {
    bytes: &'a [u8],
    format: PixelFormat,
    width: u32,
    height: u32,
    layers: u32,
    usage: TextureUse,
    content: Content,
    /// How many threads work on it.
    threads: NonZeroUsize,
}

impl<'a> Source<'a> {
    fn of(image: &'a Image, usage: TextureUse, threads: NonZeroUsize) -> Result<Self, Kept> {
        let descriptor = &image.texture_descriptor;
        let (format, bytes) = workable(image, usage)?;
        let mut source = Self {
            bytes,
            format,
            width: descriptor.size.width,
            height: descriptor.size.height,
            layers: descriptor.size.depth_or_array_layers,
            usage,
            content: look(core::iter::empty(), threads),
            threads,
        };
        let texels = [source.height, source.layers]
            .iter()
            .try_fold(source.width as usize, |product, side| {
                product.checked_mul(*side as usize)
            });
        let needed = texels.and_then(|texels| texels.checked_mul(format.bytes()));
        if needed != Some(bytes.len()) || bytes.is_empty() {
            return Err(Kept::WrongSize);
        }
        source.content = look(source.bases(), threads);
        if !source.content.finite {
            return Err(Kept::NotFinite);
        }
        Ok(source)
    }

    fn bases(&self) -> impl Iterator<Item = Base<'a>> {
        let (format, width, height) = (self.format, self.width, self.height);
        let layer = self.bytes.len() / self.layers.max(1) as usize;
        self.bytes.chunks_exact(layer).map(move |bytes| Base {
            bytes,
            format,
            width,
            height,
        })
    }

    fn filter(&self) -> Filter {
        match self.usage {
            TextureUse::Color(AlphaUse::Mask { .. } | AlphaUse::Blend) if !self.content.opaque => Filter::Weighted,
            TextureUse::Normal(_) => Filter::Directions {
                from_two: self.format.channels == 2,
            },
            _ => Filter::Plain,
        }
    }

    /// The smallest alpha that is drawn, where texels are cut out.
    fn visible(&self) -> Option<u8> {
        match self.usage {
            TextureUse::Color(AlphaUse::Mask { visible }) if !self.content.opaque => Some(visible),
            _ => None,
        }
    }

    /// The mips of one layer.
    fn mips(&self, base: Base<'a>, plan: &Plan, errors: &mut Errors) -> Vec<Mip<'a>> {
        let mut mips = chain(base, self.filter(), plan.skip, plan.mips, self.threads);
        if let Some(visible) = self.visible() {
            errors.add_coverage(coverage::keep(&base, &mut mips, visible));
        }
        mips
    }

    /// All mips of all layers in the format that they have.
    fn plain(&self, plan: &Plan) -> (Vec<u8>, Errors) {
        let (mut data, mut row, mut errors) = (Vec::new(), Vec::new(), Errors::default());
        for base in self.bases() {
            for mip in self.mips(base, plan, &mut errors) {
                if let Some(stored) = mip.stored() {
                    data.extend_from_slice(stored);
                    continue;
                }
                for y in 0..mip.height {
                    mip.row(y, &mut row);
                    self.format.write(&row, &mut data);
                }
            }
        }
        (data, errors)
    }

    /// All mips of all layers in the first format that is good enough.
    fn compress(
        &self,
        plan: &Plan,
        choices: &[Choice],
        settings: &TextureSettings,
        encoder: &dyn TextureEncoder,
    ) -> Result<(TextureFormat, Vec<u8>, Errors), Kept> {
        for choice in choices {
            let tried = self.try_format(plan, *choice, settings, encoder);
            let (data, errors) = tried.ok_or(Kept::Encoder)?;
            if choice.floor_db.is_none_or(|floor| errors.reach(floor)) {
                return Ok((choice.texture_format(), data, errors));
            }
        }
        Err(Kept::Encoder)
    }

    fn try_format(
        &self,
        plan: &Plan,
        choice: Choice,
        settings: &TextureSettings,
        encoder: &dyn TextureEncoder,
    ) -> Option<(Vec<u8>, Errors)> {
        let (mut data, mut errors) = (Vec::new(), Errors::default());
        let compression = Compression {
            choice,
            measure: self.measure(choice),
            quality: settings.quality,
            encoder,
        };
        for base in self.bases() {
            let mips = self.mips(base, plan, &mut errors);
            let parts = mips
                .iter()
                .flat_map(|mip| rows(mip.height).map(move |rows| (mip, rows)));
            let parts: Vec<(&Mip, Range<u32>)> = parts.collect();
            for part in in_parts(self.threads, &parts, |(mip, rows)| compress(mip, rows, &compression)) {
                let (blocks, found) = part?;
                data.extend_from_slice(&blocks);
                errors.add_all(&found);
            }
        }
        Some((data, errors))
    }

    fn measure(&self, choice: Choice) -> Measure {
        match self.usage {
            // Angles follow from what is stored, unless that is on a curve.
            TextureUse::Normal(_) if !choice.srgb => Measure::Angles {
                two: choice.format == BlockFormat::Bc5,
            },
            _ if choice.format == BlockFormat::Bc6h => Measure::Light,
            usage => {
                let kept = if choice.alpha { Channels::RGBA } else { Channels::RGB };
                let stored = self.format.stored().common(kept);
                let used = usage.channels().common(stored);
                // A material may read a channel that the image does not have.
                Measure::Channels(if used.is_empty() { stored } else { used })
            }
        }
    }
}

/// The texels of an image, if mips or blocks can be made of them at all.
fn workable(image: &Image, usage: TextureUse) -> Result<(PixelFormat, &[u8]), Kept> {
    let descriptor = &image.texture_descriptor;
    let sampled = TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST | TextureUsages::COPY_SRC;
    let bytes = image.data.as_deref().ok_or(Kept::NoPixels)?;
    match () {
        () if usage == TextureUse::Unknown => Err(Kept::UnknownUse),
        () if descriptor.format.is_compressed() => Err(Kept::AlreadyCompressed),
        () if descriptor.mip_level_count != 1 => Err(Kept::AlreadyMipped),
        () if descriptor.dimension != TextureDimension::D2 => Err(Kept::NotFlat),
        () if descriptor.sample_count != 1 => Err(Kept::Multisampled),
        () if !sampled.contains(descriptor.usage) => Err(Kept::WrittenByGpu),
        () => match PixelFormat::of(descriptor.format) {
            Some(format) => Ok((format, bytes)),
            None => Err(Kept::UnknownFormat),
        },
    }
}

/// What will be done to an image.
struct Plan {
    /// How many times it is halved.
    skip: u32,
    width: u32,
    height: u32,
    mips: u32,
    no_mips: Option<Kept>,
    choices: Result<Vec<Choice>, Kept>,
}

impl Plan {
    fn new(image: &Image, source: &Source<'_>, settings: &TextureSettings) -> Self {
        let largest = settings.max_size.map_or(u32::MAX, |size| size.get());
        let (mut width, mut height, mut skip) = (source.width, source.height, 0);
        while width.max(height) > largest {
            (width, height, skip) = ((width / 2).max(1), (height / 2).max(1), skip + 1);
        }
        let no_mips = no_mips(image, settings);
        let mut plan = Self {
            skip,
            width,
            height,
            mips: no_mips.map_or(full_count(width, height), |_| 1),
            no_mips,
            choices: Err(Kept::TurnedOff),
        };
        plan.choices = plan.choices(image, source, settings);
        plan
    }

    fn choices(&self, image: &Image, source: &Source<'_>, settings: &TextureSettings) -> Result<Vec<Choice>, Kept> {
        let view = image.texture_view_descriptor.as_ref();
        match () {
            () if !settings.compress => Err(Kept::TurnedOff),
            () if !settings.target.bc => Err(Kept::NotOnTarget),
            () if !image.texture_descriptor.view_formats.is_empty() => Err(Kept::OwnViews),
            () if view.is_some_and(|view| view.format.is_some()) => Err(Kept::OwnViews),
            () if !self.width.is_multiple_of(4) || !self.height.is_multiple_of(4) => Err(Kept::NotBlockSized),
            () => choose(source.usage, source.format, source.content, settings.quality),
        }
    }
}

fn no_mips(image: &Image, settings: &TextureSettings) -> Option<Kept> {
    let view = image.texture_view_descriptor.as_ref();
    match &image.sampler {
        _ if !settings.mips => Some(Kept::TurnedOff),
        _ if view.is_some_and(|view| view.mip_level_count == Some(1)) => Some(Kept::ViewWithoutMips),
        ImageSampler::Descriptor(sampler) if sampler.lod_max_clamp <= 0.0 => Some(Kept::SamplerWithoutMips),
        _ => None,
    }
}

/// The image with other pixels, layer by layer.
fn with_pixels(image: &Image, plan: &Plan, format: TextureFormat, data: Vec<u8>) -> Image {
    let was = &image.texture_descriptor;
    let mut size = was.size;
    (size.width, size.height) = (plan.width, plan.height);
    Image {
        data: Some(data),
        data_order: TextureDataOrder::LayerMajor,
        texture_descriptor: TextureDescriptor {
            size,
            mip_level_count: plan.mips,
            format,
            ..was.clone()
        },
        sampler: image.sampler.clone(),
        texture_view_descriptor: image.texture_view_descriptor.clone(),
        asset_usage: image.asset_usage,
        copy_on_resize: image.copy_on_resize,
    }
}

/// A report of an image that stays as it is.
fn new_report(image: &Image, usage: TextureUse, kept: Option<Kept>) -> TextureReport {
    let descriptor = &image.texture_descriptor;
    let size = size_of(image);
    let bytes = image.data.as_ref().map_or(0, Vec::len) as u64;
    let format = format_name(descriptor.format);
    TextureReport {
        usage: usage.to_string().into(),
        from_size: size,
        to_size: size,
        from_mips: descriptor.mip_level_count,
        to_mips: descriptor.mip_level_count,
        from_format: format.clone(),
        to_format: format,
        bytes_before: bytes,
        bytes_after: bytes,
        psnr_db: None,
        psnr_alpha_db: None,
        psnr_log_db: None,
        normal_error_degrees: None,
        coverage_error: None,
        no_mips: kept,
        no_compression: kept,
    }
}

fn tell_result(image: &Image, report: &mut TextureReport) {
    report.to_size = size_of(image);
    report.to_mips = image.texture_descriptor.mip_level_count;
    report.to_format = format_name(image.texture_descriptor.format);
    report.bytes_after = image.data.as_ref().map_or(0, Vec::len) as u64;
}

fn size_of(image: &Image) -> [u32; 3] {
    let size = image.texture_descriptor.size;
    [size.width, size.height, size.depth_or_array_layers]
}

fn format_name(format: TextureFormat) -> Arc<str> {
    format!("{format:?}").to_ascii_lowercase().into()
}
