//! The example `gallery`, without a window.

use std::{env, fs, io::Write};

use crate::finish;

/// What Bevy says where there is no driver.
const NO_DRIVER: &str = "Unable to find a GPU";

/// From nothing: it paints, cooks, walks, and says how it went.
#[test]
fn a_small_hall_is_walked_through() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (output, text) = finish("gallery", |command| {
        let hall = ["--headless", "--frames", "40", "--paintings", "48", "--size", "256"];
        command
            .env("WGPU_BACKEND", "vulkan")
            .current_dir(dir.path())
            .env("BEVY_ASSET_ROOT", dir.path())
            .args(hall)
            .args([
                "--pool",
                "1",
                "--report",
                "report",
                "--picture",
                "hall.png",
                "--mips",
                "mips.png",
            ])
    });
    let is_required = env::var("SEAMLESS_REQUIRE_GPU").is_ok_and(|value| value == "1");
    if text.contains(NO_DRIVER) && !is_required {
        // Not by `eprintln!`, which the test runner keeps back. There is nowhere else to say it.
        let _ = writeln!(std::io::stderr().lock(), "skipped: {NO_DRIVER}");
        return;
    }
    assert!(output.status.success(), "{text}");
    let report = fs::read(dir.path().join("report/report.json")).expect("it is there");
    let report: serde_json::Value = serde_json::from_slice(&report).expect("it is JSON");
    let number = |name: &str| {
        report[name]
            .as_u64()
            .unwrap_or_else(|| panic!("no `{name}` in {report}"))
    };
    assert_eq!((number("textures"), number("failed")), (48, 0));
    assert!(number("peak_bytes") <= number("pool_bytes"), "{report}");
    assert!(number("full_bytes") > number("pool_bytes") * 3 / 2, "{report}");
    assert!(number("swaps") > 0, "{report}");
    // All was as fine as it had to be, after the jump as at the end: else there is no number.
    for end in ["frames_to_settle_after_the_jump", "frames_to_settle_at_the_end"] {
        number(end);
    }
    let (lacking, pixels) = (number("pixels_lacking_at_the_end"), number("pixels_at_the_end"));
    assert!(pixels > 0 && lacking <= pixels / 100, "{report}");
    let page = fs::read_to_string(dir.path().join("report/report.html")).expect("it is there");
    assert!(page.contains("48 paintings of 256"), "it is about this hall");
    for picture in ["hall.png", "mips.png"] {
        let picture = image::open(dir.path().join(picture))
            .expect("it is a picture")
            .into_rgb8();
        let first = *picture.get_pixel(0, 0);
        assert!(picture.pixels().any(|pixel| *pixel != first), "something is drawn");
    }
}
