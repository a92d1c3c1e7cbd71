//! What streaming does, drawn over the picture: volumes, levels, sources, and a panel of numbers. See [`SeamlessOverlayPlugin`].

mod draw;
mod outline;
mod panel;
#[cfg(test)]
mod tests;

use bevy_app::{App, Plugin, PostUpdate, Update};
use bevy_camera::CameraUpdateSystems;
use bevy_ecs::{
    schedule::{IntoScheduleConfigs, SystemSet},
    system::{Res, ResMut},
};
use bevy_gizmos::{
    AppGizmoBuilder, GizmoPlugin,
    config::{GizmoConfig, GizmoConfigGroup, GizmoConfigStore, GizmoLineConfig},
};
use bevy_input::{ButtonInput, keyboard::KeyCode};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use bevy_transform::TransformSystems;
use seamless_asset::{PanelLines, PanelSystems};

/// Draws with gizmos, over the picture of the active camera, what streaming does. It starts turned off; a key turns it on and off.
///
/// | what | how |
/// |---|---|
/// | volumes | grey: nobody is inside; cyan: a source is; orange: it lingers |
/// | volumes that nobody hears | dark red: it is turned off, something is wrong with it, or its world is not there or not clear |
/// | bounds of levels | grey: unloaded; yellow: on its way; orange: revealing; blue: loaded or hidden; green: visible; purple: leaving; red: failed |
/// | sources | a white ball, what it sees around itself, and an arrow to where it is expected to be and asks as well; grey: it asks for nothing |
/// | [distances](crate::DistanceStreaming) | around each source that asks: dim green as far as levels are shown, dim blue as far as they are loaded |
/// | places that are [prepared](crate::Levels::prepare) | a pink cross and ball, and what is seen from there |
/// | the panel | the last frame's time and its budget, the queue by stage and what else is under way, memory and its ceiling, what is wanted most urgently, what is late, and what others say in [`PanelLines`] |
///
/// Add it after Bevy's `DefaultPlugins` and [`SeamlessLevelPlugin`](crate::SeamlessLevelPlugin), and, to see anything, where Bevy's gizmos are drawn: the feature
/// `bevy_gizmos_render` of `bevy`. Without a renderer it draws nothing, and does no harm.
///
/// The panel is made for one camera, of those in a window the one of the highest `order`, and on a split screen the others draw its lines as well: to have them
/// in one picture only, give the [`GizmoConfig`] of [`OverlayPanel`] `render_layers` that only its camera has; likewise that of [`OverlaySettings`].
///
/// ```
/// # use bevy_app::App;
/// # use bevy_gizmos::config::GizmoConfigStore;
/// # use seamless_level::overlay::{OverlaySettings, SeamlessOverlayPlugin};
/// # let mut app = App::new();
/// # app.add_plugins((bevy_asset::AssetPlugin::default(), bevy_gizmos::GizmoPlugin));
/// app.add_plugins(SeamlessOverlayPlugin::default()); // F1
/// // Settings are a group of gizmos, as all of Bevy's.
/// let mut store = app.world_mut().resource_mut::<GizmoConfigStore>();
/// store.config_mut::<OverlaySettings>().1.volumes = false;
/// ```
#[derive(Clone, Debug, Default)]
pub struct SeamlessOverlayPlugin {
    /// What it draws at first.
    pub settings: OverlaySettings,
}

/// What the overlay draws; a group of gizmos, whose lines are set in the [`GizmoConfigStore`].
#[derive(Reflect, Clone, Debug, PartialEq)]
#[reflect(Default, Clone, Debug, PartialEq)]
pub struct OverlaySettings {
    /// Whether it draws anything. Default: false.
    pub is_on: bool,
    /// Whether it draws volumes. Default: true.
    pub volumes: bool,
    /// Whether it draws the bounds of levels. Default: true.
    pub bounds: bool,
    /// Whether it draws streaming sources and places that are prepared. Default: true.
    pub sources: bool,
    /// Whether it writes the panel. Default: true.
    pub panel: bool,
    /// The key that turns it on and off. Default: F1.
    pub key: Option<KeyCode>,
    /// How far from the camera volumes and levels are drawn, in world units; those in use always are. Default: 2 000.
    pub reach: f32,
    /// The size of the panel's letters, in pixels. Default: 14.
    pub letters: f32,
}

