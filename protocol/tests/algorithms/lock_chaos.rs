//! What holds of every lock, whatever goes wrong.

use crate::support::prelude::*;
use protocol::base::quorum::Mode;
use protocol::base::rng::Rng;
use protocol::election::Bully;
use protocol::mutex::{Command, Notice};
use protocol::node::{self, Input};

/// The locks that are contended for.
const LOCKS: [LockId; 2] = [LockId::from_name("door"), LockId::from_name("printer")];

/// How long a group may take, after the last fault, to serve every node that waits.
const CALM: Duration = Duration::from_secs(90);

/// How far the application of a node has come with a lock, by its notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Idle,
    Waiting,
    Holding { fence: Fence, until: Instant },
}

/// A group, and a checker that sees every notice.
struct Storm<M: Mutex> {
    net: Net<Bully, M>,
    /// By node and lock.
    roles: Vec<[Role; LOCKS.len()]>,
    highest: [Fence; LOCKS.len()],
    grants: usize,
    /// How many notices have been checked.
    checked: usize,
    seed: u64,
    history: Vec<String>,
}

/// Half a minute or so in which nodes acquire, renew, release and cancel locks, crash, restart with or without their
/// records and are partitioned, while up to 30 % of all frames are lost. No two hold one lock, and its fences grow. Then
/// nothing goes wrong any more, and every node that waits is served. Returns how many grants there were before and in all.
fn storm<M: TestMutex>(seed: u64, lock: &M) -> (usize, usize) {
    let mut rng = Rng::new(seed);
    let mut draw = move |sides: usize| rng.next_u32() as usize % sides;
    let count = 3 + draw(4);
    let percent = draw(31) as u64;
    let mut all = Storm::new(count, lock.clone());
    all.run(Duration::from_secs(10));
    all.net.set_filter(lossy(percent, seed));
    all.seed = seed;
    all.history.push(format!("{count} nodes, {percent} % lost"));
    for _ in 0..60 {
        all.run(Duration::from_millis(u32::try_from(draw(40) * draw(40)).unwrap()));
        let (node, which) = (draw(count), draw(LOCKS.len()));
        match draw(24) {
            0 => all.crash(node),
            1 => all.boot(node, draw(4) == 0),
            2 => all.partition(node),
            3 => all.merge(),
            4..13 => all.ask(node, Command::Acquire { lock: LOCKS[which], lease: LEASE }),
            13 => all.ask(node, Command::Try { lock: LOCKS[which], lease: LEASE }),
            14..17 => all.ask(node, Command::Renew { lock: LOCKS[which], lease: LEASE }),
            17 => all.ask(node, Command::Cancel { lock: LOCKS[which] }),
            _ => all.ask(node, Command::Release { lock: LOCKS[which] }),
        }
    }
    let in_storm = all.grants;
    all.merge();
    for node in 0..count {
        if !all.net.is_up(node) {
            all.boot(node, false);
        }
    }
    all.net.set_filter(|_, _| true);
    all.history.push("calm".into());
    all.serve();
    for node in 0..count {
        for lock in LOCKS {
            all.ask(node, Command::Acquire { lock, lease: LEASE });
        }
    }
    all.serve();
    (in_storm, all.grants)
}

impl<M: TestMutex> Storm<M> {
    fn new(count: usize, lock: M) -> Self {
        let make = move |index| {
            let config = Config { mode: Mode::Quorum, hops: 1, ..config(index) };
            (config, Bully::default(), lock.clone())
        };
        let net = Net::new(count, complete, make).in_group();
        let roles = vec![[Role::Idle; LOCKS.len()]; count];
        Self { net, roles, highest: [Fence::ZERO; LOCKS.len()], grants: 0, checked: 0, seed: 0, history: Vec::new() }
    }

    fn log(&mut self, event: &str) {
        self.history.push(format!("{} {event}", self.net.now.as_micros()));
    }

    /// Lets time pass. Notices are checked afterwards: each has its moment.
    fn run(&mut self, span: Duration) {
        self.net.run(span);
        self.check();
    }

    fn crash(&mut self, node: usize) {
        self.log(&format!("{node} crashes"));
        self.net.crash(node);
        self.roles[node] = [Role::Idle; LOCKS.len()];
    }

    fn boot(&mut self, node: usize, blank: bool) {
        self.log(&format!("{node} starts, without records {blank}"));
        self.roles[node] = [Role::Idle; LOCKS.len()];
        if blank {
            self.net.boot_with(node, None);
        } else {
            self.net.boot(node);
        }
        self.check();
    }

    fn partition(&mut self, node: usize) {
        self.log(&format!("partition below {node}"));
        self.net.relink(move |a, b| (a < node) == (b < node));
    }

    fn merge(&mut self) {
        self.log("merge");
        self.net.relink(complete);
    }

