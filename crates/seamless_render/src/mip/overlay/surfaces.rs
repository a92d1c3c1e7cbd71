//! Each surface in the colour of its mips, over the picture. See [`MipOverlaySettings::surfaces`].

use bevy_asset::{Assets, Handle, RenderAssetUsages};
use bevy_camera::{
    Camera, Camera3d,
    visibility::{NoFrustumCulling, RenderLayers},
};
use bevy_color::{Alpha, Color};
use bevy_ecs::{
    change_detection::DetectChangesMut,
    entity::Entity,
    hierarchy::ChildOf,
    query::{With, Without},
    resource::Resource,
    system::{Commands, Query, Res, ResMut, SystemParam},
};
use bevy_gizmos::config::GizmoConfigStore;
use bevy_image::{Image, ImageSampler};
use bevy_light::{NotShadowCaster, NotShadowReceiver};
use bevy_material::AlphaMode;
use bevy_math::{Mat4, Vec3, primitives::Rectangle};
use bevy_mesh::{Mesh, Mesh3d};
use bevy_pbr::{MeshMaterial3d, StandardMaterial};
use bevy_render::render_resource::{Extent3d, TextureDimension, TextureFormat};
use bevy_transform::components::Transform;

use super::MipOverlaySettings;
use crate::mip::{MipTruth, TruthPicture};

/// How much of a surface's own colour the overlay hides.
const OPACITY: f32 = 0.6;
/// The depth of what is drawn over all else: 1 is the near plane, and an orthographic camera may see a thousand metres.
const DEPTH: f32 = 0.9999;

/// What hangs before a camera.
#[derive(Resource, Default)]
pub(super) struct Veil(Option<Hung>);

/// A rectangle that fills what the camera sees.
struct Hung {
    camera: Entity,
    rectangle: Entity,
    picture: Handle<Image>,
    material: Handle<StandardMaterial>,
}

#[derive(SystemParam)]
pub(super) struct Looms<'w> {
    images: ResMut<'w, Assets<Image>>,
    meshes: ResMut<'w, Assets<Mesh>>,
    materials: ResMut<'w, Assets<StandardMaterial>>,
}

type Cameras<'w, 's> = Query<'w, 's, (Entity, &'static Camera, Option<&'static RenderLayers>), With<Camera3d>>;

/// Has picture after picture taken of the camera that draws last, and hangs the last one before it.
pub(super) fn hang(
    mut commands: Commands,
    mut veil: ResMut<Veil>,
    mut looms: Looms,
    truth: Res<MipTruth>,
    store: Res<GizmoConfigStore>,
    cameras: Cameras,
    mut places: Query<(&mut Transform, Option<&RenderLayers>), Without<Camera3d>>,
) {
    let settings = store.config::<MipOverlaySettings>().1;
    let active = cameras.iter().filter(|(_, camera, _)| camera.is_active);
    let last = active.max_by_key(|(entity, camera, _)| (camera.order, *entity));
    let Some((camera, of, layers)) = last.filter(|_| settings.surfaces) else {
        return take_down(&mut commands, &mut veil);
    };
    if veil.0.as_ref().is_some_and(|hung| hung.camera != camera) {
        take_down(&mut commands, &mut veil);
    }
    if let Some(picture) = truth.take().filter(|picture| picture.camera == camera) {
        let hung = veil.0.get_or_insert_with(|| hung(&mut commands, &mut looms, camera));
        looms.show(hung, &picture);
    }
    if !truth.is_asked() {
        truth.request(camera, settings.scale.max(1));
    }
    let rectangle = veil.0.as_ref().map(|hung| hung.rectangle);
    if let Some((mut place, is_on)) = rectangle.and_then(|rectangle| places.get_mut(rectangle).ok()) {
        place.set_if_neq(before(of.clip_from_view()));
        if let (Some(rectangle), Some(layers)) = (rectangle, layers.filter(|layers| is_on != Some(layers))) {
            commands.entity(rectangle).try_insert(layers.clone());
        }
    }
}

fn take_down(commands: &mut Commands, veil: &mut Veil) {
    if let Some(hung) = veil.0.take() {
        commands.entity(hung.rectangle).try_despawn();
    }
}

fn hung(commands: &mut Commands, looms: &mut Looms, camera: Entity) -> Hung {
    let picture = looms.images.reserve_handle();
    let material = looms.materials.add(StandardMaterial {
        base_color: Color::WHITE.with_alpha(OPACITY),
        base_color_texture: Some(picture.clone()),
        alpha_mode: AlphaMode::Blend,
        unlit: true,
        fog_enabled: false,
        ..StandardMaterial::default()
    });
    let rectangle = commands.spawn((
        Mesh3d(looms.meshes.add(Rectangle::new(1.0, 1.0))),
        MeshMaterial3d(material.clone()),
        // Of no size until the camera's is known.
        Transform::from_scale(Vec3::ZERO),
        (NoFrustumCulling, NotShadowCaster, NotShadowReceiver),
        ChildOf(camera),
    ));
    Hung {
        camera,
        rectangle: rectangle.id(),
        picture,
        material,
    }
}

impl Looms<'_> {
    fn show(&mut self, hung: &Hung, picture: &TruthPicture) {
        let size = Extent3d {
            width: picture.width,
            height: picture.height,
            depth_or_array_layers: 1,
        };
        let mut image = Image::new(
            size,
            TextureDimension::D2,
            picture.colours(),
            TextureFormat::Rgba8UnormSrgb,
            RenderAssetUsages::RENDER_WORLD,
        );
        image.sampler = ImageSampler::nearest();
        // Nothing fails: the handle is there.
        let _ = self.images.insert(hung.picture.id(), image);
        // It holds the texture that was.
        if let Some(material) = self.materials.get_mut(&hung.material) {
            material.into_inner();
        }
    }
}

/// Where a square of a metre fills all that a camera sees.
fn before(clip_from_view: Mat4) -> Transform {
    let view_from_clip = clip_from_view.inverse();
    let [low, high] = [-1.0, 1.0].map(|end| view_from_clip.project_point3(Vec3::new(end, end, DEPTH)));
    let size = high - low;
    Transform::from_translation((low + high) * 0.5).with_scale(Vec3::new(size.x, size.y, 1.0))
}

#[cfg(test)]
mod tests {
    use bevy_camera::{CameraProjection, OrthographicProjection, PerspectiveProjection};

    use super::*;

    #[test]
    fn all_that_a_camera_sees_is_covered() {
        let perspective = PerspectiveProjection::default();
        let orthographic = OrthographicProjection::default_3d();
        for clip_from_view in [perspective.get_clip_from_view(), orthographic.get_clip_from_view()] {
            let place = before(clip_from_view);
            for (x, y) in [(-0.5, -0.5), (0.5, 0.5), (0.5, -0.5)] {
                let corner = clip_from_view.project_point3(place.transform_point(Vec3::new(x, y, 0.0)));
                assert!(corner.abs_diff_eq(Vec3::new(2.0 * x, 2.0 * y, DEPTH), 1e-4), "{corner}");
            }
        }
    }
}
