//! Adds mip streaming to an app. See [`MipPlugin`].

#[cfg(test)]
mod tests;

use bevy_app::{App, Plugin, PostUpdate, PreUpdate};
use bevy_asset::{AssetApp, AssetEvent, AssetEventSystems, AssetServer, AssetTrackingSystems, Assets};
use bevy_camera::{CameraUpdateSystems, visibility::VisibilitySystems};
use bevy_ecs::{message::MessageReader, prelude::*};
use bevy_image::{CompressedImageFormatSupport, CompressedImageFormats, Image, ImagePlugin};
use bevy_light::atmosphere::extract_chromatic_phase_textures;
use bevy_log::debug_span;
use bevy_mesh::mark_3d_meshes_as_changed_if_their_assets_changed;
use bevy_render::RenderApp;
use bevy_transform::TransformSystems;
use seamless_asset::{AssetTouches, SeamlessAssetApp, StreamingClock, package::Limits};

use super::{
    MipFailed, MipForce, MipGroups, MipPool, MipPoolTooSmall, MipSettings, MipTextures, MipViewpoint, MipWork,
    MipsOverBudget, StreamedImage, StreamedImageCodec, StreamedImageLoader, StreamedKtx2Loader, TexturePackage,
    TexturePackageLoader,
    ktx2::{Arrivals, Ktx2Files, admit_files},
    plan::add_plan,
    render::{self, MipReports, hear_renderer},
    source::{hear_reads, hear_wholes, start_reads, start_wholes},
    textures::is_stand_in,
    work::admit_waiting,
};

/// Streams the mips of images that the cooker has marked, and of KTX2 files ([`StreamedImage`]): they come with their mip tail, and the rest as far as it is seen, within a pool.
///
/// It is not one of `SeamlessPlugins`: add it by hand, after [`SeamlessRenderPlugin`](crate::SeamlessRenderPlugin). Without a renderer it adds its
/// [settings](MipSettings) and nothing else, and images are decoded as without it, unless it is to [rehearse](Self::rehearses).
///
/// The [`Image`] of a texture that streams has no pixels. Its sampler may be changed as any image's; what the game changes of its view is not taken over. An image that
/// the game puts in its place is drawn as it is, and does not stream.
#[derive(Clone, Debug)]
pub struct MipPlugin {
    /// What it begins with; later, the resource counts.
    pub settings: MipSettings,
    /// The most textures that stream at once; others are whole. 65 536.
    pub max_textures: usize,
    /// The most entities whose distance decides about mips; the textures of others are whole, as far as the pool goes. 1 048 576.
    pub max_users: usize,
    /// Whether it plans without a renderer, too, as if there were one that does in the next frame what it is told: of textures that stream, nothing finer than tails is read, and
    /// [`MipPool`] and [`MipStats`](super::MipStats) tell what textures would take. For tests and reports on machines without a GPU. A camera needs a size to
    /// look at: [`RenderTarget::None`](bevy_camera::RenderTarget::None) has one. Where there is a renderer, it makes no difference. False.
    pub rehearses: bool,
}

impl Default for MipPlugin {
    fn default() -> Self {
        Self {
            settings: MipSettings::default(),
            max_textures: 1 << 16,
            max_users: 1 << 20,
            rehearses: false,
        }
    }
}

/// What mip streaming does in a frame of the main world, in this order. Its time is counted in [`StreamingClock`].
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MipSystems {
    /// In [`PreUpdate`]: what the renderer has done is written into the [books](MipPool), textures come that had waited for room, and images that do not stream are
    /// put together.
    Hear,
    /// In [`PostUpdate`], before Bevy tells of changed assets: what was planned in the last frame becomes [commands](MipWork::commands).
    Send,
    /// Behind it, still before Bevy tells of changed assets: the materials whose textures are replaced in this frame are touched.
    Touch,
    /// In [`PostUpdate`], after Bevy has told of assets: textures whose images have gone are forgotten, and what was read of the others goes into buffers.
    Follow,
    /// Behind it, when it is known where everything is and what is seen: what is read and what is swapped next is decided.
    Plan,
    /// Behind it: what was decided to be read is asked for.
    Read,
}

impl Plugin for MipPlugin {
    fn build(&self, app: &mut App) {
        app.register_type::<MipSettings>()
            .register_type::<MipViewpoint>()
            .register_type::<MipForce>()
            .register_type::<MipGroups>()
            .init_resource::<MipGroups>()
            .insert_resource(self.settings.clone());
        if app.world().contains_resource::<AssetServer>() {
            app.init_asset::<StreamedImage>().init_asset::<TexturePackage>();
        }
    }

    /// The render app is there only after `RenderPlugin` has built.
    fn finish(&self, app: &mut App) {
        let has_renderer = add_renderer(app);
        if !has_renderer && !self.rehearses {
            return;
        }
        let mut textures = MipTextures::new(self.max_textures);
        if let Some(images) = app.get_added_plugins::<ImagePlugin>().first() {
            textures.set_default_anisotropy(images.default_sampler.anisotropy_clamp);
        }
        app.insert_resource(textures)
            .init_resource::<MipPool>()
            .insert_resource(MipWork::of_pool(self.settings.pool))
            .add_message::<MipFailed>()
            .add_message::<MipsOverBudget>()
            .add_message::<MipPoolTooSmall>()
            .add_asset_codec::<StreamedImageCodec>();
        order(app);
        add_systems(app);
        if !has_renderer {
            app.add_systems(PreUpdate, rehearse.in_set(MipSystems::Hear).before(admit_waiting));
        }
        add_files(app, has_renderer);
        add_plan(app, self.max_users);
    }
}

