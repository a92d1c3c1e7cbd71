//! `mip_swap`: what a texture that becomes finer costs the main thread and the render thread, beside adding the whole image again.
//!
//! All systems of both worlds run on this thread, and its CPU time is what counts: what the software driver does on others is the GPU's part. A sample is what frames in which
//! textures change take beyond those in which none does, divided by the number of textures. The new mips are in buffers before, as those of the peer's image are in memory
//! before.

use bevy::{prelude::*, render::RenderApp};
use bevy_seamless::render::mip::{ChangeId, MipPool, MipRead, MipSwap, MipSystems, MipTextures, MipWork};
use seamless_tests::{app::on_one_thread, picture::has_driver};

use super::room::{By, Road, Room, TEXTURES, Textures, texture};
use crate::{
    app::cpu_ns,
    row::{Row, Samples, Targets, quantile},
};

/// In texels, of all textures. All of the room's change in one frame: what a frame takes by itself is told from that.
const SIDE: u32 = 2048;
/// Frames in which that is told, carried out, and over.
const FRAMES: usize = 4;

/// Measures both.
pub fn run(samples: Option<usize>) -> Option<Row> {
    run_on("mip_swap", Road::Best, samples)
}

/// The same where materials are touched.
pub fn touch(samples: Option<usize>) -> Option<Row> {
    run_on("mip_swap/touch", Road::Touch, samples)
}

fn run_on(name: &'static str, road: Road, samples: Option<usize>) -> Option<Row> {
    if !has_driver() {
        return None;
    }
    let textures = Textures {
        side: |_| SIDE,
        ..Textures::default()
    };
    let mut room = Room::new(By::Prediction, road, 4.0, textures);
    // All are at their floor.
    room.look(Transform::from_xyz(0.0, 0.0, 5000.0).looking_to(Vec3::Z, Vec3::Y));
    room.settle();
    room.app.configure_sets(PostUpdate, MipSystems::Plan.run_if(|| false));
    let images = room.images.clone();
    let peers = peers(&mut room);
    on_one_thread(room.app.world_mut());
    if let Some(render_app) = room.app.get_sub_app_mut(RenderApp) {
        on_one_thread(render_app.world_mut());
    }
    let mut result = Samples::default();
    for round in 0..samples.unwrap_or(15) + 1 {
        let mut calm: Vec<f64> = (0..9).map(|_| frames(&mut room)).collect();
        let calm = quantile(&mut calm, 0.5);
        let staged = stage(&mut room, &images);
        let (sent, ()) = cpu_ns(|| send(&mut room, &staged));
        let ours = sent / 1e3 + frames(&mut room) - calm;
        coarsen(&mut room, &images);
        let whole: Vec<Image> = peers.iter().map(|_| texture(SIDE)).collect();
        let (asked, ()) = cpu_ns(|| again(&mut room, &peers, whole));
        let peer = asked / 1e3 + frames(&mut room) - calm;
        // The first round makes what all others use again.
        if round > 0 {
            result.ours.push(ours / images.len() as f64);
            result.peer.push(peer / peers.len() as f64);
        }
    }
    let targets = Targets {
        first: 5.0,
        aim: 5.0,
        of_limit: None,
    };
    let mut row = result.row(name, "µs/change", Some("the whole Image added again"), None, targets);
    row.note = format!("{TEXTURES} textures of {SIDE}² texels, a byte each, in one frame, from mip 4 on to the finest");
    Some(row)
}

/// What some frames take of this thread, in microseconds.
fn frames(room: &mut Room) -> f64 {
    cpu_ns(|| (0..FRAMES).for_each(|_| room.app.update())).0 / 1e3
}

/// Ordinary images with materials and things that show them.
fn peers(room: &mut Room) -> Vec<(Handle<Image>, Handle<StandardMaterial>)> {
    let world = room.app.world_mut();
    let mesh = world.resource_mut::<Assets<Mesh>>().add(Rectangle::new(0.5, 0.5));
    let add = |_| {
        let image = world.resource_mut::<Assets<Image>>().add(texture(SIDE));
        let material = world.resource_mut::<Assets<StandardMaterial>>().add(StandardMaterial {
            base_color_texture: Some(image.clone()),
            unlit: true,
            ..default()
        });
        world.spawn((
            Mesh3d(mesh.clone()),
            MeshMaterial3d(material.clone()),
            Transform::from_xyz(0.0, 1.0, 0.0),
        ));
        (image, material)
    };
    let peers = (0..TEXTURES).map(add).collect();
    (0..30).for_each(|_| room.app.update());
    peers
}

fn again(room: &mut Room, peers: &[(Handle<Image>, Handle<StandardMaterial>)], whole: Vec<Image>) {
    let world = room.app.world_mut();
    for ((image, material), whole) in peers.iter().zip(whole) {
        let mut images = world.resource_mut::<Assets<Image>>();
        let _ = images.insert(image.id(), whole);
        // Otherwise it is drawn with the old one.
        let mut materials = world.resource_mut::<Assets<StandardMaterial>>();
        drop(materials.get_mut(material));
    }
}

/// Each texture's change from its floor to the finest mip, with its mips in a buffer.
fn stage(room: &mut Room, images: &[Handle<Image>]) -> Vec<(u32, ChangeId)> {
    let mut changes = Vec::new();
    for image in images {
        let world = room.app.world_mut();
        let textures = world.resource::<MipTextures>();
        let texture = textures.number(image.id()).expect("it streams");
        let chain = textures.get(texture).expect("it is there").chain().clone();
        let mut pool = world.resource_mut::<MipPool>();
        let from = pool.ledger.get(texture).expect("it is there").top;
        let change = pool.ledger.begin(texture, &chain, 0).expect("it can begin");
        let read = MipRead {
            id: change.id,
            texture,
            mips: 0..from,
        };
        world.resource_mut::<MipWork>().read(&read, 10.0);
        changes.push((texture, change.id));
    }
    let mut waiting = changes.clone();
    while !waiting.is_empty() {
        room.frame();
        let mut ready = Vec::new();
        room.app.world_mut().resource_mut::<MipWork>().take_ready(&mut ready);
        let mut pool = room.app.world_mut().resource_mut::<MipPool>();
        ready.iter().for_each(|(texture, id)| pool.ledger.staged(*texture, *id));
        waiting.retain(|change| !ready.contains(change));
    }
    changes
}

fn send(room: &mut Room, changes: &[(u32, ChangeId)]) {
    let world = room.app.world_mut();
    for (texture, id) in changes {
        let mut pool = world.resource_mut::<MipPool>();
        let resident = pool.ledger.get(*texture).expect("it is there");
        let (from, to) = (resident.top, resident.change.expect("it changes").to);
        pool.ledger.sent(*texture, *id);
        let swap = MipSwap {
            id: *id,
            texture: *texture,
            from,
            to,
        };
        world.resource_mut::<MipWork>().swap(&swap);
    }
}

/// All of them are at their floor again.
fn coarsen(room: &mut Room, images: &[Handle<Image>]) {
    let mut changes = Vec::new();
    for image in images {
        let world = room.app.world_mut();
        let textures = world.resource::<MipTextures>();
        let texture = textures.number(image.id()).expect("it streams");
        let chain = textures.get(texture).expect("it is there").chain().clone();
        let mut pool = world.resource_mut::<MipPool>();
        let change = pool.ledger.begin(texture, &chain, chain.floor());
        changes.push((texture, change.expect("it can begin").id));
    }
    send(room, &changes);
    (0..60).for_each(|_| room.frame());
}
