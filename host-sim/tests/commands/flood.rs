//! A flood of junk at a desktop node, over loopback.

use crate::support::command;
use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::process::{Child, Stdio};

/// Frames of junk: as fast as one sender can.
const JUNK: u32 = 300_000;

/// Returns an address that nobody has now.
fn free_address() -> String {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

struct Desktop(Child);

impl Desktop {
    fn start(id: &str, capacity: &str, bind: &str, peer: &str) -> Self {
        let words = ["node", "--id", id, "--capacity", capacity, "--bind", bind, "--peer", peer, "--new"];
        Self(command(&words).stdout(Stdio::piped()).spawn().unwrap())
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The number after a word of a status line.
fn number(line: &str, word: &str) -> Option<u32> {
    let rest = line.split_once(&format!("{word} "))?.1;
    rest.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}

#[test]
fn a_follower_under_a_flood_of_junk_keeps_its_leader() {
    let (leader_at, follower_at) = (free_address(), free_address());
    let _leader = Desktop::start("2", "9000", &leader_at, &follower_at);
    let mut follower = Desktop::start("1", "100", &follower_at, &leader_at);
    let mut lines = BufReader::new(follower.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("following: node 2")), "it finds its leader");
    let attacker = UdpSocket::bind("127.0.0.1:0").unwrap();
    // Every other frame has the version and a sender: only its tag shows that it is none.
    let mut junk = [0x20, 7, 1, 5, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99];
    for count in 0..JUNK {
        junk[0] = if count % 2 == 0 { 0x20 } else { 0x99 };
        junk[4..8].copy_from_slice(&count.to_le_bytes());
        let _ = attacker.send_to(&junk, &follower_at);
    }
    // The next status line comes after the flood, or has counted most of it.
    let mut seen = Vec::new();
    let flooded = lines.any(|line| {
        let enough = line.contains("status:") && number(&line, "received").is_some_and(|count| count > JUNK / 100);
        seen.push(line);
        enough
    });
    assert!(flooded, "it counts what it received: {seen:?}");
    let changes = |line: &&String| ["leaderless:", "leading:", "following:"].iter().any(|word| line.contains(word));
    assert_eq!(seen.iter().find(changes), None, "{seen:?}");
}