/// What reads, and does what was planned; whether there is somebody to draw it.
fn add_renderer(app: &mut App) -> bool {
    let reports = MipReports::default();
    let Some(render_app) = app.get_sub_app_mut(RenderApp) else {
        return false;
    };
    render::add_systems(render_app, reports.clone());
    app.insert_resource(reports)
        .add_systems(PreUpdate, hear_renderer.in_set(MipSystems::Hear).before(admit_waiting))
        .add_systems(
            PostUpdate,
            (
                hear_reads.in_set(MipSystems::Follow).after(admit_files),
                start_reads.in_set(MipSystems::Read).before(start_wholes),
            ),
        );
    true
}

fn order(app: &mut App) {
    app.configure_sets(PreUpdate, MipSystems::Hear.after(AssetTrackingSystems))
        .configure_sets(
            PostUpdate,
            (
                MipSystems::Send,
                MipSystems::Touch,
                AssetEventSystems,
                MipSystems::Follow,
                MipSystems::Plan,
                MipSystems::Read,
            )
                .chain(),
        )
        .configure_sets(
            PostUpdate,
            MipSystems::Plan
                .after(VisibilitySystems::CheckVisibility)
                .after(TransformSystems::Propagate)
                .after(mark_3d_meshes_as_changed_if_their_assets_changed),
        );
}

fn add_systems(app: &mut App) {
    app.add_systems(PreUpdate, (admit_waiting, hear_wholes).chain().in_set(MipSystems::Hear))
        .add_systems(
            PostUpdate,
            (
                (send_swaps, tell_of_swaps.after(CameraUpdateSystems))
                    .chain()
                    .in_set(MipSystems::Send),
                (
                    follow_images,
                    admit_files
                        .run_if(resource_exists::<Arrivals>)
                        .after(extract_chromatic_phase_textures),
                )
                    .chain()
                    .in_set(MipSystems::Follow),
                start_wholes.in_set(MipSystems::Read),
            ),
        );
}

/// Textures stream by Bevy's server.
fn add_files(app: &mut App, has_renderer: bool) {
    let told = app
        .world()
        .get_resource::<CompressedImageFormatSupport>()
        .map(|of| of.0);
    // Where nobody draws, nobody minds.
    let supported = if has_renderer {
        told
    } else {
        Some(CompressedImageFormats::all())
    };
    let Some(supported) = supported else {
        return;
    };
    let arrivals = Arrivals::default();
    app.insert_resource(arrivals.clone());
    let packages = TexturePackageLoader {
        limits: Limits::default(),
        arrivals: arrivals.clone(),
    };
    let files = Ktx2Files { supported, arrivals };
    app.register_asset_loader(StreamedKtx2Loader(files.clone()))
        .register_asset_loader(StreamedImageLoader(files))
        .register_asset_loader(packages);
}

/// Nobody reads, or draws: what was asked for has come, and what the renderer was told is done.
fn rehearse(mut work: ResMut<MipWork>, mut pool: ResMut<MipPool>, clock: Res<StreamingClock>) {
    let _time = clock.measure("mips without a renderer");
    let _span = debug_span!("rehearse").entered();
    work.rehearse(&mut pool.ledger);
}

/// What was planned to be swapped is done in this frame.
fn send_swaps(mut work: ResMut<MipWork>, textures: Res<MipTextures>, clock: Res<StreamingClock>) {
    let _time = clock.measure("textures that are replaced");
    let _span = debug_span!("send_swaps").entered();
    work.send(&textures);
}

/// Who keeps something of a texture by its image, as sprites and UI keep bind groups, hears in the frame of the swap that the image is modified. Bevy looks no
/// further at an image that only the main world has.
fn tell_of_swaps(
    work: Res<MipWork>,
    mut images: ResMut<Assets<Image>>,
    mut touches: AssetTouches,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("textures that are replaced");
    let _span = debug_span!("tell_of_swaps").entered();
    for command in work.commands() {
        if let Some(image) = images.get_mut(command.id) {
            // The mutable look is what Bevy takes for a change.
            image.into_inner();
            touches.touched(command.id);
        }
    }
}

/// Forgets textures whose images have gone, or are the game's own from now on, and takes over samplers that the game has changed.
fn follow_images(
    mut events: MessageReader<AssetEvent<Image>>,
    images: Res<Assets<Image>>,
    mut work: ResMut<MipWork>,
    mut textures: ResMut<MipTextures>,
    mut pool: ResMut<MipPool>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("images that were changed");
    let _span = debug_span!("follow_images").entered();
    for event in events.read() {
        let (id, is_over) = match *event {
            AssetEvent::Unused { id } => (id, textures.knows(id) || work.waiting.has(id)),
            // What is to be whole is modified by us too, when it has come. An image that was taken out and put again is added.
            AssetEvent::Modified { id } | AssetEvent::Added { id }
                if textures.number(id).is_some() || work.waiting.has(id) || work.wholes.is_coming(id) =>
            {
                if work.wholes.take_given(id) {
                    continue;
                }
                (id, images.get(id).is_some_and(|image| !is_stand_in(image)))
            }
            _ => continue,
        };
        if is_over {
            work.go(id, &mut textures, &mut pool.ledger);
        } else if let Some(image) = images.get(id) {
            work.resample(id, &image.sampler, &mut textures);
        }
    }
}
