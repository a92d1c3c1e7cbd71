//! Textures with their tails alone. See [`Tails`].

use bevy_asset::AssetId;
use bevy_image::Image;
use bevy_render::{
    render_asset::RenderAssets,
    render_resource::{TexelCopyBufferLayout, Texture, TextureFormat, TextureSampleType, TextureViewDimension},
    renderer::{RenderDevice, RenderQueue},
    texture::{DefaultImageSampler, FallbackImage, GpuImage},
};

use super::{
    Live, MipReports,
    reports::{NotSwapped, Report},
    sampler,
    texture::{NoTexture, at, make_texture, make_view},
};
use crate::mip::textures::MipRecord;

/// In how many frames it is tried again, if there is no memory.
const PAUSE: u32 = 60;

/// A texture that has nothing on the device yet.
pub(super) struct Bare {
    pub id: AssetId<Image>,
    /// In how many frames it is tried again.
    wait: u32,
    has_failed: bool,
}

impl Bare {
    pub fn new(id: AssetId<Image>) -> Self {
        Self {
            id,
            wait: 0,
            has_failed: false,
        }
    }

    /// There was no memory for it.
    pub(super) fn fail(&mut self) {
        self.has_failed = true;
        self.wait = PAUSE;
    }

    /// Whether it is tried in this frame.
    pub(super) fn is_due(&mut self) -> bool {
        self.wait = self.wait.saturating_sub(1);
        self.wait == 0
    }
}

/// Makes tails.
pub(super) struct Tails<'a> {
    pub device: &'a RenderDevice,
    pub queue: &'a RenderQueue,
    pub default_sampler: &'a DefaultImageSampler,
    pub fallback: &'a FallbackImage,
    pub reports: &'a MipReports,
}

impl Tails<'_> {
    /// Makes the texture of an image that has none on this device, from its floor on. Whether that is over; if there is no memory for it, it is tried again
    /// some frames later. What the device does not take is drawn as one white texel.
    pub fn make(&self, bare: &mut Bare, live: &mut Live, images: &mut RenderAssets<GpuImage>) -> bool {
        if !bare.is_due() {
            return false;
        }
        let (image, top) = (bare.id, live.record.chain().floor());
        let why = match self.try_make(image, live, images) {
            Ok(()) => {
                if bare.has_failed {
                    self.reports.push(Report::Tail(image));
                }
                return true;
            }
            Err(NoTexture::OutOfMemory) => {
                bare.fail();
                let bytes = live.record.chain().bytes(top);
                NotSwapped::OutOfMemory { bytes }
            }
            Err(NoTexture::Refused) => {
                self.stand_in(image, &live.record, images);
                NotSwapped::Refused { top }
            }
        };
        self.reports.push(Report::NoTail { image, why });
        matches!(why, NotSwapped::Refused { .. })
    }

    fn try_make(
        &self,
        id: AssetId<Image>,
        live: &mut Live,
        images: &mut RenderAssets<GpuImage>,
    ) -> Result<(), NoTexture> {
        let record = &*live.record;
        let top = record.chain().floor();
        let texture = make_texture(self.device, record, top)?;
        write(self.queue, &texture, record);
        let image = GpuImage {
            texture_view: make_view(&texture, record, top),
            sampler: sampler::make_sampler(self.device, record, top, self.default_sampler),
            texture: texture.clone(),
            texture_descriptor: record.drawn_descriptor(),
            texture_view_descriptor: record.view().cloned(),
            had_data: true,
        };
        images.insert(id, image);
        live.texture = Some((texture, top));
        Ok(())
    }

    /// Has something drawn for what the device does not take, if it is sampled as that is.
    fn stand_in(&self, id: AssetId<Image>, record: &MipRecord, images: &mut RenderAssets<GpuImage>) {
        let descriptor = record.descriptor();
        let of_layers = match descriptor.size.depth_or_array_layers {
            0 | 1 => TextureViewDimension::D2,
            _ => TextureViewDimension::D2Array,
        };
        let dimension = record.view().and_then(|view| view.dimension).unwrap_or(of_layers);
        let is_float = |format: TextureFormat| {
            let float = TextureSampleType::Float { filterable: true };
            format.sample_type(None, None) == Some(float)
        };
        if is_float(descriptor.format) {
            images.insert(id, self.fallback.get(dimension).clone());
        }
    }
}

/// Puts the tail into the texture that begins with it.
fn write(queue: &RenderQueue, texture: &Texture, record: &MipRecord) {
    let (chain, floor) = (record.chain(), record.chain().floor());
    let mut rest = record.tail();
    for (mip, copy) in (floor..).zip(chain.copies(floor, floor)) {
        let bytes = chain.payload_bytes(mip);
        let Some((data, behind)) = rest.split_at_checked(bytes as usize) else {
            return;
        };
        let rows = chain.staging(mip).rows_per_image;
        let layers = copy.extent.depth_or_array_layers;
        queue.write_texture(
            at(texture, copy.dst_mip),
            data,
            TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some((bytes / u64::from(rows * layers)) as u32),
                rows_per_image: Some(rows),
            },
            copy.extent,
        );
        rest = behind;
    }
}
