//! What goes wrong, drawn from a seed: the same for every election of a group.

use super::{Net, complete, config, line, lossy};
use protocol::dice::Dice;
use protocol::election::{Command, Election};
use protocol::mutex::NoMutex;
use protocol::node::Input;
use protocol::{Config, Span};

/// What node `index` is worth: so much more than the one before it that no incumbent is spared for being one.
pub fn worth(index: usize) -> u16 {
    (0..index).fold(100, |worth, _| worth + worth / 4)
}

/// How long frames are lost after the last other fault.
const NOISE: Span = Span::from_secs(20);

/// How long it may take after that until a better node has been up long enough and has waited long enough to take over
/// from a leader that has settled.
const PEACE: Span = Span::from_secs(60);

/// Ten seconds or so in which nodes crash, come back, call elections at once and are cut in two, while up to 30 % of all
/// frames are lost. Then only frames are lost, then nothing is. The best node that is up leads all that are.
pub fn afflict<E: Election + 'static>(seed: u64, make: impl Fn() -> E + 'static) {
    let mut dice = Dice::new(seed);
    let mut draw = move |sides: u32| (dice.throw() % sides) as usize;
    let (count, spread) = (3 + draw(4), draw(3) == 0);
    let linked = if spread { line } else { complete };
    let hops = if spread { 8 } else { 1 };
    let percent = draw(31) as u64;
    let mut net = Net::new(count, linked, move |index| (Config { hops, ..config(index) }, make(), NoMutex))
        .in_group()
        .worth(worth)
        .with_fate(lossy(percent, seed));
    let mut faults = Vec::new();
    for _ in 0..draw(8) {
        net.run(Span::from_millis(u32::try_from(draw(60) * draw(60)).unwrap()));
        let node = draw(u32::try_from(count).unwrap());
        let fault = draw(5);
        faults.push((net.now, fault, node));
        match fault {
            0 => net.crash(node),
            1 => net.boot(node),
            2 => net.relink(move |a, b| linked(a, b) && (a < node) == (b < node)),
            3 => net.relink(linked),
            _ => {
                for index in [node, (node + 1) % count] {
                    if net.nodes[index].is_some() {
                        net.put(index, Input::Election(Command::Call));
                    }
                }
            }
        }
    }
    net.relink(linked);
    let up = |net: &Net<E, NoMutex>| (0..count).filter(|&index| net.nodes[index].is_some()).collect::<Vec<_>>();
    if up(&net).is_empty() || spread {
        for index in 0..count {
            if net.nodes[index].is_none() {
                net.boot(index); // a line with a node missing is two
            }
        }
    }
    net.run(NOISE);
    net.set_fate(|_, _, _| true);
    net.run(PEACE);
    let best = up(&net).last().map(|&index| config(index).me);
    let told =
        || format!("seed {seed}: {count} nodes, {percent} % lost, line {spread}, {faults:?}: {:?}", net.leaders());
    assert_eq!(net.leader(), best, "{}", told());
    assert!(net.nodes.iter().flatten().all(|node| node.halted().is_none()), "{}", told());
}
