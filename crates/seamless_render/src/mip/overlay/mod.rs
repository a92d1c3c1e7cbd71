//! How fine textures are, drawn over the picture. See [`MipOverlayPlugin`].

mod surfaces;
#[cfg(test)]
mod tests;

use bevy_app::{App, Plugin, PostUpdate, Update};
use bevy_asset::Assets;
use bevy_camera::{CameraUpdateSystems, primitives::Aabb, visibility::ViewVisibility};
use bevy_color::Color;
use bevy_ecs::{
    entity::Entity,
    schedule::{IntoScheduleConfigs, common_conditions::resource_exists},
    system::{Query, Res, ResMut},
};
use bevy_gizmos::{
    AppGizmoBuilder, GizmoPlugin,
    config::{GizmoConfig, GizmoConfigGroup, GizmoConfigStore},
    gizmos::Gizmos,
};
use bevy_input::{ButtonInput, keyboard::KeyCode};
use bevy_pbr::StandardMaterial;
use bevy_reflect::{Reflect, prelude::ReflectDefault};
use bevy_transform::{
    TransformSystems,
    components::{GlobalTransform, Transform},
};
use seamless_asset::PanelSystems;

use super::{MipSystems, Mips, plan::order_plan, truth};

/// Shows how fine textures are, in colours, in two ways that start turned off; a key turns each on and off:
///
/// * boxes, drawn with gizmos around whatever is seen and has textures that stream, by the one that lacks most of what is *wanted*;
/// * [surfaces](MipOverlaySettings::surfaces), each pixel by the texture that lacks most of what the GPU *samples* there, where a
///   [`MipFeedbackPlugin`](super::MipFeedbackPlugin) is.
///
/// | colour | the finest mip on the GPU is |
/// |---|---|
/// | blue | finer than is wanted: it is kept while there is room |
/// | green | the one that is wanted |
/// | yellow | a mip coarser |
/// | orange to red | coarser still |
///
/// Those are the colours of [`TruthPicture::colours`](super::TruthPicture::colours). Add it after a [`MipPlugin`](super::MipPlugin), and, to see anything, where Bevy's gizmos
/// are drawn: the feature `bevy_gizmos_render` of `bevy`.
///
/// ```
/// # use bevy_app::App;
/// # use bevy_gizmos::config::GizmoConfigStore;
/// # use seamless_render::mip::{MipOverlayPlugin, MipOverlaySettings};
/// # let mut app = App::new();
/// # app.add_plugins((bevy_asset::AssetPlugin::default(), bevy_gizmos::GizmoPlugin));
/// app.add_plugins(MipOverlayPlugin::default()); // F2, and F3 for surfaces
/// // Settings are a group of gizmos, as all of Bevy's.
/// let mut store = app.world_mut().resource_mut::<GizmoConfigStore>();
/// store.config_mut::<MipOverlaySettings>().1.only_coarse = true;
/// ```
#[derive(Clone, Debug, Default)]
pub struct MipOverlayPlugin {
    /// What it draws at first.
    pub settings: MipOverlaySettings,
}

/// What the overlay of textures draws; a group of gizmos, whose lines are set in the [`GizmoConfigStore`].
#[derive(Reflect, Clone, Debug, PartialEq)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub struct MipOverlaySettings {
    /// Whether it draws boxes. Default: false.
    pub is_on: bool,
    /// Whether it leaves out what is as fine as is wanted. Default: false.
    pub only_coarse: bool,
    /// Boxes at most; which are left out beyond that is not told. Default: 4096.
    pub most: usize,
    /// The key that turns boxes on and off. Default: F2.
    pub key: Option<KeyCode>,
    /// Whether all that a camera sees is overlaid with the colours of its mips, of active 3D cameras the one that draws last; grey is what does
    /// not stream. What is skinned, morphed or can be looked through has the colours of what is behind it. Tonemapping changes them as all
    /// others, and another camera before which they hang sees them, too. A [picture](super::MipTruth) is taken every few frames, so they lag behind
    /// while the camera moves; a game that asks for pictures meanwhile may get one of these, and this one of the game's. Default: false.
    pub surfaces: bool,
    /// So many pixels of the camera's have one colour, in each direction. Default: 2.
    pub scale: u32,
    /// The key that turns surfaces on and off. Default: F3.
    pub surfaces_key: Option<KeyCode>,
}

