//! Images that are drawn as they are, by sprites and UI for instance. See [`DrawnImages`].

#[cfg(test)]
mod tests;

use core::any::type_name;

use bevy_app::{App, PostUpdate};
use bevy_asset::AssetId;
use bevy_camera::visibility::{InheritedVisibility, ViewVisibility, VisibilityClass};
use bevy_ecs::{
    entity::{Entity, EntityHashMap},
    prelude::*,
    query::{Allow, QueryData},
};
use bevy_image::Image;
use bevy_log::debug_span;
use bevy_platform::collections::HashMap;
use seamless_asset::{InHiddenLevel, StreamingClock};
use smallvec::SmallVec;

use super::follow::MipUsers;
use crate::mip::{MipSystems, demand::Shown, plan::take_textures};

type Images = SmallVec<[AssetId<Image>; 1]>;
/// How a component tells of its images.
type ImagesOf<C> = fn(&C, &mut dyn FnMut(AssetId<Image>));

/// The images that components draw whole, and whether somebody sees them.
#[derive(Debug, Default)]
pub(in crate::mip) struct DrawnImages {
    of: EntityHashMap<SmallVec<[Drawer; 1]>>,
    images: HashMap<AssetId<Image>, Drawers>,
    /// Images of which something may be another.
    changed: Vec<AssetId<Image>>,
    /// Entities of levels that are shown again.
    again: Vec<Entity>,
    /// Another one whenever an entity draws with other textures.
    pub version: u64,
}

/// A component of an entity.
#[derive(Debug)]
struct Drawer {
    /// Of which type it is.
    kind: usize,
    /// Each once.
    images: Images,
    is_seen: bool,
}

/// How many draw an image, how many of them are seen, and what texture it is.
#[derive(Debug, Default)]
struct Drawers {
    all: u32,
    seen: u32,
    texture: Option<u32>,
}

impl DrawnImages {
    /// The entity's component of this kind draws these images.
    fn set(&mut self, entity: Entity, kind: usize, images: Images, is_seen: bool) {
        let known = self.of.get(&entity).into_iter().flatten().find(|of| of.kind == kind);
        if known.is_some_and(|of| of.images == images && of.is_seen == is_seen) {
            return;
        }
        self.forget(entity, kind);
        for image in &images {
            let of = self.images.entry(*image).or_default();
            of.all += 1;
            of.seen += u32::from(is_seen);
        }
        self.changed.extend(&images);
        self.version += 1;
        self.of
            .entry(entity)
            .or_default()
            .push(Drawer { kind, images, is_seen });
    }

    /// The entity has no component of this kind any more.
    fn forget(&mut self, entity: Entity, kind: usize) {
        let Some(drawers) = self.of.get_mut(&entity) else {
            return;
        };
        let place = drawers.iter().position(|of| of.kind == kind);
        let Some(gone) = place.map(|place| drawers.swap_remove(place)) else {
            return;
        };
        if drawers.is_empty() {
            self.of.remove(&entity);
        }
        for image in &gone.images {
            if let Some(of) = self.images.get_mut(image) {
                of.all -= 1;
                of.seen -= u32::from(gone.is_seen);
            }
        }
        self.changed.extend(gone.images);
        self.version += 1;
    }

    /// Entities of a level that is hidden.
    pub fn hide(&mut self, entities: &[Entity]) {
        if self.of.is_empty() {
            return;
        }
        for entity in entities {
            for drawer in self.of.get_mut(entity).into_iter().flatten() {
                if !core::mem::take(&mut drawer.is_seen) {
                    continue;
                }
                let known = drawer.images.iter();
                known.for_each(|image| self.images.entry(*image).or_default().seen -= 1);
                self.changed.extend(&drawer.images);
            }
        }
    }

    /// Entities of a level that is shown again.
    pub fn show(&mut self, entities: &[Entity]) {
        let known = entities.iter().filter(|entity| self.of.contains_key(*entity));
        self.again.extend(known);
    }

    /// The textures that an entity draws.
    pub fn textures(&self, entity: Entity) -> impl Iterator<Item = u32> {
        let drawers = self.of.get(&entity).into_iter().flatten();
        let images = drawers.flat_map(|drawer| &drawer.images);
        images.filter_map(|image| self.images.get(image)?.texture)
    }

    /// An image streams now that did not, or the other way round.
    pub fn image_changed(&mut self, image: AssetId<Image>) {
        if self.images.contains_key(&image) {
            self.changed.push(image);
        }
    }

