//! A level that failed because of a read is tried again, and comes.

use super::*;

/// What is wrong once and not again.
const ONCE: [Fault; 3] = [Fault::Error, Fault::Short, Fault::Stall];

/// What was told of failures.
#[derive(Resource, Default)]
struct Told(Vec<LevelFailed>);

/// A stage whose levels are tried again, after so long and then four times as long.
fn stage(cooked: &Cooked, first: Duration) -> Stage {
    let mut stage = Stage::new(cooked);
    stage.app.world_mut().resource_mut::<LevelSettings>().retry = RetryPolicy {
        first,
        factor: 4.0,
        ..RetryPolicy::default()
    };
    stage.app.init_resource::<Told>();
    stage
        .app
        .add_observer(|failed: On<LevelFailed>, mut told: ResMut<Told>| told.0.push(failed.event().clone()));
    // What observes is an entity, too.
    stage.settle();
    stage
}

impl Stage {
    fn told(&mut self) -> Vec<LevelFailed> {
        core::mem::take(&mut self.app.world_mut().resource_mut::<Told>().0)
    }

    fn level(&self, level: &str) -> &Level {
        level_of(self.app.world(), self.world, level)
    }

    fn times_failed(&self, levels: &[&str]) -> u32 {
        levels.iter().map(|level| self.level(level).times_failed()).sum()
    }

    /// Loads levels, and leaves them there between the next cases.
    fn keep(&mut self, levels: &[&str]) {
        levels.iter().for_each(|level| ask(&mut self.app, level, Ask::Load));
        self.until("they come", |stage| stage.are_live(levels));
        self.settle();
    }

    /// Loads the levels that need a package, with a fault in one read of it, while the others are there. Whether it came to that read.
    fn recover(&mut self, package: &str, index: usize, fault: Fault) -> bool {
        let case = format!("{fault:?} in read {index} of {package}, once");
        let hit = self.script(package, index, fault);
        let (concerned, others) = users_of(package);
        let before = (self.times_failed(&concerned), self.times_failed(&others));
        concerned.iter().for_each(|level| ask(&mut self.app, level, Ask::Load));
        self.until(&case, |stage| {
            assert!(stage.are_live(&others), "{case}: the others are there all the while");
            stage.are_live(&concerned)
        });
        let was_hit = self.was_hit(package, hit);
        let failed = self.times_failed(&concerned) - before.0;
        assert!(
            failed > 0 || !was_hit || fault.may_fail_nobody(&concerned),
            "{case} fails nobody"
        );
        assert!(failed == 0 || was_hit, "{case} was not, and {failed} loads failed");
        assert_eq!(self.times_failed(&others), before.1, "{case}");
        self.assert_told(&concerned, failed > 0, &case);
        self.clear(&concerned, &case);
        was_hit
    }

    /// That levels failed was told if it was so, and they know nothing of it any more.
    fn assert_told(&mut self, levels: &[&str], have_failed: bool, case: &str) {
        let told = self.told();
        assert_eq!(!told.is_empty(), have_failed, "{case}: {told:?}");
        for failed in &told {
            assert!(levels.contains(&failed.level.as_str()), "{case}: {failed:?}");
            assert!(failed.retry_in.is_some(), "{case}: {failed:?}");
            assert!(failed.error.kind.is_transient(), "{case}: {failed:?}");
            assert!(failed.error.package.contains(&failed.level), "{case}: {failed:?}");
        }
        for level in levels {
            let level = self.level(level);
            assert!(
                level.error().is_none() && level.retry_in().is_none(),
                "{case}: {level:?}"
            );
        }
    }

    /// Waits until a level has failed so often; when that was, and after which time it is tried again.
    fn fails(&mut self, level: &str, times: u32) -> (Instant, Duration) {
        self.until("it fails again", |stage| stage.times_failed(&[level]) == times);
        let wait = self.level(level).retry_in();
        (Instant::now(), wait.expect("it is tried again"))
    }
}

/// Every read, and all that may be otherwise the next time.
#[test]
fn a_level_comes_in_the_end_whichever_of_its_reads_was_bad_once() {
    let cooked = cook();
    let mut stage = stage(&cooked, Duration::from_millis(4));
    let reads = stage.reads_of_all();
    let nothing = stage.held;
    let mut hits = 0;
    for (package, count) in &reads {
        stage.keep(&users_of(package).1);
        for index in 0..*count {
            let hit = ONCE.iter().filter(|fault| stage.recover(package, index, **fault));
            hits += hit.count();
        }
        stage.held = nothing;
        stage.clear(&LEVELS, package);
    }
    assert!(hits >= reads.len() * 4 * ONCE.len(), "only {hits} faults");
}

#[test]
fn a_level_waits_longer_after_a_second_fault_in_a_row() {
    let cooked = cook();
    let mut stage = stage(&cooked, Duration::from_millis(20));
    let level = LEVELS[2];
    // It is not opened, nor is it the next time.
    for index in 0..2 {
        stage.script("far.pkg", index, Fault::Error);
    }
    ask(&mut stage.app, level, Ask::Load);
    let (first_at, first) = stage.fails(level, 1);
    let (second_at, second) = stage.fails(level, 2);
    assert!(second > first, "{first:?}, and then {second:?}");
    assert!(second_at - first_at >= first, "it is not tried before its time");
    stage.until("it comes", |stage| stage.are_live(&[level]));
    assert!(second_at.elapsed() >= second, "it is not tried before its time");
    assert_eq!(stage.times_failed(&[level]), 2);
    assert_eq!(stage.told().len(), 1, "it is one run of failures");
}
