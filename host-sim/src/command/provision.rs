//! `conclave provision`: gives a board its identity, its group's key, its access point and its Wi-Fi chip's blobs.
//!
//! What it writes lies outside of the image, so flashing a new image leaves it, and it is the same for every image.

use clap::Args;
use firmware::page::access::{self, Access, AccessError};
use firmware::page::blobs::Blobs;
use firmware::page::{GROUP_DEFAULT, PORT_DEFAULT, Page, Secret, options};
use host_sim::boards::tools::{self, Way};
use host_sim::boards::{Board, Network, Region, uf2};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The environment variable that holds the access point's key: a command line is seen by everybody on a machine.
const WIFI_KEY: &str = "CONCLAVE_WIFI_KEY";
/// The blobs, as the project that maintains the driver calls them.
const BLOBS: [&str; 3] = ["43439A0.bin", "43439A0_clm.bin", "nvram_rp2040.bin"];

/// How many members a board has room for.
const MEMBERS_MAX: u8 = 32;

/// What `conclave provision` is given.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags that have nothing to do with each other")]
pub(crate) struct ProvisionArgs {
    /// The board that is plugged in.
    #[arg(value_name = "BOARD", value_parser = Board::by_name)]
    board: &'static Board,
    /// Which node it is. No two nodes of a group share it.
    #[arg(long)]
    id: u32,
    /// The name of its group, from which its key is made. Whoever knows the name can take part.
    #[arg(long, default_value = GROUP_DEFAULT)]
    group: String,
    /// The key of its group instead: 32 hexadecimal digits.
    #[arg(long, value_name = "HEX", conflicts_with = "group", value_parser = key)]
    key: Option<Secret>,
    /// What it is worth, from 0 to 10000; without this, it measures itself.
    #[arg(long, value_parser = clap::value_parser!(u16).range(0..=10_000))]
    capacity: Option<u16>,
    /// It never leads.
    #[arg(long)]
    never_leads: bool,
    /// It has run before: where it finds no records, it has lost them.
    #[arg(long)]
    used: bool,
    /// How many members its group has: nodes 0 to one less than this. Locks need it, and elections other than wireless.
    #[arg(long, value_name = "COUNT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=i64::from(MEMBERS_MAX)))]
    members: u8,
    /// A leader needs a majority of the group.
    #[arg(long, requires = "members")]
    quorum: bool,
    /// Over how many hops the link carries.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    hops: u8,
    /// The UDP port of its group.
    #[arg(long, default_value_t = PORT_DEFAULT, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// The channel of its radio.
    #[arg(long, default_value_t = 26, value_parser = clap::value_parser!(u8).range(11..=26))]
    channel: u8,
    /// The PAN id of its radio, in hexadecimal digits.
    #[arg(long, value_name = "HEX", default_value = "c04e", value_parser = pan)]
    pan: u16,
    /// The name of its access point; the key is taken from the environment, `CONCLAVE_WIFI_KEY`.
    #[arg(long, value_name = "NAME")]
    wifi: Option<String>,
    /// The folder with the blobs of its Wi-Fi chip.
    #[arg(long, value_name = "FOLDER")]
    wifi_firmware: Option<PathBuf>,
    /// Write to these files instead of to a board.
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Only say what would be done.
    #[arg(long)]
    dry_run: bool,
}

/// Bytes for a place in flash.
struct Piece {
    what: &'static str,
    place: Region,
    bytes: Vec<u8>,
}

/// Writes; 0 if that worked, 2 if not.
pub(crate) fn run(args: &ProvisionArgs) -> ExitCode {
    let wifi_key = std::env::var(WIFI_KEY).unwrap_or_default();
    super::end(pieces(args, &wifi_key).and_then(|pieces| write(args, &pieces)))
}

/// What is to be written where.
fn pieces(args: &ProvisionArgs, wifi_key: &str) -> Result<Vec<Piece>, String> {
    let layout = args.board.layout();
    let place = |name: &str| {
        let region = layout.region(name).cloned();
        region.ok_or_else(|| format!("the memory map of {} has no room for this", args.board.name))
    };
    if args.members > 0 && args.id >= args.members.into() {
        return Err(format!(
            "of {} members the last is node {}, so node {} is none",
            args.members,
            args.members - 1,
            args.id
        ));
    }
    let has_wifi = args.board.network == Network::Wifi;
    if !has_wifi && (args.wifi.is_some() || args.wifi_firmware.is_some()) {
        return Err(format!("{} has no Wi-Fi", args.board.name));
    }
    let mut config = page(args).encode().to_vec();
    if let Some(name) = &args.wifi {
        let access = Access::new(name, wifi_key).map_err(|error| match error {
            AccessError::Name => "an access point's name has 1 to 32 bytes".to_owned(),
            _ => format!("the key in {WIFI_KEY} has to have 8 to 63 bytes, or none for an open network"),
        })?;
        config.resize(access::OFFSET, 0);
        config.extend(access.encode());
    }
    let mut pieces = vec![Piece { what: "the config page", place: place("CONFIG")?, bytes: config }];
    if let Some(folder) = &args.wifi_firmware {
        pieces.push(Piece { what: "the blobs of the Wi-Fi chip", place: place("BLOBS")?, bytes: blobs(folder)? });
    }
    let long = pieces.iter().find(|piece| piece.bytes.len() as u64 > piece.place.bytes);
    match long {
        Some(piece) => Err(format!("{} take more than the {} bytes there are", piece.what, piece.place.bytes)),
        None => Ok(pieces),
    }
}

