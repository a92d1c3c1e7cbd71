//! What is read ahead, and how much of the file is held meanwhile.

use std::cell::RefCell;

use super::*;

thread_local! {
    /// The log of the app that this thread starts, and how much was read at each decode. Decoding is the calling thread's.
    static SEEN: RefCell<(ReadLog, Vec<u64>)> = RefCell::default();
}

/// Notes how much of the file was read by now.
struct PantryCodec;

impl AssetCodec for PantryCodec {
    type Asset = Pantry;
    const VERSION: u32 = 1;

    fn encode(_: &Pantry, _: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        Err(EncodeError::Other("it is only read".into()))
    }

    fn decode(data: &[u8], _: Vec<Vec<u8>>, _: &DecodeContext) -> Result<Pantry, DecodeError> {
        SEEN.with_borrow_mut(|(log, seen)| seen.push(log.bytes()));
        Ok(Pantry(data.to_vec()))
    }
}

const COUNT: usize = 100;
const SIZE: u64 = 3_000;

/// While the last windows are not even read, the first objects are decoded; and the reader waits for whoever decodes.
#[test]
fn decoding_and_reading_go_hand_in_hand() {
    const WINDOW: u64 = 4 << 10;
    const AHEAD: u64 = 2;
    let cook = cook();
    let mut pack = Pack::new(&cook);
    for number in 0..COUNT {
        pack = pack.pantry(&format!("pantry {number}"), SIZE as usize);
    }
    let bytes = pack.entry::<Kitchen>("pantry", "pantry 99").finish();
    let package = seamless_package::Package::parse(&bytes, &seamless_package::Limits::default()).unwrap();
    let (header, length) = (package.summary().header_len(), bytes.len() as u64);
    let dir = Dir::default();
    put(&dir, "startup.pkg", bytes);
    let log = ReadLog::default();
    SEEN.set((log.clone(), Vec::new()));
    let app = noting_app(&dir, true, &log, SeamlessAssetPlugin::default(), |app| {
        app.init_asset::<Pantry>().add_asset_codec::<PantryCodec>();
        app.add_plugins(SeamlessStartupPlugin {
            window_bytes: WINDOW as usize,
            windows_ahead: AHEAD as usize,
            ..plugin(0)
        });
    });
    let (_, seen) = SEEN.take();
    assert_eq!(seen.len(), COUNT);
    for (number, read) in (0..).zip(&seen) {
        let end = header + (number + 1) * SIZE;
        // One window is being read, one was taken, and one may be in the hand of either.
        let most = end + (AHEAD + 3) * WINDOW;
        assert!(
            *read >= end && *read <= most,
            "object {number}: {end} <= {read} <= {most}"
        );
    }
    assert!(seen[0] < length / 4, "{} of {length}", seen[0]);
    let pantries = app.world().resource::<Assets<Pantry>>();
    assert_eq!(pantries.len(), COUNT);
    assert!(pantries.iter().all(|(_, pantry)| pantry.0 == frames(7, SIZE as usize)));
    assert_eq!(log.reads(), [whole("startup.pkg", length)]);
    let read = app.world().resource::<StartupReport>().read.unwrap();
    // The tables are held as long as they are parsed; then no more than an object and the window that completed it.
    let most = (header + WINDOW).max(SIZE + 2 * WINDOW);
    assert!(read.peak_bytes <= most, "{} of {most}", read.peak_bytes);
}

/// What nobody needs at the end of the file is not read: payloads on demand.
#[test]
fn payloads_on_demand_are_not_waited_for() {
    let cook = cook();
    let bytes = Pack::new(&cook)
        .recipe("soup", &[])
        .film("jaws", 1)
        .entry::<Cinema>("jaws.film", "jaws")
        .finish();
    let length = bytes.len() as u64;
    let dir = Dir::default();
    put(&dir, "startup.pkg", bytes);
    let (app, log) = counting_app(&dir, true, |app| {
        app.init_asset::<Film>().add_asset_codec::<FilmCodec<true>>();
        app.add_plugins(SeamlessStartupPlugin {
            windows_ahead: 1,
            ..plugin(1 << 10)
        });
    });
    assert!(log.bytes() < length / 10, "{} of {length}", log.bytes());
    let jaws = content(&app).get::<Film>("jaws.film").unwrap();
    let films = app.world().resource::<Assets<Film>>();
    assert_eq!(films.get(&jaws).unwrap().payloads, Vec::<Vec<u8>>::new());
    assert_eq!(BulkUse::OnDemand, FilmCodec::<true>::BULK);
}
