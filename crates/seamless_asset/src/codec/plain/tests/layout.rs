//! Layouts as text, and what is wrong with them.

use proptest::prelude::*;

use super::*;

fn error(description: &str) -> LayoutError {
    PlainLayout::parse(description).expect_err(description)
}

fn syntax(description: &str) -> (usize, &'static str) {
    match error(description) {
        LayoutError::Syntax { at, expected } => (at, expected),
        other => panic!("{description}: {other}"),
    }
}

#[test]
fn a_layout_is_written_and_read() {
    let text = "size 16 align 4; place.x f32@0; place.y f32@4; 0.größe u8x4@12; ids u32@8";
    let layout = PlainLayout::parse(text).unwrap();
    assert_eq!((layout.size(), layout.align()), (16, 4));
    assert_eq!(layout.leaves()[2].path, "0.größe");
    assert_eq!((layout.leaves()[2].kind, layout.leaves()[2].count), (NumberKind::U8, 4));
    assert_eq!(layout.to_string(), text);
    for kind in NumberKind::ALL {
        let text = format!("size {0} align 1; a {1}@0", kind.size(), kind.name());
        assert_eq!(PlainLayout::parse(&text).unwrap().leaves()[0].kind, *kind);
    }
}

#[test]
fn the_example_of_the_documentation_is_one() {
    let page = include_str!("../../../../../../docs/FORMAT.md");
    let mut examples = page.lines().filter_map(|line| line.strip_prefix("    size "));
    let example = format!("size {}", examples.next().unwrap());
    assert_eq!(PlainLayout::parse(&example).unwrap().to_string(), example);
}

#[test]
fn syntax_errors_name_the_place() {
    assert_eq!(syntax(""), (0, "`size`"));
    assert_eq!(syntax("size x"), (5, "a number"));
    assert_eq!(syntax("size 4"), (6, "` align `"));
    assert_eq!(syntax("size 04 align 4; a u32@0"), (5, "a number"));
    assert_eq!(syntax("size 99999999999999999999999 align 4"), (5, "a number"));
    assert_eq!(syntax("size 4 align 4;a u32@0"), (14, "`; `"));
    assert_eq!(syntax("size 4 align 4; a u32@0;"), (23, "`; `"));
    assert_eq!(syntax("size 4 align 4; a..b u32@0"), (16, "a path"));
    assert_eq!(syntax("size 4 align 4; a u32x@0"), (18, "a count"));
    assert_eq!(syntax("size 4 align 4; a u32x1@0"), (18, "a count"));
    assert_eq!(syntax("size 4 align 4; a u32@-1"), (22, "a number"));
}

#[test]
fn every_fault_has_its_error() {
    let many = |count: usize| {
        let leaves: String = (0..count).map(|index| format!("; a{index} u8@{index}")).collect();
        format!("size {count} align 1{leaves}")
    };
    assert!(PlainLayout::parse(&many(MAX_LEAVES)).is_ok());
    assert_eq!(error(&many(MAX_LEAVES + 1)), LayoutError::TooManyLeaves);
    let long = MAX_DESCRIPTION + 1;
    assert_eq!(error(&"x".repeat(long)), LayoutError::TooLong(long));
    let unknown = LayoutError::UnknownKind {
        path: "a".into(),
        kind: "bool".into(),
    };
    assert_eq!(error("size 1 align 1; a bool@0"), unknown);
    for (size, align) in [(0, 1), (6, 4), (4, 3), (4, 0), (8192, 8192), (MAX_ROW + 1, 1)] {
        let text = format!("size {size} align {align}; a u32@0");
        assert_eq!(error(&text), LayoutError::Row { size, align });
    }
    let twice = "size 8 align 4; a u32@0; a u32@4";
    assert_eq!(error(twice), LayoutError::Twice("a".into()));
    let overlap = "size 8 align 4; a u32@0; b u32@2; c u16@6";
    assert_eq!(error(overlap), LayoutError::Overlap("b".into()));
    assert_eq!(error("size 8 align 4"), LayoutError::Hole(0));
    assert_eq!(error("size 8 align 4; a u32@0"), LayoutError::Hole(4));
    assert_eq!(error("size 8 align 4; a u16@0; b u32@4"), LayoutError::Hole(2));
    let outside = LayoutError::Outside("b".into());
    assert_eq!(error("size 8 align 4; a u32@0; b u64@4"), outside);
    let far = format!("size 8 align 4; a u32@0; b u64x{}@4", usize::MAX);
    assert_eq!(error(&far), outside);
    let far = format!("size 8 align 4; a u64@0; b u64@{}", usize::MAX);
    assert_eq!(error(&far), LayoutError::Hole(8));
}

#[test]
fn a_row_of_another_size_has_no_values() {
    let layout = PlainLayout::parse("size 4 align 4; a u32@0").unwrap();
    assert_eq!(layout.values(&[1, 0, 0, 0]).count(), 1);
    assert_eq!(layout.values(&[1, 0, 0]).count(), 0);
    assert_eq!(layout.values(&[1, 0, 0, 0, 0]).count(), 0);
}

/// Whoever merges rows of a stored layout gets its numbers as values that reflection takes.
#[test]
fn numbers_are_reflected_values() {
    let number = Number::from_le(NumberKind::I16, &(-2_i16).to_le_bytes()).unwrap();
    assert_eq!((number, number.kind()), (Number::I16(-2), NumberKind::I16));
    assert_eq!(number.to_reflect().try_downcast_ref::<i16>(), Some(&-2));
    assert_eq!(Number::from_le(NumberKind::I16, &[1]), None);
}

proptest! {
    #[test]
    fn any_text_is_a_layout_or_an_error(text in ".{0,80}") {
        if let Ok(layout) = PlainLayout::parse(&text) {
            prop_assert_eq!(layout.to_string(), text);
        }
    }

    #[test]
    fn any_text_like_a_layout_is_one_or_an_error(
        text in "size [0-9]{1,3} align [1248](; [ab.]{1,2} (u8|f32|u64|i128|u)(x[0-9]{1,20})?@[0-9]{1,3}){0,4}"
    ) {
        if let Ok(layout) = PlainLayout::parse(&text) {
            let sum: usize = layout.leaves().iter().map(Leaf::size).sum();
            prop_assert_eq!(sum, layout.size());
            prop_assert_eq!(layout.to_string(), text);
        }
    }
}