impl Default for OverlaySettings {
    fn default() -> Self {
        Self {
            is_on: false,
            volumes: true,
            bounds: true,
            sources: true,
            panel: true,
            key: Some(KeyCode::F1),
            reach: 2_000.0,
            letters: 14.0,
        }
    }
}

impl GizmoConfigGroup for OverlaySettings {}

/// The panel's lines: thin, and in front of everything.
#[derive(Reflect, Clone, Debug, Default)]
#[reflect(Default, Clone)]
pub struct OverlayPanel;

impl GizmoConfigGroup for OverlayPanel {}

/// Where the overlay is drawn: in `PostUpdate`, when cameras and levels are where they are to be seen.
#[derive(SystemSet, Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct OverlaySystems;

impl Plugin for SeamlessOverlayPlugin {
    fn build(&self, app: &mut App) {
        let panel = GizmoConfig {
            depth_bias: -1.0,
            line: GizmoLineConfig {
                width: 1.5,
                ..GizmoLineConfig::default()
            },
            ..GizmoConfig::default()
        };
        if !app.is_plugin_added::<GizmoPlugin>() {
            app.add_plugins(GizmoPlugin);
        }
        app.insert_gizmo_config(self.settings.clone(), GizmoConfig::default())
            .insert_gizmo_config(OverlayPanel, panel)
            .register_type::<OverlaySettings>()
            .init_resource::<PanelLines>()
            .configure_sets(PostUpdate, PanelSystems::Tell.before(PanelSystems::Show))
            .configure_sets(
                PostUpdate,
                OverlaySystems
                    .after(TransformSystems::Propagate)
                    .after(CameraUpdateSystems),
            )
            .add_systems(
                Update,
                // Each overlay has a key and a group of its own.
                toggle.in_set(PanelSystems::Toggle).ambiguous_with(PanelSystems::Toggle),
            )
            .add_systems(PostUpdate, announce_panel.before(PanelSystems::Tell))
            .add_systems(
                PostUpdate,
                (
                    draw::volumes.run_if(is_drawn(|settings| settings.volumes)),
                    draw::bounds.run_if(is_drawn(|settings| settings.bounds)),
                    draw::sources.run_if(is_drawn(|settings| settings.sources)),
                    panel::write
                        .in_set(PanelSystems::Show)
                        .run_if(is_drawn(|settings| settings.panel)),
                )
                    .chain()
                    .in_set(OverlaySystems),
            );
    }
}

/// A condition on the settings.
fn is_drawn(part: impl Fn(&OverlaySettings) -> bool + Clone) -> impl Fn(Res<GizmoConfigStore>) -> bool + Clone {
    move |store: Res<GizmoConfigStore>| {
        let settings = store.config::<OverlaySettings>().1;
        settings.is_on && part(settings)
    }
}

/// Who writes lines does so only if somebody sees them.
fn announce_panel(store: Res<GizmoConfigStore>, mut lines: ResMut<PanelLines>) {
    let settings = store.config::<OverlaySettings>().1;
    let is_shown = settings.is_on && settings.panel;
    if lines.is_shown != is_shown {
        lines.is_shown = is_shown;
    }
}

fn toggle(keys: Option<Res<ButtonInput<KeyCode>>>, mut store: ResMut<GizmoConfigStore>) {
    let Some(keys) = keys else { return };
    let is_pressed = store
        .config::<OverlaySettings>()
        .1
        .key
        .is_some_and(|key| keys.just_pressed(key));
    if is_pressed {
        let settings = store.config_mut::<OverlaySettings>().1;
        settings.is_on = !settings.is_on;
    }
}
