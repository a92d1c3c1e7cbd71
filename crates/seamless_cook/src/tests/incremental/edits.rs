//! Random edits: cooking on gives what cooking everything gives.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::project::{level, scene};
use super::*;
use crate::Profile;

/// How many sequences of edits are tried, and how large the projects are: `SEAMLESS_EDIT_SEQUENCES=1000`,
/// `SEAMLESS_EDIT_NODES=500` for all that the documentation promises.
fn setting(name: &str, default: usize) -> usize {
    std::env::var(name)
        .ok()
        .and_then(|value| value.parse().ok())
        .unwrap_or(default)
}

/// One change of a project. Numbers choose among what is there.
#[derive(Debug, Clone)]
enum Edit {
    Paint(usize, u8),
    Resize(usize, u8),
    Rename(usize, u8),
    NameNodes(usize, u8),
    Retexture(usize, usize),
    Normal(usize),
    RenameTexture(usize, u8),
    AddTexture,
    DropTexture,
    AddScene(usize),
    Relist(usize, usize),
    AddLevel(usize, u8),
    DropLevel(usize),
    RenameLevel(usize, u8),
    Move(usize, u8),
    SeekFree(usize),
    AlwaysLoaded(usize),
    Rule(usize, Option<usize>),
    Startup(usize),
    List(usize),
    Settings(usize, Option<bool>),
    Profile,
    Target(usize),
    Map(Option<u8>),
    Importer,
}

fn edit() -> impl Strategy<Value = Edit> {
    use Edit::*;
    let n = || any::<prop::sample::Index>().prop_map(|index| index.index(1 << 20));
    prop_oneof![
        4 => (n(), any::<u8>()).prop_map(|(a, b)| Paint(a, b)),
        2 => (n(), any::<u8>()).prop_map(|(a, b)| Resize(a, b)),
        1 => (n(), any::<u8>()).prop_map(|(a, b)| Rename(a, b)),
        2 => (n(), any::<u8>()).prop_map(|(a, b)| NameNodes(a, b)),
        2 => (n(), n()).prop_map(|(a, b)| Retexture(a, b)),
        1 => n().prop_map(Normal),
        1 => (n(), any::<u8>()).prop_map(|(a, b)| RenameTexture(a, b)),
        1 => Just(AddTexture),
        1 => Just(DropTexture),
        1 => n().prop_map(AddScene),
        2 => (n(), n()).prop_map(|(a, b)| Relist(a, b)),
        1 => (n(), any::<u8>()).prop_map(|(a, b)| AddLevel(a, b)),
        1 => n().prop_map(DropLevel),
        1 => (n(), any::<u8>()).prop_map(|(a, b)| RenameLevel(a, b)),
        1 => (n(), any::<u8>()).prop_map(|(a, b)| Move(a, b)),
        1 => n().prop_map(SeekFree),
        1 => n().prop_map(AlwaysLoaded),
        3 => (n(), prop::option::weighted(0.8, n())).prop_map(|(a, b)| Rule(a, b)),
        2 => n().prop_map(Startup),
        2 => n().prop_map(List),
        1 => (n(), any::<Option<bool>>()).prop_map(|(a, b)| Settings(a, b)),
        1 => Just(Profile),
        1 => n().prop_map(Target),
        1 => any::<Option<u8>>().prop_map(Map),
        1 => Just(Importer),
    ]
}

