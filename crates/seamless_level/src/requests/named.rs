//! What the app asks for, by level name. See [`LevelRequests`].

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use async_channel::{Receiver, Sender};
use bevy_ecs::{
    entity::{Entity, EntityHashMap, EntityHashSet},
    resource::Resource,
};

use super::{RequestError, RequestKind};
use crate::arrival::{LOOKED_AT, Outcome, Promise};

/// A request of the app; never used again.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RequestId(u64);

/// A request for a level by its name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamedRequest {
    pub level: String,
    pub kind: RequestKind,
    pub priority: f32,
    /// The world that is meant; `None` is each that has such a level.
    pub world: Option<Entity>,
    /// The instance of that name that is meant, by what tells it from others of its name; `None` is whatever has the name.
    pub instance: Option<u64>,
}

/// Of so many names it is told that no world has a level of that name.
const TOLD: usize = 1_024;

/// All live requests of the app; kept for worlds that are still to come.
#[derive(Resource)]
pub(crate) struct LevelRequests {
    all: HashMap<RequestId, NamedRequest>,
    /// The same by their levels.
    by_level: HashMap<String, BTreeSet<RequestId>>,
    /// The requests that hold until the next word about their level.
    standing: HashMap<String, RequestId>,
    /// Those of entities.
    wanted: EntityHashMap<Vec<RequestId>>,
    /// Who waits for what tickets ask for, until that has ended.
    awaited: BTreeMap<RequestId, Promise>,
    /// The one of them that is looked at next.
    next_awaited: RequestId,
    /// The requests before this one were heard by a selection.
    heard: RequestId,
    /// Entities that want more than there was room for.
    refused: EntityHashSet,
    next: u64,
    changed: Vec<RequestId>,
    retries: Vec<String>,
    /// Names that no world had when game code asked for them, as none or not all were there.
    pub unknown: BTreeSet<String>,
    /// Those of which it was told that no world has them, as many as are remembered.
    told: BTreeSet<String>,
    /// Requests whose tickets were dropped, on any thread.
    dropped: (Sender<RequestId>, Receiver<RequestId>),
}

impl Default for LevelRequests {
    fn default() -> Self {
        Self {
            all: HashMap::new(),
            by_level: HashMap::new(),
            standing: HashMap::new(),
            wanted: EntityHashMap::default(),
            awaited: BTreeMap::new(),
            next_awaited: RequestId(0),
            heard: RequestId(0),
            refused: EntityHashSet::default(),
            next: 0,
            changed: Vec::new(),
            retries: Vec::new(),
            unknown: BTreeSet::new(),
            told: BTreeSet::new(),
            dropped: async_channel::unbounded(),
        }
    }
}

impl LevelRequests {
    pub fn get(&self, id: RequestId) -> Option<&NamedRequest> {
        self.all.get(&id)
    }

    pub fn ids(&self) -> impl Iterator<Item = RequestId> {
        self.all.keys().copied()
    }

    /// All for the level of this name.
    pub fn of(&self, level: &str) -> impl Iterator<Item = RequestId> {
        self.by_level.get(level).into_iter().flatten().copied()
    }

    /// Game code asks for a level that no world has yet.
    pub fn note_unknown(&mut self, level: &str) {
        if self.told.contains(level) {
            return;
        }
        self.unknown.insert(level.to_owned());
        // Some of them were taken back.
        if self.unknown.len() > self.all.len() {
            self.unknown.retain(|level| self.by_level.contains_key(level));
        }
    }

    /// No world has such a level, now that all are there: whether that is to be told. Once for each name, however often somebody asks.
    pub fn is_news(&mut self, level: &str) -> bool {
        self.told.len() < TOLD && self.told.insert(level.to_owned())
    }

    /// Whether anybody asks for a level of this name.
    pub fn is_asked_for(&self, level: &str) -> bool {
        self.by_level.contains_key(level)
    }

    /// Requests that were made or taken back since the last selection.
    pub fn changed(&self) -> &[RequestId] {
        &self.changed
    }

    /// Names of levels that are to be tried again.
    pub fn retries(&self) -> &[String] {
        &self.retries
    }

    pub fn has_changes(&self) -> bool {
        !(self.changed.is_empty() && self.retries.is_empty())
    }

    pub fn clear_changes(&mut self) {
        self.changed.clear();
        self.retries.clear();
        self.heard = RequestId(self.next);
    }

    /// Has a level tried again; a game may ask for the same each frame.
    pub fn retry(&mut self, level: &str) {
        if self.retries.last().is_none_or(|last| last != level) {
            self.retries.push(level.to_owned());
        }
    }

    /// Makes a request, of which there are at most `limit`.
    pub fn add(&mut self, request: NamedRequest, limit: usize) -> Result<RequestId, RequestError> {
        if self.all.len() >= limit {
            // Tickets that were dropped since the last selection make room.
            self.take_dropped();
        }
        if self.all.len() >= limit {
            return Err(RequestError::TooMany { limit });
        }
        Ok(self.insert(request))
    }

