use super::*;

#[test]
fn the_first_group_that_names_a_texture_has_it() {
    let groups = MipGroups(vec![
        MipGroup {
            weight: 2.0,
            ..MipGroup::new(["a.pkg#Face", "faces/"])
        },
        MipGroup {
            weight: 3.0,
            ..MipGroup::new(["a.pkg#"])
        },
        MipGroup::new([""; 0]),
    ]);
    let weight = |path: &str| groups.of(path).map(|group| group.weight);
    assert_eq!(weight("a.pkg#Face0"), Some(2.0));
    assert_eq!(weight("faces/b.pkg#Texture0"), Some(2.0));
    assert_eq!(weight("a.pkg#Wall"), Some(3.0));
    assert_eq!(weight("b.pkg#Wall"), None);
    assert_eq!(MipGroups::default().of("a.pkg#Wall"), None);
}
