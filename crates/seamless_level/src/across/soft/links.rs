//! Which links there are, and where they lead. See [`SoftLinks`].

use core::hash::BuildHasher;

use bevy_ecs::{
    entity::{Entities, Entity, EntityHashMap, EntityHashSet},
    entity_disabling::Disabled,
    query::{Allow, Has, With},
    resource::Resource,
    schedule::SystemSet,
    system::{ParamBuilder, Query, System, SystemChangeTick, SystemParam, SystemParamBuilder},
    world::World,
};
use bevy_log::{debug, warn};
use bevy_platform::{
    collections::{HashMap, HashSet},
    hash::FixedHasher,
};
use seamless_asset::{
    InHiddenLevel,
    scan::{self, Scan},
};

use super::{LinkedEntity, SoftEntity, SoftLink, resolve_links};

/// All links, also those of hidden levels, and whether they are hidden.
pub(crate) type Links<'w, 's> = Query<
    'w,
    's,
    (Entity, &'static SoftLink, &'static mut LinkedEntity, Has<InHiddenLevel>),
    (Allow<InHiddenLevel>, Allow<Disabled>),
>;

/// What tells which links have to be looked at, without a look at each.
#[derive(SystemParam)]
#[system_param(builder)]
pub(crate) struct LinkChanges<'w, 's> {
    all: Scan<'w, 's, SoftLink>,
    ticks: SystemChangeTick,
    hidden: Query<'w, 's, Entity, (With<SoftLink>, With<InHiddenLevel>, Allow<Disabled>)>,
}

/// The system that brings links up to date.
#[derive(SystemSet, Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ResolveLinks;

/// Makes the system of [`ResolveLinks`].
pub(crate) fn link_resolution(world: &mut World) -> impl System<In = (), Out = ()> + use<> {
    let any = || ParamBuilder;
    let changes = LinkChangesBuilder {
        all: scan::scan(world),
        ticks: any(),
        hidden: any(),
    };
    (any(), changes, any(), any(), any(), any(), any(), any())
        .build_state(world)
        .build_system(resolve_links)
}

impl LinkChanges<'_, '_> {
    /// A number of 64 bits that is another one when other links are hidden, as surely as hashes tell: their sum, in whatever order.
    fn fingerprint(&self) -> u64 {
        let of = |link: Entity| FixedHasher.hash_one(link);
        self.hidden.iter().fold(0, |sum: u64, link| sum.wrapping_add(of(link)))
    }
}

/// What is known of all links, so that a level that comes or goes costs what leads to it.
#[derive(Resource, Default)]
pub(crate) struct SoftLinks {
    links: EntityHashMap<Known>,
    /// Links by the levels that they lead to.
    to_level: HashMap<String, EntityHashSet>,
    /// Links by the entities that they lead to now.
    to_entity: EntityHashMap<Vec<Entity>>,
    /// Entities that links lead to since the last time, and that are not marked yet.
    fresh: Vec<Entity>,
    /// Entities that were marked, and are not any more.
    lost: Vec<Entity>,
    dirty: Vec<Entity>,
    /// Which links were hidden the last time: their [fingerprint](LinkChanges::fingerprint).
    hidden: u64,
    /// Links that may have changed.
    found: Vec<Entity>,
    /// Entities that were linked to, and are in no level: each is told once.
    told: HashSet<SoftEntity>,
    /// Levels that were linked to, and that no world had then.
    unknown: HashSet<String>,
    has_told_unknown: bool,
}

/// Of so many entities it is told that they are in no level.
const TOLD: usize = 64;

/// A link, as it was the last time.
struct Known {
    level: String,
    object: String,
    leads_to: Option<Entity>,
    is_hidden: bool,
}

impl Known {
    fn is(&self, link: &SoftLink, linked: &LinkedEntity, is_hidden: bool) -> bool {
        self.level == link.to.level
            && self.object == link.to.object
            && self.leads_to == linked.entity
            && self.is_hidden == is_hidden
    }
}

impl SoftLinks {
    /// An entity that a link may lead to is not marked any more: it was despawned, most likely.
    pub fn lose(&mut self, target: Entity) {
        self.lost.push(target);
    }

    /// A link was taken away, or only replaced. Whether it is gone.
    pub fn removed(&mut self, link: Entity, query: &Links) -> bool {
        let is_gone = !query.contains(link);
        if is_gone {
            self.forget(link);
        }
        is_gone
    }

    fn forget(&mut self, link: Entity) {
        let Some(known) = self.links.remove(&link) else { return };
        if let Some(links) = self.to_level.get_mut(&known.level) {
            links.remove(&link);
            if links.is_empty() {
                self.to_level.remove(&known.level);
            }
        }
        self.part(link, known.leads_to);
    }

