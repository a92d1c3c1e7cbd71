//! What each type of material tells of. See [`MipApp`].

#[cfg(test)]
mod tests;

use core::{
    any::{Any, TypeId, type_name},
    hash::Hash,
};

use bevy_app::{App, PostUpdate};
use bevy_asset::{Asset, AssetEvent, AssetId, Assets};
use bevy_ecs::{
    component::ComponentId,
    prelude::*,
    query::Allow,
    system::{ParamBuilder, SystemChangeTick, SystemParamBuilder},
};
use bevy_image::Image;
use bevy_log::debug_span;
use bevy_material::AlphaMode;
use bevy_pbr::{EntitiesNeedingSpecialization, Material, MeshMaterial3d, StandardMaterial};
use bevy_reflect::Reflect;
use seamless_asset::{
    InHiddenLevel, StreamingClock,
    scan::{Scan, changed, scan},
};
use wgpu_types::Face;

use super::{
    MipImage,
    drawn::add_drawn,
    follow::MipUsers,
    material::{Images, Sides},
    reflected,
};
use crate::mip::{MipSystems, roads};

/// How a material type tells of its images.
type ImagesOf<M> = fn(&M, &mut dyn FnMut(MipImage));

/// Adds material types to mip streaming.
pub trait MipApp {
    /// The textures of materials of type `M` stream: their images are found by reflection, wherever in the material they are, and sampled by the first
    /// channel as it is. Of [`StandardMaterial`](bevy_pbr::StandardMaterial)s, and those within others, channels and transforms are known as well. All types of
    /// [`add_streamed_material`](crate::SeamlessRenderApp::add_streamed_material) are added already. Add types while plugins are built: those that come
    /// when they are finished are left out, with a warning, and so are those without a [`MaterialPlugin`](bevy_pbr::MaterialPlugin), with an error.
    ///
    /// A material may make its bind group itself ([`CreateBindGroupDirectly`]): the old one is let go of, which Bevy alone does not do.
    ///
    /// [`CreateBindGroupDirectly`]: bevy_render::render_resource::AsBindGroupError::CreateBindGroupDirectly
    fn add_mip_material<M: Material + Reflect>(&mut self) -> &mut Self
    where
        M::Data: PartialEq + Eq + Hash + Clone;

    /// The same where reflection does not find the images, or they are repeated, or lie in the second channel: `images` tells of each.
    ///
    /// ```
    /// # use bevy_app::App;
    /// # use bevy_math::Affine2;
    /// # use bevy_pbr::StandardMaterial;
    /// # use bevy_math::Vec2;
    /// # use seamless_render::mip::{MipApp, MipImage};
    /// # fn add(app: &mut App) {
    /// app.add_mip_material_with(|material: &StandardMaterial, images| {
    ///     let rocks = material.base_color_texture.iter().map(|image| MipImage {
    ///         uv: Affine2::from_scale(Vec2::splat(8.0)),
    ///         ..MipImage::new(image.id())
    ///     });
    ///     rocks.for_each(images);
    /// });
    /// # }
    /// ```
    fn add_mip_material_with<M: Material>(&mut self, images: fn(&M, &mut dyn FnMut(MipImage))) -> &mut Self
    where
        M::Data: PartialEq + Eq + Hash + Clone;

    /// Components of type `C` draw images as they are, as sprites and UI do: while an entity that has one is visible, its images are wanted whole, and count as
    /// seen, by as many pixels as they have texels; a [`MipForce`](crate::mip::MipForce) is for them as well. None are known unless they are added, while
    /// plugins are built: an image that a material has as well, or had, is as fine as that needs it, without the material as coarse as can be; one that no
    /// material ever had is whole a second after it came, but goes first where the pool is full.
    ///
    /// Visible is who is within a view, and of entities that are not culled, those of UI for instance, who is not hidden.
    ///
    /// ```
    /// # use bevy_app::App;
    /// # use bevy_asset::Handle;
    /// # use bevy_ecs::component::Component;
    /// # use bevy_image::Image;
    /// # use seamless_render::mip::MipApp;
    /// # #[derive(Component)] struct Sprite { image: Handle<Image> }
    /// # #[derive(Component)] struct ImageNode { image: Handle<Image> }
    /// # fn add(app: &mut App) {
    /// app.add_mip_drawn::<Sprite>(|sprite, images| images(sprite.image.id()))
    ///     .add_mip_drawn::<ImageNode>(|node, images| images(node.image.id()));
    /// # }
    /// ```
    fn add_mip_drawn<C: Component>(&mut self, images: fn(&C, &mut dyn FnMut(AssetId<Image>))) -> &mut Self;
}

