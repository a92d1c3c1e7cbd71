use super::*;

/// The last texture gets what is free, and no more threads are at work than there are, but one for each texture.
#[test]
fn only_the_last_texture_has_more_than_one_thread() {
    let crew = Crew::new(4);
    let [first, second, last] = [false, false, true].map(|is_last| crew.take(is_last).get());
    assert_eq!([first, second, last], [1, 1, 2]);
    assert_eq!(crew.take(true).get(), 1, "none is free");
    crew.give_back(NonZeroUsize::MIN.saturating_add(1));
    assert_eq!(crew.take(true).get(), 1);
    for _ in 0..4 {
        crew.give_back(NonZeroUsize::MIN);
    }
    assert_eq!(crew.take(true).get(), 4);
    assert_eq!(Crew::new(0).take(true).get(), 1, "somebody has to");
}
