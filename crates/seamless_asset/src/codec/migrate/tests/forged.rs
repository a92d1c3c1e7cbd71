//! Schemas and bytes that nobody wrote.

use std::time::Instant;

use super::*;

#[derive(Reflect, Clone, Debug, PartialEq, Default)]
#[reflect(no_auto_register)]
#[type_path = "game"]
struct Coin {
    value: u32,
    names: Vec<String>,
}

fn forged(description: &str, data: Vec<u8>) -> Cooked {
    Cooked {
        schema: schema("game::Coin", Encoding::Reflect, 1, description),
        data,
        handles: vec![],
    }
}

fn refuse(description: &str, data: Vec<u8>) -> String {
    let read = forged(description, data).load::<Coin>(&Plan::default());
    read.expect_err("it is refused").to_string()
}

#[test]
fn a_description_is_text_that_is_read_back() {
    #[derive(Reflect, Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    struct Every {
        a: (u8, Option<Coin>),
        b: [u16; 3],
        c: bevy_platform::collections::HashMap<String, Tree>,
        d: bevy_platform::collections::HashSet<char>,
        e: Handle<Sound>,
        f: bevy_math::Vec3,
    }
    #[derive(Reflect, Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    enum Tree {
        #[default]
        Leaf,
        Two(Vec<Tree>, u8),
        Named {
            it: String,
        },
    }
    let text = description_of(Every::type_info(), &registry::<Every>());
    let read = crate::codec::reflect::parse(&text).expect("it can be read");
    assert_eq!(read.to_string(), text);
    let coin = description_of(Coin::type_info(), &registry::<Coin>());
    let expected = "struct game::Coin\n.value u32\n.names alloc::vec::Vec<alloc::string::String>\nleaf u32\n\
        list alloc::vec::Vec<alloc::string::String>\n.item alloc::string::String\nleaf alloc::string::String\n";
    assert_eq!(coin, expected);
}

#[test]
fn texts_that_make_no_sense_are_refused() {
    let cases = [
        ("", "is empty"),
        ("nonsense", "`nonsense` is no type"),
        ("thing game::Coin", "`thing` is no kind of type"),
        (".value u32", "belongs to no type"),
        ("|Value", "belongs to no type"),
        ("struct game::Coin\n.value", "has no type"),
        ("struct game::Coin\n.value u32", "type `u32` is not described"),
        (
            "struct game::Coin\n.value u32\n.value u32\nleaf u32",
            "field `value` is there twice",
        ),
        ("struct game::Coin\nleaf u32\nleaf u32", "`u32` is there twice"),
        ("struct game::Coin\n|A", "is no enum"),
        ("enum game::Coin\n|A\n|A", "variant `A` is there twice"),
        ("array x [u8; 3]\n.item u8\nleaf u8", "is no type"),
        ("array 3", "is no type"),
        ("map game::Coin\n.key u8\nleaf u8", "a map has a key and a value"),
        ("list game::Coin", "more or less than its `item`"),
        ("struct game::Purse", "it describes another type"),
    ];
    for (text, message) in cases {
        let error = error_of(forged(text, vec![]).load::<Coin>(&Plan::default()));
        assert!(matches!(&error, MigrateError::Schema { type_path, .. } if type_path == "game::Coin"));
        assert!(error.to_string().contains(message), "{text}: {error}");
    }
}

#[test]
fn texts_that_are_too_large_are_refused() {
    let long = "struct game::Coin\n".to_owned() + &"x".repeat(1 << 20);
    assert!(refuse(&long, vec![]).contains("are allowed"));
    let many: String = (0..20_000).map(|number| format!("leaf t{number}\n")).collect();
    assert!(refuse(&many, vec![]).contains("more than 16384 types"));
}

#[test]
fn types_without_an_end_are_refused() {
    let loop_of = |description: &str| refuse(description, vec![1; 4096]);
    assert!(loop_of("struct game::Coin\n.a game::Coin").contains("nested too deep"));
    assert!(loop_of("struct game::Coin\n.a b\n.b b\nstruct b\n.c game::Coin").contains("nested too deep"));
    assert!(loop_of("list game::Coin\n.item game::Coin").contains("nested too deep"));
    assert!(loop_of("option game::Coin\n.0 game::Coin").contains("nested too deep"));
    // Each of a hundred types is two of the next: more values than there are atoms, and not one byte.
    let doubling: String = (0..100)
        .map(|number| format!("struct t{number}\n.a t{0}\n.b t{0}\n", number + 1))
        .collect();
    let start = Instant::now();
    let doubling = format!("struct game::Coin\n.a t0\n{doubling}struct t100\n");
    assert!(refuse(&doubling, vec![]).contains("more parts than bytes"));
    assert!(refuse("list game::Coin\n.item n\nstruct n", vec![0xff, 0xff, 0xff, 0xff, 0x0f]).contains("more parts"));
    assert!(refuse("array 4000000000000 game::Coin\n.item n\nstruct n", vec![]).contains("more parts"));
    assert!(
        refuse("list game::Coin\n.item u8\nleaf u8", vec![0xff, 0xff, 0xff, 0xff, 0x0f]).contains("cannot be read")
    );
    assert!(start.elapsed().as_secs() < 20, "it took {:?}", start.elapsed());
}

#[test]
fn bytes_that_are_left_over_or_missing_are_refused() {
    let cooked = cook(&Coin::default());
    let with = |data: Vec<u8>| {
        let cooked = Cooked {
            data,
            schema: cooked.schema.clone(),
            handles: vec![],
        };
        cooked.load::<Coin>(&Plan::default()).map_err(|error| error.to_string())
    };
    assert_eq!(with(cooked.data.clone()), Ok(Coin::default()));
    assert!(with([cooked.data.clone(), vec![0]].concat()).is_err_and(|error| error.contains("1 bytes too many")));
    assert!(with(vec![]).is_err_and(|error| error.contains("cannot be read")));
    assert!(refuse("enum game::Coin\n|A", vec![1]).contains("no variant 1"));
    assert!(refuse("opaque game::Coin", vec![]).contains("only itself can read"));
}

/// Keys that cannot be compared would make Bevy's maps panic.
#[test]
fn keys_without_a_hash_do_not_panic() {
    #[derive(Reflect, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    struct Key(u8);
    #[derive(Reflect, Default, Debug)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    struct Table(std::collections::BTreeMap<Key, u8>, Key);
    let mut cooked = cook(&Table::default());
    cooked.data = vec![1, 2, 3, 4];
    let error = error_of(cooked.load::<Table>(&Plan::default()));
    assert!(
        matches!(&error, MigrateError::FieldChanged { field, .. } if field == "0"),
        "{error}"
    );
}

/// References that the object does not have.
#[test]
fn handles_that_lead_nowhere_are_refused() {
    #[derive(Reflect, Default, Debug)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    struct Plays(Handle<Sound>);
    let mut cooked = cook(&Plays::default());
    cooked.data = vec![0, 7];
    let error = cooked
        .load::<Plays>(&Plan::default())
        .expect_err("it is refused")
        .to_string();
    assert!(error.contains("reference 7 of 0"), "{error}");
}
