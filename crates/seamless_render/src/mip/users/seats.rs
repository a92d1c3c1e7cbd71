//! The entities that draw with materials, and what [`Watch`] knows of them. See [`Seats`].

#[cfg(test)]
mod tests;

use core::any::TypeId;
use std::collections::{BTreeSet, VecDeque};

use bevy_asset::{AssetId, UntypedAssetId};
use bevy_ecs::{
    change_detection::Tick,
    entity::{Entity, EntityHashMap},
};
use bevy_mesh::Mesh;
use smallvec::SmallVec;

use super::{material::Materials, meshes::Shape};
use crate::mip::{UserId, Watch, need::MipUser};

/// No seat has this number.
const NOBODY: u32 = u32::MAX;

/// What is waited for of an entity.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(in crate::mip) enum Told {
    /// It draws with this material.
    Has(UntypedAssetId),
    /// It draws with none any more.
    Lost,
    /// Its material has other layers, or it is to be looked at again.
    Again,
}

/// What is known of an entity that has a material.
#[derive(Debug)]
struct Seat {
    entity: Entity,
    material: u32,
    /// Among the users of the material.
    place: u32,
    is_seen: bool,
    /// The mesh that the cooker has told of, and when.
    cooked: Option<(AssetId<Mesh>, Tick)>,
    /// None: it is nowhere, or nobody looks at it.
    shape: Option<Shape>,
    /// One for each layer of the material, or none.
    users: SmallVec<[UserId; 2]>,
}

/// All entities that have a material, one for each entity, as Bevy draws no more: the material that it was told of last. Watched are those whose
/// material has textures that stream, as many as there may be; others are refused until there is room.
#[derive(Debug, Default)]
pub(in crate::mip) struct Seats {
    seats: Vec<Option<Seat>>,
    free: Vec<u32>,
    /// By the index of the entity, the number of its seat, or [`NOBODY`]. Who had the index before it may have it still; nobody has both.
    of: Vec<u32>,
    /// Entities in the order in which they were told of, each once.
    queue: VecDeque<Entity>,
    told: EntityHashMap<Told>,
    /// Users that are seen, or not any more, until [`Watch`] knows it.
    flipped: Vec<(UserId, bool)>,
    watched: usize,
    /// How many may be watched.
    pub most: usize,
    /// Seats that are not watched since there are so many.
    beyond: BTreeSet<u32>,
    /// How often that was so.
    pub refused: u64,
    /// Another one whenever an entity has another material.
    pub version: u64,
}

impl Seats {
    /// The entity draws with this material, when its turn comes.
    pub fn tell_has(&mut self, entity: Entity, id: UntypedAssetId, materials: &Materials) {
        if self.told_material(entity, materials) != Some(id) {
            self.tell(entity, Told::Has(id));
        }
    }

    /// The entity draws with no material of this type any more, when its turn comes.
    pub fn tell_lost(&mut self, entity: Entity, kind: TypeId, materials: &Materials) {
        let id = self.told_material(entity, materials);
        if id.is_some_and(|id| id.type_id() == kind) {
            self.tell(entity, Told::Lost);
        }
    }

    /// The entity is to be looked at again, when its turn comes.
    pub fn tell_again(&mut self, entity: Entity) {
        // All else that it waits for has it looked at as well.
        if !self.told.contains_key(&entity) {
            self.tell(entity, Told::Again);
        }
    }

    /// What is to be done next: what was told, then who was refused, while there is room.
    pub fn next_told(&mut self) -> Option<(Entity, Told)> {
        if let Some(entity) = self.queue.pop_front() {
            return Some((entity, self.told.remove(&entity).unwrap_or(Told::Again)));
        }
        let seat = self.seats[self.next_refused()? as usize].as_ref()?;
        Some((seat.entity, Told::Again))
    }

    /// Whether something waits to be done.
    pub fn is_waiting(&self) -> bool {
        !self.queue.is_empty() || self.next_refused().is_some()
    }

    /// How many entities are watched.
    pub fn len(&self) -> usize {
        self.watched
    }

    /// Whether the entity is known.
    pub fn has(&self, entity: Entity) -> bool {
        self.number(entity).is_some()
    }