fn apply(project: &mut Project, edit: &Edit) {
    let (textures, scenes, levels) = (project.textures.len(), project.scenes.len(), project.levels.len());
    match *edit {
        Edit::Paint(at, colour) => project.textures[at % textures].1 = colour,
        Edit::Resize(at, size) => project.scenes[at % scenes].size = f32::from(size) + 0.5,
        Edit::Rename(at, name) => {
            project.scenes[at % scenes].file = format!("scenes/renamed{name}_{}.gltf", at % scenes)
        }
        Edit::NameNodes(at, name) => {
            project.scenes[at % scenes].nodes = vec![format!("n{name}"); usize::from(name % 3)]
        }
        Edit::Retexture(at, texture) => project.scenes[at % scenes].texture = texture % textures,
        Edit::Normal(at) => project.scenes[at % scenes].is_normal ^= true,
        Edit::RenameTexture(at, name) => {
            project.textures[at % textures].0 = format!("textures/r{name}_{}.ppm", at % textures)
        }
        Edit::AddTexture => project.textures.push((format!("textures/more{textures}.ppm"), 9)),
        // What refers to it is broken until it gets another.
        Edit::DropTexture if textures > 1 => drop(project.textures.pop()),
        Edit::DropTexture => {}
        Edit::AddScene(texture) => {
            // Lists are counted behind the scenes.
            project.scenes.push(scene(scenes, texture % textures));
            for level in project.levels.iter_mut().filter(|level| level.source >= scenes) {
                level.source += 1;
            }
        }
        Edit::Relist(at, scene) => {
            let lists = project.lists.len();
            let list = &mut project.lists[at % lists];
            list.rotate_left(1);
            list[0] = scene % scenes;
        }
        Edit::AddLevel(source, name) => project.levels.push(project::Level {
            name: format!("added{name}_{levels}"),
            ..level(source % (scenes + project.lists.len()))
        }),
        Edit::DropLevel(at) if levels > 1 => drop(project.levels.remove(at % levels)),
        Edit::DropLevel(_) => {}
        Edit::RenameLevel(at, name) => project.levels[at % levels].name = format!("called{name}_{}", at % levels),
        Edit::Move(at, x) => project.levels[at % levels].x = f32::from(x),
        Edit::SeekFree(at) => project.levels[at % levels].seek_free ^= true,
        Edit::AlwaysLoaded(at) => project.levels[at % levels].always_loaded ^= true,
        Edit::Rule(at, place) => {
            let objects = ["*", "*.ppm", "*#Material*", "scenes/s0.gltf"][at % 4];
            let places = ["Duplicate", "Share", "Persistent", "Auto"];
            project.rule = place.map(|place| (objects, places[place % 4]));
        }
        Edit::Startup(at) => toggle(&mut project.startup, at % textures),
        Edit::List(at) => toggle(&mut project.assets, at % textures),
        Edit::Settings(at, Some(linear)) => drop(project.settings.insert(at % textures, linear)),
        Edit::Settings(at, None) => drop(project.settings.remove(&(at % textures))),
        Edit::Profile => {
            project.profile = match project.profile {
                Profile::Exact => Profile::Dev,
                Profile::Dev => Profile::Ship,
                Profile::Ship => Profile::Exact,
            }
        }
        Edit::Target(at) => {
            project.target = crate::Target::named(crate::Target::NAMES[at % crate::Target::NAMES.len()]).unwrap();
        }
        Edit::Map(map) => project.map = map.map(|map| usize::from(map) % levels),
        Edit::Importer => project.importer += 1,
    }
}

/// Puts it in, or takes it out.
fn toggle(list: &mut Vec<usize>, value: usize) {
    match list.iter().position(|known| *known == value) {
        Some(known) => drop(list.remove(known)),
        None => list.push(value),
    }
}

#[test]
fn cooking_on_gives_what_cooking_everything_gives() {
    let sequences = setting("SEAMLESS_EDIT_SEQUENCES", 6) as u32;
    let size = setting("SEAMLESS_EDIT_NODES", 24) / 6;
    let config = Config {
        cases: sequences,
        max_shrink_iters: 40,
        failure_persistence: None,
        ..Config::default()
    };
    // Several edits between two cooks, too.
    let steps = prop::collection::vec(prop::collection::vec(edit(), 1..4), 1..6);
    // Always the same edits, unless more are asked for.
    let mut runner = match std::env::var_os("SEAMLESS_EDIT_SEQUENCES") {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    };
    let result = runner.run(&steps, |steps| {
        let mut project = Project::new(size.max(2));
        project.check();
        for edits in &steps {
            edits.iter().for_each(|edit| apply(&mut project, edit));
            project.check();
        }
        // And there is nothing left to do.
        if let Ok(report) = project.cook(&project.out()) {
            prop_assert_eq!(report.work, CookWork::default());
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}
