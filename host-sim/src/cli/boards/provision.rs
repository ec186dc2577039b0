//! `conclave provision`: writes a board's identity, group key, access point and Wi-Fi blobs.
//!
//! They are stored outside of the image: writing a new image keeps them, and they are the same for every image.

use super::key::{self, ChosenKey, KeyArgs};
use crate::boards::tools::{self, FlashMethod};
use crate::boards::{Board, Flashing, Network, Region, in_file, option_bits, uf2};
use clap::Args;
use firmware::storage::config_page::access_point::{self, AccessPoint, AccessPointError};
use firmware::storage::config_page::blobs::Blobs;
use firmware::storage::config_page::{ConfigPage, PORT_DEFAULT, Secret, options};
use std::fs;
use std::path::{Path, PathBuf};

/// The environment variable with the access point's key: other users of a machine can see a command line.
const WIFI_KEY: &str = "CONCLAVE_WIFI_KEY";
/// The file names of the blobs in the driver's repository.
const BLOBS: [&str; 3] = ["43439A0.bin", "43439A0_clm.bin", "nvram_rp2040.bin"];

/// The most members of a board's group.
const MEMBERS_MAX: u8 = 32;

pub(super) const EXAMPLES: &str = "Examples:
  conclave provision --new-key barn.key
  conclave provision nrf52840-dk --id 7 --key-file barn.key
  conclave provision nrf52840-dk --id 7 --key-file barn.key --output pages";

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct ProvisionArgs {
    /// The board plugged in.
    #[arg(value_name = "BOARD", value_parser = Board::by_name, required_unless_present = "new_key")]
    board: Option<&'static Board>,
    /// Its id, unique in its group.
    #[arg(long, required_unless_present = "new_key", requires = "board")]
    id: Option<u32>,
    #[command(flatten)]
    key: KeyArgs,
    /// Draw the key of a new group, and write it to this file, which must not exist. Without a board that is all.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key_file", "insecure"])]
    new_key: Option<PathBuf>,
    /// Its capacity, from 0 to 10000; without this, the board measures it.
    #[arg(long, value_parser = clap::value_parser!(u16).range(0..=10_000))]
    capacity: Option<u16>,
    /// The most capacity it may claim, from 1 to 10000, whatever it measures; without this, any.
    #[arg(long, value_name = "CAPACITY", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    capacity_max: Option<u16>,
    /// It never leads.
    #[arg(long)]
    never_leads: bool,
    /// It leads only while it has an uplink, such as a gateway: it measures its capacity.
    #[arg(long, conflicts_with = "capacity")]
    uplink_required: bool,
    /// It has run before: missing records are lost ones.
    #[arg(long)]
    used: bool,
    /// The number of members of its group, with ids from 0. Locks need it, and elections other than wireless.
    #[arg(long, value_name = "COUNT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=i64::from(MEMBERS_MAX)))]
    members: u8,
    /// A leader needs a quorum: a majority of the group.
    #[arg(long, requires = "members")]
    quorum: bool,
    /// The hop limit of reliable messages.
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
    /// The name of its access point; its key is in the environment variable `CONCLAVE_WIFI_KEY`.
    #[arg(long, value_name = "NAME")]
    wifi: Option<String>,
    /// The access point has no key.
    #[arg(long, requires = "wifi")]
    wifi_open: bool,
    /// The folder with the blobs of its Wi-Fi chip.
    #[arg(long, value_name = "FOLDER")]
    wifi_firmware: Option<PathBuf>,
    /// Write to files in this folder instead of to a board; the folder is created where it is missing.
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Only print the steps.
    #[arg(long)]
    dry_run: bool,
}

/// Bytes for a region of flash.
struct Piece {
    name: &'static str,
    region: Region,
    bytes: Vec<u8>,
}

/// A board to provision.
struct Target<'a> {
    args: &'a ProvisionArgs,
    board: &'static Board,
    id: u32,
    key: ChosenKey,
}