    /// The entity draws with this material, and with no other one.
    pub fn assign(&mut self, entity: Entity, id: UntypedAssetId, materials: &mut Materials, watch: &mut Watch) {
        let material = materials.number(id);
        if let Some(seat) = self.number(entity) {
            return self.reassign(seat, material, materials, watch);
        }
        // Whoever had its index is gone, and that is told of later.
        if let Some(before) = self.occupant(entity).map(|seat| seat.entity) {
            self.leave(before, materials, watch);
        }
        self.take(entity, material, materials);
    }

    /// The entity draws with nothing any more.
    pub fn leave(&mut self, entity: Entity, materials: &mut Materials, watch: &mut Watch) {
        let Some(number) = self.number(entity) else {
            return;
        };
        self.of[entity.index_u32() as usize] = NOBODY;
        self.version += 1;
        self.unseat(number, materials, watch);
        self.seats[number as usize] = None;
        self.free.push(number);
    }

    /// Where the entity is, and how fine its texture coordinates are; none if it is nowhere.
    pub fn place(&mut self, entity: Entity, shape: Option<Shape>, materials: &mut Materials, watch: &mut Watch) {
        let Some(number) = self.number(entity) else {
            return;
        };
        let Some(seat) = &mut self.seats[number as usize] else {
            return;
        };
        let material = seat.material;
        let Some(shape) = shape.filter(|_| !materials.layers(material).is_empty()) else {
            self.unwatch(number, watch);
            return self.admit(number, material, materials);
        };
        if seat.users.is_empty() && self.watched >= self.most {
            return self.refuse(number, material, materials);
        }
        let layers = materials.layers(material);
        if seat.shape.as_ref() == Some(&shape) && seat.users.len() == layers.len() {
            return;
        }
        self.watched += usize::from(seat.users.is_empty());
        let surface = shape.surface();
        for (at, layer) in layers.iter().enumerate() {
            let user = MipUser {
                material: layer.number,
                channel: layer.channel,
                metres: shape.metres[usize::from(layer.channel)],
                object_scale: shape.scale,
                uv_scale: layer.scale,
            };
            match seat.users.get(at) {
                Some(id) => watch.moved(*id, &user, &surface),
                None => {
                    let id = watch.add(&user, &surface);
                    watch.seen(id, seat.is_seen);
                    seat.users.push(id);
                }
            }
        }
        seat.shape = Some(shape);
        self.admit(number, material, materials);
    }

    /// Whether what the cooker has told of the entity's mesh is of this one: it is if it was told since this was asked last, or if the mesh is the same as then.
    pub fn is_cooked(&mut self, entity: Entity, mesh: AssetId<Mesh>, told: Tick) -> bool {
        let number = self.number(entity);
        let Some(seat) = number.and_then(|number| self.seats[number as usize].as_mut()) else {
            return true;
        };
        if seat.cooked.is_none_or(|(_, before)| before != told) {
            seat.cooked = Some((mesh, told));
        }
        seat.cooked.is_some_and(|(cooked, _)| cooked == mesh)
    }

    /// The number of the entity's material.
    pub fn material(&self, entity: Entity) -> Option<u32> {
        let seat = self.occupant(entity).filter(|seat| seat.entity == entity)?;
        Some(seat.material)
    }

    /// What [`Watch`] calls the entity, once for each layer of its material.
    pub fn users(&self, entity: Entity) -> &[UserId] {
        let seat = self.occupant(entity).filter(|seat| seat.entity == entity);
        seat.map_or(&[], |seat| &seat.users)
    }

    /// The entity is within a picture, or not any more.
    pub fn set_seen(&mut self, entity: Entity, is_seen: bool, watch: &mut Watch) {
        self.set_all_seen([(entity, is_seen)].into_iter(), watch);
    }

    /// As [`Self::set_seen`] for each. What is known of them lies in many places, so it is looked up of all before anything is done with it: that takes less time.
    pub fn set_all_seen(&mut self, all: impl Iterator<Item = (Entity, bool)>, watch: &mut Watch) {
        for (entity, is_seen) in all {
            let number = self.number(entity);
            let seat = number.and_then(|number| self.seats[number as usize].as_mut());
            if let Some(seat) = seat.filter(|seat| seat.is_seen != is_seen) {
                seat.is_seen = is_seen;
                self.flipped.extend(seat.users.iter().map(|user| (*user, is_seen)));
            }
        }
        for (user, is_seen) in self.flipped.drain(..) {
            watch.seen(user, is_seen);
        }
    }

