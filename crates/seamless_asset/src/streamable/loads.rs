//! Loads that streamables share. See [`Loads`].

use std::sync::{Arc, Mutex, Weak};

use bevy_asset::UntypedHandle;
use bevy_platform::collections::HashMap;

use super::{StreamableStats, shared::lock};
use crate::{
    error::{LoadError, LoadErrorKind},
    load::{ObjectLoad, ObjectRequest, Streamer},
};

/// A request to the pipeline, which is under way as long as somebody holds it: objects of one package.
pub(super) struct Load {
    pub objects: Vec<Arc<str>>,
    load: ObjectLoad,
    /// What was asked for, and what the most urgent of those that hold it wants.
    priorities: Mutex<(f32, f32)>,
}

/// An object's place in a load.
#[derive(Clone)]
pub(super) struct Place {
    pub load: Arc<Load>,
    place: usize,
}

/// The loads that are under way, by object path. An object is loaded once, whoever asks.
#[derive(Default)]
pub(super) struct Loads {
    objects: HashMap<Arc<str>, (Weak<Load>, usize)>,
    /// When those that are over are forgotten next: when there are so many.
    sweep_at: usize,
}

impl Loads {
    /// The load of an object, if one is under way.
    pub fn find(&self, object: &Arc<str>) -> Option<Place> {
        let (load, place) = self.objects.get(object)?;
        let load = load.upgrade().filter(|load| !load.load.is_finished())?;
        Some(Place { load, place: *place })
    }

    /// Asks the pipeline for objects of one package.
    pub fn start(
        &mut self,
        objects: Vec<Arc<str>>,
        priority: f32,
        streamer: &mut Streamer,
        stats: &mut StreamableStats,
    ) -> Arc<Load> {
        stats.loads += objects.len() as u64;
        let request = ObjectRequest {
            priority,
            ..ObjectRequest::new(objects.iter().map(ToString::to_string))
        };
        let load = Arc::new(Load {
            load: streamer.load_objects(request),
            priorities: Mutex::new((priority, priority)),
            objects,
        });
        for (place, object) in load.objects.iter().enumerate() {
            self.objects.insert(object.clone(), (Arc::downgrade(&load), place));
        }
        load
    }

    /// Forgets what is over, when it has grown: so it stays in proportion to what is under way.
    pub fn sweep(&mut self) {
        if self.objects.len() >= self.sweep_at {
            self.objects.retain(|_, (load, _)| load.strong_count() > 0);
            self.sweep_at = (self.objects.len() * 2).max(64);
        }
    }
}

impl Load {
    pub fn place(self: &Arc<Self>, place: usize) -> Place {
        Place {
            load: self.clone(),
            place,
        }
    }

    /// Somebody who holds it is so urgent; said by all of them before [`settle_priority`](Self::settle_priority).
    pub fn want(&self, priority: f32) {
        let mut priorities = lock(&self.priorities);
        priorities.1 = priorities.1.max(priority);
    }

    /// Tells the pipeline how urgent it is, if that has changed.
    pub fn settle_priority(&self, streamer: &mut Streamer) {
        let mut priorities = lock(&self.priorities);
        let (said, wanted) = *priorities;
        if wanted != said && wanted > f32::MIN {
            streamer.set_object_priority(&self.load, wanted);
            priorities.0 = wanted;
        }
        priorities.1 = f32::MIN;
    }

    /// Whether the pipeline has begun.
    pub fn has_started(&self) -> bool {
        self.load.has_started()
    }
}

impl Place {
    /// What came of the object; none while it is under way.
    pub fn result(&self) -> Option<Result<UntypedHandle, Arc<LoadError>>> {
        let missing = || {
            let object = self.load.objects.get(self.place).map_or("", |object| object);
            Arc::new(LoadError::package(object, LoadErrorKind::NoSuchObject))
        };
        Some(match self.load.load.result()? {
            Ok(handles) => handles.get(self.place).cloned().ok_or_else(missing),
            Err(error) => Err(error.clone()),
        })
    }
}