    /// The same, and whoever asks can hear what becomes of it.
    pub fn add_awaited(
        &mut self,
        request: NamedRequest,
        limit: usize,
    ) -> Result<(RequestId, Arc<Outcome>), RequestError> {
        let id = self.add(request, limit)?;
        let (promise, outcome) = Promise::new();
        self.awaited.insert(id, promise);
        Ok((id, outcome))
    }

    /// Looks at what tickets wait for, as far as a selection has heard of it: at so many in a frame at most, in turn. What has ended is not looked at any more.
    pub fn look_at_awaited(&mut self, mut look: impl FnMut(&NamedRequest, &mut Promise)) {
        if self.awaited.len() <= LOOKED_AT {
            self.next_awaited = RequestId(0);
        }
        for _ in 0..self.awaited.len().min(LOOKED_AT) {
            let mut later = self.awaited.range_mut(self.next_awaited..self.heard);
            let Some((&id, promise)) = later.next() else {
                self.next_awaited = RequestId(0);
                continue;
            };
            self.next_awaited = RequestId(id.0 + 1);
            if let Some(request) = self.all.get(&id) {
                look(request, promise);
            }
            if promise.is_over() || !self.all.contains_key(&id) {
                self.awaited.remove(&id);
            }
        }
    }

    fn insert(&mut self, request: NamedRequest) -> RequestId {
        let id = RequestId(self.next);
        self.next += 1;
        self.by_level.entry(request.level.clone()).or_default().insert(id);
        self.all.insert(id, request);
        self.changed.push(id);
        id
    }

    /// Takes a request back.
    pub fn remove(&mut self, id: RequestId) {
        let Some(request) = self.all.remove(&id) else { return };
        self.awaited.remove(&id);
        self.changed.push(id);
        if let Some(ids) = self.by_level.get_mut(&request.level) {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_level.remove(&request.level);
            }
        }
    }

    /// Takes back what tickets asked for that are gone.
    pub fn take_dropped(&mut self) {
        while let Ok(id) = self.dropped.1.try_recv() {
            self.remove(id);
        }
    }

    /// Where tickets say that they are gone.
    pub fn returns(&self) -> Sender<RequestId> {
        self.dropped.0.clone()
    }

    /// The standing request for a level.
    pub fn standing(&self, level: &str) -> Option<RequestKind> {
        let request = self.get(*self.standing.get(level)?)?;
        Some(request.kind)
    }

    /// Makes the standing request for a level, in place of the one before.
    pub fn stand(&mut self, request: NamedRequest, limit: usize) -> Result<(), RequestError> {
        if self.standing(&request.level) == Some(request.kind) {
            return Ok(());
        }
        let level = request.level.clone();
        // The one before makes room for it, where no more are asked for than may be.
        let id = match self.standing.get(&level) {
            Some(_) if self.all.len() <= limit => self.insert(request),
            _ => self.add(request, limit)?,
        };
        self.release(&level);
        self.standing.insert(level, id);
        Ok(())
    }

    /// Takes the standing request for a level back.
    pub fn release(&mut self, level: &str) {
        if let Some(id) = self.standing.remove(level) {
            self.remove(id);
        }
    }

    /// Takes all standing requests back.
    pub fn release_all(&mut self) {
        for (_, id) in core::mem::take(&mut self.standing) {
            self.remove(id);
        }
    }

    /// All standing requests.
    pub fn all_standing(&self) -> impl Iterator<Item = (&str, RequestKind)> {
        let levels = self.standing.keys().map(String::as_str);
        levels.filter_map(|level| Some((level, self.standing(level)?)))
    }

    /// Makes the requests of an entity, in place of those before.
    pub fn set_wanted(
        &mut self,
        entity: Entity,
        requests: impl Iterator<Item = NamedRequest>,
        limit: usize,
    ) -> Result<(), RequestError> {
        self.forget_wanted(entity);
        let mut ids = Vec::new();
        let made = requests
            .map(|request| self.add(request, limit))
            .try_for_each(|made| made.map(|id| ids.push(id)));
        self.wanted.insert(entity, ids);
        if made.is_err() {
            self.refused.insert(entity);
        }
        made
    }

    /// Whether an entity has been heard of that wants levels.
    pub fn is_wanting(&self, entity: Entity) -> bool {
        self.wanted.contains_key(&entity)
    }

    /// An entity that wants more than there was room for, while there is room again.
    pub fn next_refused(&self, limit: usize) -> Option<Entity> {
        let has_room = self.all.len() < limit;
        self.refused.iter().next().copied().filter(|_| has_room)
    }

    /// Takes the requests of an entity back.
    pub fn forget_wanted(&mut self, entity: Entity) {
        self.refused.remove(&entity);
        for id in self.wanted.remove(&entity).unwrap_or_default() {
            self.remove(id);
        }
    }
}
