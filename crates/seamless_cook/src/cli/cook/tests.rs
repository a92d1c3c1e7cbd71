use super::*;

fn dealt(level: &str, set: &str, sounds: &[&str]) -> DialogueReport {
    DialogueReport {
        level: level.to_owned(),
        set: set.to_owned(),
        sounds: sounds.iter().map(|sound| (*sound).to_owned()).collect(),
        variants: 8,
    }
}

#[test]
fn dialogue_is_told_set_by_set() {
    let report = [
        dealt("a", "hello", &["1", "2"]),
        dealt("a", "bye", &["9"]),
        dealt("b", "hello", &["2", "3", "4"]),
    ];
    let mut text = String::new();
    print_dialogue(&report, &mut text);
    let told = "dialogue `bye`: 1 of 8 variants in 1 limited level, 1 in all of them together\n\
        dialogue `hello`: 2 to 3 of 8 variants in 2 limited levels, 4 in all of them together\n";
    assert_eq!(text, told);
    print_dialogue(&[], &mut text);
    assert_eq!(text, told, "nothing is said where nothing was limited");
}