    /// The link leads there no more.
    fn part(&mut self, link: Entity, from: Option<Entity>) {
        let Some(from) = from else { return };
        if let Some(links) = self.to_entity.get_mut(&from) {
            links.retain(|other| *other != link);
            if links.is_empty() {
                self.to_entity.remove(&from);
            }
        }
    }

    /// Links to entities that are gone have to be looked at.
    pub fn find_lost(&mut self, entities: &Entities) {
        let Self {
            fresh,
            lost,
            dirty,
            to_entity,
            ..
        } = self;
        // Those that were despawned before they could be marked.
        lost.extend(fresh.drain(..).filter(|entity| !entities.contains_spawned(*entity)));
        for target in lost.drain(..) {
            dirty.extend(to_entity.get(&target).into_iter().flatten());
        }
    }

    /// A level is there, and has no such entity.
    pub fn tell_mistaken(&mut self, to: &SoftEntity) {
        if self.told.len() < TOLD && self.told.insert(to.clone()) {
            warn!(
                "a soft link leads to `{}` of level `{}`, which has no such entity: mend the name; `seamless inspect` lists those of its package",
                to.object, to.level
            );
        }
    }

    /// No world has a level of this name so far.
    pub fn note_unknown(&mut self, level: &str) {
        if !self.unknown.contains(level) {
            self.unknown.insert(level.to_owned());
        }
    }

    pub fn has_unknown(&self) -> bool {
        !self.unknown.is_empty()
    }

    /// All worlds are there: tells of the levels that none has. One is enough for who has misspelt it; others may be instances that are still to be added.
    pub fn tell_unknown(&mut self, is_known: impl Fn(&str) -> bool) {
        for level in self.unknown.drain().filter(|level| !is_known(level)) {
            let text = "a soft link leads to a level that no seamless world has by now: mend the name, unless it is an instance that is added later";
            match core::mem::replace(&mut self.has_told_unknown, true) {
                false => warn!("{text}: `{level}` (more of these are told as debug messages)"),
                true => debug!("{text}: `{level}`"),
            }
        }
    }

    /// Links into a level have to be looked at.
    pub fn level_changed(&mut self, level: &str) {
        self.dirty.extend(self.to_level.get(level).into_iter().flatten());
    }

    /// Finds the links that are new, that lead elsewhere, or that were hidden or shown. Besides a look at whether any has changed, and at which are hidden, it
    /// costs what has.
    pub fn look(&mut self, query: &Links, changes: &LinkChanges) {
        let mut found = core::mem::take(&mut self.found);
        scan::changed(&changes.all, changes.ticks.last_run(), |link, _| found.push(link));
        let hidden = changes.fingerprint();
        if core::mem::replace(&mut self.hidden, hidden) != hidden {
            found.extend(&changes.hidden);
            let were_hidden = self.links.iter().filter(|(_, known)| known.is_hidden);
            found.extend(were_hidden.map(|(link, _)| *link));
        }
        for link in found.drain(..) {
            if let Ok((_, to, linked, is_hidden)) = query.get(link) {
                self.look_at(link, to, linked, is_hidden);
            }
        }
        self.found = found;
    }

    fn look_at(&mut self, entity: Entity, link: &SoftLink, linked: &LinkedEntity, is_hidden: bool) {
        let known = self.links.get(&entity);
        if known.is_some_and(|known| known.is(link, linked, is_hidden)) {
            return;
        }
        self.forget(entity);
        let level = link.to.level.clone();
        self.to_level.entry(level.clone()).or_default().insert(entity);
        let known = Known {
            level,
            object: link.to.object.clone(),
            leads_to: None,
            is_hidden,
        };
        self.links.insert(entity, known);
        self.dirty.push(entity);
    }

    /// The links to be looked at, each once.
    pub fn take_dirty(&mut self) -> Vec<Entity> {
        let mut dirty = core::mem::take(&mut self.dirty);
        dirty.sort_unstable();
        dirty.dedup();
        dirty
    }

    /// A link leads there now; whether that is to be marked.
    pub fn resolved(&mut self, link: Entity, leads_to: Option<Entity>) -> bool {
        let Some(known) = self.links.get_mut(&link) else {
            return false;
        };
        let before = core::mem::replace(&mut known.leads_to, leads_to);
        if before != leads_to {
            self.part(link, before);
        }
        let Some(target) = leads_to else { return false };
        let links = self.to_entity.entry(target).or_default();
        if !links.contains(&link) {
            links.push(link);
        }
        self.fresh.push(target);
        true
    }

    /// How many entities were told to be in no level.
    #[cfg(test)]
    pub fn mistaken(&self) -> usize {
        self.told.len()
    }

    #[cfg(test)]
    pub fn counts(&self) -> [usize; 3] {
        [self.links.len(), self.to_level.len(), self.to_entity.len()]
    }
}
