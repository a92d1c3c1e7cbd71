//! Manifests whose reads fail, are cut short or hang: what may pass is read again.

use std::{
    io::ErrorKind,
    time::{Duration, Instant},
};

use bevy_asset::AssetServer;
use seamless_asset::{
    StreamingSettings,
    doubles::{Fate, ReadGate},
};

use super::{bad_input::gated_app, *};

const PATH: &str = "test.seamless";

/// A world whose manifest is behind a gate.
struct Gated {
    app: App,
    world: Entity,
    gate: ReadGate,
}

impl Gated {
    fn new(decide: impl FnOnce(&ReadGate)) -> Self {
        let gate = ReadGate::default();
        gate.otherwise(Some(Fate::Pass));
        decide(&gate);
        let text = manifest().to_ron().unwrap();
        let mut app = gated_app(&[(PATH, text.as_bytes())], &gate);
        app.world_mut().resource_mut::<LevelSettings>().retry.first = Duration::from_millis(10);
        let world = app.world_mut().spawn(SeamlessWorld(Handle::default())).id();
        let mut gated = Self { app, world, gate };
        gated.load();
        gated
    }

    fn load(&mut self) {
        let handle = self.app.world().resource::<AssetServer>().load(PATH);
        self.app
            .world_mut()
            .entity_mut(self.world)
            .insert(SeamlessWorld(handle));
    }

    fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !is_so(self) {
            assert!(start.elapsed() < Duration::from_secs(20), "{what}");
            self.app.update();
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    fn is_there(&self) -> bool {
        self.app.world().get::<LevelTable>(self.world).is_some()
    }

    fn failure(&self) -> Option<String> {
        let failure = self.app.world().get::<WorldFailure>(self.world);
        failure.map(|failure| failure.0.to_string())
    }

    /// What was told of worlds.
    fn told(&self) -> Vec<&str> {
        let messages = self.app.world().resource::<Told>().messages.iter();
        messages
            .map(String::as_str)
            .filter(|text| text.starts_with("! "))
            .collect()
    }
}

/// To open it is the first read.
#[test]
fn a_world_comes_though_any_of_its_reads_fails_once() {
    let fails = [Fate::Fail(ErrorKind::BrokenPipe), Fate::Short(3)];
    for (fate, read) in fails.into_iter().flat_map(|fate| [(fate, 0), (fate, 1)]) {
        let mut gated = Gated::new(|gate| gate.script(PATH, read, fate));
        gated.until("it comes", Gated::is_there);
        let opened = gated.gate.begun().len();
        assert!(opened > 2 + read, "{fate:?} in read {read}: it was read again");
        assert_eq!((gated.told(), gated.failure()), (vec![], None));
    }
}

#[test]
fn whoever_waits_for_the_world_waits_on_while_it_is_read_again() {
    let mut gated = Gated::new(|gate| gate.script(PATH, 0, Fate::Fail(ErrorKind::TimedOut)));
    let prepare = |mut levels: Levels| levels.prepare(ArrivalPoint::at(WEST));
    let arrival = gated.app.world_mut().run_system_once(prepare).unwrap();
    gated.until("it comes", Gated::is_there);
    assert_eq!(arrival.result(), None);
}

#[test]
fn a_manifest_that_can_never_be_read_is_given_up() {
    let mut gated = Gated::new(|gate| gate.otherwise(Some(Fate::Fail(ErrorKind::PermissionDenied))));
    gated.until("it is given up", |gated| gated.failure().is_some());
    let attempts = RetryPolicy::default().attempts as usize;
    assert_eq!(gated.gate.begun().len(), 1 + attempts, "each attempt is one read");
    (0..600).for_each(|_| gated.app.update());
    assert_eq!(gated.gate.begun().len(), 1 + attempts);
    assert_eq!(gated.told().len(), 1, "{:?}", gated.told());
    // The app asks for it anew.
    gated.gate.otherwise(Some(Fate::Pass));
    gated.app.world_mut().entity_mut(gated.world).remove::<SeamlessWorld>();
    gated.app.update();
    gated.load();
    gated.until("it comes", Gated::is_there);
    assert_eq!(gated.failure(), None);
}

#[test]
fn a_read_that_hangs_is_told_and_its_world_comes_in_the_end() {
    let mut gated = Gated::new(|gate| gate.script(PATH, 1, Fate::Stall));
    let mut settings = gated.app.world_mut().resource_mut::<StreamingSettings>();
    settings.read_timeout = Duration::from_secs(2);
    gated.until("it is read", |gated| !gated.gate.stalled().is_empty());
    let mut time = gated.app.world_mut().resource_mut::<StreamingTime>();
    time.advance(Duration::from_secs(2));
    gated.until("it is told", |gated| gated.failure().is_some());
    let failure = gated.failure().unwrap();
    assert!(
        failure.contains("`test.seamless` has not come for 2 s") && failure.contains("look at the disk"),
        "{failure}"
    );
    gated.gate.script(PATH, 1, Fate::Pass);
    gated.until("it comes", Gated::is_there);
    assert_eq!((gated.told().len(), gated.failure()), (1, None));
}
