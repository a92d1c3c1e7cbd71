//! `package_link`: 10 000 imports of 100 packages, until each is a handle whose value is there.
//!
//! Wall time, on both sides: Bevy loads on all its threads, and our road as it is measured here on one. All files are in memory,
//! and the stones that they hold are equal.
//!
//! * Ours: `World::load_objects_blocking` of one object with 10 000 imports. It opens 101 packages, compares every import with the
//!   exports of its package ([`Verify::Now`](seamless_asset::Verify)), decodes 10 000 stones by reflection, and moves them into
//!   `Assets`.
//! * `package_link`'s peer: `AssetServer::load` of the 10 000 labelled paths, which are parsed before, and frames until all are
//!   loaded. Bevy 0.19 loads the whole file once for each of its labels.
//! * `package_link/whole_files`' peer: somebody who knows that loads the 100 files first, and asks for the labels afterwards.

use std::{
    any::type_name,
    time::{Duration, Instant},
};

use bevy_app::App;
use bevy_asset::{Asset, AssetPath, AssetServer, Assets, Handle, io::memory::Dir};
use seamless_asset::{BlockingLoads, ObjectRequest};

use crate::{
    row::{Row, Samples, Targets},
    stones::{
        BASKET, Basket, PER_FILE, Stone, StoneFile, basket_package, bevy_app, file_path, our_app, package_path, put,
        stone, stone_file, stone_package, stone_path, wait_for,
    },
};

const FILES: usize = 100;
const IMPORTS: usize = FILES * PER_FILE;
const LINK: &str = "link.pkg";
const PATIENCE: Duration = Duration::from_secs(60);

/// How Bevy loads the stones.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// By their paths, and nothing else.
    Labels,
    /// By their paths, when their files are loaded.
    WholeFiles,
}

/// Measures linking.
pub fn run(peer: Peer, samples: Option<usize>) -> Row {
    let mut ours = our_bed();
    let mut bevys = bevys_bed();
    let paths: Vec<AssetPath> = (0..IMPORTS).map(|number| stone_path(number).into()).collect();
    let mut result = Samples::default();
    let default = if peer == Peer::Labels { 7 } else { 21 };
    for round in 0..samples.unwrap_or(default) + 1 {
        let our_ns = load_ours(&mut ours);
        let peer_ns = load_bevys(&mut bevys, peer, &paths);
        // The first round warms caches and allocator.
        if round > 0 {
            result.ours.push(our_ns / IMPORTS as f64);
            result.peer.push(peer_ns / IMPORTS as f64);
        }
    }
    let targets = Targets {
        first: 20.0,
        aim: 20.0,
        of_limit: None,
    };
    let (name, peer_name) = match peer {
        Peer::Labels => ("package_link", "AssetServer::load of labels"),
        Peer::WholeFiles => ("package_link/whole_files", "AssetServer::load of files, then of labels"),
    };
    result.row(name, "ns/import", Some(peer_name), None, targets)
}

fn our_bed() -> App {
    let files = Dir::default();
    let mut app = our_app(&files);
    for file in 0..FILES {
        put(&files, &package_path(file), stone_package(&app, file));
    }
    put(&files, LINK, basket_package(&app, LINK, FILES));
    app.update();
    app
}

fn bevys_bed() -> App {
    let files = Dir::default();
    for file in 0..FILES {
        put(&files, &file_path(file), stone_file(file));
    }
    let mut app = bevy_app(&files);
    app.update();
    app
}

/// Loads all stones, and drops them again; the wall time of the load.
fn load_ours(app: &mut App) -> f64 {
    let start = Instant::now();
    let load = app
        .world_mut()
        .load_objects_blocking(ObjectRequest::new([format!("{LINK}#{BASKET}")]))
        .expect("all packages are sound");
    let took = start.elapsed();
    let handles = load.result().expect("it is over").expect("it went well");
    let basket = app
        .world()
        .resource::<Assets<Basket>>()
        .get(&handles[0].clone().typed());
    check(app, &basket.expect("it is loaded").stones);
    drop(load);
    empty::<Basket>(app);
    empty::<Stone>(app);
    took.as_nanos() as f64
}

/// The same by Bevy.
fn load_bevys(app: &mut App, peer: Peer, paths: &[AssetPath<'static>]) -> f64 {
    let server = app.world().resource::<AssetServer>().clone();
    let start = Instant::now();
    let files: Vec<Handle<StoneFile>> = match peer {
        Peer::Labels => Vec::new(),
        Peer::WholeFiles => (0..FILES).map(|file| server.load(file_path(file))).collect(),
    };
    wait_for(app, &files);
    let stones: Vec<Handle<Stone>> = paths.iter().map(|path| server.load(path.clone())).collect();
    wait_for(app, &stones);
    let took = start.elapsed();
    check(app, &stones);
    drop((files, stones));
    empty::<StoneFile>(app);
    empty::<Stone>(app);
    took.as_nanos() as f64
}

/// Whoever loads less than there is measures nothing.
fn check(app: &App, handles: &[Handle<Stone>]) {
    let stones = app.world().resource::<Assets<Stone>>();
    let is_there = |(number, handle)| stones.get(handle) == Some(&stone(number));
    assert_eq!(handles.len(), IMPORTS);
    assert!(handles.iter().enumerate().all(is_there), "all stones are there");
}

/// Runs frames until nothing is left of the load. What is dropped on a thread of low priority takes its time.
fn empty<A: Asset>(app: &mut App) {
    let start = Instant::now();
    while !app.world().resource::<Assets<A>>().is_empty() {
        assert!(start.elapsed() < PATIENCE, "a `{}` is kept alive", type_name::<A>());
        std::thread::sleep(Duration::from_millis(1));
        app.update();
    }
}