/// The config page.
fn page(args: &ProvisionArgs) -> Page {
    let mut bits = 0;
    for (option, on) in [
        (options::FACTORY, !args.used),
        (options::NEVER_LEADS, args.never_leads),
        (options::LAN, args.board.network != Network::Radio),
        (options::MEASURED, args.capacity.is_none()),
        (options::QUORUM, args.quorum),
    ] {
        bits |= if on { option } else { 0 };
    }
    Page {
        id: args.id,
        capacity: args.capacity.unwrap_or(0).into(),
        options: bits,
        port: args.port,
        seed: u64::from(args.id),
        key: args.key.unwrap_or_else(|| Secret::of_group(&args.group)),
        hops: args.hops,
        channel: args.channel,
        pan: args.pan,
        members: args.members,
        ..Page::unprovisioned(&[], 0)
    }
}

fn blobs(folder: &Path) -> Result<Vec<u8>, String> {
    let [firmware, clm, nvram] = BLOBS.map(|name| {
        let file = folder.join(name);
        fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))
    });
    let (firmware, clm, nvram) = (firmware?, clm?, nvram?);
    let mut bytes = Vec::new();
    let blobs = Blobs { firmware: &firmware, clm: &clm, nvram: &nvram };
    blobs.encode(|piece| bytes.extend_from_slice(piece)).map_err(|_| "a blob is too long".to_owned())?;
    Ok(bytes)
}

fn write(args: &ProvisionArgs, pieces: &[Piece]) -> Result<(), String> {
    let named = if args.key.is_some() { "a key of its own" } else { "a key made from the group's name" };
    println!("{} becomes node {}, with {named}", args.board.name, args.id);
    for Piece { what, place, bytes } in pieces {
        println!("write {what}: {} bytes at {:#x}", bytes.len(), place.origin);
    }
    if args.dry_run {
        return Ok(());
    }
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let folder = args.output.as_deref().unwrap_or(scratch.path());
    match (&args.output, tools::way(args.board)) {
        (Some(_), _) => {
            let drive = drive_file(args.board, pieces, folder)?;
            let files = files(args.board, pieces, folder)?;
            for (file, address) in &files {
                println!("{}: for {address:#x}", file.display());
            }
            if let Some(file) = drive {
                println!("{}: for the board's drive", file.display());
            }
            Ok(())
        }
        (None, Ok(Way::Drive(drive))) => {
            let file = drive_file(args.board, pieces, folder)?.ok_or("the board shows no drive")?;
            println!("copy it to the drive {}", drive.display());
            tools::copy(&file, &drive)
        }
        (None, Ok(Way::Probe(chip))) => files(args.board, pieces, folder)?.iter().try_for_each(|(file, address)| {
            let command = tools::write_command(chip, file, *address);
            println!("{}", command.join(" "));
            tools::run(&command)
        }),
        (None, Err(text)) => Err(text),
    }
}

/// A file for each piece, and its address.
fn files(board: &Board, pieces: &[Piece], folder: &Path) -> Result<Vec<(PathBuf, u64)>, String> {
    let file = |Piece { place, bytes, .. }: &Piece| {
        let file = folder.join(format!("{}-{}.bin", board.name, place.name.to_lowercase()));
        fs::write(&file, bytes).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok((file, place.origin))
    };
    pieces.iter().map(file).collect()
}

/// One file for the board's drive, if it shows one.
fn drive_file(board: &Board, pieces: &[Piece], folder: &Path) -> Result<Option<PathBuf>, String> {
    if !matches!(board.flashing, host_sim::boards::Flashing::Drive(_)) {
        return Ok(None);
    }
    let file = folder.join(format!("{}-provision.uf2", board.name));
    let address = |piece: &Piece| u32::try_from(piece.place.origin).unwrap_or(u32::MAX); // the format knows no others
    let pieces: Vec<_> = pieces.iter().map(|piece| (address(piece), piece.bytes.clone())).collect();
    fs::write(&file, uf2::encode(&pieces, uf2::RP2040)?).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(Some(file))
}

/// 32 hexadecimal digits.
fn key(text: &str) -> Result<Secret, String> {
    let wrong = || "a key has 32 hexadecimal digits".to_owned();
    if text.len() != 32 || !text.is_ascii() {
        return Err(wrong());
    }
    u128::from_str_radix(text, 16).map(|number| Secret(number.to_be_bytes())).map_err(|_| wrong())
}

/// A PAN id; all ones is everybody's, and zero means none was chosen.
fn pan(text: &str) -> Result<u16, String> {
    let number = u16::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    number.filter(|pan| (1..0xffff).contains(pan)).ok_or_else(|| "a PAN id is from 1 to fffe".to_owned())
}
