//! What is said of an arrival while it ends.

use core::hint;
use std::thread;

use super::*;

/// One that is complete is never said to be gone, however its end and the question meet.
#[test]
fn whoever_asks_while_it_ends_hears_how_it_ended() {
    let (mut arrivals, mut ends) = (Vec::new(), Vec::new());
    for _ in 0..50_000 {
        let (promise, outcome) = Promise::new();
        arrivals.push(Arrival(outcome));
        ends.push(promise);
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
        asked.iter().all(|arrival| result(arrival) == StreamingResult::Ready)
    });
    ends.iter_mut().for_each(Promise::keep);
    assert!(asks.join().unwrap());
    let (promise, outcome) = Promise::new();
    let arrival = Arrival(outcome);
    assert_eq!(arrival.result(), None);
    drop(promise);
    assert_eq!(arrival.result(), Some(StreamingResult::Gone), "the app is over");
}
