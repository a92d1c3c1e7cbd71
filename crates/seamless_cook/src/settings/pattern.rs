//! Patterns with `*` and `?`.

use core::str::Chars;

/// Whether `text` is what `pattern` says. `*` stands for any letters, also none, `?` for any one. Takes time for one by the other at most,
/// whatever is in them.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    // Behind the last star, and behind what it stands for so far: only that one may have to stand for more.
    let mut star: Option<(Chars, Chars)> = None;
    while let Some(letter) = text.clone().next() {
        match pattern.clone().next() {
            Some('*') => {
                pattern.next();
                star = Some((pattern.clone(), text.clone()));
            }
            Some(wanted) if wanted == letter || wanted == '?' => {
                pattern.next();
                text.next();
            }
            _ => {
                let Some((behind, rest)) = &mut star else { return false };
                rest.next();
                (pattern, text) = (behind.clone(), rest.clone());
            }
        }
    }
    pattern.all(|letter| letter == '*')
}
