//! `marker_tax`: what the opt-in to levels in slices costs every other query.
//!
//! `SeamlessAssetPlugin::sliced_levels` makes queries skip entities with a marker that lies in a sparse set. No entity has it here: 100 000
//! entities in eight sets of components are moved by a query that knows nothing of levels. Ours is an app that has opted in, the peer
//! one that has not. In `marker_tax` it is a `for` loop, in `marker_tax/for_each` Bevy's `for_each`, which is faster where queries are not dense.

use std::{hint::black_box, path::Path};

use bevy_app::App;
use bevy_ecs::{prelude::*, query::QueryState};
use bevy_math::Vec3;
use bevy_transform::components::Transform;

use crate::{
    app::{Plugins, app, cpu_ns},
    row::{Row, Samples, Targets},
};

const ENTITIES: usize = 100_000;

#[derive(Component)]
struct Velocity(Vec3);

/// Makes a set of components another one.
#[derive(Component)]
struct Kind<const N: usize>;

/// How the query is gone through.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// `for … in &mut query`.
    Loop,
    /// `query.iter_mut().for_each(…)`.
    ForEach,
}

/// Measures a pass over all entities.
pub fn run(variant: Variant, samples: Option<usize>) -> Row {
    let (mut ours, mut peer) = (Site::new(Plugins::Sliced), Site::new(Plugins::Game));
    let mut result = Samples::default();
    for round in 0..samples.unwrap_or(101) + 2 {
        let (our_ns, peer_ns) = (ours.pass(variant), peer.pass(variant));
        if round >= 2 {
            result.ours.push(our_ns);
            result.peer.push(peer_ns);
        }
    }
    let name = match variant {
        Variant::Loop => "marker_tax",
        Variant::ForEach => "marker_tax/for_each",
    };
    // No worse than a half as much again.
    let targets = Targets {
        first: 0.5,
        aim: 0.9,
        of_limit: None,
    };
    result.row(name, "ns/entity", Some("without the opt-in"), None, targets)
}

struct Site {
    app: App,
    query: QueryState<(&'static mut Transform, &'static Velocity)>,
}

impl Site {
    fn new(plugins: Plugins) -> Self {
        let mut app = app(plugins, Path::new("."));
        let world = app.world_mut();
        for number in 0..ENTITIES {
            let mut entity = world.spawn((Transform::default(), Velocity(Vec3::splat(number as f32))));
            if number & 1 != 0 {
                entity.insert(Kind::<1>);
            }
            if number & 2 != 0 {
                entity.insert(Kind::<2>);
            }
            if number & 4 != 0 {
                entity.insert(Kind::<3>);
            }
        }
        let query = world.query();
        Self { app, query }
    }

    /// Nanoseconds for each entity.
    fn pass(&mut self, variant: Variant) -> f64 {
        let (world, query) = (self.app.world_mut(), &mut self.query);
        let (took, ()) = cpu_ns(|| match variant {
            Variant::Loop => {
                for (mut transform, velocity) in query.iter_mut(world) {
                    transform.translation += black_box(velocity.0);
                }
            }
            Variant::ForEach => query
                .iter_mut(world)
                .for_each(|(mut transform, velocity)| transform.translation += black_box(velocity.0)),
        });
        took / ENTITIES as f64
    }
}
