//! `mip_memory`: what the textures of a world take on the GPU at most, while a camera flies over it.
//!
//! The world is as large as that of the example `open_world`, and the flight is the example's. Each of its 1 024 cells has ground of its own: a square of 64 m with one
//! texture, of a byte a texel, that has no more than one texel for each pixel of a picture of 1 080 lines when the flight is nearest to it. Cells come and go as in the example, by 3.5
//! cells around the camera. The peer is what the same cells take with all their mips, in the frame in which that is most.
//!
//! Ours has the pool that an app gets that sets none, which has room for all that is wanted: so the factor is what the plan asks for. It keeps no mips that are wanted no more
//! ([`MipSettings::cached`] is 0), as an app that is short of memory would have it. What it costs is in the row's note: how many textures wait for a finer mip, so
//! and with the time that an app gets that sets none.
//!
//! The picture is a small one, to be rendered in software; a mip bias makes up for that, so each pixel asks for what one of a large picture would ask for, and it sees as far to
//! the sides as a wide one. Ours is what the books of [`MipPool`] have on the GPU, copies and buffers included; six times a second, wgpu's own list of what it
//! has allocated is asked, too: each time, it must not be more than the books have by more than a twentieth, but for the rest of each allocation's last page. What the
//! pool bounds is more: the books keep room for changes from when they begin to be read; the row's note has that, too.

use std::{collections::BTreeMap, fs, path::Path};

use bevy::{
    prelude::*,
    render::{camera::MipBias, renderer::RenderDevice},
};
use bevy_seamless::{
    asset::{ObjectLoad, ObjectRequest, Streamer},
    prelude::*,
    render::mip::{MipFeedback, MipPool, MipSettings, MipStats, MipTextures},
};
use seamless_examples::{
    flight::{Flight, Pose},
    generate::{WorldOptions, terrain::MAX_HEIGHT},
};
use seamless_tests::{
    app::headless_with,
    footprint::Allocated,
    handmade::{add_asset, new_package},
    picture::{LARGE, has_driver},
};

use super::room::{Road, frame, rendered, texture};
use crate::row::{Row, Samples, Targets};

/// Frames in a second.
const RATE: f32 = 60.0;
/// Frames between two looks at what wgpu has allocated.
const LOOK: u32 = 10;
/// What wgpu calls what mip streaming has made.
const LABEL: &str = "seamless_mip";
/// Sides of textures, in texels.
const SIDES: [u32; 2] = [128, 4096];
/// How much farther than they come from cells go, in cells.
const MARGIN: f32 = 0.5;
/// The picture that is meant: lines, and how much wider than high.
const LINES: f32 = 1080.0;
const ASPECT: f32 = 16.0 / 9.0;
/// Its angle of view, in height.
const FOV: f32 = core::f32::consts::FRAC_PI_4;

/// Measures a flight.
pub fn run(samples: Option<usize>) -> Option<Row> {
    if !has_driver() {
        return None;
    }
    let plan = FlightPlan::new();
    let dir = tempfile::tempdir().expect("a temporary directory");
    plan.write(dir.path());
    let mut result = Samples::default();
    let mut note = String::new();
    for _ in 0..samples.unwrap_or(1) {
        let usual = Plane::new(&plan, dir.path(), MipSettings::default().cached).fly();
        let peak = Plane::new(&plan, dir.path(), 0.0).fly();
        result.ours.push(peak.ours as f64 / 1e6);
        result.peer.push(peak.whole as f64 / 1e6);
        note = format!(
            "{}\n  mips that are wanted no more kept for the usual time: {}",
            peak.told(),
            usual.told()
        );
    }
    let targets = Targets {
        first: 3.0,
        aim: 3.0,
        of_limit: None,
    };
    let mut row = result.row("mip_memory", "MB", Some("all mips resident"), None, targets);
    row.note = note;
    Some(row)
}

/// Where the camera goes, and what it comes near to.
struct FlightPlan {
    poses: Vec<Pose>,
    options: WorldOptions,
    /// By cell, the side of its texture, in texels; of those that are loaded at all.
    sides: BTreeMap<u32, u32>,
}

