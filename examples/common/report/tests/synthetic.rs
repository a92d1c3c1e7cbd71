//! A made-up flight with plausible numbers, to look at and to test the report with.

use std::collections::BTreeMap;

use crate::{
    flight::Flight,
    generate::{WorldOptions, noise::Rng},
    report::{FlightLog, Footprint, FrameSample, LevelTrack, MipLog, NamedOverrun, Percentiles, Report, StreamTime},
};

/// Frames between a level's request and its reveal.
const LOADING: u32 = 9;

/// The flight over the default world, with levels that load as its volumes say.
pub fn flight() -> (Report, FlightLog) {
    let options = WorldOptions {
        grid: 20,
        cell_size: 64.0,
        load_distance: 4.0,
        ..WorldOptions::default()
    };
    let flight = Flight::new(&options, 7);
    let count = (flight.duration() * 60.0) as u32;
    let mut tracks: BTreeMap<(i32, i32), LevelTrack> = BTreeMap::new();
    let mut frames = Vec::new();
    let mut rng = Rng::new(1, 1);
    for frame in 0..count {
        let pose = flight.pose(frame as f32 / 60.0);
        let camera = [pose.position.x, pose.position.z];
        let (mut live, mut fresh) = (0, 0);
        for row in 0..options.grid as i32 {
            for column in 0..options.grid as i32 {
                let footprint = Footprint::cell(column, row, options.cell_size);
                let away = (0..2).map(|i| (footprint.min[i] - camera[i]).max(camera[i] - footprint.max[i]));
                let away = away.fold(0.0, f32::max) / options.cell_size;
                let name = format!("cell_{column}_{row}");
                let track = tracks.entry((column, row)).or_insert_with(|| LevelTrack {
                    name,
                    footprint: Some(footprint),
                    ..LevelTrack::default()
                });
                let open = track.requested.last().is_some_and(|(_, to)| *to == count);
                if !open && away <= options.load_distance {
                    track.requested.push((frame, count));
                    track.live.push(((frame + LOADING).min(count), count));
                } else if open && away > options.load_distance + 0.5 {
                    for list in [&mut track.requested, &mut track.live] {
                        let last = list.last_mut().unwrap();
                        *last = (last.0.min(frame), frame);
                    }
                }
                live += u32::from(track.live.iter().any(|(from, to)| (*from..*to).contains(&frame)));
                fresh += u32::from(track.live.last().is_some_and(|(from, _)| *from == frame));
            }
        }
        let work = fresh.min(8) as f32 * 0.1;
        let stream_ms = 0.08 + work + rng.unit().powi(6) * 0.9;
        frames.push(FrameSample {
            stream_ms,
            frame_ms: 3.1 + stream_ms + rng.unit().powi(5) * 0.6,
            resident_levels: live,
            resident_entities: live * 1437,
            mesh_bytes: u64::from(live) * 92_000,
            image_bytes: 46_000_000 + u64::from(live) * 20_000,
            camera,
            teleported: pose.teleported,
        });
    }
    let mut levels: Vec<_> = tracks.into_values().collect();
    for town in 0..40 {
        let at = [rng.range(60.0, 1200.0), rng.range(60.0, 1200.0)];
        let cell = &levels[(at[0] / 64.0) as usize * 20 + (at[1] / 64.0) as usize];
        let footprint = Footprint {
            min: at.map(|v| v - 26.0),
            max: at.map(|v| v + 26.0),
        };
        levels.push(LevelTrack {
            name: format!("town_{town}"),
            footprint: Some(footprint),
            ..cell.clone()
        });
    }
    levels.push(LevelTrack {
        name: "sky".into(),
        footprint: None,
        requested: vec![(0, count)],
        live: vec![(2, count)],
    });
    let log = FlightLog {
        seconds_per_frame: 1.0 / 60.0,
        resident_frame_ms: 3.2,
        frames,
        levels,
        mips: MipLog::default(),
    };
    (report(&log), log)
}

fn report(log: &FlightLog) -> Report {
    let ms = |f: fn(&FrameSample) -> f32| Percentiles::of(log.frames.iter().map(|frame| f64::from(f(frame))));
    Report {
        profile: "debug".into(),
        frames: log.frames.len() as u64,
        levels: log.levels.len() as u64,
        levels_loaded: 400,
        levels_unloaded: 371,
        entities_peak: 126_000,
        stream_ms: StreamTime {
            budget: 2.0,
            spread: ms(|frame| frame.stream_ms),
        },
        boosted: 12,
        frame_excess_ms: ms(|frame| (frame.frame_ms - 3.2).max(0.0)),
        overruns: 2,
        cancelled: 31,
        bytes_read: 812_000_000,
        bytes_wasted: 9_100_000,
        resident_excess_ms: ms(|frame| (frame.frame_ms - 3.4).max(0.0)),
        teleports: 2,
        late_after_teleport: 1,
        is_whole_flight: true,
        is_restless: false,
        entities_total: 574_920,
        seed: 7,
        named_overruns: vec![
            NamedOverrun {
                frame: 912,
                ms: 2.31,
                what: "reveal of <cell_12_5> & 3 more".into(),
            },
            NamedOverrun {
                frame: 1403,
                ms: 2.05,
                what: "leave of cell_3_9".into(),
            },
        ],
        ..Report::default()
    }
}