impl MipApp for App {
    fn add_mip_material<M: Material + Reflect>(&mut self) -> &mut Self
    where
        M::Data: PartialEq + Eq + Hash + Clone,
    {
        if !self.world().contains_resource::<ImagesIn<M>>() {
            add_images_in::<M>(
                self,
                ImagesIn {
                    images: |material, found| reflected::images_of(material.as_partial_reflect(), found),
                    standard: |material| reflected::standard_in(material.as_partial_reflect()),
                },
            );
        }
        self
    }

    fn add_mip_material_with<M: Material>(&mut self, images: fn(&M, &mut dyn FnMut(MipImage))) -> &mut Self
    where
        M::Data: PartialEq + Eq + Hash + Clone,
    {
        let standard: fn(&M) -> Option<&StandardMaterial> = |material| (material as &dyn Any).downcast_ref();
        add_images_in(self, ImagesIn { images, standard });
        self
    }

    fn add_mip_drawn<C: Component>(&mut self, images: fn(&C, &mut dyn FnMut(AssetId<Image>))) -> &mut Self {
        add_drawn(self, images);
        self
    }
}

fn add_images_in<M: Material>(app: &mut App, images_in: ImagesIn<M>)
where
    M::Data: PartialEq + Eq + Hash + Clone,
{
    let is_new = !app.world().contains_resource::<ImagesIn<M>>();
    app.insert_resource(images_in);
    if is_new {
        let mut types = app.world_mut().get_resource_or_init::<MipMaterialTypes>();
        types.add::<M>();
    }
}

/// The types of materials, by what adds their systems. They wait until it is known that there is a renderer.
#[derive(Resource, Default)]
pub(in crate::mip) struct MipMaterialTypes {
    waiting: Vec<fn(&mut App, usize) -> bool>,
    /// Later ones are not heard of.
    is_installed: bool,
    components: Vec<fn(&World) -> Option<ComponentId>>,
}

impl MipMaterialTypes {
    fn add<M: Material>(&mut self)
    where
        M::Data: PartialEq + Eq + Hash + Clone,
    {
        if self.is_installed {
            let name = type_name::<M>();
            bevy_log::warn!("textures of `{name}` do not stream: it was added after `MipPlugin` was finished");
            return;
        }
        self.waiting.push(install::<M>);
        self.components.push(World::component_id::<MeshMaterial3d<M>>);
    }

    /// The components by which entities have such materials.
    pub fn components(&self, world: &World) -> Vec<ComponentId> {
        self.components.iter().filter_map(|id| id(world)).collect()
    }
}

/// Adds the systems of all types of materials that the app has; later ones are not heard of.
pub(in crate::mip) fn install_types(app: &mut App) {
    let mut types = app.world_mut().get_resource_or_init::<MipMaterialTypes>();
    types.is_installed = true;
    let mut number = 0;
    for install in core::mem::take(&mut types.waiting) {
        number += usize::from(install(app, number));
    }
}

/// How materials of type `M` tell of their images.
#[derive(Resource)]
pub(in crate::mip) struct ImagesIn<M: Asset> {
    pub images: ImagesOf<M>,
    /// Bevy's material, if it is one or has one within.
    pub standard: fn(&M) -> Option<&StandardMaterial>,
}

