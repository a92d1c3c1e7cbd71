//! The panel: numbers, in front of the camera.

use core::cmp::Ordering;

use bevy_camera::Camera;
use bevy_color::Color;
use bevy_ecs::system::{Query, Res};
use bevy_gizmos::{config::GizmoConfigStore, gizmos::Gizmos};
use bevy_math::{Isometry3d, Vec2, Vec3};
use bevy_transform::components::GlobalTransform;
use seamless_asset::{LoadState, MemoryPressure, PanelLines, StreamingSettings, StreamingStats};

use super::{
    OverlayPanel, OverlaySettings,
    draw::{Cameras, active, level_color},
};
use crate::{
    late::LateLevels,
    world::{EvenHidden, Level, LevelSelection, LevelState, LevelTable},
};

/// Levels that are named of those that are wanted, and of those that are late.
const NAMED: usize = 10;
/// Lines that others have, at most.
const OTHERS: usize = 24;
/// Between the panel and the border of the picture, in pixels.
const MARGIN: f32 = 12.0;
/// From one line to the next, in sizes of letters.
const LINE: f32 = 1.7;
/// How far behind the near plane the panel hangs, in world units.
const BEHIND: f32 = 0.5;

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub text: String,
    pub color: Color,
}

fn plain(text: String) -> Line {
    Line {
        text,
        color: Color::WHITE,
    }
}

/// A level that is wanted and not there.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted {
    pub name: String,
    pub state: LevelState,
    pub priority: f32,
}

/// What the panel tells of levels.
#[derive(Clone, Debug, Default)]
pub(super) struct Levels {
    /// How many levels are in each state that is listed in [`STATES`].
    pub by_state: [usize; STATES.len()],
    /// On their way, by stage.
    pub by_stage: [usize; STAGES.len()],
    /// Left out by the cap.
    pub dropped: usize,
    pub wanted: Vec<Wanted>,
}

const STATES: [&str; 5] = ["visible", "hidden", "coming", "leaving", "failed"];
const STAGES: [&str; 6] = ["requested", "opening", "reading", "linking", "decoding", "staged"];
/// What the loader does for levels and all others.
const WORK: [&str; 2] = ["tasks", "requests"];

impl Levels {
    pub fn count(&mut self, level: &Level, priority: f32) {
        let state = match level.state() {
            LevelState::Unloaded => return,
            LevelState::Visible => 0,
            LevelState::Hidden => 1,
            LevelState::Loading(_) | LevelState::Revealing => 2,
            LevelState::Leaving => 3,
            LevelState::Failed => 4,
        };
        self.by_state[state] += 1;
        if let LevelState::Loading(stage) = level.state()
            && let Some(count) = stage_number(stage).and_then(|stage| self.by_stage.get_mut(stage))
        {
            *count += 1;
        }
        if state == 2 {
            self.wanted.push(Wanted {
                name: level.name().to_owned(),
                state: level.state(),
                priority,
            });
        }
    }
}

fn stage_number(stage: LoadState) -> Option<usize> {
    match stage {
        LoadState::Requested => Some(0),
        LoadState::Opening => Some(1),
        LoadState::Reading => Some(2),
        LoadState::Linking => Some(3),
        LoadState::Decoding => Some(4),
        LoadState::Staged => Some(5),
        _ => None,
    }
}

/// All lines of the panel, from the top.
pub(super) fn lines(
    stats: &StreamingStats,
    settings: &StreamingSettings,
    levels: &mut Levels,
    late: &LateLevels,
    others: &PanelLines,
) -> Vec<Line> {
    let mut lines = vec![
        plain(budget(stats, settings)),
        plain(counted(&STATES, &levels.by_state, levels.dropped)),
        plain(queue(&levels.by_stage, stats)),
        memory(stats, settings),
        plain(contents(stats)),
    ];
    levels.wanted.sort_by(|a, b| b.priority.total_cmp(&a.priority));
    for wanted in levels.wanted.iter().take(NAMED) {
        let Wanted { name, state, priority } = wanted;
        let stage = match state {
            LevelState::Loading(stage) => format!("{stage:?}").to_lowercase(),
            state => format!("{state:?}").to_lowercase(),
        };
        lines.push(Line {
            text: format!("  {name}  {stage}  {priority:.3}"),
            color: level_color(*state),
        });
    }
    more(&mut lines, levels.wanted.len(), NAMED);
    for level in late.iter().take(NAMED) {
        lines.push(Line {
            text: format!("late: {}  {:.1} s", level.name, level.seconds),
            color: level_color(LevelState::Failed),
        });
    }
    more(&mut lines, late.len(), NAMED);
    for line in others.iter().take(OTHERS) {
        lines.push(Line {
            text: line.text.clone(),
            color: match line.is_alarm {
                true => level_color(LevelState::Failed),
                false => Color::WHITE,
            },
        });
    }
    more(&mut lines, others.iter().count(), OTHERS);
    lines
}

/// Those beyond the ones that are shown.
fn more(lines: &mut Vec<Line>, count: usize, shown: usize) {
    if count > shown {
        lines.push(plain(format!("  and {} more", count - shown)));
    }
}

