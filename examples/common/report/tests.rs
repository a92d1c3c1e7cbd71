//! Tests of the report: percentiles, keys, and a page that is whole, self-contained and escaped.

mod synthetic;

use bevy_seamless::render::mip::MipStats;

use super::{
    svg::{bytes, escape, number, ticks},
    *,
};

#[test]
fn percentiles_are_the_nearest_rank() {
    let thousand: Vec<f64> = (1..=1000).map(f64::from).collect();
    let p = Percentiles::of(thousand.iter().rev().copied());
    assert_eq!((p.p50, p.p99, p.p999, p.max), (500.0, 990.0, 999.0, 1000.0));
    let p = Percentiles::of([3.0, 1.0, 2.0]);
    assert_eq!((p.p50, p.p99, p.p999, p.max), (2.0, 3.0, 3.0, 3.0));
    assert_eq!(Percentiles::of([]), Percentiles::default());
    assert_eq!(percentile(&[4.0, 8.0], 0.0), 4.0);
    assert_eq!(percentile(&[4.0, 8.0], 0.5), 4.0);
    assert_eq!(percentile(&[4.0, 8.0], 0.51), 8.0);
    assert_eq!(Percentiles::of([1.0, f64::NAN]).max, f64::INFINITY);
}

#[test]
fn the_json_has_the_promised_keys() {
    let (report, log) = synthetic::flight();
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &report, &log).unwrap();
    let text = fs::read_to_string(dir.path().join("report.json")).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let promised = "profile frames levels levels_loaded levels_unloaded entities_peak atomicity_violations late_levels \
                    stream_ms boosted frame_excess_ms overruns failed cancelled bytes_read bytes_wasted mips";
    for key in promised.split_whitespace() {
        assert!(value.get(key).is_some(), "`{key}` is missing");
    }
    assert!(value.get("is_whole_flight").is_none(), "a key that nobody was promised");
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(keys(&value["stream_ms"]), "budget max p50 p99 p999");
    assert_eq!(keys(&value["frame_excess_ms"]), "max p50 p99 p999");
    assert_eq!(
        keys(&value["mips"]),
        "full_bytes pool_budget_bytes pool_peak_bytes under_resolved"
    );
    assert_eq!(value["named_overruns"][0]["frame"], 912);
    let order: Vec<_> = promised
        .split_whitespace()
        .map(|key| text.find(&format!("\"{key}\":")).unwrap())
        .collect();
    assert!(order.is_sorted(), "the keys are out of order");
}

#[track_caller]
fn assert_whole(page: &str, pictures: usize) {
    assert_eq!(page.matches("<svg").count(), pictures);
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    assert_eq!(page.matches("<section").count(), page.matches("</section>").count());
    for foreign in ["http", "<script", "src=", "@import", "url(", "<link", "NaN", "inf\""] {
        assert!(!page.contains(foreign), "`{foreign}` in the page");
    }
}

#[test]
fn the_page_is_whole_and_needs_nothing_else() {
    let (report, log) = synthetic::flight();
    let page = html::page(&report, &log);
    assert_whole(&page, 10);
    assert!(page.contains("reveal of &lt;cell_12_5&gt; &amp; 3 more"));
    assert!(page.contains("No hitch.") && !page.contains("Undecided"));
}

/// Whatever else there is to say of it.
#[test]
fn the_page_says_what_a_restless_machine_leaves_undecided() {
    let (mut report, log) = synthetic::flight();
    (report.frame_excess_ms.p999, report.is_restless) = (3.1, true);
    for late_levels in [0, 1] {
        report.late_levels = late_levels;
        let page = html::page(&report, &log);
        assert!(page.contains("Undecided: the machine is too restless to tell"));
        assert!(!page.contains("No hitch."));
        assert_eq!(page.contains("Not as it should be."), late_levels > 0);
    }
}

#[test]
fn an_empty_or_broken_log_still_gives_a_page() {
    let log = FlightLog {
        frames: vec![
            FrameSample {
                camera: [f32::NAN, 1.0],
                stream_ms: f32::NAN,
                ..FrameSample::default()
            };
            3
        ],
        levels: vec![LevelTrack {
            name: "<b>".into(),
            footprint: Some(Footprint {
                min: [0.0, f32::INFINITY],
                max: [1.0, 1.0],
            }),
            live: vec![(5, 2)],
            ..LevelTrack::default()
        }],
        ..FlightLog::default()
    };
    for log in [FlightLog::default(), log] {
        let page = html::page(&Report::default(), &log);
        assert!(page.ends_with("</html>\n") && !page.contains("NaN") && !page.contains("<b>\""));
    }
}