impl<M: Material> ImagesIn<M> {
    /// As Bevy culls: the back, if no material says anything else. What is mirrored is culled as if it were not.
    fn sides(&self, material: &M) -> Sides {
        let culled = (self.standard)(material).map(|standard| standard.cull_mode);
        let inverted = |side: Face| if side == Face::Front { Face::Back } else { Face::Front };
        Sides {
            is_opaque: matches!(material.alpha_mode(), AlphaMode::Opaque),
            culled: culled.map_or([Some(Face::Back); 2], |side| [side, side.map(inverted)]),
        }
    }
}

/// The types tell one after the other, so that numbers are the same in each run.
#[derive(SystemSet, Debug, Clone, PartialEq, Eq, Hash)]
struct Telling(usize);

/// Whether it could be: Bevy has to know the type.
fn install<M: Material>(app: &mut App, number: usize) -> bool
where
    M::Data: PartialEq + Eq + Hash + Clone,
{
    let world = app.world();
    if !world.contains_resource::<Assets<M>>() || !world.contains_resource::<EntitiesNeedingSpecialization<M>>() {
        let name = type_name::<M>();
        bevy_log::error!("textures of `{name}` do not stream: add `MaterialPlugin::<{name}>`");
        return false;
    }
    let users = note_users::<M>(app.world_mut());
    let mut telling = (note_materials::<M>, users)
        .chain()
        .in_set(MipSystems::Follow)
        .in_set(Telling(number));
    if let Some(before) = number.checked_sub(1) {
        telling = telling.after(Telling(before));
    }
    app.add_systems(PostUpdate, telling);
    roads::add_roads::<M>(app);
    true
}

/// Materials that came, went or were changed, but by mip streaming itself.
pub(in crate::mip) fn note_materials<M: Material>(
    mut events: MessageReader<AssetEvent<M>>,
    materials: Res<Assets<M>>,
    images_in: Res<ImagesIn<M>>,
    mut users: ResMut<MipUsers>,
    mut touches: ResMut<roads::OwnTouches>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("materials of textures");
    let _span = debug_span!("note_materials").entered();
    for event in events.read() {
        let id = match *event {
            AssetEvent::Modified { id } if touches.take(id.untyped()) => continue,
            AssetEvent::Added { id } | AssetEvent::Modified { id } => id,
            AssetEvent::Removed { id } | AssetEvent::Unused { id } => {
                touches.forget(id.untyped());
                users.materials.forget(id.untyped());
                continue;
            }
            AssetEvent::LoadedWithDependencies { .. } => continue,
        };
        // One that is gone by now is told of later.
        if let Some(material) = materials.get(id) {
            let mut images = Images::new();
            (images_in.images)(material, &mut |image| images.push(image));
            users.materials.note(id.untyped(), images);
            users.materials.set_sides(id.untyped(), images_in.sides(material));
        }
    }
}

/// A system that tells of entities that got a material of the type, or another one, or have none any more; of those of hidden levels as well.
pub(in crate::mip) fn note_users<M: Material>(world: &mut World) -> impl System<In = (), Out = ()> + use<M> {
    let any = || ParamBuilder;
    (scan(world), any(), any(), any(), any(), any())
        .build_state(world)
        .build_system(note::<M>)
}

fn note<M: Material>(
    have: Scan<MeshMaterial3d<M>>,
    has: Query<(), (With<MeshMaterial3d<M>>, Allow<InHiddenLevel>)>,
    mut removed: RemovedComponents<MeshMaterial3d<M>>,
    ticks: SystemChangeTick,
    mut users: ResMut<MipUsers>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("who has which material");
    let _span = debug_span!("note_users").entered();
    let MipUsers { seats, materials, .. } = &mut *users;
    for entity in removed.read() {
        // It may have one again.
        if !has.contains(entity) {
            seats.tell_lost(entity, TypeId::of::<M>(), materials);
        }
    }
    changed(&have, ticks.last_run(), |entity, material| {
        // Who is disabled is left out, as by queries.
        if has.contains(entity) {
            seats.tell_has(entity, material.0.id().untyped(), materials);
        }
    });
}