pub(super) fn run(args: &ProvisionArgs) -> Result<(), String> {
    let key = match &args.new_key {
        None => args.key.choose()?,
        Some(file) => {
            super::print_line(format_args!("draw a key into {}: keep it secret", file.display()));
            args.key.draw(file, args.dry_run)?
        }
    };
    match (args.board, args.id) {
        (Some(board), Some(id)) => {
            let target = Target { args, board, id, key };
            write(&target, &pieces(&target)?)
        }
        (None, _) => Ok(()), // the key was all
        (Some(_), None) => Err("a board needs an --id".to_owned()),
    }
}

fn pieces(target: &Target<'_>) -> Result<Vec<Piece>, String> {
    let &Target { args, board, id, .. } = target;
    let layout = board.layout();
    let region_of = |name: &str| {
        let region = layout.region(name).cloned();
        region.ok_or_else(|| format!("the memory map of {} has no room for this", board.name))
    };
    if args.members > 0 && id >= args.members.into() {
        let (members, last) = (args.members, args.members - 1);
        return Err(format!("of {members} members the last is node {last}, so node {id} is no member"));
    }
    let has_wifi = board.network == Network::Wifi;
    if !has_wifi && (args.wifi.is_some() || args.wifi_firmware.is_some()) {
        return Err(format!("{} has no Wi-Fi", board.name));
    }
    let mut config = page(target).encode().to_vec();
    if let Some(name) = &args.wifi {
        let wifi_key = match std::env::var(WIFI_KEY) {
            Ok(_) if args.wifi_open => return Err(format!("--wifi-open contradicts {WIFI_KEY}")),
            Ok(wifi_key) if !wifi_key.is_empty() => wifi_key,
            Ok(_) | Err(_) if args.wifi_open => String::new(),
            Ok(_) | Err(_) => return Err(format!("no key of the access point: set {WIFI_KEY}, or say --wifi-open")),
        };
        let access = AccessPoint::new(name, &wifi_key).map_err(|error| match error {
            AccessPointError::Name => "an access point's name has 1 to 32 bytes".to_owned(),
            _ => format!("the key in {WIFI_KEY} has to have 8 to 63 bytes"),
        })?;
        config.resize(access_point::OFFSET, 0);
        config.extend(access.encode());
    }
    let mut pieces = vec![Piece { name: "the config page", region: region_of("CONFIG")?, bytes: config }];
    if let Some(folder) = &args.wifi_firmware {
        pieces.push(Piece { name: "the blobs of the Wi-Fi chip", region: region_of("BLOBS")?, bytes: blobs(folder)? });
    }
    match pieces.iter().find(|piece| piece.bytes.len() as u64 > piece.region.bytes) {
        Some(piece) => Err(format!("{} exceed the region of {} bytes", piece.name, piece.region.bytes)),
        None => Ok(pieces),
    }
}

fn page(target: &Target<'_>) -> ConfigPage {
    let Target { args, board, id, key } = target;
    let bits = [
        (options::FACTORY, !args.used),
        (options::NEVER_LEADS, args.never_leads),
        (options::LAN, board.network != Network::Radio),
        (options::MEASURED, args.capacity.is_none()),
        (options::QUORUM, args.quorum),
        (options::UPLINK_REQUIRED, args.uplink_required),
        (options::INSECURE, key.public),
    ];
    ConfigPage {
        id: *id,
        capacity: args.capacity.unwrap_or(0).into(),
        options: option_bits(&bits),
        port: args.port,
        seed: u64::from(*id),
        key: Secret(key.key.key.bytes()),
        key_number: key.key.number,
        previous_key: key.previous.as_ref().map_or(Secret::NONE, |previous| Secret(previous.bytes())),
        capacity_max: args.capacity_max.unwrap_or(0),
        hops: args.hops,
        channel: args.channel,
        pan: args.pan,
        members: args.members,
        ..ConfigPage::unprovisioned(&[], 0)
    }
}

