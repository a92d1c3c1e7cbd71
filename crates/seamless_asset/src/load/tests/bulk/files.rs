//! Parts of files that are no packages: what is read for them, and what may be wrong with them.

use super::*;
use crate::FilePartRequest;

/// A file that begins with a head, and the rest of it.
fn file() -> (Vec<u8>, Vec<u8>) {
    (b"the head".to_vec(), frames(3, 300_000))
}

fn part(range: Range<u64>) -> FilePartRequest {
    FilePartRequest {
        path: AssetPath::from("wall.tex"),
        head: file().0.into(),
        range,
        ..FilePartRequest::default()
    }
}

/// Loads the part, and waits for its end.
fn wait_for(app: &mut App, request: FilePartRequest) -> BulkLoad {
    let load = app.world_mut().resource_mut::<Streamer>().load_file_part(request);
    run_until(app, |_| load.is_finished());
    load
}

fn kind(load: &BulkLoad) -> &LoadErrorKind {
    &load.result().expect("it is finished").expect_err("it fails").kind
}

#[test]
fn a_part_of_a_file_is_read_and_nothing_else() {
    for can_seek in [true, false] {
        let dir = Dir::default();
        let (mut app, log) = film_app(&dir, true, can_seek);
        let (head, rest) = file();
        put(&dir, "wall.tex", [head.clone(), rest.clone()].concat());
        let begin = head.len() as u64;
        for range in [
            begin..begin + 9,
            begin + 100_000..begin + 200_000,
            begin..begin + 300_000,
        ] {
            log.clear();
            let load = wait_for(&mut app, part(range.clone()));
            let expected = &rest[(range.start - begin) as usize..(range.end - begin) as usize];
            assert!(bytes(&load) == expected, "{range:?}");
            let is_apart = can_seek && range.start > begin;
            let expected = match is_apart {
                true => vec![read("wall.tex", 0..begin), read("wall.tex", range)],
                false => vec![read("wall.tex", 0..range.end)],
            };
            assert_eq!(log.reads(), expected);
        }
    }
}

#[test]
fn another_file_and_a_shorter_one_are_told() {
    let dir = Dir::default();
    let (mut app, _) = film_app(&dir, true, true);
    let (head, rest) = file();
    put(&dir, "wall.tex", [head, rest].concat());
    let load = wait_for(&mut app, part(300_000..400_000));
    assert!(
        matches!(kind(&load), LoadErrorKind::FilePart { end: 300_008, .. }),
        "{load:?}"
    );
    assert!(kind(&load).is_transient(), "it may still be written");
    let (start, end) = (20, 10);
    for range in [4..20, start..end] {
        let load = wait_for(&mut app, part(range));
        assert!(
            matches!(kind(&load), LoadErrorKind::FilePart { end: 8, .. }),
            "{load:?}"
        );
    }
    put(&dir, "wall.tex", b"the h".to_vec());
    let load = wait_for(&mut app, part(20..30));
    assert!(
        matches!(kind(&load), LoadErrorKind::FilePart { end: 5, .. }),
        "{load:?}"
    );
    put(
        &dir,
        "wall.tex",
        b"The head of another file, of which nothing is taken".to_vec(),
    );
    let load = wait_for(&mut app, part(20..30));
    assert!(matches!(kind(&load), LoadErrorKind::FileChanged), "{load:?}");
    let gone = FilePartRequest {
        path: AssetPath::from("gone.tex"),
        ..part(20..30)
    };
    assert!(matches!(kind(&wait_for(&mut app, gone)), LoadErrorKind::Io(_)));
}
