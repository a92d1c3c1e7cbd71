//! Sets whose variants lead to other sets: lines, and the replies to them.

use bevy::asset::{AssetLoader, LoadContext, io::Reader};

use super::*;

/// What somebody says, and what is said to that.
#[derive(Asset, Reflect)]
struct Line {
    replies: Option<Handle<DialogueVariants<Line>>>,
}

#[derive(TypePath)]
struct LineLoader;

impl AssetLoader for LineLoader {
    type Asset = Line;
    type Settings = ();
    type Error = std::io::Error;

    /// The file says where the replies are, if there are any.
    async fn load(&self, reader: &mut dyn Reader, _: &(), context: &mut LoadContext<'_>) -> std::io::Result<Line> {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).await?;
        let path = String::from_utf8_lossy(&bytes).into_owned();
        let replies = (!path.is_empty()).then(|| context.load(path));
        Ok(Line { replies })
    }

    fn extensions(&self) -> &[&str] {
        &["line"]
    }
}

#[derive(Component, Reflect)]
#[reflect(Component)]
struct Says(Handle<DialogueVariants<Line>>);

fn cooker() -> CookApp {
    CookApp::new().with(|app| {
        app.init_asset::<Line>()
            .cook_by_reflection::<Line>()
            .add_dialogue::<Line>()
            .register_type::<Says>()
            .register_asset_loader(LineLoader);
    })
}

fn write_lines(fixture: &Fixture, set: &str, lines: &[(&str, &str)]) {
    let variant = |(name, replies): &(&str, &str)| {
        fixture.write(&format!("{name}.line"), replies);
        format!("(sound: \"{name}.line\")")
    };
    let variants: Vec<String> = lines.iter().map(variant).collect();
    fixture.write(set, format!("(variants: [{}])", variants.join(", ")));
}

/// Four lines, of which two lead to one set of replies and two to another.
fn talk(levels: &[char]) -> Fixture {
    let fixture = Fixture::new();
    let (yes, no) = ("yes.dialogue.ron", "no.dialogue.ron");
    write_lines(
        &fixture,
        "ask.dialogue.ron",
        &[("ask_0", yes), ("ask_1", yes), ("ask_2", no), ("ask_3", no)],
    );
    write_lines(&fixture, yes, &[("yes_0", ""), ("yes_1", ""), ("yes_2", "")]);
    write_lines(&fixture, no, &[("no_0", ""), ("no_1", ""), ("no_2", "")]);
    for level in levels {
        let says = (Says::type_path(), r#"(Path("ask.dialogue.ron"))"#);
        let name = format!("\"{level}\"");
        fixture.write(&format!("{level}.scn.ron"), scene(&[says, (Name::type_path(), &name)]));
    }
    fixture
}

fn cook(fixture: &Fixture, world: &str) -> CookReport {
    let report = fixture.cook_with(&cooker(), world, &CookOptions::default());
    report.unwrap_or_else(|error| panic!("{error}: {:#?}", error.content_errors()))
}

/// The sets in a package, and what each refers to.
fn sets_in(fixture: &Fixture, file: &str) -> BTreeMap<String, Vec<String>> {
    let exports = package(fixture, file).exports.into_iter();
    let sets = exports.filter(|export| export.name.ends_with(".dialogue.ron"));
    sets.map(|set| (set.name, set.refs)).collect()
}

#[test]
fn sets_behind_the_variants_of_others_are_limited_too() {
    let fixture = talk(&['a']);
    let report = cook(&fixture, &world(&[('a', "max_variants: 1")]));
    let sets = sets_in(&fixture, "a.pkg");
    assert_eq!(sets.len(), 2, "the set, and one of the two behind it: {sets:?}");
    assert!(sets.values().all(|refs| refs.len() == 1), "{sets:?}");
    // What is told is what is there.
    let told = report.dialogue.into_iter().map(|told| (told.set, told.sounds));
    assert_eq!(told.collect::<BTreeMap<_, _>>(), sets);
    let exports = package(&fixture, "a.pkg").exports.into_iter();
    let lines = exports.filter(|export| export.name.ends_with(".line"));
    assert_eq!(lines.count(), 2, "the other lines are left out");
    assert!(verify(&fixture.out(), None).unwrap().faults.is_empty());
}

#[test]
fn who_does_not_lead_to_a_set_any_more_takes_no_share_of_it() {
    let fixture = talk(&['a', 'b', 'c', 'd']);
    cook(&fixture, &world(&FOUR.map(|(level, _)| (level, "max_variants: 1"))));
    let mut replies: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (level, _) in FOUR {
        let sets = sets_in(&fixture, &format!("{level}.pkg"));
        assert_eq!(sets.len(), 2);
        let behind = sets.into_iter().filter(|(set, _)| set != "ask.dialogue.ron");
        behind.for_each(|(set, lines)| replies.entry(set).or_default().extend(lines));
    }
    let counts: Vec<usize> = replies.values().map(BTreeSet::len).collect();
    assert_eq!(
        counts,
        [2, 2],
        "each of the two levels that has a set has another reply"
    );
}

#[test]
fn limits_of_a_set_that_was_not_dealt_are_no_mistakes() {
    let fixture = talk(&['a']);
    let limits = r#"max_variants: 1, dialogue: [(sets: "yes.*", max_variants: 2), (sets: "no.*", max_variants: 2)]"#;
    let report = cook(&fixture, &world(&[('a', limits)]));
    let about_limits = |warning: &&crate::ContentError| warning.object.contains("dialogue");
    assert_eq!(
        report.warnings.iter().filter(about_limits).count(),
        0,
        "{:#?}",
        report.warnings
    );
}
