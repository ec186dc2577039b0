//! `cargo run -p conclave-fuzz -- TARGET`: feeds a target, or all of them, with changed inputs; or one input again.

use conclave_fuzz::mutate::{Rng, mutated};
use conclave_fuzz::{TARGETS, Target};
use std::cell::RefCell;
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: conclave-fuzz TARGET|all [--inputs N] [--seed S]\n       conclave-fuzz TARGET --hex BYTES";

thread_local! {
    /// What a target is being fed with: its name and the bytes.
    static INPUT: RefCell<(&'static str, Vec<u8>)> = const { RefCell::new(("", Vec::new())) };
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let flag = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let number = |name, default| flag(name).map_or(Some(default), |text| text.parse::<u64>().ok());
    let chosen: Vec<&Target> = TARGETS
        .iter()
        .filter(|target| arguments.first().is_some_and(|name| name == "all" || name == target.name))
        .collect();
    let (Some(inputs), Some(seed), false) = (number("--inputs", 100_000), number("--seed", 0), chosen.is_empty())
    else {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("{USAGE}\ntargets: {}", names.join(", "));
        return ExitCode::from(2);
    };
    replayable();
    if let Some(hex) = flag("--hex") {
        let byte = |at| u8::from_str_radix(hex.get(at..at + 2).unwrap_or_default(), 16).ok();
        let bytes: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(byte).collect();
        let Some(bytes) = bytes else {
            eprintln!("--hex takes two digits for each byte");
            return ExitCode::from(2);
        };
        feed(chosen[0], &bytes);
        return ExitCode::SUCCESS;
    }
    let shares: u64 = chosen.iter().map(|target| target.share).sum();
    for target in chosen {
        let count = inputs * target.share / shares;
        let (seeds, start) = ((target.seeds)(), Instant::now());
        let mut rng = Rng(seed);
        for _ in 0..count {
            feed(target, &mutated(&seeds, &mut rng));
        }
        let seconds = start.elapsed().as_secs_f64();
        println!("{:<12} {count:>10} inputs from {:>3} seeds in {seconds:.1} s", target.name, seeds.len());
    }
    ExitCode::SUCCESS
}

fn feed(target: &Target, bytes: &[u8]) {
    INPUT.with_borrow_mut(|input| *input = (target.name, bytes.to_vec()));
    (target.feed)(bytes);
}

/// Prints the command that feeds an input again, where a target panics.
fn replayable() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        usual(panic);
        INPUT.with_borrow(|(name, bytes)| {
            let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let hex = hex.concat();
            eprintln!("replay: cargo run -p conclave-fuzz -- {name} --hex {hex}");
        });
    }));
}
