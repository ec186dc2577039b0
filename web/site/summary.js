// What a state says as a whole: who leads, who disagrees, which cluster is where.

const POWER = 2, LEADER = 4, COMPONENT = 7, SERVED = 8, UP = 1;

/// Finds leaders, and which nodes disagree with most of their component; in a network of clusters, which have no super-peer.
export function summarize(about, state) {
  const up = state.nodes.filter((node) => node[POWER] === UP);
  state.up = up.length;
  state.leaders = state.nodes.flatMap((node, id) => (node[POWER] === UP && node[LEADER] === id ? [id] : []));
  // Who follows whom, where there is more than one leader: while it is the same, so is the ground.
  state.ground = state.leaders.length < 2 ? 0 : state.nodes.reduce((sum, node) => (sum * 31 + 3 * node[LEADER] + node[POWER]) | 0, 1);
  if (about.horizon) {
    state.disagrees = state.nodes.map((node) => node[POWER] === UP && node[SERVED] !== 1);
    state.agrees = up.length > 0 && !state.disagrees.includes(true);
    return;
  }
  const most = majorities(up);
  state.disagrees = state.nodes.map((node) => node[POWER] === UP && node[LEADER] !== most.get(node[COMPONENT]));
  const leaders = new Set(state.leaders);
  state.agrees = up.length > 0 && up.every((node) => leaders.has(node[LEADER])) && !state.disagrees.includes(true)
    && [...most].every(([component, leader]) => state.nodes[leader]?.[COMPONENT] === component);
}

/// Whom most nodes of each component follow.
function majorities(up) {
  const votes = new Map();
  for (const node of up) {
    const key = node[COMPONENT];
    if (!votes.has(key)) votes.set(key, new Map());
    const count = votes.get(key);
    count.set(node[LEADER], (count.get(node[LEADER]) ?? 0) + 1);
  }
  const most = new Map();
  for (const [component, count] of votes) most.set(component, [...count].sort((a, b) => b[1] - a[1])[0][0]);
  return most;
}

const listOf = (names) => (names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);
/// How many leaders are named.
const NAMED_MAX = 6;

/// The state in a sentence, for those who look for the first time and for those who cannot see the picture.
export function sentence({ horizon, members }, { nodes, up, leaders, agrees, disagrees }) {
  const differ = disagrees.filter(Boolean).length;
  if (up === 0) return "No node is up.";
  const many = members ? "members" : "nodes";
  if (members && leaders.length === 0) return `No member leads; ${up} are up.`;
  if (leaders.length === 0) return `No node leads; ${up} of ${nodes.length} are up.`;
  if (horizon) {
    const serving = leaders.length === 1 ? "1 super-peer" : `${leaders.length} super-peers`;
    return `${serving}: ${agrees ? "every node that is up has one in reach" : `${differ} of ${up} nodes have none in reach`}.`;
  }
  if (leaders.length === 1) {
    if (agrees) return `Node ${leaders[0]} leads, and all ${up} ${many} that are up agree.`;
    return differ > 0 ? `Node ${leaders[0]} leads, and ${differ} of ${up} ${many} disagree.` : `Node ${leaders[0]} leads, and a part of the network has no leader.`;
  }
  const names = leaders.length > NAMED_MAX ? `${leaders.length} nodes lead` : `Nodes ${listOf(leaders)} lead`;
  return `${names}${agrees ? ", one in each connected part" : `, and ${differ} of ${up} nodes disagree with most of their part`}.`;
}
