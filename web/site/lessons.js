// Six guided stories: a scenario, captions at moments, and what happens between them.
//
// A step's caption is shown when `when` holds, or `after` so many seconds; `act` is done and `open` is opened when the reader goes on.

const led = (state) => state.agrees && state.leaders.length === 1;
const messages = (state) => state.kinds.reduce((sum, kind, at) => sum + (["hello", "ack", "heartbeat", "leader-heartbeat", "lease"].includes(kind) ? 0 : state.sent[at]), 0);

/// Whether a lock was granted a moment ago: its holder's first write is on the way.
const justGranted = (state, run) => run.log.some(({ at, text }) => /holds lock/.test(text) && at > state.now - 100000);
/// Whether the lock was granted to another while its holder slept, long enough ago for the first write of that one to have arrived.
function wroteMeanwhile(state, run) {
  const slept = run.log.findLastIndex(({ text }) => /is paused/.test(text));
  return run.log.slice(slept + 1).some(({ at, text }) => /holds lock/.test(text) && at < state.now - 800000);
}
const refused = (run) => run.log.find(({ text }) => /late write/.test(text));
const recorded = (state) => state.app.filter((mark) => mark[2] === "recorded").reduce((total, mark) => total + mark[4], 0);

const MEADOW = `name = "meadow"
about = "25 radio nodes in a meadow: what leads them, and what happens when it is gone."
nodes = 25
duration = "90s"
boot_spread = "300ms"

[topology]
shape = "grid"
columns = 5

[medium]
loss = "5%"
`;

const OFFICE = (election) => `name = "office"
about = "Eight members on a local network elect by the algorithm ${election}."
nodes = 8
duration = "60s"
election = "${election}"

[topology]
shape = "complete"

[medium]
kind = "lan"
delay = ["1ms", "5ms"]

[capacity]
rule = "rising"
`;

const PRINTER = `name = "printer"
about = "Three of five members share a printer under a lock with a lease and a fence."
nodes = 5
duration = "60s"
election = "bully"
mode = "quorum"

[topology]
shape = "complete"

[medium]
kind = "lan"

[capacity]
rule = "rising"

[locks]
mutex = "central"
names = ["printer"]
contenders = [0, 1, 2]
think = ["200ms", "800ms"]
hold = ["800ms", "1500ms"]
lease = ["2s", "2s"]
write = ["300ms", "700ms"]
`;

let bullyMessages = 0;

