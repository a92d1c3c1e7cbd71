//! What is said of an arrival while it ends.

use core::hint;
use std::thread;

use super::*;

/// One that is complete is never said to be gone, however its end and the question meet.
#[test]
fn whoever_asks_while_it_ends_hears_how_it_ended() {
    let (mut arrivals, mut ends) = (Vec::new(), Vec::new());
    for _ in 0..50_000 {
        let (waiting, done) = async_channel::bounded::<Infallible>(1);
        arrivals.push(Arrival(Arc::new(Shared::new(done))));
        ends.push(waiting);
    }
    let asked = arrivals.clone();
    let asks = thread::spawn(move || {
        let result = |arrival: &Arrival| {
            loop {
                match arrival.result() {
                    Some(result) => return result,
                    None => hint::spin_loop(),
                }
            }
        };
        asked.iter().all(|arrival| result(arrival) == ArrivalResult::Ready)
    });
    for (arrival, waiting) in arrivals.iter().zip(ends) {
        arrival.0.end(COMPLETE);
        drop(waiting);
    }
    assert!(asks.join().unwrap());
    let (waiting, done) = async_channel::bounded::<Infallible>(1);
    let arrival = Arrival(Arc::new(Shared::new(done)));
    assert_eq!(arrival.result(), None);
    drop(waiting);
    assert_eq!(arrival.result(), Some(ArrivalResult::Gone), "the app is over");
}
