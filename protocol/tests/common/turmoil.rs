//! A group with a lock to which everything happens, drawn from a seed: the same for every lock.

use super::{Net, complete, config, lossy};
use protocol::dice::Dice;
use protocol::election::Bully;
use protocol::mandate::Mode;
use protocol::mutex::{Command, Fence, LockId, Mutex, Notice};
use protocol::node::{self, Input};
use protocol::{Config, Instant, Span};

/// The locks that are contended for.
const LOCKS: [LockId; 2] = [LockId::from_name("door"), LockId::from_name("printer")];

/// For how long each is asked for.
const LEASE: Span = Span::from_secs(3);

/// How long a group may take, after the last fault, to serve everybody who waits.
const PEACE: Span = Span::from_secs(90);

/// How far the application of a node has come with a lock, as it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Idle,
    Waiting,
    Holding { fence: Fence, until: Instant },
}

/// A group, and an onlooker who sees everything.
struct Turmoil<M: Mutex> {
    net: Net<Bully, M>,
    /// By node and lock.
    roles: Vec<[Role; LOCKS.len()]>,
    highest: [Fence; LOCKS.len()],
    grants: usize,
    /// How many notices have been looked at.
    seen: usize,
    seed: u64,
    /// What happened so far.
    story: Vec<String>,
}

/// What went on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Grants while everything went wrong, and in all.
    pub in_turmoil: usize,
    pub grants: usize,
}

/// Half a minute or so in which nodes ask for locks, keep, prolong, return and renounce them, crash, come back with or
/// without their records and are cut in two, while up to 30 % of all frames are lost. Never do two hold one lock, and its
/// fences grow. Then nothing goes wrong any more, and whoever waits is served.
///
/// Where `minority` is set, less than half of the nodes stay down for good.
pub fn turmoil<M: Mutex + Clone + 'static>(seed: u64, lock: &M, minority: bool) -> Tally {
    let mut dice = Dice::new(seed);
    let mut draw = move |sides: usize| dice.throw() as usize % sides;
    let count = 3 + draw(4);
    let percent = draw(31) as u64;
    let mut all = Turmoil::new(count, lock.clone());
    all.run(Span::from_secs(10));
    all.net.set_fate(lossy(percent, seed));
    all.seed = seed;
    all.story.push(format!("{count} nodes, {percent} % lost"));
    for _ in 0..60 {
        all.run(Span::from_millis(u32::try_from(draw(40) * draw(40)).unwrap()));
        let (node, place) = (draw(count), draw(LOCKS.len()));
        match draw(24) {
            0 => all.crash(node),
            1 => all.boot(node, draw(4) == 0),
            2 => all.cut(node),
            3 => all.mend(),
            4..13 => all.ask(node, Command::Acquire { lock: LOCKS[place], lease: LEASE }),
            13 => all.ask(node, Command::Try { lock: LOCKS[place], lease: LEASE }),
            14..17 => all.ask(node, Command::Renew { lock: LOCKS[place], lease: LEASE }),
            17 => all.ask(node, Command::Cancel { lock: LOCKS[place] }),
            _ => all.ask(node, Command::Release { lock: LOCKS[place] }),
        }
    }
    let in_turmoil = all.grants;
    all.mend();
    let mut down = (0..count).filter(|&node| all.net.nodes[node].is_none()).collect::<Vec<_>>();
    let spared = if minority { down.len().min((count - 1) / 2) } else { 0 };
    for node in down.split_off(spared) {
        all.boot(node, false);
    }
    all.net.set_fate(|_, _, _| true);
    all.story.push("peace".into());
    all.serve();
    for node in 0..count {
        for lock in LOCKS {
            all.ask(node, Command::Acquire { lock, lease: LEASE });
        }
    }
    all.serve();
    Tally { in_turmoil, grants: all.grants }
}

