//! Files that are not sound: an error or an image, and nothing else.

use super::*;

/// A small file that streams.
fn small() -> Vec<u8> {
    Ktx2::new(Format::R8G8B8A8_UNORM, 256, 4, mips(256, 4, 1, 4))
        .zstd()
        .bytes()
}

/// Loads all of these; gives how many there are, how many became images, and the last error. Whatever becomes an image is small.
fn load_all(variants: impl Iterator<Item = Vec<u8>>) -> (usize, usize, String) {
    let mut files = Files::new();
    let mut handles: Vec<Handle<Image>> = Vec::new();
    for (number, bytes) in variants.enumerate() {
        let name = format!("{number}.stream.ktx2");
        files.write(&name, bytes);
        handles.push(files.server().load(name));
    }
    let (mut loaded, mut last) = (0, String::new());
    for handle in &handles {
        let waited = files.wait(handle);
        if let Err(error) = &waited {
            last.clone_from(error);
        }
        if waited.is_ok() {
            loaded += 1;
            let data = files.image(handle).data.map_or(0, |data| data.len());
            assert!(data < 1 << 20, "{data} bytes");
        }
    }
    let streams = core::mem::take(&mut files.arrivals.lock().streams);
    for stream in streams {
        let Comer::Streamed(record) = stream.comer else {
            panic!("a file is whole at once");
        };
        assert!(record.tail().len() < 1 << 20);
    }
    (handles.len(), loaded, last)
}

#[test]
fn a_file_that_is_cut_is_an_error_unless_its_tail_is_there() {
    let file = small();
    let (all, loaded, last) = load_all((0..file.len()).map(|length| file[..length].to_vec()));
    // Header, index and descriptor of nine mips are needed in any case.
    assert!(
        loaded > 0 && loaded < all - 80 - 9 * 24 - 28,
        "{loaded} of {all}: {last}"
    );
}

#[test]
fn a_file_with_a_wrong_bit_is_an_error_or_an_image() {
    let file = small();
    let flip = |at: usize| {
        let mut other = file.clone();
        other[at / 8] ^= 1 << (at % 8);
        other
    };
    let (all, loaded, last) = load_all((0..file.len() * 8).map(flip));
    assert!(loaded > 0 && loaded < all, "{loaded} of {all}: {last}");
}

#[test]
fn a_file_of_one_mip_with_wrong_bytes_is_an_error_or_an_image() {
    let file = Ktx2::new(Format::R8G8B8_UNORM, 12, 12, vec![vec![7; 12 * 12 * 3]]).bytes();
    let head = 80 + 24 + 28;
    let variants = (0..head).flat_map(|at| [0, 1, 2, 3, 6, 37, 127, 255].map(|byte| (at, byte)));
    let change = |(at, byte)| {
        let mut other = file.clone();
        other[at] = byte;
        other
    };
    let (all, loaded, last) = load_all(variants.map(change));
    assert!(loaded > 0 && loaded < all, "{loaded} of {all}: {last}");
}

/// Numbers of eight bytes, anywhere in the index of mips.
#[test]
fn sizes_that_cannot_be_are_refused() {
    let sound = rgba(512).bytes();
    for field in 0..30 {
        let at = 80 + 8 * field;
        for forged in [0, 1, 1 << 32, 1 << 40, u64::MAX] {
            let mut file = sound.clone();
            file[at..at + 8].copy_from_slice(&forged.to_le_bytes());
            let mut files = Files::new();
            // Where a large mip is, is looked at when it is read.
            let is_left = field % 3 == 0 && field < 9 && (1 << 32..=1 << 40).contains(&forged);
            assert_eq!(files.load("wall", file).is_ok(), is_left, "field {field} is {forged}");
        }
    }
}

#[test]
fn no_file_and_no_texture_are_told_apart() {
    let mut files = Files::new();
    let error = files.load("empty", Vec::new()).unwrap_err();
    assert!(error.contains("its header ends"), "{error}");
    let error = files.load("text", vec![b'a'; 500]).unwrap_err();
    assert!(error.contains("no KTX2 file"), "{error}");
    let handle: Handle<Image> = files.server().load("missing.stream.ktx2");
    assert!(files.wait(&handle).is_err());
}
