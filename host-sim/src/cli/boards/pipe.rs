//! `conclave pipe`: joins standard input and output with a TCP port of this machine, for an emulated board's connection to a
//! broker.

use clap::Args;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::ExitCode;
use std::thread;

#[derive(Args)]
pub(crate) struct PipeArgs {
    /// Where to connect.
    address: SocketAddr,
}

/// Runs until either side ends.
pub(super) fn run(args: &PipeArgs) -> super::Ended {
    let failed = |error: io::Error| format!("{}: {error}", args.address);
    let stream = TcpStream::connect(args.address).map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    let (mut from, mut to) = (stream.try_clone().map_err(failed)?, stream);
    thread::spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut to);
        let _ = to.shutdown(Shutdown::Both); // the other half ends with it
    });
    let mut out = Unbuffered(io::stdout().lock());
    let _ = io::copy(&mut from, &mut out); // the board may have hung up
    Ok(ExitCode::SUCCESS)
}

/// Standard output without its buffer, which waits for the end of a line.
struct Unbuffered(io::StdoutLock<'static>);

impl io::Write for Unbuffered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.0.write(bytes)?;
        self.0.flush()?;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
