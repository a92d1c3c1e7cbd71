//! Every step of a volume, and the order in which delays end.

use super::{LingerQueue, VolumeState, Whose};

#[test]
fn the_steps_of_a_volume() {
    use VolumeState::{Lingering, Off, On};
    let until = |until| Lingering { until };
    let (out, near, inside) = ((false, false), (false, true), (true, true));
    let cases = [
        // From, where sources are, the delay, what follows at ten seconds.
        (Off, out, 2.0, Off),
        (Off, near, 2.0, Off),
        (Off, inside, 2.0, On),
        (On, inside, 2.0, On),
        (On, near, 2.0, On),
        (On, out, 2.0, until(12.0)),
        (On, out, 0.0, Off),
        (On, out, -1.0, Off),
        (On, out, f64::NAN, Off),
        (until(11.0), out, 2.0, until(11.0)),
        (until(10.0), out, 2.0, Off),
        (until(9.0), out, 2.0, Off),
        (until(11.0), near, 2.0, On),
        (until(9.0), inside, 2.0, On),
    ];
    for (from, (is_inside, is_near), delay, expected) in cases {
        let next = from.next(is_inside, is_near, delay, 10.0);
        assert_eq!(next, expected, "from {from:?}, inside {is_inside}, near {is_near}");
    }
    assert!(On.asks() && until(0.0).asks() && !Off.asks());
}

#[test]
fn delays_end_in_their_order() {
    let mut queue = LingerQueue::default();
    let lingering = |until| VolumeState::Lingering { until };
    for (volume, until) in [(7, 3.0), (1, 2.0), (2, 2.5), (3, 100.0), (4, 0.0)] {
        queue.change(volume, Whose::All, VolumeState::On, lingering(until));
    }
    // The same volume, asked for by others.
    queue.change(7, Whose::Showing, VolumeState::On, lingering(3.5));
    queue.change(2, Whose::All, lingering(2.5), VolumeState::On);
    let mut due = |now, whose, until| {
        let volume = queue.due(now)?;
        queue.change(volume, whose, lingering(until), VolumeState::Off);
        Some(volume)
    };
    assert_eq!(due(1.9, Whose::All, 0.0), Some(4));
    assert_eq!(due(1.9, Whose::All, 0.0), None);
    assert_eq!(due(50.0, Whose::All, 2.0), Some(1));
    assert_eq!(due(50.0, Whose::All, 3.0), Some(7));
    assert_eq!(due(50.0, Whose::Showing, 3.5), Some(7));
    assert_eq!(due(50.0, Whose::All, 0.0), None);
}