#[test]
fn loading_ends_with_the_reveal() {
    let track = LevelTrack {
        requested: vec![(10, 50), (60, 70), (80, 90)],
        live: vec![(20, 50), (80, 90)],
        ..LevelTrack::default()
    };
    assert_eq!(track.loading(), [(10, 20), (60, 70)]);
    assert_eq!(track.first_request(), 10);
    assert!(track.is_live(20) && !track.is_live(50) && track.is_requested(10));
}

#[test]
fn shortcomings_follow_the_counters() {
    let (report, _) = synthetic::flight();
    assert!(report.shortcomings().is_empty());
    let broken: [fn(&mut Report); 8] = [
        |r| r.atomicity_violations = 1,
        |r| r.failed = 1,
        |r| r.late_levels = 1,
        |r| r.levels_loaded = 199,
        |r| r.levels_unloaded = 199,
        |r| r.late_after_teleport = 50,
        |r| r.overruns = r.frames / 1000 + 1,
        |r| r.frame_excess_ms.p999 = 3.1,
    ];
    for (index, breaking) in broken.into_iter().enumerate() {
        let mut report = report.clone();
        breaking(&mut report);
        assert_eq!(report.shortcomings().len(), 1, "case {index}");
    }
}

#[test]
fn only_a_whole_flight_must_see_many_levels() {
    let (mut report, _) = synthetic::flight();
    report.levels_unloaded = FEWEST_LEVELS;
    assert!(report.shortcomings().is_empty());
    report.levels_unloaded = 0;
    assert_eq!(report.shortcomings(), ["fewer than 200 levels came and went"]);
    report.is_whole_flight = false;
    assert!(report.shortcomings().is_empty());
}

#[test]
fn a_restless_machine_is_told_from_slow_streaming() {
    let (mut report, _) = synthetic::flight();
    let mut told = |flown: f64, is_restless: bool| {
        report.frame_excess_ms.p999 = flown;
        report.is_restless = is_restless;
        (report.shortcomings(), report.undecided())
    };
    let (slow, undecided) = told(3.1, false);
    assert!(
        slow.len() == 1 && slow[0].contains("slower than with everything resident"),
        "{slow:?}"
    );
    assert_eq!(undecided, None);
    let (slow, undecided) = told(3.1, true);
    assert!(slow.is_empty(), "{slow:?}");
    assert!(undecided.is_some_and(|text| text.contains("too restless to tell")));
    // Within 1.5 budgets the machine does not matter.
    assert_eq!(told(3.0, true), (vec![], None));
}

#[test]
fn numbers_and_ticks_are_round() {
    assert_eq!(number(1_234_567.0, 0), "1\u{2009}234\u{2009}567");
    assert_eq!(number(-0.5, 2), "-0.5");
    assert_eq!(bytes(12_340_000.0), "12.3 MB");
    assert_eq!(bytes(12.0), "12 B");
    assert_eq!(ticks(10.0, 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
    assert_eq!(ticks(f64::NAN, 5), [0.0]);
    assert!(ticks(0.37, 4).len() >= 3);
    assert_eq!(escape("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
}

#[test]
fn the_page_of_textures_tells_the_pool_and_who_was_too_coarse() {
    let mut log = MipLog::new(60.0, 10_000_000);
    log.full = 90_000_000;
    for frame in 0..1200_u64 {
        if frame == 600 {
            log.jump();
        }
        let stats = MipStats {
            visible: 3_000_000 + frame * 1000,
            cached: 2_000_000,
            staging: 1_000_000,
            under_resolved: frame % 3,
            ..MipStats::default()
        };
        let coarse = (frame % 3 == 2).then(|| ("walls/<brick>.png".to_owned(), 2));
        log.note(&stats, coarse.into_iter().chain([("floor.png".to_owned(), 1)]));
    }
    let summary = log.summary();
    assert_eq!(
        (summary.pool_budget_bytes, summary.pool_peak_bytes),
        (10_000_000, 7_199_000)
    );
    assert_eq!((summary.full_bytes, summary.under_resolved), (90_000_000, 2));
    let page = log.page("A hall", &[], &[("7".to_owned(), "swaps & more".to_owned())]);
    assert_whole(&page, 2);
    for part in [
        "As it should be.",
        "7.2 MB",
        "10 MB",
        "90 MB",
        "swaps &amp; more",
        "teleport",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let rows = [
        "<td>floor.png</td><td>20</td><td>1</td>",
        "<td>walls/&lt;brick&gt;.png</td><td>6.67</td><td>2</td>",
    ];
    let places = rows.map(|row| page.find(row));
    assert!(places[0].is_some() && places[0] < places[1], "{places:?}");
    let missed = log.page("A hall", &["the pool was <exceeded>".to_owned()], &[]);
    assert!(missed.contains("Not as it should be.") && missed.contains("&lt;exceeded&gt;"));
    assert_whole(&MipLog::default().page("Nothing", &[], &[]), 2);
}