    /// The seat's material gets other layers: it is watched again when its turn comes.
    pub fn watch_again(&mut self, number: u32, watch: &mut Watch) {
        self.unwatch(number, watch);
        if let Some(seat) = self.seats.get(number as usize).and_then(Option::as_ref) {
            self.tell_again(seat.entity);
        }
    }

    fn tell(&mut self, entity: Entity, told: Told) {
        if self.told.insert(entity, told).is_none() {
            self.queue.push_back(entity);
        }
    }

    /// The material that the entity has when all that was told of it is done.
    fn told_material(&self, entity: Entity, materials: &Materials) -> Option<UntypedAssetId> {
        match self.told.get(&entity) {
            Some(Told::Has(id)) => Some(*id),
            Some(Told::Lost) => None,
            Some(Told::Again) | None => materials.id(self.material(entity)?),
        }
    }

    /// Who was refused and may be watched now.
    fn next_refused(&self) -> Option<u32> {
        let next = self.beyond.first().filter(|_| self.watched < self.most);
        next.copied()
    }

    /// There is no room for it, so its textures are wanted whole.
    fn refuse(&mut self, number: u32, material: u32, materials: &mut Materials) {
        if self.beyond.insert(number) {
            self.refused += 1;
            materials.set_unknown(material, true);
        }
    }

    /// It needs no room, or has it.
    fn admit(&mut self, number: u32, material: u32, materials: &mut Materials) {
        if self.beyond.remove(&number) {
            materials.set_unknown(material, false);
        }
    }

    fn take(&mut self, entity: Entity, material: u32, materials: &mut Materials) {
        self.version += 1;
        let number = self.free.pop().unwrap_or(self.seats.len() as u32);
        let seat = Seat {
            entity,
            material,
            place: materials.add_user(material, number),
            is_seen: false,
            cooked: None,
            shape: None,
            users: SmallVec::new(),
        };
        match self.seats.get_mut(number as usize) {
            Some(free) => *free = Some(seat),
            None => self.seats.push(Some(seat)),
        }
        let index = entity.index_u32() as usize;
        if self.of.len() <= index {
            self.of.resize(index + 1, NOBODY);
        }
        self.of[index] = number;
    }

    /// Who has the seat of the entity's index, be it the entity or one before it.
    fn occupant(&self, entity: Entity) -> Option<&Seat> {
        let number = self.of.get(entity.index_u32() as usize)?;
        self.seats.get(*number as usize)?.as_ref()
    }

    fn number(&self, entity: Entity) -> Option<u32> {
        let is_its_own = self.occupant(entity).is_some_and(|seat| seat.entity == entity);
        is_its_own.then(|| self.of[entity.index_u32() as usize])
    }

    fn reassign(&mut self, number: u32, material: u32, materials: &mut Materials, watch: &mut Watch) {
        let is_same = |seat: &Seat| seat.material == material;
        if self.seats[number as usize].as_ref().is_some_and(is_same) {
            return;
        }
        self.version += 1;
        self.unseat(number, materials, watch);
        let place = materials.add_user(material, number);
        if let Some(seat) = &mut self.seats[number as usize] {
            (seat.material, seat.place) = (material, place);
        }
    }

    /// It is none of its material's users any more.
    fn unseat(&mut self, number: u32, materials: &mut Materials, watch: &mut Watch) {
        self.unwatch(number, watch);
        let Some(Seat { material, place, .. }) = self.seats[number as usize] else {
            return;
        };
        self.admit(number, material, materials);
        let moved = materials.remove_user(material, place);
        if let Some(moved) = moved.and_then(|moved| self.seats[moved as usize].as_mut()) {
            moved.place = place;
        }
    }

    /// Nobody looks at it any more.
    fn unwatch(&mut self, number: u32, watch: &mut Watch) {
        if let Some(seat) = self.seats.get_mut(number as usize).and_then(Option::as_mut) {
            self.watched -= usize::from(!seat.users.is_empty());
            seat.users.drain(..).for_each(|user| watch.remove(user));
            seat.shape = None;
        }
    }
}
