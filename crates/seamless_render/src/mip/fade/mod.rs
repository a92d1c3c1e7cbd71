//! Finer mips that come in softly, in materials whose shaders ask for it. See [`MipFadePlugin`].

#[cfg(test)]
mod tests;

use core::mem;

use bevy_app::{App, Plugin, PostUpdate};
use bevy_asset::{AssetEvent, AssetEventSystems, AssetId, Assets, Handle, RenderAssetUsages};
use bevy_ecs::prelude::*;
use bevy_image::Image;
use bevy_platform::collections::{HashMap, hash_map::Entry};
use bevy_render::storage::ShaderBuffer;
use bevy_shader::load_shader_library;
use seamless_asset::StreamingTime;

use super::{MipCommand, MipLedger, MipPool, MipSystems, MipWork};

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
///     place: u32,                  // fades.place(picture.id())
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
/// The material is to sample without anisotropy, and its views without a mip bias: the shader knows neither, and would go on to finer mips too early, or too late.
///
/// The buffer is written in place while something fades, so no material is prepared again for it. Bevy's own materials do not ask: with them, a finer mip is there at once.
#[derive(Clone, Copy, Debug)]
pub struct MipFadePlugin {
    /// How long it takes to fade by one mip, in seconds. 0.2.
    pub seconds: f32,
    /// How many textures can have [places](MipFades::place) at a time. The buffer has four bytes for each. 4 096.
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
    /// Replaced textures, until the renderer has said how that went.
    sent: Vec<MipCommand>,
    /// When the last frame was, in seconds.
    now: f64,
}

impl MipFades {
    /// What shaders read: for each place the finest mip to sample, from the finest that is there; 0: all of them.
    #[must_use]
    pub fn buffer(&self) -> &Handle<ShaderBuffer> {
        &self.buffer
    }

    /// The place of an image in the [buffer](Self::buffer), whether it is loaded yet or not, as long as there are handles to it. 0, which never fades, if there
    /// are too many.
    pub fn place(&mut self, image: AssetId<Image>) -> u32 {
        self.fades.place(image)
    }
}

impl Plugin for MipFadePlugin {
    fn build(&self, app: &mut App) {
        let fades = Fades::new(self.textures);
        let Some(mut buffers) = app.world_mut().get_resource_mut::<Assets<ShaderBuffer>>() else {
            // There is no renderer.
            return;
        };
        let buffer = buffers.add(ShaderBuffer::new(&fades.bytes(), RenderAssetUsages::default()));
        load_shader_library!(app, "mip_fade.wgsl");
        app.insert_resource(MipFades {
            seconds: self.seconds,
            buffer,
            fades,
            sent: Vec::new(),
            now: 0.0,
        })
        .add_systems(
            PostUpdate,
            (let_go, fade)
                .chain()
                .after(MipSystems::Send)
                .before(AssetEventSystems)
                .run_if(resource_exists::<MipWork>.and_then(resource_exists::<MipPool>)),
        );
    }
}

/// Whom nobody uses any more needs no place.
fn let_go(mut fades: ResMut<MipFades>, mut images: MessageReader<AssetEvent<Image>>) {
    for event in images.read() {
        if let AssetEvent::Unused { id } = event {
            fades.fades.let_go(*id);
        }
    }
}

/// In the frame in which textures are replaced, they are shown as they were before.
fn fade(
    mut fades: ResMut<MipFades>,
    (work, pool): (Res<MipWork>, Res<MipPool>),
    time: Res<StreamingTime>,
    mut buffers: ResMut<Assets<ShaderBuffer>>,
) {
    let fades = &mut *fades;
    let now = time.now().as_secs_f64();
    let seconds = (now - mem::replace(&mut fades.now, now)) as f32;
    let mips = seconds / fades.seconds.max(f32::MIN_POSITIVE);
    let mut is_other = fades.fades.step(mips);
    fades.sent.retain(|command| match outcome(command, &pool.ledger) {
        Outcome::Open => true,
        Outcome::Done => false,
        Outcome::Failed => {
            // It is as it was.
            fades.fades.replaced(command.id, command.to, command.from);
            is_other = true;
            false
        }
    });
    for command in work.commands() {
        is_other |= fades.fades.replaced(command.id, command.from, command.to);
        fades.sent.push(*command);
    }
    if is_other && let Some(mut buffer) = buffers.get_mut(&fades.buffer) {
        buffer.data = Some(fades.fades.bytes());
    }
}

/// What has become of a texture that was to be replaced.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Open,
    Done,
    Failed,
}

fn outcome(command: &MipCommand, ledger: &MipLedger) -> Outcome {
    match ledger.get(command.texture) {
        Some(of) if of.change.is_some_and(|change| change.id == command.change) => Outcome::Open,
        Some(of) if of.top == command.to => Outcome::Done,
        _ => Outcome::Failed,
    }
}

/// The finest mips that are shown, by place.
#[derive(Debug)]
struct Fades {
    least: Vec<f32>,
    /// Places of those that are not 0.
    going: Vec<u32>,
    places: HashMap<AssetId<Image>, u32>,
    /// The next one comes last.
    free: Vec<u32>,
}

impl Fades {
    fn new(textures: u32) -> Self {
        Self {
            least: vec![0.0; textures as usize + 1],
            going: Vec::new(),
            places: HashMap::default(),
            free: (1..=textures).rev().collect(),
        }
    }

    fn place(&mut self, image: AssetId<Image>) -> u32 {
        match self.places.entry(image) {
            Entry::Occupied(place) => *place.get(),
            Entry::Vacant(place) => self.free.pop().map_or(0, |free| *place.insert(free)),
        }
    }

    fn let_go(&mut self, image: AssetId<Image>) {
        if let Some(place) = self.places.remove(&image) {
            // It is written when something fades; who comes next begins with that.
            self.least[place as usize] = 0.0;
            self.free.push(place);
        }
    }

    /// An image has other mips: it shows what it has shown. Whether it has a place.
    fn replaced(&mut self, image: AssetId<Image>, from: u8, to: u8) -> bool {
        let Some(place) = self.places.get(&image).copied() else {
            return false;
        };
        let least = &mut self.least[place as usize];
        *least = (*least + f32::from(from) - f32::from(to)).max(0.0);
        if *least > 0.0 && !self.going.contains(&place) {
            self.going.push(place);
        }
        true
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