impl<M: Mutex + Clone + 'static> Turmoil<M> {
    fn new(count: usize, lock: M) -> Self {
        let make = move |index| {
            let config = Config { mode: Mode::Quorum, hops: 1, ..config(index) };
            (config, Bully::default(), lock.clone())
        };
        let net = Net::new(count, complete, make).in_group();
        let roles = vec![[Role::Idle; LOCKS.len()]; count];
        Self { net, roles, highest: [Fence::ZERO; LOCKS.len()], grants: 0, seen: 0, seed: 0, story: Vec::new() }
    }

    fn note(&mut self, what: &str) {
        self.story.push(format!("{} {what}", self.net.now.as_micros()));
    }

    /// Lets time pass. What the nodes are told is looked at afterwards: every notice has its moment.
    fn run(&mut self, span: Span) {
        self.net.run(span);
        self.look();
    }

    fn crash(&mut self, node: usize) {
        self.note(&format!("{node} crashes"));
        self.net.crash(node);
        self.roles[node] = [Role::Idle; LOCKS.len()];
    }

    fn boot(&mut self, node: usize, blank: bool) {
        self.note(&format!("{node} starts, blank {blank}"));
        self.roles[node] = [Role::Idle; LOCKS.len()];
        if blank {
            self.net.boot_blank(node);
        } else {
            self.net.boot(node);
        }
        self.look();
    }

    fn cut(&mut self, node: usize) {
        self.note(&format!("cut below {node}"));
        self.net.relink(move |a, b| (a < node) == (b < node));
    }

    fn mend(&mut self) {
        self.note("mended");
        self.net.relink(complete);
    }

    fn ask(&mut self, node: usize, command: Command) {
        let place = LOCKS.iter().position(|&lock| lock == command.lock()).unwrap();
        if self.net.nodes[node].is_none() {
            return;
        }
        let role = self.roles[node][place];
        let fits = match command {
            Command::Acquire { .. } | Command::Try { .. } => role == Role::Idle,
            Command::Cancel { .. } => role == Role::Waiting,
            Command::Renew { .. } | Command::Release { .. } => matches!(role, Role::Holding { .. }),
        };
        if !fits {
            return;
        }
        self.note(&format!("{node}: {command:?}"));
        if role == Role::Idle {
            self.roles[node][place] = Role::Waiting;
        }
        self.net.put(node, Input::Mutex(command));
        self.look();
    }

    /// Whoever holds a lock gives it back soon, until nobody waits.
    fn serve(&mut self) {
        let end = self.net.now.after(PEACE);
        while self.roles.iter().flatten().any(|&role| role != Role::Idle) {
            assert!(self.net.now < end, "somebody waits for ever: {:?}\n{}", self.roles, self.tell());
            self.run(Span::from_millis(20));
            for node in 0..self.roles.len() {
                for lock in LOCKS {
                    self.ask(node, Command::Release { lock });
                }
            }
        }
    }

    fn look(&mut self) {
        let new = self.net.notices[self.seen..].to_vec();
        self.seen = self.net.notices.len();
        for (at, node, notice) in new {
            match notice {
                node::Notice::Mutex(notice) => {
                    self.story.push(format!("{} {node} is told {notice:?}", at.as_micros()));
                    self.judge(at, node, notice);
                }
                node::Notice::Role(role) => self.story.push(format!("{} {node}: {role:?}", at.as_micros())),
                node::Notice::Halted(why) => panic!("{node} stopped: {why:?}\n{}", self.tell()),
            }
        }
        let now = self.net.now;
        for (index, node) in self.net.nodes.iter().enumerate() {
            for (place, &lock) in LOCKS.iter().enumerate() {
                let told = match self.roles[index][place] {
                    Role::Holding { fence, until } if until > now => Some(fence),
                    Role::Idle | Role::Waiting | Role::Holding { .. } => None,
                };
                let held = node.as_ref().and_then(|node| node.holds(lock, now));
                assert_eq!(held, told, "what {index} was told of {lock:?} is not what is\n{}", self.tell());
            }
        }
    }

    fn judge(&mut self, at: Instant, node: usize, notice: Notice) {
        let place = |lock: LockId| LOCKS.iter().position(|&known| known == lock).unwrap();
        match notice {
            Notice::Acquired { lock, fence, until } => {
                let place = place(lock);
                match self.roles[node][place] {
                    Role::Holding { fence: before, .. } => assert_eq!(before, fence, "{}", self.tell()),
                    Role::Waiting => {
                        let holds = |role: &[Role; LOCKS.len()]| matches!(role[place], Role::Holding { until, .. } if until > at);
                        let other = self.roles.iter().position(holds);
                        assert_eq!(other, None, "another holds {lock:?} that {node} is granted\n{}", self.tell());
                        assert!(
                            fence > self.highest[place],
                            "{fence:?} after {:?}\n{}",
                            self.highest[place],
                            self.tell()
                        );
                        self.highest[place] = fence;
                        self.grants += 1;
                    }
                    Role::Idle => panic!("{node} is granted {lock:?} unasked\n{}", self.tell()),
                }
                self.roles[node][place] = Role::Holding { fence, until };
            }
            Notice::Refused { lock, .. } => {
                let role = &mut self.roles[node][place(lock)];
                if *role == Role::Waiting {
                    *role = Role::Idle; // where it is held, only more time was refused
                }
            }
            Notice::Lost { lock } | Notice::Released { lock } => self.roles[node][place(lock)] = Role::Idle,
            Notice::Waiting { .. } | Notice::Expiring { .. } => {}
        }
    }

    fn tell(&self) -> String {
        format!("seed {}: {}", self.seed, self.story.join("\n"))
    }
}