impl Default for MipOverlaySettings {
    fn default() -> Self {
        Self {
            is_on: false,
            only_coarse: false,
            most: 4096,
            key: Some(KeyCode::F2),
            surfaces: false,
            scale: 2,
            surfaces_key: Some(KeyCode::F3),
        }
    }
}

impl GizmoConfigGroup for MipOverlaySettings {}

impl Plugin for MipOverlayPlugin {
    fn build(&self, app: &mut App) {
        if !app.is_plugin_added::<GizmoPlugin>() {
            app.add_plugins(GizmoPlugin);
        }
        order_plan(app);
        app.insert_gizmo_config(self.settings.clone(), GizmoConfig::default())
            .register_type::<MipOverlaySettings>()
            .init_resource::<surfaces::Veil>()
            .add_systems(
                PostUpdate,
                surfaces::hang
                    .after(CameraUpdateSystems)
                    .before(TransformSystems::Propagate)
                    .run_if(resource_exists::<Assets<StandardMaterial>>)
                    .run_if(resource_exists::<super::MipTruth>)
                    .run_if(resource_exists::<super::MipPool>),
            )
            .add_systems(
                Update,
                // Each overlay has a key and a group of its own.
                toggle.in_set(PanelSystems::Toggle).ambiguous_with(PanelSystems::Toggle),
            )
            .add_systems(
                PostUpdate,
                draw.after(MipSystems::Plan)
                    .after(MipSystems::Read)
                    .run_if(is_on)
                    .run_if(resource_exists::<super::MipPool>),
            );
    }
}

fn is_on(store: Res<GizmoConfigStore>) -> bool {
    store.config::<MipOverlaySettings>().1.is_on
}

fn toggle(keys: Option<Res<ButtonInput<KeyCode>>>, mut store: ResMut<GizmoConfigStore>) {
    let Some(keys) = keys else { return };
    let MipOverlaySettings { key, surfaces_key, .. } = *store.config::<MipOverlaySettings>().1;
    let [boxes, surfaces] = [key, surfaces_key].map(|key| key.is_some_and(|key| keys.just_pressed(key)));
    if boxes || surfaces {
        let settings = store.config_mut::<MipOverlaySettings>().1;
        settings.is_on ^= boxes;
        settings.surfaces ^= surfaces;
    }
}

fn draw(
    mips: Mips,
    seen: Query<(Entity, &Aabb, &GlobalTransform, &ViewVisibility)>,
    store: Res<GizmoConfigStore>,
    mut gizmos: Gizmos<MipOverlaySettings>,
) {
    let settings = store.config::<MipOverlaySettings>().1;
    let seen = seen.iter().filter(|(.., visibility)| visibility.get());
    let known = seen.filter_map(|(entity, bounds, place, _)| Some((mips.lack(entity)?, bounds, place)));
    let shown = known.filter(|(lacks, ..)| *lacks > 0 || !settings.only_coarse);
    for (lacks, bounds, place) in shown.take(settings.most) {
        gizmos.cube(cube(bounds, place), color(lacks));
    }
}

/// The box of a thing, as that of a cube whose sides are 1.
fn cube(bounds: &Aabb, place: &GlobalTransform) -> GlobalTransform {
    let inner = Transform::from_translation(bounds.center.into()).with_scale((bounds.half_extents * 2.0).into());
    GlobalTransform::from(place.affine() * inner.compute_affine())
}

/// Of textures that lack so many mips; less than 0: they are finer.
fn color(lacks: i16) -> Color {
    let [red, green, blue, _] = truth::colour(lacks);
    Color::srgb_u8(red, green, blue)
}
