//! Tiles fill what they are given, and nothing else.

use super::*;

const AREA: Rect = Rect {
    x: 10.0,
    y: 20.0,
    width: 600.0,
    height: 400.0,
};

/// The example of the paper: 6, 6, 4, 3, 2, 2, 1 in 6 by 4.
#[test]
fn tiles_are_as_in_the_paper() {
    let area = Rect {
        x: 0.0,
        y: 0.0,
        width: 6.0,
        height: 4.0,
    };
    let rects = squarified(&[6.0, 6.0, 4.0, 3.0, 2.0, 2.0, 1.0], area);
    let first: Vec<_> = rects
        .iter()
        .take(2)
        .map(|rect| (rect.x, rect.y, rect.width, rect.height))
        .collect();
    assert_eq!(first, [(0.0, 0.0, 3.0, 2.0), (0.0, 2.0, 3.0, 2.0)]);
    let oblong = |rect: &Rect| (rect.width / rect.height).max(rect.height / rect.width);
    assert!(rects.iter().all(|rect| oblong(rect) < 2.8), "{rects:?}");
}

#[test]
fn tiles_fill_the_area_and_do_not_overlap() {
    let sizes: Vec<f64> = (1..=60).rev().map(f64::from).collect();
    let rects = squarified(&sizes, AREA);
    let unit = AREA.width * AREA.height / sizes.iter().sum::<f64>();
    for (size, rect) in sizes.iter().zip(&rects) {
        assert!((rect.width * rect.height - size * unit).abs() < 1e-6);
        assert!(rect.x >= AREA.x && rect.x + rect.width <= AREA.x + AREA.width + 1e-6);
        assert!(rect.y >= AREA.y && rect.y + rect.height <= AREA.y + AREA.height + 1e-6);
    }
    for (index, a) in rects.iter().enumerate() {
        for b in &rects[index + 1..] {
            let apart = a.x + a.width <= b.x + 1e-6
                || b.x + b.width <= a.x + 1e-6
                || a.y + a.height <= b.y + 1e-6
                || b.y + b.height <= a.y + 1e-6;
            assert!(apart, "{a:?} lies on {b:?}");
        }
    }
}

#[test]
fn nothing_and_no_room_give_numbers() {
    assert!(squarified(&[], AREA).is_empty());
    let flat = Rect { width: 0.0, ..AREA };
    for rects in [squarified(&[0.0, 0.0], AREA), squarified(&[2.0, 1.0], flat)] {
        assert_eq!(rects.len(), 2);
        let numbers = rects.iter().flat_map(|rect| [rect.x, rect.y, rect.width, rect.height]);
        assert!(numbers.into_iter().all(f64::is_finite), "{rects:?}");
    }
}
