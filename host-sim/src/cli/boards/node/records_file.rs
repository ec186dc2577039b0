//! The file of a desktop node's records.

use crate::boards::in_file;
use firmware::report::RecordsAtBoot;
use firmware::storage::crc::checksum;
use protocol::base::records::Records;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What a file of records holds.
#[derive(Debug, PartialEq)]
pub(super) enum Stored {
    Intact(Records),
    /// There is no file.
    Nothing,
    /// There is a file: the node has run, whatever its command line says.
    Damaged,
}

impl Stored {
    /// Returns the records to boot with; `new` says that the node has never run.
    pub(super) fn at_boot(self, new: bool) -> (RecordsAtBoot, Option<Records>) {
        match self {
            Self::Intact(records) => (RecordsAtBoot::Kept, Some(records)),
            Self::Nothing if new => (RecordsAtBoot::New, Some(Records::FACTORY)),
            Self::Nothing | Self::Damaged => (RecordsAtBoot::Lost, None),
        }
    }
}

/// Reads records. A file that cannot be read is an error, and stays as it is.
pub(super) fn load(file: &Path) -> io::Result<Stored> {
    let Some(bytes) = read(file)? else { return Ok(Stored::Nothing) };
    let record = intact(&bytes).and_then(|record| record.try_into().ok());
    Ok(record.map_or(Stored::Damaged, |record| Stored::Intact(Records::from_bytes(record))))
}

/// Writes records atomically: after a crash the file holds the old or the new ones.
pub(super) fn save(file: &Path, records: Records) -> io::Result<()> {
    write(file, &records.to_bytes())
}

/// The file of a service's log, beside that of the records.
fn log_file(records: &Path) -> PathBuf {
    records.with_extension("log")
}

/// Reads the log of the service of a node with these records; a damaged one is empty, which no log is.
pub(super) fn load_log(records: &Path) -> io::Result<Option<Vec<u8>>> {
    let bytes = read(&log_file(records))?;
    Ok(bytes.map(|bytes| intact(&bytes).unwrap_or_default().to_vec()))
}

/// Writes the log of the service of a node with these records, atomically.
pub(super) fn save_log(records: &Path, log: &[u8]) -> io::Result<()> {
    write(&log_file(records), log)
}

/// What a file of a log holds.
#[derive(Debug, PartialEq)]
pub(super) enum StoredLog {
    Intact(Vec<u8>),
    /// There is no file.
    Nothing,
    Damaged,
}

/// The file of the list of members, beside that of the records.
fn list_file(records: &Path) -> PathBuf {
    records.with_extension("list")
}

/// Reads the log of the list of members of a node with these records.
pub(super) fn load_list(records: &Path) -> io::Result<StoredLog> {
    let Some(bytes) = read(&list_file(records))? else { return Ok(StoredLog::Nothing) };
    Ok(intact(&bytes).map_or(StoredLog::Damaged, |log| StoredLog::Intact(log.to_vec())))
}

/// Writes the log of the list of members of a node with these records, atomically.
pub(super) fn save_list(records: &Path, log: &[u8]) -> io::Result<()> {
    write(&list_file(records), log)
}

/// The contents of a file, if there is one.
fn read(file: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io::Error::other(in_file(file)(error))),
    }
}

/// What was stored, where its checksum is right.
fn intact(bytes: &[u8]) -> Option<&[u8]> {
    let (record, sum) = bytes.split_last_chunk()?;
    (checksum(record).to_le_bytes() == *sum).then_some(record)
}

fn write(file: &Path, record: &[u8]) -> io::Result<()> {
    let new = file.with_extension("new");
    let write = || {
        let mut out = fs::File::create(&new)?;
        out.write_all(record)?;
        out.write_all(&checksum(record).to_le_bytes())?;
        out.sync_all()?;
        fs::rename(&new, file)?;
        sync_folder(file)
    };
    write().map_err(|error: io::Error| io::Error::other(in_file(file)(error)))
}

/// Makes the name of a new file survive a loss of power: it is stored in the folder.
#[cfg(unix)]
fn sync_folder(file: &Path) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Does nothing: elsewhere a folder cannot be synchronized.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::base::lamport::LamportTime;

    #[test]
    fn records_are_read_as_they_were_saved_and_damage_is_detected() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("node.records");
        assert_eq!(load(&file).unwrap(), Stored::Nothing);
        for incarnation in 1..3 {
            let records = Records { incarnation, term: 17, lamport: LamportTime(5), ..Records::FACTORY };
            save(&file, records).unwrap();
            assert_eq!(load(&file).unwrap(), Stored::Intact(records));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let mut bytes = fs::read(&file).unwrap();
        bytes[3] ^= 1;
        fs::write(&file, bytes).unwrap();
        assert_eq!(load(&file).unwrap(), Stored::Damaged);
        fs::write(&file, []).unwrap();
        assert_eq!(load(&file).unwrap(), Stored::Damaged);
    }

    #[test]
    fn a_log_is_read_as_it_was_saved_and_a_damaged_one_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let records = folder.path().join("node.records");
        assert_eq!(load_log(&records).unwrap(), None);
        save_log(&records, &[1, 2, 3]).unwrap();
        assert_eq!(load_log(&records).unwrap(), Some(vec![1, 2, 3]));
        fs::write(log_file(&records), [1, 2, 3]).unwrap();
        assert_eq!(load_log(&records).unwrap(), Some(Vec::new()));
        assert_eq!(load(&records).unwrap(), Stored::Nothing, "the log is a file of its own");
    }

    #[test]
    fn the_log_of_the_list_is_read_as_it_was_saved_and_a_torn_one_is_known_to_be_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let records = folder.path().join("node.records");
        assert_eq!(load_list(&records).unwrap(), StoredLog::Nothing);
        save_list(&records, &[1, 2, 3]).unwrap();
        assert_eq!(load_list(&records).unwrap(), StoredLog::Intact(vec![1, 2, 3]));
        let whole = fs::read(list_file(&records)).unwrap();
        for len in 0..whole.len() {
            fs::write(list_file(&records), &whole[..len]).unwrap();
            assert_eq!(load_list(&records).unwrap(), StoredLog::Damaged, "{len} bytes");
        }
        assert_eq!((load(&records).unwrap(), load_log(&records).unwrap()), (Stored::Nothing, None));
    }

    #[test]
    fn a_node_whose_records_are_damaged_is_not_new() {
        let at_boot = |stored: Stored, new| stored.at_boot(new).0;
        assert_eq!([true, false].map(|new| at_boot(Stored::Damaged, new)), [RecordsAtBoot::Lost; 2]);
        let missing = [true, false].map(|new| at_boot(Stored::Nothing, new));
        assert_eq!(missing, [RecordsAtBoot::New, RecordsAtBoot::Lost]);
        assert_eq!(at_boot(Stored::Intact(Records::FACTORY), true), RecordsAtBoot::Kept);
    }

    #[test]
    fn records_that_cannot_be_read_or_stored_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(load(folder.path()).unwrap_err().to_string().contains(&folder.path().display().to_string()));
        assert!(save(&folder.path().join("no/folder"), Records::FACTORY).is_err());
        assert!(sync_folder(Path::new("in-this-folder")).is_ok());
    }
}
