use std::sync::mpsc::channel;

use futures_lite::future::block_on;

use super::*;
use crate::threads::loading_threads;

const FRAME: Duration = Duration::from_millis(16);

/// Looks once a frame for so long, and says what was to be done when, in frames.
fn looks(watch: &mut Watch, from: u32, frames: u32, is_loading: bool, has_answered: bool) -> Vec<(u32, Act)> {
    let look = |frame| (frame, watch.look(FRAME * frame, is_loading, has_answered));
    let all = (from..from + frames).map(look);
    all.filter(|(_, act)| *act != Act::Nothing).collect()
}

#[test]
fn threads_that_answer_are_asked_each_second() {
    let mut watch = Watch::default();
    assert_eq!(looks(&mut watch, 0, 100, false, true), [], "nothing is loaded");
    let asked = looks(&mut watch, 100, 200, true, true);
    assert_eq!(
        asked,
        [(100, Act::Ask), (164, Act::Ask), (228, Act::Ask), (292, Act::Ask)]
    );
}

/// How many frames a watch takes to help whoever answers so many frames late.
fn frames_until_help(watch: &mut Watch, late: u32) -> Option<u32> {
    let mut asked = None;
    (0..2000).find(|frame| {
        let has_answered = asked.is_some_and(|asked| frame - asked >= late);
        let act = watch.look(FRAME * (*frame + 1), true, has_answered);
        asked = (act == Act::Ask).then_some(*frame).or(asked);
        act == Act::Begin
    })
}

#[test]
fn threads_that_do_not_answer_are_helped_until_all_is_loaded() {
    let mut watch = Watch::default();
    let helped = looks(&mut watch, 0, 1000, true, false);
    assert_eq!(
        helped,
        [(0, Act::Ask), (66, Act::Begin)],
        "once, after a second and a little"
    );
    // More may come soon.
    assert_eq!(looks(&mut watch, 1000, 100, false, false), []);
    assert_eq!(looks(&mut watch, 1100, 1, true, false), []);
    assert_eq!(looks(&mut watch, 1101, 500, false, false), [(1413, Act::End)]);
    // They are known for it.
    let again = looks(&mut watch, 2000, 50, true, false);
    assert_eq!(again, [(2000, Act::Ask), (2016, Act::Begin)]);
}

#[test]
fn threads_that_answer_late_are_helped() {
    let until = |late| frames_until_help(&mut Watch::default(), late);
    // A little late is no harm.
    assert_eq!((until(1), until(3), until(5)), (None, None, None));
    // Who gets a slice in each third of a second is.
    assert!(until(20).is_some_and(|frames| frames < 240), "{:?}", until(20));
    // Lateness is forgotten.
    let mut watch = Watch::default();
    looks(&mut watch, 0, 60, true, false);
    assert!(watch.late > PATIENCE / 2);
    looks(&mut watch, 60, 100, true, true);
    assert_eq!(watch.late, Duration::ZERO);
}

#[test]
fn a_program_that_was_halted_helps_nobody() {
    let mut watch = Watch::default();
    assert_eq!(watch.look(FRAME, true, false), Act::Ask);
    assert_eq!(watch.look(Duration::from_secs(100), true, false), Act::Nothing);
    assert_eq!(watch.look(Duration::from_secs(200), true, false), Act::Nothing);
    assert_eq!(watch.late, MOST_PER_FRAME * 2);
}

#[test]
fn who_has_loaded_all_is_asked_no_more() {
    let mut watch = Watch::default();
    assert_eq!(watch.look(FRAME, true, false), Act::Ask);
    assert_eq!(looks(&mut watch, 2, 1000, false, false), []);
}

fn help_for(pool: &Arc<TaskPool>) -> Help {
    let decoding = Arc::new(Gatekeeper::default());
    decoding.set_most(pool.thread_num() as u64);
    Help::new(pool.clone(), decoding)
}

#[test]
fn a_canary_answers_each_question() {
    let canary = Canary::new().expect("a thread is started");
    for _ in 0..10 {
        canary.ask();
        while !canary.has_answered() {
            thread::sleep(Duration::from_micros(100));
        }
    }
}

/// The only thread of a pool is held, with the only place among those that decode; what waits for it is done all the same.
#[test]
fn what_waits_for_a_thread_without_time_is_done_by_others() {
    let pool = Arc::new(loading_threads(1, false));
    let mut help = help_for(&pool);
    let (decoding, progress) = (help.decoding.clone(), Arc::default());
    let (release, held) = channel::<()>();
    let (begun, has_begun) = channel();
    let hold = pool.spawn({
        let (decoding, progress) = (decoding.clone(), Arc::clone(&progress));
        async move {
            let _place = decoding.take_turn(&progress).await;
            let _ = begun.send(());
            held.recv()
        }
    });
    has_begun.recv().expect("the thread is there");
    let work = |result| {
        let (decoding, progress) = (decoding.clone(), Arc::clone(&progress));
        pool.spawn(async move {
            let _place = decoding.take_turn(&progress).await;
            result
        })
    };
    let waiting = work(7);
    help.begin();
    assert_eq!(block_on(waiting), 7);
    // What comes later, too, until all is loaded.
    assert_eq!(block_on(work(8)), 8);
    help.end();
    // They end, although the pool's own thread is held all the time.
    while help.threads.iter().any(|thread| !thread.is_finished()) {
        thread::sleep(Duration::from_micros(100));
    }
    help.look(false);
    assert!(help.threads.is_empty());
    drop(help);
    release.send(()).expect("somebody waits for it");
    block_on(hold).expect("it was released");
    assert_eq!(Arc::strong_count(&pool), 1);
}