fn blobs(folder: &Path) -> Result<Vec<u8>, String> {
    let [firmware, clm, nvram] = BLOBS.map(|name| {
        let file = folder.join(name);
        fs::read(&file).map_err(in_file(&file))
    });
    let (firmware, clm, nvram) = (firmware?, clm?, nvram?);
    let mut bytes = Vec::new();
    let blobs = Blobs { firmware: &firmware, clm: &clm, nvram: &nvram };
    blobs.encode(|piece| bytes.extend_from_slice(piece)).map_err(|_| "a blob is too long".to_owned())?;
    Ok(bytes)
}

fn write(target: &Target<'_>, pieces: &[Piece]) -> Result<(), String> {
    let &Target { args, board, id, ref key } = target;
    let named = if key.public { "a PUBLIC key, made from the group's name" } else { "its group's key" };
    super::print_line(format_args!("{} becomes node {id}, with {named}", board.name));
    for Piece { name, region, bytes } in pieces {
        super::print_line(format_args!("write {name}: {} bytes at {:#x}", bytes.len(), region.origin));
    }
    if args.dry_run {
        return Ok(());
    }
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let folder = args.output.as_deref().unwrap_or(scratch.path());
    fs::create_dir_all(folder).map_err(in_file(folder))?;
    match (&args.output, tools::flash_method(board)) {
        (Some(_), _) => {
            let drive = drive_file(board, pieces, folder)?;
            for (file, address) in files(board, pieces, folder)? {
                super::print_line(format_args!("{}: for {address:#x}", file.display()));
            }
            if let Some(file) = drive {
                super::print_line(format_args!("{}: for the board's drive", file.display()));
            }
            Ok(())
        }
        (None, Ok(FlashMethod::Drive(drive))) => {
            let file = drive_file(board, pieces, folder)?.ok_or("the board shows no drive")?;
            super::print_line(format_args!("copy it to the drive {}", drive.display()));
            tools::copy(&file, &drive)
        }
        (None, Ok(FlashMethod::Probe(chip))) => {
            let mut files = files(board, pieces, folder)?.into_iter();
            files.try_for_each(|(file, address)| tools::write(chip, &file, address))
        }
        (None, Err(text)) => Err(text),
    }
}

/// Writes a file for each piece; returns the files with their addresses.
fn files(board: &Board, pieces: &[Piece], folder: &Path) -> Result<Vec<(PathBuf, u64)>, String> {
    let file = |Piece { region, bytes, .. }: &Piece| {
        let file = folder.join(format!("{}-{}.bin", board.name, region.name.to_lowercase()));
        key::write_private(&file, bytes)?;
        Ok((file, region.origin))
    };
    pieces.iter().map(file).collect()
}

/// Writes one UF2 file, if the board has a drive.
fn drive_file(board: &Board, pieces: &[Piece], folder: &Path) -> Result<Option<PathBuf>, String> {
    if !matches!(board.flashing, Flashing::Drive(_)) {
        return Ok(None);
    }
    let file = folder.join(format!("{}-provision.uf2", board.name));
    let address = |piece: &Piece| u32::try_from(piece.region.origin).unwrap_or(u32::MAX); // UF2 has 32-bit addresses
    let pieces: Vec<_> = pieces.iter().map(|piece| (address(piece), piece.bytes.clone())).collect();
    key::write_private(&file, &uf2::encode(&pieces, uf2::RP2040)?)?;
    Ok(Some(file))
}

/// Parses a PAN id; all ones is the broadcast id, and zero stands for none.
fn pan(text: &str) -> Result<u16, String> {
    let number = u16::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    number.filter(|pan| (1..0xffff).contains(pan)).ok_or_else(|| "a PAN id is from 1 to fffe".to_owned())
}
