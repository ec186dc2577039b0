//! The binary `conclave`.

fn main() -> std::process::ExitCode {
    host_sim::cli::main()
}
