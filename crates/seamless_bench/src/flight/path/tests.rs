//! The path crosses the world, and the rule has a margin.

use super::*;

#[test]
fn the_flight_moves_through_many_cells() {
    let mut wanted = [false; GRID * GRID];
    let (mut loads, mut unloads) = (0, 0);
    for frame in 0..frames() {
        for (cell, is) in wanted.iter_mut().enumerate() {
            let now = is_wanted(cell, position(frame), *is);
            loads += usize::from(now && !*is);
            unloads += usize::from(*is && !now);
            *is = now;
        }
    }
    assert!(loads > 50 && unloads > 40, "{loads} loads, {unloads} unloads");
}

#[test]
fn a_cell_lets_go_later_than_it_asks() {
    let at = |outside: f32| Vec3::new(CELL + outside, 0.0, 10.0);
    assert!(is_wanted(0, at(REACH - 1.0), false) && !is_wanted(0, at(REACH + 1.0), false));
    assert!(is_wanted(0, at(REACH + 1.0), true) && !is_wanted(0, at(REACH + MARGIN + 1.0), true));
}

#[test]
fn the_path_jumps_once() {
    let far = |frame: &usize| position(*frame).distance(position(frame + 1)) > CELL;
    assert_eq!((0..frames()).filter(far).count(), 1);
}