/// What the last frame took of what it might have taken.
fn budget(stats: &StreamingStats, settings: &StreamingSettings) -> String {
    let ms = |time: core::time::Duration| time.as_secs_f64() * 1e3;
    let changed = match stats.budget_last.cmp(&settings.budget) {
        Ordering::Greater => " (boosted)",
        Ordering::Less => " (reduced)",
        Ordering::Equal => "",
    };
    format!(
        "streaming {:.2} of {:.2} ms{changed}, {} overruns",
        ms(stats.last_frame),
        ms(stats.budget_last),
        stats.overrun_count
    )
}

/// Levels on their way, and what else is under way: objects, payloads, mips.
fn queue(by_stage: &[usize], stats: &StreamingStats) -> String {
    let work = [stats.tasks, stats.pending_requests].map(|count| count as usize);
    let names = [&STAGES[..], &WORK[..]].concat();
    format!("queue: {}", listed(&names, &[by_stage, &work[..]].concat()))
}

fn listed(names: &[&str], counts: &[usize]) -> String {
    let some = names.iter().zip(counts).filter(|(_, count)| **count > 0);
    let some: Vec<String> = some.map(|(name, count)| format!("{count} {name}")).collect();
    if some.is_empty() {
        "none".to_owned()
    } else {
        some.join(", ")
    }
}

fn counted(names: &[&str], counts: &[usize], dropped: usize) -> String {
    let left_out = if dropped > 0 {
        format!(", {dropped} left out")
    } else {
        String::new()
    };
    format!("levels: {}{left_out}", listed(names, counts))
}

/// What streamed content takes of the memory that it may take, and who finds none.
fn memory(stats: &StreamingStats, settings: &StreamingSettings) -> Line {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let mut text = format!("memory {:.1}", mib(stats.memory.total()));
    if let Some(ceiling) = settings.memory_ceiling {
        text += &format!(" of {:.1}", mib(ceiling));
    }
    text += " MiB";
    text += match stats.memory_pressure {
        MemoryPressure::Calm => "",
        MemoryPressure::Tight => ", tight",
        MemoryPressure::Over => ", over",
    };
    if stats.memory_short > 0 {
        text += &format!(", {:.1} short", mib(stats.memory_short));
    }
    if stats.memory_held > 0 {
        text += &format!(", {} held", stats.memory_held);
    }
    Line {
        text,
        color: match stats.memory_pressure {
            MemoryPressure::Over => level_color(LevelState::Failed),
            MemoryPressure::Tight | MemoryPressure::Calm => Color::WHITE,
        },
    }
}

fn contents(stats: &StreamingStats) -> String {
    format!(
        "{} packages, {:.1} MiB stored; {} entities, {} hidden",
        stats.live_packages,
        stats.live_bytes as f64 / f64::from(1 << 20),
        stats.live_entities,
        stats.hidden_entities
    )
}

/// Where the panel hangs: its upper left corner, and one pixel to the right and down.
struct Place {
    corner: Vec3,
    right: Vec3,
    down: Vec3,
}

impl Place {
    /// In the picture of a camera; none while it has none.
    fn of(camera: &Camera, eye: &GlobalTransform) -> Option<Self> {
        let picture = camera.logical_viewport_rect()?;
        let size = picture.size();
        let forward = eye.forward();
        let at = |x: f32, y: f32| {
            let ray = camera.viewport_to_world(eye, Vec2::new(x, y)).ok()?;
            let along = BEHIND / ray.direction.dot(*forward);
            Some(ray.get_point(along)).filter(|point| point.is_finite())
        };
        let corner = at(picture.min.x, picture.min.y)?;
        Some(Self {
            corner,
            right: (at(picture.max.x, picture.min.y)? - corner) / size.x,
            down: (at(picture.min.x, picture.max.y)? - corner) / size.y,
        })
    }
}

pub(super) fn write(
    worlds: Query<(&LevelTable, &LevelSelection), EvenHidden>,
    cameras: Cameras,
    stats: Res<StreamingStats>,
    settings: Res<StreamingSettings>,
    (late, others): (Res<LateLevels>, Res<PanelLines>),
    store: Res<GizmoConfigStore>,
    mut gizmos: Gizmos<OverlayPanel>,
) {
    let Some((camera, eye)) = active(&cameras) else { return };
    let Some(place) = Place::of(camera, eye) else { return };
    let mut levels = Levels::default();
    for (table, selection) in &worlds {
        levels.dropped += table.dropped();
        for (index, level) in (0_u32..).zip(table) {
            levels.count(level, selection.selector.priority(index));
        }
    }
    let letters = store.config::<OverlaySettings>().1.letters;
    let rotation = eye.rotation();
    for (number, line) in lines(&stats, &settings, &mut levels, &late, &others).iter().enumerate() {
        let y = MARGIN + number as f32 * letters * LINE;
        let at = place.corner + place.right * MARGIN + place.down * y;
        let size = letters * place.down.length();
        let top_left = Vec2::new(-0.5, 0.5);
        gizmos.text(Isometry3d::new(at, rotation), &line.text, size, top_left, line.color);
    }
}
