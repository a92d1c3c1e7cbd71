//! What the report says, by hand.

use super::*;
use crate::{StartupOwner, StartupPinned, StartupTable};
use seamless_package::{Limits, Package};

fn report_of(bytes: &[u8], role: Role) -> StartupReport {
    let package = Package::parse(bytes, &Limits::default()).unwrap();
    let table = StartupTable::of(&package, bytes, 0).unwrap();
    StartupReport::of(&package, &table, role)
}

fn owner<'r>(report: &'r StartupReport, name: &str) -> &'r StartupOwner {
    let mut owners = report.owners.iter();
    owners.find(|owner| owner.owner.ends_with(name)).unwrap()
}

/// What several pin is told apart from what one alone pins, and counts once in the sum.
#[test]
fn shared_content_is_told_apart() {
    let cook = cook();
    let bytes = Pack::new(&cook)
        .recipe("water", &[])
        .recipe("stock", &["water"])
        .recipe("soup", &["stock"])
        .recipe("tea", &["water"])
        .film("jaws", 1)
        .entry::<Kitchen>("soup.txt", "soup")
        .entry::<Kitchen>("stock.txt", "stock")
        .entry::<Cinema>("tea.txt", "tea")
        .entry::<Cinema>("jaws.film", "jaws")
        .finish();
    let report = report_of(&bytes, Role::ALL);
    assert_eq!(
        (report.package.as_str(), report.package_bytes),
        ("startup.pkg", bytes.len() as u64)
    );
    let (kitchen, cinema) = (owner(&report, "Kitchen"), owner(&report, "Cinema"));
    assert_eq!(kitchen.paths, ["soup.txt", "stock.txt"]);
    assert_eq!(
        (kitchen.exclusive.objects, kitchen.shared.objects),
        (2, 1),
        "soup and stock; water"
    );
    assert_eq!(
        (cinema.exclusive.objects, cinema.shared.objects),
        (2, 1),
        "tea and jaws; water"
    );
    assert_eq!(kitchen.shared, cinema.shared);
    assert_eq!(report.total.objects, 5, "the index is nobody's");
    let sum = |bytes: fn(&StartupPinned) -> u64| {
        bytes(&kitchen.exclusive) + bytes(&cinema.exclusive) + bytes(&kitchen.shared)
    };
    assert_eq!(report.total.resident_bytes, sum(|pinned| pinned.resident_bytes));
    assert_eq!(report.total.package_bytes, sum(|pinned| pinned.package_bytes));
    // The film's payloads are stored as they are, and stay.
    let tea = report.owners[0].shared.resident_bytes;
    assert!(cinema.exclusive.resident_bytes >= 205_004 && cinema.exclusive.resident_bytes < 205_100 + tea);
}

#[test]
fn payloads_on_demand_and_other_roles_do_not_stay() {
    let cook = cook();
    let pack = || {
        Pack::new(&cook)
            .film_of("jaws", 1, Role::CLIENT)
            .entry::<Cinema>("jaws.film", "jaws")
    };
    let client = report_of(&pack().finish(), Role::CLIENT).total;
    assert_eq!(
        (client.objects, client.resident_bytes, client.package_bytes),
        (1, 205_004, 205_004)
    );
    let on_demand = report_of(&pack().on_demand::<Film>().finish(), Role::CLIENT).total;
    assert_eq!(
        (on_demand.objects, on_demand.resident_bytes, on_demand.package_bytes),
        (1, 4, 205_004)
    );
    assert_eq!(
        report_of(&pack().finish(), Role::SERVER).total,
        StartupPinned::default()
    );
}

#[test]
fn the_app_tells_the_same_and_what_the_package_lacks() {
    let dir = Dir::default();
    put_startup(&dir);
    let (app, _) = counting_app(&dir, true, |app| {
        game(app);
        register(app);
        app.add_startup_content::<Cinema, Film>(["films/alien.film"])
            .add_startup_content::<Cinema, Recipe>(["films/jaws.film"])
            .add_plugins(plugin(1 << 20));
    });
    let report = app.world().resource::<StartupReport>().clone();
    let missing: Vec<_> = report.missing.iter().map(|missing| missing.path.as_str()).collect();
    assert_eq!(
        missing,
        ["films/alien.film", "films/jaws.film"],
        "the latter is no recipe"
    );
    assert!(report.missing.iter().all(|missing| missing.owner.ends_with("Cinema")));
    let mut bytes = Vec::new();
    dir.get_asset(Path::new("startup.pkg"))
        .unwrap()
        .value()
        .clone_into(&mut bytes);
    let told = StartupReport {
        missing: Vec::new(),
        read: None,
        ..report
    };
    assert_eq!(told, report_of(&bytes, Role::ALL));
}