impl FlightPlan {
    fn new() -> Self {
        let options = WorldOptions::default();
        let flight = Flight::new(&options, 7);
        let frames = (flight.duration() * RATE) as u32;
        let poses: Vec<Pose> = (0..frames).map(|frame| flight.pose(frame as f32 / RATE)).collect();
        let mut plan = Self {
            poses,
            options,
            sides: BTreeMap::new(),
        };
        for cell in 0..plan.options.grid.pow(2) {
            if plan.poses.iter().any(|pose| plan.is_wanted(cell, pose.position, true)) {
                plan.sides.insert(cell, plan.side(cell));
            }
        }
        plan
    }

    fn middle(&self, cell: u32) -> Vec3 {
        let at = |number: u32| (number as f32 + 0.5) * self.options.cell_size;
        Vec3::new(at(cell % self.options.grid), MAX_HEIGHT, at(cell / self.options.grid))
    }

    /// The way from a place to a cell's ground.
    fn way(&self, cell: u32, place: Vec3) -> Vec3 {
        let half = Vec3::new(self.options.cell_size, 0.0, self.options.cell_size) / 2.0;
        ((place - self.middle(cell)).abs() - half).max(Vec3::ZERO)
    }

    /// As a streaming volume does: it lets go a little farther out than it asks.
    fn is_wanted(&self, cell: u32, place: Vec3, was: bool) -> bool {
        let way = self.way(cell, place);
        let cells = self.options.load_distance + if was { MARGIN } else { 0.0 };
        way.x.max(way.z) <= cells * self.options.cell_size
    }

    /// The most texels that a cell's ground may have along a side, so that none is smaller than a pixel at the nearest.
    fn side(&self, cell: u32) -> u32 {
        let nearest = |nearest: f32, pose: &Pose| nearest.min(self.way(cell, pose.position).length());
        let nearest = self.poses.iter().fold(f32::INFINITY, nearest);
        let texels = self.options.cell_size * pixels(LINES, FOV) / nearest;
        let [least, most] = SIDES;
        // No power of two that is larger than that.
        1 << (texels as u32).clamp(least, most).ilog2()
    }

    fn write(&self, dir: &Path) {
        let app = headless_with(dir, |app| {
            app.add_plugins(SeamlessPlugins);
        });
        for (cell, side) in &self.sides {
            let mut writer = new_package(&app, &file(*cell));
            add_asset(&app, &mut writer, "ground", texture(*side));
            let bytes = writer.finish().expect("the package is small");
            fs::write(dir.join(file(*cell)), bytes).expect("it is written");
        }
    }
}

fn file(cell: u32) -> String {
    format!("cell_{cell}.pkg")
}

/// Pixels of a metre that is a metre away.
fn pixels(lines: f32, fov: f32) -> f32 {
    lines / (2.0 * (fov / 2.0).tan())
}

/// The most bytes of a flight.
#[derive(Default)]
struct Peak {
    ours: u64,
    /// The same, with the room that is kept for what is read.
    booked: u64,
    whole: u64,
    /// What wgpu had allocated for mip streaming at most, and what the books said then.
    allocated: [u64; 2],
    textures: usize,
    /// Of all textures in all frames, those that were coarser than wanted.
    coarse: [u64; 2],
}

impl Peak {
    fn told(&self) -> String {
        let [allocated, booked] = self.allocated.map(|bytes| bytes as f64 / 1e6);
        format!(
            "{:.1} MB at most, {:.1} MB with the room that is kept for what is read, {} textures at most; by wgpu's own list {allocated:.1} MB at most of the frames in which it was asked, where the books had {booked:.1} MB; in the mean {:.1} % of the textures wait for a finer mip",
            self.ours as f64 / 1e6,
            self.booked as f64 / 1e6,
            self.textures,
            self.coarse[0] as f64 / self.coarse[1].max(1) as f64 * 100.0
        )
    }
}

/// A cell that is there, or on its way.
struct Cell {
    load: ObjectLoad,
    ground: Option<Entity>,
}

struct Plane<'a> {
    plan: &'a FlightPlan,
    app: App,
    camera: Entity,
    mesh: Handle<Mesh>,
    cells: BTreeMap<u32, Cell>,
}

