use std::{sync::mpsc::channel, thread};

use futures_lite::future::block_on;

use super::*;
use crate::threads::loading_threads;

const FRAME: Duration = Duration::from_millis(16);

/// What threads answer that had to wait for no core, ...
const AT_ONCE: Option<Answer> = Some(Answer {
    waited: Some(Duration::ZERO),
});

/// ... and where the system does not tell.
const SOMEHOW: Option<Answer> = Some(Answer { waited: None });

/// Looks once a frame for so long, and says what was to be done when, in frames.
fn looks(watch: &mut Watch, from: u32, frames: u32, is_loading: bool, answer: Option<Answer>) -> Vec<(u32, Act)> {
    let look = |frame| (frame, watch.look(FRAME * frame, is_loading, answer));
    let all = (from..from + frames).map(look);
    all.filter(|(_, act)| *act != Act::Nothing).collect()
}

#[test]
fn threads_that_answer_are_asked_each_second() {
    let mut watch = Watch::default();
    assert_eq!(looks(&mut watch, 0, 100, false, AT_ONCE), [], "nothing is loaded");
    let asked = looks(&mut watch, 100, 200, true, AT_ONCE);
    assert_eq!(
        asked,
        [(100, Act::Ask), (164, Act::Ask), (228, Act::Ask), (292, Act::Ask)]
    );
}

/// How many frames a watch takes to help whoever answers so many frames late.
fn frames_until_help(late: u32, answer: Option<Answer>) -> Option<u32> {
    let (mut watch, mut asked) = (Watch::default(), None);
    (0..2000).find(|frame| {
        let is_answered = asked.is_some_and(|asked| frame - asked >= late);
        let act = watch.look(FRAME * (*frame + 1), true, answer.filter(|_| is_answered));
        asked = (act == Act::Ask).then_some(*frame).or(asked);
        act == Act::Begin
    })
}

#[test]
fn threads_that_do_not_answer_are_helped_until_all_is_loaded() {
    let mut watch = Watch::default();
    let helped = looks(&mut watch, 0, 1000, true, None);
    assert_eq!(helped, [(0, Act::Ask), (313, Act::Begin)], "once, after five seconds");
    // More may come soon.
    assert_eq!(looks(&mut watch, 1000, 100, false, None), []);
    assert_eq!(looks(&mut watch, 1100, 1, true, None), []);
    assert_eq!(looks(&mut watch, 1101, 500, false, None), [(1413, Act::End)]);
}

#[test]
fn threads_that_wait_for_a_core_are_helped() {
    let waits = |frames| {
        let waited = Some(FRAME * frames);
        frames_until_help(20, Some(Answer { waited }))
    };
    // Whoever decodes for a third of a second, and then answers, has a core.
    assert_eq!((waits(0), waits(2)), (None, None));
    // Who gets a slice in each third of a second has none.
    assert!(waits(18).is_some_and(|frames| frames < 150), "{:?}", waits(18));
    // What it has waited for before it was asked does not count.
    assert_eq!(waits(20), waits(2000));
    // An answer that is a little late is no harm, nor is one that is late where the system tells more.
    assert_eq!(
        (frames_until_help(3, SOMEHOW), frames_until_help(200, AT_ONCE)),
        (None, None)
    );
    assert_eq!(frames_until_help(20, SOMEHOW), waits(20));
}

#[test]
fn who_was_helped_is_known_for_it_until_answers_come_soon() {
    let mut watch = Watch::default();
    looks(&mut watch, 0, 400, true, None);
    let ended = looks(&mut watch, 400, 400, false, None);
    assert_eq!(ended.last().map(|(_, act)| *act), Some(Act::End));
    assert_eq!(looks(&mut watch, 800, 20, true, None), [(800, Act::Ask)]);
    assert_eq!(looks(&mut watch, 820, 1, true, SOMEHOW), [(820, Act::Begin)]);
    looks(&mut watch, 821, 400, false, None);
    looks(&mut watch, 1300, 100, true, AT_ONCE);
    assert_eq!(watch.without, Duration::ZERO);
}

#[test]
fn a_program_that_was_halted_helps_nobody() {
    let mut watch = Watch::default();
    assert_eq!(watch.look(FRAME, true, None), Act::Ask);
    assert_eq!(watch.look(Duration::from_secs(100), true, None), Act::Nothing);
    assert_eq!(watch.look(Duration::from_secs(200), true, SOMEHOW), Act::Nothing);
    assert_eq!(watch.without, MOST_PER_FRAME * 2);
}

#[test]
fn who_has_loaded_all_is_asked_no_more() {
    let mut watch = Watch::default();
    assert_eq!(watch.look(FRAME, true, None), Act::Ask);
    assert_eq!(looks(&mut watch, 2, 1000, false, None), []);
}

fn help_for(pool: &Arc<TaskPool>) -> Help {
    let decoding = Arc::new(Gatekeeper::default());
    decoding.set_most(pool.thread_num() as u64);
    Help::new(pool.clone(), decoding)
}

#[test]
fn threads_answer_each_question() {
    let pool = Arc::new(loading_threads(2, true));
    let mut help = help_for(&pool);
    for question in 1..5 {
        while help.watch.asked < question {
            help.look(true);
            help.watch.state = State::Calm { until: Duration::ZERO };
        }
        while help.talk.answer_to(question).is_none() {
            thread::sleep(Duration::from_micros(100));
        }
    }
    if cfg!(target_os = "linux") {
        assert!(help.talk.answer_to(1).is_some_and(|answer| answer.waited.is_some()));
    }
}

/// The last question is answered, if nobody has heard the one before.
#[test]
fn no_question_is_lost() {
    let pool = Arc::new(loading_threads(1, false));
    let (release, held) = channel::<()>();
    let hold = pool.spawn(async move { held.recv() });
    let mut help = help_for(&pool);
    for is_loading in [true, false, true] {
        help.look(is_loading);
    }
    assert_eq!(help.watch.asked, 2);
    release.send(()).expect("somebody waits for it");
    block_on(hold).expect("it was released");
    let start = Instant::now();
    while help.talk.answer_to(2).is_none() {
        assert!(start.elapsed() < Duration::from_secs(240), "it is answered");
        thread::sleep(Duration::from_micros(100));
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

/// To wake a thread allocates now and then: a frame with nothing to do wakes none.
#[test]
fn who_helps_is_left_alone_where_nothing_is_left_to_load() {
    let mut help = help_for(&Arc::new(loading_threads(1, false)));
    let (nudge, nudges) = bounded(1);
    help.nudges.push(nudge);
    help.look(false);
    assert!(nudges.is_empty());
    help.look(true);
    assert_eq!(nudges.len(), 1);
}
