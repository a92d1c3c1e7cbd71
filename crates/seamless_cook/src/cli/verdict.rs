//! What `seamless verify` and `seamless why` print.

use super::paint::{BOLD, DIM, ERROR, GOOD, Painted, size};
use crate::commands::{Chain, ChainRoot, VerifyReport, WhyReport};
use crate::report::counted;

pub(super) fn print_verify(report: &VerifyReport, text: &mut String) {
    for fault in &report.faults {
        *text += &format!("{}: {fault}\n", Painted(ERROR, "error"));
    }
    let marked = match report.marked {
        0 => String::new(),
        marked => format!(", {marked} of which may be loaded without their payloads"),
    };
    let read = format!(
        "{} of {}, {}{marked}, {}",
        counted(report.packages, "package"),
        size(report.bytes),
        counted(report.objects, "object"),
        counted(report.manifests, "manifest")
    );
    let verdict = match report.faults.len() {
        0 => Painted(GOOD, "sound".to_owned()),
        faults => Painted(ERROR, counted(faults, "fault")),
    };
    *text += &format!("{verdict}: {read}\n");
}

pub(super) fn print_why(report: &WhyReport, text: &mut String) {
    let object = &report.object;
    *text += &format!(
        "{}  {}  {}\n",
        Painted(BOLD, &object.object),
        object.class,
        Painted(DIM, &object.id)
    );
    if !report.copies.is_empty() {
        *text += &format!("copies in {}\n", report.copies.join(", "));
    }
    if report.chains.is_empty() {
        *text += "nothing refers to it: it was cooked because its source was\n";
    }
    for chain in &report.chains {
        print_chain(chain, text);
    }
}

fn print_chain(chain: &Chain, text: &mut String) {
    match &chain.root {
        ChainRoot::Level {
            level,
            entity,
            component,
            others,
            ..
        } => {
            *text += &format!("\nlevel {}\n", Painted(BOLD, level));
            if let Some(entity) = entity {
                *text += &format!("  entity {entity}");
                let component = component.iter().map(|component| format!("  {component}"));
                text.extend(component);
                match others {
                    0 => {}
                    1 => *text += ", and 1 more value",
                    others => *text += &format!(", and {others} more values"),
                }
                text.push('\n');
            }
        }
        ChainRoot::Startup { package } => *text += &format!("\nstartup content {}\n", Painted(BOLD, package)),
        ChainRoot::Resource { package, resource } => {
            *text += &format!("\nresource {} of {package}\n", Painted(BOLD, resource));
        }
    }
    for step in &chain.steps {
        *text += &format!("  -> {}  {}", step.object, Painted(DIM, &step.class));
        if let Some(package) = &step.copy_in {
            *text += &format!(", the copy in {package}");
        }
        text.push('\n');
    }
}
