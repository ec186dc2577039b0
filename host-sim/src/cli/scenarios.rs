//! `conclave scenarios`: the scenarios that ship with the program.

use crate::Scenario;
use crate::check;
use crate::scenario::shipped::{SHIPPED, text};
use clap::Args;
use serde::Serialize;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

#[derive(Args)]
pub(super) struct ScenariosArgs {
    /// Print the file of this scenario, to start one of your own.
    #[arg(conflicts_with = "json")]
    name: Option<String>,
    /// Print one JSON object and nothing else.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listing {
    scenarios: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    about: String,
    nodes: u32,
    seeds: u64,
    claims: Vec<String>,
}

pub(super) fn run(args: &ScenariosArgs) -> super::Ended {
    let entries = SHIPPED.iter().map(|&(name, _)| {
        let scenario = Scenario::find(Path::new(name), check::OF_LOCKS)?;
        let (nodes, seeds) = (scenario.world.nodes, scenario.seeds.end - scenario.seeds.start);
        Ok(Entry { name, nodes, seeds, claims: scenario.expect.claims(), about: scenario.about })
    });
    if let Some(name) = &args.name {
        Scenario::find(Path::new(name), check::OF_LOCKS)?;
        super::print_text(text(name).unwrap_or_default());
        return Ok(ExitCode::SUCCESS);
    }
    let listing = Listing { scenarios: entries.collect::<Result<_, String>>()? };
    Ok(super::report(&listing, args.json, show, true))
}

fn show(listing: &Listing) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for Entry { name, about, claims, .. } in &listing.scenarios {
        writeln!(out, "{name}\n{}", super::wrapped(about, 4))?;
        for claim in claims {
            writeln!(out, "    - {claim}")?;
        }
    }
    writeln!(out, "\nconclave run NAME runs one, conclave scenarios NAME prints its file.")
}
