//! Finer mips that come in softly, in materials whose shaders ask for it. See [`MipFadePlugin`].

#[cfg(test)]
mod tests;

use core::mem;

use bevy_app::{App, Plugin, PostUpdate};
use bevy_asset::{AssetEventSystems, AssetId, Assets, Handle, RenderAssetUsages};
use bevy_ecs::prelude::*;
use bevy_image::Image;
use bevy_render::storage::ShaderBuffer;
use bevy_shader::load_shader_library;
use seamless_asset::StreamingTime;

use super::{MipSystems, MipTextures, MipWork};

/// Textures that become finer do so little by little, in materials that bring a shader of their own for it: when finer mips have come, such a shader samples at first what
/// it has sampled before, and goes on to them over some frames. Add it after a [`MipPlugin`](super::MipPlugin).
///
/// The material gives its shader a [buffer](MipFades::buffer) and its texture's [place](MipFades::place) in it:
///
/// ```
/// # use bevy::{prelude::*, render::{render_resource::AsBindGroup, storage::ShaderBuffer}};
/// #[derive(Asset, AsBindGroup, TypePath, Clone)]
/// struct Wall {
///     #[texture(0)]
///     #[sampler(1)]
///     picture: Handle<Image>,
///     #[storage(2, read_only)]
///     fades: Handle<ShaderBuffer>, // fades.buffer().clone()
///     #[uniform(3)]
///     place: u32,                  // fades.place(&textures, picture.id())
/// }
/// ```
///
/// ```wgsl
/// #import seamless_render::mip_fade::sample_faded
/// @group(#{MATERIAL_BIND_GROUP}) @binding(2) var<storage, read> fades: array<f32>;
/// @group(#{MATERIAL_BIND_GROUP}) @binding(3) var<uniform> place: u32;
/// // …
/// let colour = sample_faded(picture, picture_sampler, in.uv, fades[place]);
/// ```
///
/// The buffer is written in place while something fades, so no material is prepared again for it. Bevy's own materials do not ask: with them, a finer mip is there at once.
#[derive(Clone, Copy, Debug)]
pub struct MipFadePlugin {
    /// How long it takes to fade by one mip, in seconds. 0.2.
    pub seconds: f32,
    /// How many textures can fade at all: those with the lowest [numbers](MipTextures::number). The buffer has four bytes for each. 4 096.
    pub textures: u32,
}

impl Default for MipFadePlugin {
    fn default() -> Self {
        Self {
            seconds: 0.2,
            textures: 4096,
        }
    }
}

/// Which mips of textures are shown at the finest, on the way to those that are there.
#[derive(Resource, Debug)]
pub struct MipFades {
    /// How long it takes to fade by one mip, in seconds.
    pub seconds: f32,
    buffer: Handle<ShaderBuffer>,
    fades: Fades,
    /// When the last frame was, in seconds.
    now: f64,
}

impl MipFades {
    /// What shaders read: for each place the finest mip to sample, from the finest that is there; 0: all of them.
    #[must_use]
    pub fn buffer(&self) -> &Handle<ShaderBuffer> {
        &self.buffer
    }

    /// The place of an image's texture in the [buffer](Self::buffer), as long as it streams. 0, which never fades, for one that does not, or of which there
    /// are too many.
    #[must_use]
    pub fn place(&self, textures: &MipTextures, image: AssetId<Image>) -> u32 {
        let place = textures.number(image).map_or(0, |texture| texture.saturating_add(1));
        if (place as usize) < self.fades.least.len() {
            place
        } else {
            0
        }
    }
}

impl Plugin for MipFadePlugin {
    fn build(&self, app: &mut App) {
        load_shader_library!(app, "mip_fade.wgsl");
        let fades = Fades::new(self.textures);
        let Some(mut buffers) = app.world_mut().get_resource_mut::<Assets<ShaderBuffer>>() else {
            // There is no renderer.
            return;
        };
        let buffer = buffers.add(ShaderBuffer::new(&fades.bytes(), RenderAssetUsages::default()));
        app.insert_resource(MipFades {
            seconds: self.seconds,
            buffer,
            fades,
            now: 0.0,
        })
        .add_systems(
            PostUpdate,
            fade.after(MipSystems::Send)
                .before(AssetEventSystems)
                .run_if(resource_exists::<MipWork>),
        );
    }
}

/// In the frame in which textures are replaced, they are shown as they were before.
fn fade(
    mut fades: ResMut<MipFades>,
    work: Res<MipWork>,
    time: Res<StreamingTime>,
    mut buffers: ResMut<Assets<ShaderBuffer>>,
) {
    let now = time.now().as_secs_f64();
    let seconds = (now - mem::replace(&mut fades.now, now)) as f32;
    let mips = seconds / fades.seconds.max(f32::MIN_POSITIVE);
    let is_other = fades.fades.step(mips);
    for command in work.commands() {
        fades.fades.replaced(command.texture, command.from, command.to);
    }
    if (is_other || !work.commands().is_empty())
        && let Some(mut buffer) = buffers.get_mut(&fades.buffer)
    {
        buffer.data = Some(fades.fades.bytes());
    }
}

/// The finest mips that are shown, by place.
#[derive(Debug)]
struct Fades {
    least: Vec<f32>,
    /// Places of those that are not 0.
    going: Vec<u32>,
}

impl Fades {
    fn new(textures: u32) -> Self {
        Self {
            least: vec![0.0; textures as usize + 1],
            going: Vec::new(),
        }
    }

    /// A texture has other mips: it shows what it has shown.
    fn replaced(&mut self, texture: u32, from: u8, to: u8) {
        let place = texture.saturating_add(1);
        let Some(least) = self.least.get_mut(place as usize) else {
            return;
        };
        *least = (*least + f32::from(from) - f32::from(to)).max(0.0);
        if *least > 0.0 && !self.going.contains(&place) {
            self.going.push(place);
        }
    }

    /// All that fade come nearer by so many mips; whether there are any.
    fn step(&mut self, mips: f32) -> bool {
        let is_any = !self.going.is_empty();
        let least = &mut self.least;
        self.going.retain(|place| {
            let least = &mut least[*place as usize];
            *least = (*least - mips.max(0.0)).max(0.0);
            *least > 0.0
        });
        is_any
    }

    /// As shaders see it.
    fn bytes(&self) -> Vec<u8> {
        self.least.iter().flat_map(|least| least.to_le_bytes()).collect()
    }
}