    /// Tells of each texture whose image is drawn by others than before.
    pub fn link(&mut self, number: impl Fn(AssetId<Image>) -> Option<u32>, mut tell: impl FnMut(u32, Shown)) {
        self.again.clear();
        for image in self.changed.drain(..) {
            let Some(of) = self.images.get_mut(&image) else {
                continue;
            };
            let texture = number(image);
            let shown = match of {
                Drawers { all: 0, .. } => Shown::Never,
                Drawers { seen: 0, .. } => Shown::Hidden,
                _ => Shown::Seen,
            };
            if core::mem::replace(&mut of.texture, texture) != texture {
                self.version += 1;
            }
            if shown == Shown::Never {
                self.images.remove(&image);
            }
            if let Some(texture) = texture {
                tell(texture, shown);
            }
        }
    }
}

/// How components of type `C` tell of their images.
#[derive(Resource)]
struct ImagesBy<C: Component> {
    images: ImagesOf<C>,
    number: usize,
}

/// The types of components that draw images whole. They wait until it is known that there is a renderer.
#[derive(Resource, Default)]
struct MipDrawnTypes {
    waiting: Vec<fn(&mut App, usize)>,
    count: usize,
    /// Later ones are not heard of.
    is_installed: bool,
}

/// See [`MipApp::add_mip_drawn`](super::MipApp::add_mip_drawn).
pub(super) fn add_drawn<C: Component>(app: &mut App, images: ImagesOf<C>) {
    if let Some(mut by) = app.world_mut().get_resource_mut::<ImagesBy<C>>() {
        by.images = images;
        return;
    }
    let mut types = app.world_mut().get_resource_or_init::<MipDrawnTypes>();
    if types.is_installed {
        let name = type_name::<C>();
        bevy_log::warn!("images of `{name}` are not known to be drawn: it was added after `MipPlugin` was finished");
        return;
    }
    let number = types.count;
    types.count += 1;
    types.waiting.push(install::<C>);
    app.insert_resource(ImagesBy { images, number });
}

/// Adds the systems of all types of components that the app has; later ones are not heard of.
pub(in crate::mip) fn install_drawn(app: &mut App) {
    let mut types = app.world_mut().get_resource_or_init::<MipDrawnTypes>();
    types.is_installed = true;
    for (number, install) in core::mem::take(&mut types.waiting).into_iter().enumerate() {
        install(app, number);
    }
}

/// The types tell one after the other, so that all is the same in each run.
#[derive(SystemSet, Debug, Clone, PartialEq, Eq, Hash)]
struct Telling(usize);

fn install<C: Component>(app: &mut App, number: usize) {
    let mut telling = note_drawn::<C>
        .in_set(MipSystems::Plan)
        .in_set(Telling(number))
        .before(take_textures);
    if let Some(before) = number.checked_sub(1) {
        telling = telling.after(Telling(before));
    }
    app.add_systems(PostUpdate, telling);
}

/// What is asked of an entity that draws images.
#[derive(QueryData)]
struct Drawing<C: Component> {
    component: &'static C,
    /// Who has one is culled.
    is_culled: Has<VisibilityClass>,
    view: Option<&'static ViewVisibility>,
    inherited: Option<&'static InheritedVisibility>,
    is_hidden: Has<InHiddenLevel>,
}

impl<C: Component> DrawingItem<'_, '_, C> {
    fn is_seen(&self) -> bool {
        let is_seen = if self.is_culled {
            self.view.is_some_and(|view| view.get())
        } else {
            self.inherited.is_some_and(|inherited| inherited.get())
        };
        is_seen && !self.is_hidden
    }

    fn note(&self, entity: Entity, by: &ImagesBy<C>, drawn: &mut DrawnImages) {
        let mut images = Images::new();
        (by.images)(self.component, &mut |image| {
            if !images.contains(&image) {
                images.push(image);
            }
        });
        drawn.set(entity, by.number, images, self.is_seen());
    }
}

type Changes<C> = Or<(Changed<C>, Changed<ViewVisibility>, Changed<InheritedVisibility>)>;

/// Entities that draw other images than before, or are seen that were not, or the other way round; those of hidden levels as well.
fn note_drawn<C: Component>(
    by: Res<ImagesBy<C>>,
    changed: Query<(Entity, Drawing<C>), (Changes<C>, Allow<InHiddenLevel>)>,
    all: Query<Drawing<C>, Allow<InHiddenLevel>>,
    mut removed: RemovedComponents<C>,
    mut users: ResMut<MipUsers>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("who draws images as they are");
    let _span = debug_span!("note_drawn").entered();
    let drawn = &mut users.drawn;
    for entity in removed.read() {
        // It may have one again.
        if !all.contains(entity) {
            drawn.forget(entity, by.number);
        }
    }
    for (entity, of) in &changed {
        of.note(entity, &by, drawn);
    }
    let again = core::mem::take(&mut drawn.again);
    for entity in &again {
        if let Ok(of) = all.get(*entity) {
            of.note(*entity, &by, drawn);
        }
    }
    drawn.again = again;
}
