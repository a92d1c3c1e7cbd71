//! Patterns with `*` and `?`.

/// Whether `text` is what `pattern` says. `*` stands for any letters, also none, `?` for any one. Takes time for one by the other at most,
/// whatever is in them.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut read) = (0, 0);
    // Behind the last star, and what it stands for so far: only that one may have to stand for more.
    let mut star: Option<(usize, usize)> = None;
    while let Some(letter) = text.get(read) {
        match pattern.get(at) {
            Some('*') => {
                at += 1;
                star = Some((at, read));
            }
            Some(wanted) if wanted == letter || *wanted == '?' => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((behind, taken)) = star else { return false };
                star = Some((behind, taken + 1));
                (at, read) = (behind, taken + 1);
            }
        }
    }
    pattern.iter().skip(at).all(|letter| *letter == '*')
}