impl<'a> Plane<'a> {
    fn new(plan: &'a FlightPlan, dir: &Path, cached: f32) -> Self {
        let none = MipFeedback {
            every: 0,
            ..MipFeedback::default()
        };
        let settings = MipSettings {
            cached,
            ..MipSettings::default()
        };
        let (mut app, camera) = rendered(dir, settings, none, Road::Best);
        // As wide as the picture that is meant; a square one is higher then.
        let fov = 2.0 * ((FOV / 2.0).tan() * ASPECT).atan();
        let bias = (pixels(LARGE as f32, fov) / pixels(LINES, FOV)).log2();
        let projection = PerspectiveProjection { fov, ..default() };
        app.world_mut()
            .entity_mut(camera)
            .insert((Projection::from(projection), MipBias(bias)));
        let ground = Plane3d::new(Vec3::Y, Vec2::splat(plan.options.cell_size / 2.0));
        let mesh = app.world_mut().resource_mut::<Assets<Mesh>>().add(ground);
        Self {
            plan,
            app,
            camera,
            mesh,
            cells: BTreeMap::new(),
        }
    }

    fn fly(mut self) -> Peak {
        let mut peak = Peak::default();
        // All that is wanted at the beginning is there.
        for _ in 0..600 {
            self.frame(0);
        }
        for number in 0..self.plan.poses.len() {
            self.frame(number);
            self.look(&mut peak);
            if (number as u32).is_multiple_of(LOOK) {
                self.look_at_wgpu(&mut peak);
            }
        }
        peak
    }

    fn frame(&mut self, number: usize) {
        let Pose { position, forward, .. } = self.plan.poses[number];
        let pose = Transform::from_translation(position).looking_to(forward, Vec3::Y);
        self.app.world_mut().entity_mut(self.camera).insert(pose);
        for cell in self.plan.sides.keys() {
            let was = self.cells.contains_key(cell);
            match (self.plan.is_wanted(*cell, position, was), was) {
                (true, false) => self.ask(*cell),
                (false, true) => self.let_go(*cell),
                _ => {}
            }
        }
        self.show();
        frame(&mut self.app);
    }

    fn ask(&mut self, cell: u32) {
        let request = ObjectRequest::new([format!("{}#ground", file(cell))]);
        let load = self.app.world_mut().resource_mut::<Streamer>().load_objects(request);
        self.cells.insert(cell, Cell { load, ground: None });
    }

    fn let_go(&mut self, cell: u32) {
        if let Some(ground) = self.cells.remove(&cell).and_then(|cell| cell.ground) {
            self.app.world_mut().despawn(ground);
        }
    }

    /// Cells whose textures have come are seen.
    fn show(&mut self) {
        let world = self.app.world_mut();
        for (number, cell) in self.cells.iter_mut().filter(|(_, cell)| cell.ground.is_none()) {
            let Some(result) = cell.load.result() else { continue };
            let image = result.expect("it is sound")[0].clone().typed();
            let material = StandardMaterial {
                base_color_texture: Some(image),
                unlit: true,
                ..default()
            };
            let material = world.resource_mut::<Assets<StandardMaterial>>().add(material);
            let place = Transform::from_translation(self.plan.middle(*number));
            let ground = world.spawn((Mesh3d(self.mesh.clone()), MeshMaterial3d(material), place));
            cell.ground = Some(ground.id());
        }
    }

    fn look(&self, peak: &mut Peak) {
        let world = self.app.world();
        let textures = world.resource::<MipTextures>();
        let whole = textures.iter().map(|(.., record)| record.chain().bytes(0)).sum();
        peak.whole = peak.whole.max(whole);
        let sums = world.resource::<MipPool>().ledger.sums();
        peak.ours = peak.ours.max(sums.held());
        peak.booked = peak.booked.max(sums.total());
        let count = textures.iter().count();
        peak.textures = peak.textures.max(count);
        peak.coarse[0] += world.resource::<MipStats>().under_resolved;
        peak.coarse[1] += count as u64;
    }

    fn look_at_wgpu(&self, peak: &mut Peak) {
        let world = self.app.world();
        let device = world.resource::<RenderDevice>();
        let allocated = Allocated::labelled(device, LABEL).expect("a Vulkan device tells what it has allocated");
        let booked = world.resource::<MipPool>().ledger.sums().held();
        let all = Allocated::must_be_booked(device, LABEL, booked);
        assert_eq!(all, Ok(()), "the books have {booked}");
        if allocated.bytes > peak.allocated[0] {
            peak.allocated = [allocated.bytes, booked];
        }
    }
}
