//! Links the image as the runtime and the log want it. The board's package has the memory map.

fn main() {
    for argument in ["--nmagic", "--icf=all", "-Tlink.x", "-Tdefmt.x"] {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}
