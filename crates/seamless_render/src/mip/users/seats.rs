//! The entities that draw with materials, and what [`Watch`] knows of them. See [`Seats`].

use core::any::TypeId;
use std::collections::VecDeque;

use bevy_asset::UntypedAssetId;
use bevy_ecs::entity::{Entity, EntityHashMap};
use smallvec::SmallVec;

use super::{material::Materials, meshes::Shape};
use crate::mip::{UserId, Watch, need::MipUser};

/// What is waited for: an entity of which something is to be done, in the order in which it was told.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(in crate::mip) enum Told {
    /// It draws with this material.
    Has(Entity, UntypedAssetId),
    /// It draws with no material of this type any more.
    Lost(Entity, TypeId),
    /// Its material has other layers.
    Again(Entity),
}

/// What is known of an entity that has a material.
#[derive(Debug)]
struct Seat {
    entity: Entity,
    material: u32,
    /// Among the users of the material.
    place: u32,
    is_seen: bool,
    /// None: it is nowhere.
    shape: Option<Shape>,
    /// One for each layer of the material, or none.
    users: SmallVec<[UserId; 2]>,
}

/// All entities that have a material, one for each entity, as Bevy draws no more: the material that it was told of last.
#[derive(Debug, Default)]
pub(in crate::mip) struct Seats {
    seats: Vec<Option<Seat>>,
    free: Vec<u32>,
    of: EntityHashMap<u32>,
    told: VecDeque<Told>,
    /// How many there may be.
    pub most: usize,
    /// How many entities came beyond that.
    pub refused: u64,
    /// Another one whenever an entity has another material.
    pub version: u64,
}

impl Seats {
    /// Something is to be done, when its turn comes.
    pub fn tell(&mut self, told: Told) {
        self.told.push_back(told);
    }

    /// What is to be done next.
    pub fn next_told(&mut self) -> Option<Told> {
        self.told.pop_front()
    }

    /// Whether something waits to be done.
    pub fn is_waiting(&self) -> bool {
        !self.told.is_empty()
    }

    /// How many entities there are.
    pub fn len(&self) -> usize {
        self.of.len()
    }

    /// Whether the entity is known.
    pub fn has(&self, entity: Entity) -> bool {
        self.of.contains_key(&entity)
    }

    /// The entity draws with this material, and with no other one.
    pub fn assign(&mut self, entity: Entity, id: UntypedAssetId, materials: &mut Materials, watch: &mut Watch) {
        let material = materials.number(id);
        match self.of.get(&entity).copied() {
            Some(seat) => self.reassign(seat, material, materials, watch),
            None if self.len() < self.most => self.take(entity, material, materials),
            None => {
                self.refused += 1;
                materials.set_whole(material);
            }
        }
    }

    /// The entity draws with nothing any more; if a type of material is given, only if it had one of that type.
    pub fn leave(&mut self, entity: Entity, kind: Option<TypeId>, materials: &mut Materials, watch: &mut Watch) {
        let Some(number) = self.of.get(&entity).copied() else {
            return;
        };
        let material = self.seats[number as usize]
            .as_ref()
            .map_or(u32::MAX, |seat| seat.material);
        let type_id = materials.id(material).map(|id| id.type_id());
        if kind.is_some() && kind != type_id {
            return;
        }
        self.version += 1;
        self.unwatch(number, watch);
        self.unseat(number, materials);
        self.seats[number as usize] = None;
        self.of.remove(&entity);
        self.free.push(number);
    }

    /// Where the entity is, and how fine its texture coordinates are; none if it is nowhere.
    pub fn place(&mut self, entity: Entity, shape: Option<Shape>, materials: &Materials, watch: &mut Watch) {
        let Some(number) = self.of.get(&entity).copied() else {
            return;
        };
        let Some(seat) = &mut self.seats[number as usize] else {
            return;
        };
        let layers = materials.layers(seat.material);
        if seat.shape == shape && (shape.is_none() || seat.users.len() == layers.len()) {
            return;
        }
        seat.shape = shape;
        let Some(shape) = &seat.shape else {
            return self.unwatch(number, watch);
        };
        let surface = shape.surface();
        let user = |at: usize| MipUser {
            material: layers[at].number,
            channel: layers[at].channel,
            metres: shape.metres[usize::from(layers[at].channel)],
            object_scale: shape.scale,
            uv_scale: layers[at].scale,
        };
        for at in 0..layers.len() {
            match seat.users.get(at) {
                Some(id) => watch.moved(*id, &user(at), &surface),
                None => {
                    let id = watch.add(&user(at), &surface);
                    watch.seen(id, seat.is_seen);
                    seat.users.push(id);
                }
            }
        }
    }

    /// The number of the entity's material.
    pub fn material(&self, entity: Entity) -> Option<u32> {
        let seat = self.seats[*self.of.get(&entity)? as usize].as_ref()?;
        Some(seat.material)
    }

    /// The entity is within a picture, or not any more.
    pub fn set_seen(&mut self, entity: Entity, is_seen: bool, watch: &mut Watch) {
        let number = self.of.get(&entity);
        let seat = number.and_then(|number| self.seats[*number as usize].as_mut());
        if let Some(seat) = seat.filter(|seat| seat.is_seen != is_seen) {
            seat.is_seen = is_seen;
            seat.users.iter().for_each(|user| watch.seen(*user, is_seen));
        }
    }

    /// The seat's material gets other layers: it is watched again when its turn comes.
    pub fn watch_again(&mut self, number: u32, watch: &mut Watch) {
        self.unwatch(number, watch);
        if let Some(seat) = self.seats.get(number as usize).and_then(Option::as_ref) {
            self.told.push_back(Told::Again(seat.entity));
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
            shape: None,
            users: SmallVec::new(),
        };
        match self.seats.get_mut(number as usize) {
            Some(free) => *free = Some(seat),
            None => self.seats.push(Some(seat)),
        }
        self.of.insert(entity, number);
    }

    fn reassign(&mut self, number: u32, material: u32, materials: &mut Materials, watch: &mut Watch) {
        let is_same = |seat: &Seat| seat.material == material;
        if self.seats[number as usize].as_ref().is_some_and(is_same) {
            return;
        }
        self.version += 1;
        self.unwatch(number, watch);
        self.unseat(number, materials);
        let place = materials.add_user(material, number);
        if let Some(seat) = &mut self.seats[number as usize] {
            (seat.material, seat.place) = (material, place);
        }
    }

    /// It is none of its material's users any more.
    fn unseat(&mut self, number: u32, materials: &mut Materials) {
        let Some(Seat { material, place, .. }) = self.seats[number as usize] else {
            return;
        };
        let moved = materials.remove_user(material, place);
        if let Some(moved) = moved.and_then(|moved| self.seats[moved as usize].as_mut()) {
            moved.place = place;
        }
    }

    /// Nobody looks at it any more.
    fn unwatch(&mut self, number: u32, watch: &mut Watch) {
        if let Some(seat) = self.seats.get_mut(number as usize).and_then(Option::as_mut) {
            seat.users.drain(..).for_each(|user| watch.remove(user));
        }
    }
}
