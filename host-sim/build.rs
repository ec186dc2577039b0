//! Lists the shipped scenarios for `scenario/shipped.rs`: the program has them wherever it is started.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=scenarios");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    let name = |file: &PathBuf| file.file_stem().map(|stem| stem.display().to_string()).unwrap_or_default();
    files.sort_by_key(name);
    let entry = |file: &PathBuf| format!("    ({:?}, include_str!({:?})),\n", name(file), file.display());
    let entries = files.iter().map(entry).collect::<Vec<_>>().concat();
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(out.join("shipped.rs"), format!("&[\n{entries}]\n"))
}