    fn ask(&mut self, node: usize, command: Command) {
        let which = LOCKS.iter().position(|&lock| lock == command.lock()).unwrap();
        if !self.net.is_up(node) {
            return;
        }
        let role = self.roles[node][which];
        let fits = match command {
            Command::Acquire { .. } | Command::AcquireWithin { .. } | Command::Try { .. } => role == Role::Idle,
            Command::Cancel { .. } => role == Role::Waiting,
            Command::Renew { .. } | Command::Release { .. } => matches!(role, Role::Holding { .. }),
        };
        if !fits {
            return;
        }
        self.log(&format!("{node}: {command:?}"));
        if role == Role::Idle {
            self.roles[node][which] = Role::Waiting;
        }
        self.net.put(node, Input::Mutex(command));
        self.check();
    }

    /// Every holder releases its lock soon, until no node waits.
    fn serve(&mut self) {
        let end = self.net.now.after(CALM);
        while self.roles.iter().flatten().any(|&role| role != Role::Idle) {
            assert!(self.net.now < end, "a node waits for ever: {:?}\n{}", self.roles, self.describe());
            self.run(Duration::from_millis(20));
            for node in 0..self.roles.len() {
                for lock in LOCKS {
                    self.ask(node, Command::Release { lock });
                }
            }
        }
    }

    fn check(&mut self) {
        let new = self.net.notices[self.checked..].to_vec();
        self.checked = self.net.notices.len();
        for (at, node, notice) in new {
            match notice {
                node::Notice::Mutex(notice) => {
                    self.history.push(format!("{} {node}: {notice:?}", at.as_micros()));
                    self.check_notice(at, node, notice);
                }
                node::Notice::Reorganising { .. } => {} // the role that follows is kept
                node::Notice::Role(role) => self.history.push(format!("{} {node}: {role:?}", at.as_micros())),
                node::Notice::SameId => panic!("{node} has an id of its own\n{}", self.describe()),
                node::Notice::Halted(why) => panic!("{node} stopped: {why:?}\n{}", self.describe()),
            }
        }
        let now = self.net.now;
        for (index, node) in self.net.nodes.iter().enumerate() {
            for (which, &lock) in LOCKS.iter().enumerate() {
                let notified = match self.roles[index][which] {
                    Role::Holding { fence, until } if until > now => Some(fence),
                    Role::Idle | Role::Waiting | Role::Holding { .. } => None,
                };
                let held = node.as_ref().and_then(|node| node.holds(lock, now));
                assert_eq!(held, notified, "the notices of {index} and {lock:?} differ\n{}", self.describe());
            }
        }
    }

    fn check_notice(&mut self, at: Instant, node: usize, notice: Notice) {
        let which = |lock: LockId| LOCKS.iter().position(|&known| known == lock).unwrap();
        match notice {
            Notice::Acquired { lock, fence, until } => {
                let which = which(lock);
                match self.roles[node][which] {
                    Role::Holding { fence: before, .. } => assert_eq!(before, fence, "{}", self.describe()),
                    Role::Waiting => {
                        let holds = |role: &[Role; LOCKS.len()]| matches!(role[which], Role::Holding { until, .. } if until > at);
                        let other = self.roles.iter().position(holds);
                        assert_eq!(other, None, "another holds {lock:?} that {node} is granted\n{}", self.describe());
                        let before = std::mem::replace(&mut self.highest[which], fence);
                        assert!(fence > before, "{fence:?} after {before:?}\n{}", self.describe());
                        self.grants += 1;
                    }
                    Role::Idle => panic!("{node} is granted {lock:?} unasked\n{}", self.describe()),
                }
                self.roles[node][which] = Role::Holding { fence, until };
            }
            Notice::Refused { lock, .. } => {
                let role = &mut self.roles[node][which(lock)];
                if *role == Role::Waiting {
                    *role = Role::Idle; // where it is held, only a renewal was refused
                }
            }
            Notice::Lost { lock } | Notice::Released { lock } => self.roles[node][which(lock)] = Role::Idle,
            Notice::Waiting { .. } | Notice::Expiring { .. } => {}
        }
    }

    fn describe(&self) -> String {
        format!("seed {}: {}", self.seed, self.history.join("\n"))
    }
}

/// Runs many storms over one lock.
fn storms<M: TestMutex>(name: &str, lock: &M) {
    let mut sum = (0, 0);
    for seed in 0..storms::seeds(200) {
        let (in_storm, grants) = storm(seed, lock);
        sum = (sum.0 + in_storm, sum.1 + grants);
    }
    println!("{name}: {} grants, {} of them in storms", sum.1, sum.0);
    assert!(sum.0 as u64 > storms::seeds(200), "{name}: {sum:?}");
}

macro_rules! storms_over_every_lock {
    ($($name:ident in $module:ident = $number:literal: $word:literal, $about:literal;)+) => {$(
        #[test]
        fn $module() {
            super::storms($word, &protocol::mutex::$name::default());
        }
    )+};
}

mod m1_no_two_hold_a_lock_whatever_goes_wrong_and_all_are_served_in_the_end {
    protocol::for_each_mutex! { storms_over_every_lock }

    #[test]
    fn token_ring_circulating() {
        use protocol::mutex::token_ring::{Idle, TokenRing};
        super::storms("token-ring:token=circulating", &TokenRing::new(Idle::Circulating));
    }
}
