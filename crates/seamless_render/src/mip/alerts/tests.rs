use super::*;

#[test]
fn what_goes_on_is_told_once() {
    let mut alert = Alert::default();
    assert!(!alert.note(false, 0.0));
    assert!(alert.note(true, 1.0));
    assert!(!alert.note(true, 100.0));
    assert!(!alert.note(false, 101.0));
    assert!(alert.note(true, 102.0));
}

#[test]
fn what_comes_and_goes_is_told_each_ten_seconds() {
    let mut alert = Alert::default();
    let told = (0..60).filter(|second| alert.note(second % 2 == 1, f64::from(*second)));
    assert_eq!(told.collect::<Vec<i32>>(), [1, 11, 21, 31, 41, 51]);
    // What has begun in the silence is told when that is over.
    assert!(!alert.note(true, 60.0));
    assert!(alert.note(true, 61.0));
}

#[test]
fn the_panel_says_what_is_wrong() {
    let mut stats = MipStats::default();
    assert_eq!(lines(&stats, 1 << 20), []);
    stats.textures = 4;
    stats.resident = 3 << 20;
    let alarms = |lines: &[PanelLine]| lines.iter().map(|line| line.is_alarm).collect::<Vec<bool>>();
    assert_eq!(alarms(&lines(&stats, 4 << 20)), [false, false]);
    assert_eq!(alarms(&lines(&stats, 2 << 20)), [true, false]);
    stats.under_resolved = 2;
    assert_eq!(alarms(&lines(&stats, 4 << 20)), [false, false, false]);
    stats.starving = 1;
    let said = lines(&stats, 4 << 20);
    assert_eq!(alarms(&said), [false, false, true]);
    assert!(said[2].text.contains("2 of 4"), "{}", said[2].text);
}
