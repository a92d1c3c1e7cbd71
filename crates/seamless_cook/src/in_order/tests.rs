//! Whatever the threads do, results come as they would from one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use super::*;

/// The results of jobs that are done by so many threads.
fn results(threads: usize, jobs: usize, job: impl Fn(usize) -> usize + Sync) -> Vec<usize> {
    let (job, mut taken) = (&job, Vec::new());
    thread::scope(|scope| {
        let spawn = |work| drop(scope.spawn(work));
        let mut pool = InOrder::new(threads, spawn);
        for number in 0..jobs {
            pool.give(move || job(number), &mut |result| taken.push(result));
        }
        pool.finish(&mut |result| taken.push(result));
    });
    taken
}

#[test]
fn results_come_in_the_order_of_the_jobs() {
    for threads in [0, 1, 2, 5] {
        let squares: Vec<usize> = (0..300).map(|number| number * number).collect();
        assert_eq!(results(threads, 300, |number| number * number), squares);
    }
}

#[test]
fn a_slow_job_holds_nobody_else_up() {
    // The first is done when three others are: by two other threads, or never.
    let (sender, receiver) = channel();
    let (sender, receiver) = (std::sync::Mutex::new(sender), std::sync::Mutex::new(receiver));
    let job = |number| {
        match number {
            0 => (0..3).for_each(|_| receiver.lock().unwrap().recv().unwrap()),
            _ => sender.lock().unwrap().send(()).unwrap(),
        }
        number
    };
    assert_eq!(results(3, 6, job), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn few_jobs_wait() {
    let begun = AtomicUsize::new(0);
    let mut most = 0;
    thread::scope(|scope| {
        let mut pool = InOrder::new(2, |work| drop(scope.spawn(work)));
        for number in 0..200 {
            let begun = &begun;
            pool.give(move || begun.fetch_max(number, Ordering::Relaxed), &mut |_| {});
            most = most.max(pool.given - pool.taken);
        }
        pool.finish(&mut |_| {});
    });
    assert!(most <= 2 * AHEAD, "{most}");
}

#[test]
fn a_panic_is_the_callers() {
    for threads in [1, 3] {
        let caught = catch_unwind(|| {
            results(threads, 50, |number| {
                assert_ne!(number, 7, "seven");
                number
            })
        });
        assert!(caught.is_err());
    }
}

#[test]
fn what_is_dropped_is_not_begun() {
    let begun = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (release, wait) = channel::<()>();
        let wait = std::sync::Mutex::new(wait);
        let mut pool = InOrder::new(2, |work| drop(scope.spawn(work)));
        let (wait, begun) = (std::sync::Arc::new(wait), &begun);
        for _ in 0..2 * AHEAD {
            let wait = wait.clone();
            let job = move || {
                begun.fetch_add(1, Ordering::Relaxed);
                // Until the other end is gone.
                let _ = wait.lock().map(|wait| wait.recv());
            };
            pool.give(job, &mut |()| {});
        }
        drop(pool);
        drop(release);
    });
    assert!(begun.into_inner() <= 2, "one for each thread");
}
