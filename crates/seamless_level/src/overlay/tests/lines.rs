//! What the panel says.

use super::*;

#[test]
fn the_panel_says_what_there_is() {
    let mut stats = StreamingStats {
        last_frame: Duration::from_micros(1_234),
        budget_last: Duration::from_millis(2),
        overrun_count: 3,
        live_packages: 5,
        live_bytes: 3 << 20,
        live_entities: 700,
        hidden_entities: 7,
        ..StreamingStats::default()
    };
    stats.memory.packages = 3 << 20;
    let mut levels = Levels {
        dropped: 2,
        ..Levels::default()
    };
    levels.by_state[0] = 4;
    levels.by_state[2] = 12;
    levels.by_stage[2] = 12;
    for number in 0..12 {
        levels.wanted.push(Wanted {
            name: format!("level_{number}"),
            state: LevelState::Loading(LoadState::Reading),
            priority: number as f32,
        });
    }
    let lines = lines(
        &stats,
        &StreamingSettings::default(),
        &mut levels,
        &LateLevels::default(),
        &PanelLines::default(),
    );
    let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(
        text[..7],
        [
            "streaming 1.23 of 2.00 ms, 3 overruns",
            "levels: 4 visible, 12 coming, 2 left out",
            "queue: 12 reading",
            "memory 3.0 MiB",
            "5 packages, 3.0 MiB stored; 700 entities, 7 hidden",
            "  level_11  reading  11.000",
            "  level_10  reading  10.000",
        ]
    );
    assert_eq!((text.len(), text.last()), (16, Some(&"  and 2 more")));
}

#[test]
fn the_panel_says_what_the_frame_and_memory_really_had() {
    let mut stats = StreamingStats {
        last_frame: Duration::from_micros(3_100),
        budget_last: Duration::from_millis(4),
        ..StreamingStats::default()
    };
    let mut settings = StreamingSettings::default();
    let said = |stats: &StreamingStats, settings: &StreamingSettings| {
        let late = LateLevels::default();
        let lines = lines(stats, settings, &mut Levels::default(), &late, &PanelLines::default());
        [lines[0].text.clone(), lines[3].text.clone()]
    };
    assert_eq!(
        said(&stats, &settings),
        ["streaming 3.10 of 4.00 ms (boosted), 0 overruns", "memory 0.0 MiB"]
    );
    stats.budget_last = Duration::from_millis(1);
    stats.memory.levels = 60 << 20;
    stats.memory.staged = 4 << 20;
    stats.memory_pressure = MemoryPressure::Tight;
    stats.memory_short = 5 << 20;
    stats.memory_held = 2;
    settings.memory_ceiling = Some(70 << 20);
    assert_eq!(
        said(&stats, &settings),
        [
            "streaming 3.10 of 1.00 ms (reduced), 0 overruns",
            "memory 64.0 of 70.0 MiB, tight, 5.0 short, 2 held"
        ]
    );
    stats.memory_pressure = MemoryPressure::Over;
    assert!(said(&stats, &settings)[1].contains(", over,"));
}

#[test]
fn the_panel_names_levels_that_are_late() {
    let mut stage = stage(true);
    stage.frames(3);
    stage.hold("west");
    stage.go(WEST);
    let late = stage.app.world().resource::<LateLevels>().clone();
    let (stats, settings) = (StreamingStats::default(), StreamingSettings::default());
    let lines = lines(&stats, &settings, &mut Levels::default(), &late, &PanelLines::default());
    assert_eq!(lines.last().unwrap().text, "late: west  0.0 s");
    assert!(
        lines.iter().all(|line| line.text.is_ascii()),
        "its letters are those of ASCII"
    );
}

#[test]
fn the_panel_says_what_others_say() {
    let (stats, settings) = (StreamingStats::default(), StreamingSettings::default());
    let said = |others: &PanelLines| {
        let lines = lines(
            &stats,
            &settings,
            &mut Levels::default(),
            &LateLevels::default(),
            others,
        );
        lines[5..].to_vec()
    };
    let mut others = PanelLines::default();
    let mips = ["pool: 3 of 4 MiB", "wanted: 5 MiB"].map(PanelLine::new);
    others.set("mips", mips.to_vec());
    let alarm = PanelLine {
        is_alarm: true,
        ..PanelLine::new("brush fire")
    };
    others.set("cues", vec![alarm]);
    let lines = said(&others);
    let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(
        text,
        ["brush fire", "pool: 3 of 4 MiB", "wanted: 5 MiB"],
        "topic by topic"
    );
    assert!(lines[0].color != lines[1].color && lines[1].color == lines[2].color);
    others.set("cues", Vec::new());
    others.set("mips", vec![PanelLine::new("line"); 30]);
    let lines = said(&others);
    assert_eq!((lines.len(), lines[24].text.as_str()), (25, "  and 6 more"));
}

#[test]
fn the_panel_is_drawn_with_lines_of_others() {
    let mut stage = stage(true);
    let mut others = stage.app.world_mut().resource_mut::<PanelLines>();
    others.set("mips", vec![PanelLine::new("pool: 3 of 4 MiB")]);
    stage.frames(3);
    assert_eq!(drawn(&stage.app), [true; 2]);
}

/// What is loaded one by one is no level.
#[test]
fn the_panel_says_what_else_is_under_way() {
    let mut stats = StreamingStats {
        tasks: 8,
        pending_requests: 300,
        ..StreamingStats::default()
    };
    let settings = StreamingSettings::default();
    let mut levels = Levels::default();
    let said = |stats: &StreamingStats, levels: &mut Levels| {
        let lines = lines(stats, &settings, levels, &LateLevels::default(), &PanelLines::default());
        lines[2].text.clone()
    };
    assert_eq!(said(&stats, &mut levels), "queue: 8 tasks, 300 requests");
    levels.by_stage[2] = 12;
    assert_eq!(said(&stats, &mut levels), "queue: 12 reading, 8 tasks, 300 requests");
    stats = StreamingStats::default();
    assert_eq!(said(&stats, &mut levels), "queue: 12 reading");
    assert_eq!(said(&stats, &mut Levels::default()), "queue: none");
}

/// What somebody has heard who writes lines.
#[derive(Resource, Default)]
struct HeardOfPanel(bool);

#[test]
fn who_writes_lines_knows_whether_they_are_seen() {
    let mut stage = stage(true);
    let hear = |lines: Res<PanelLines>, mut heard: ResMut<HeardOfPanel>| heard.0 = lines.is_shown;
    stage
        .app
        .init_resource::<HeardOfPanel>()
        .add_systems(PostUpdate, hear.in_set(PanelSystems::Tell));
    for (is_on, panel) in [(true, true), (true, false), (false, true), (true, true)] {
        set(&mut stage.app, |settings| {
            (settings.is_on, settings.panel) = (is_on, panel);
        });
        let heard = stage.app.world().resource::<HeardOfPanel>().0;
        assert_eq!(heard, is_on && panel, "in the same frame");
    }
}