export const LESSONS = [
  {
    title: "1. A wireless election",
    text: MEADOW,
    steps: [
      { text: "25 nodes start. Each hears only its neighbours, and no one knows all of them. They shall follow the one with the highest capacity (the ring around a node shows how much it has)." },
      { when: (state) => state.tree.length > 6, speed: 0.1, text: "A node calls an election: orange triangles. Whoever is called for the first time takes the caller as its parent and calls on. The thick lines are the tree that grows this way." },
      { when: led, speed: 0.3, after: 0.2, text: (state) => `The reports came back along the tree, each with the best candidate below. Node ${state.leaders[0]} has the highest capacity: it leads, and its heartbeats (blue diamonds) tell everybody.` },
      { after: 3, text: "Now it is calm: heartbeats flood once in a while, and hellos keep the neighbours known. That is all a settled network sends." },
    ],
  },
  {
    title: "2. The leader crashes",
    text: MEADOW,
    steps: [
      { text: "The same meadow. First, a leader." },
      { when: led, speed: 3, after: 1, act: 'do = "crash"\nnode = "leader"', text: (state) => `Node ${state.leaders[0]} leads. Go on, and it fails without a word.` },
      { when: (state) => state.nodes.some((node) => node[2] === 1 && node[4] < 0) || state.leaders.length > 0, speed: 0.3, after: 1.2, text: "Nobody announces a crash: heartbeats stay away. Nodes that miss them wait, each a little longer the worse it would lead, and then call an election." },
      { when: led, speed: 1, after: 0.5, text: (state) => `Node ${state.leaders[0]}, the best of those that are left, leads under a higher term (${state.nodes[state.leaders[0]][5]}). A term never comes twice: what the old leader said is known to be old.` },
    ],
  },
  {
    title: "3. Split and merge",
    text: MEADOW,
    steps: [
      { text: "What if the network falls apart?" },
      { when: led, speed: 3, after: 1, act: 'do = "partition"\ncut = "left-right"', text: "All follow one leader. Go on, and no frame crosses the middle any more." },
      { when: (state) => state.agrees && state.leaders.length === 2, speed: 1, after: 1, act: 'do = "heal"', text: (state) => `Each half has a leader: ${state.leaders.join(" and ")}. In this mode, "available", that is right: one for each connected part. Mode "quorum" would let only a majority be led. Go on, and the halves meet again.` },
      { when: led, speed: 1, after: 0.5, text: (state) => `When the halves heard each other, the better leader won: all follow node ${state.leaders[0]}. The letters and colours of two clusters became one.` },
    ],
  },
  {
    title: "4. Bully against ring",
    text: OFFICE("bully"),
    steps: [
      { text: "Eight members of a group, on a network where each reaches each. The bully algorithm: who wants an election asks all that are better than itself; who has no better one proclaims itself." },
      { when: led, speed: 1, after: 2, act: 'do = "crash"\nnode = "leader"', text: "The best one leads. Go on, and it fails." },
      { when: (state) => led(state), speed: 1, after: 3, open: { text: OFFICE("ring") }, text: (state) => { bullyMessages = messages(state); return `The next best leads. So far the elections took ${bullyMessages} frames beside hellos, heartbeats and acknowledgements. Go on for the same with the ring algorithm: a list travels from member to member and collects them.`; } },
      { when: led, speed: 1, after: 2, act: 'do = "crash"\nnode = "leader"', text: "The ring has elected the same node. Go on, and it fails too." },
      { when: (state) => led(state), speed: 1, after: 3, text: (state) => `With the ring it took ${messages(state)} such frames, with the bully ${bullyMessages}. The bully may take n squared messages when a weak node begins; the ring takes about 2n, one after the other.` },
    ],
  },
  {
    title: "5. A lock and a sleeping holder",
    text: PRINTER,
    steps: [
      { text: "Three members want one printer. The leader keeps a lock: who holds it (the square around a node) may print, until its lease ends." },
      { when: (state, run) => led(state) && justGranted(state, run), speed: 1, after: 3, act: 'do = "pause"\nnode = "holder"', text: "A member holds the lock, others wait. Every grant has a fence, a number that only grows. Go on, and the holder falls asleep in the middle of its work." },
      { when: wroteMeanwhile, speed: 1, act: 'do = "resume"\nnode = "last"', text: "It sleeps past the end of its lease, so another holds the lock now, under a higher fence. The sleeper cannot know. Go on, and it wakes, and its write goes out." },
      { after: 2, speed: 1, text: (state, run) => `${refused(run)?.text ?? "Its write came to nothing"}: the printer had seen a higher fence before. A lock alone cannot do that; the resource must check fences.`.replace("a late", "A late") },
    ],
  },
  {
    title: "6. A snapshot",
    scenario: "snapshot-demo",
    seed: 3, // with messages in flight
    steps: [
      { text: "Four members of a bank pass tokens to each other all the time. How many are there in all? Nobody can stop the world to count." },
      { when: (state) => state.app.length > 20, speed: 1, after: 3, text: "Tokens are moving. At four seconds node 0 begins a snapshot after Chandy and Lamport: it records its own state and sends a marker on every channel." },
      { when: (state) => state.app.some((mark) => mark[2] === "completed"), speed: 0.3, text: "In the diagram below, the squares are where each node recorded its state: that is the cut. A message that crosses it, drawn thick, was in flight and belongs to the snapshot." },
      { after: 0.2, text: (state) => `The recorded states hold ${recorded(state)} of the 400 tokens, and the messages that crossed the cut the other ${400 - recorded(state)}: none is missing, and none counts twice. The network may never have been in this state at one instant, but it could have been.` },
    ],
  },
];
