// Kinds of frames: for each group of them a colour that the colour-blind tell apart (after Okabe and Ito), and a shape of its own.

const style = (name, colour, shape) => ({ name, colour, shape });
export const STYLES = {
  hello: style("hello, heartbeat", "#8a8a8a", "dot"),
  ack: style("acknowledgement", "#8f8f8f", "dash"),
  election: style("election", "#d55e00", "triangle"),
  reply: style("report, answer", "#cc79a7", "flipped"),
  leader: style("leader", "#0072b2", "diamond"),
  lease: style("lease of a leader", "#0072b2", "hollow"),
  token: style("token", "#c98500", "ring"),
  lock: style("lock", "#009e73", "square"),
  application: style("application", "#3b9bd4", "plus"),
  request: style("request, answer", "#1f8fc4", "chevron"),
  wave: style("snapshot, wave", "#8c6d31", "bow"),
  clock: style("clock", "#8f63cc", "half"),
  members: style("list of members", "#7a8b00", "lines"),
  lost: style("lost", "#d9362f", "cross"),
};

const REPLIES = ["report", "answer", "ok", "here", "veto"];
const OF_LEADERS = ["leader", "elected", "coordinator", "leader-heartbeat", "pulse", "beacon", "resigned"];
const OF_TOKENS = ["token", "privilege", "token-lease"];
/// The style of each part of a node, where one is enough for all its messages.
const OF_PARTS = { peers: "hello", link: "ack", lease: "lease", snapshot: "wave", wave: "wave", "dijkstra-scholten": "wave", "clock-sync": "clock", requests: "request", members: "members" };

/// The style of a message by the part of a node that sends it, which is what the simulator says, and by its name.
export function styleOf(part, name) {
  if (part === "election") return STYLES[OF_LEADERS.includes(name) ? "leader" : REPLIES.includes(name) ? "reply" : "election"];
  if (part === "lock") return STYLES[OF_TOKENS.includes(name) ? "token" : "lock"];
  return STYLES[OF_PARTS[part] ?? "application"];
}

const PARTS_BY_NAME = {
  peers: ["hello", "heartbeat"], link: ["ack"], lease: ["grant", "view", "release", "lease"],
  election: [...OF_LEADERS, "election", "probe", "broadcast", "number", "seek", "alert", "ask", "doubt", "bid", "raise", "report", "ok", "here", "veto"],
  lock: [...OF_TOKENS, "token-request", "try", "repeat", "full", "recall", "recall-ack", "refuse", "reply", "inquire", "relinquish"],
  snapshot: ["marker", "fragment", "abort"], wave: ["query", "continue", "terminate", "resync", "signal", "announce", "broken"],
  "clock-sync": ["poll", "adjust"], requests: ["refused"], members: ["list", "ask-change", "store-change"],
};

/// The part that sends a message, as far as names tell: a trace says no more. `names` are those of all its messages.
export function partByName({ locks, requests, app }, name, names) {
  if (name === "answer") return requests || names.includes("request") ? "requests" : app === "clock" || names.includes("poll") ? "clock-sync" : "election";
  if (locks && ["grant", "release", "request", "outdated"].includes(name)) return "lock";
  if (requests && name === "request") return "requests";
  return Object.keys(PARTS_BY_NAME).find((part) => PARTS_BY_NAME[part].includes(name)) ?? (locks ? "lock" : "application");
}

const polygon = (pen, ...points) => {
  points.forEach(([x, y]) => pen.lineTo(x, y));
  pen.closePath();
};
const SHAPES = {
  dot: (pen, x, y, size) => pen.arc(x, y, size * 0.6, 0, 7),
  ring: (pen, x, y, size) => pen.arc(x, y, size * 1.2, 0, 7),
  half: (pen, x, y, size) => pen.arc(x, y, size * 1.15, Math.PI / 2, -Math.PI / 2),
  triangle: (pen, x, y, size) => polygon(pen, [x, y - size * 1.2], [x + size, y + size * 0.8], [x - size, y + size * 0.8]),
  flipped: (pen, x, y, size) => polygon(pen, [x, y + size * 1.2], [x + size, y - size * 0.8], [x - size, y - size * 0.8]),
  diamond: (pen, x, y, size) => polygon(pen, [x, y - size * 1.2], [x + size, y], [x, y + size * 1.2], [x - size, y]),
  square: (pen, x, y, size) => pen.rect(x - size * 0.85, y - size * 0.85, size * 1.7, size * 1.7),
  chevron: (pen, x, y, size) => polygon(pen, [x - size, y - size], [x, y - size], [x + size, y], [x, y + size], [x - size, y + size], [x, y]),
  plus(pen, x, y, size) {
    pen.rect(x - size, y - size * 0.35, size * 2, size * 0.7);
    pen.rect(x - size * 0.35, y - size, size * 0.7, size * 2);
  },
  bow: (pen, x, y, size) => polygon(pen, [x - size, y - size], [x + size, y + size], [x + size, y - size], [x - size, y + size]),
  lines(pen, x, y, size) {
    for (const at of [-1, 0, 1]) pen.rect(x - size, y + at * size * 0.8 - size * 0.22, size * 2, size * 0.44);
  },
  dash: (pen, x, y, size) => pen.rect(x - size, y - size * 0.3, size * 2, size * 0.6),
  cross(pen, x, y, size) {
    pen.moveTo(x - size, y - size);
    pen.lineTo(x + size, y + size);
    pen.moveTo(x + size, y - size);
    pen.lineTo(x - size, y + size);
  },
};
SHAPES.hollow = SHAPES.diamond;
const STROKED = ["cross", "ring", "hollow"];

export function shape(pen, name, x, y, size) {
  pen.beginPath();
  SHAPES[name](pen, x, y, size);
  if (STROKED.includes(name)) {
    pen.lineWidth = 2;
    pen.stroke();
  } else pen.fill();
}

export function star(pen, x, y, size) {
  pen.beginPath();
  for (let at = 0; at < 10; at++) {
    const angle = (at * Math.PI) / 5 - Math.PI / 2, far = at % 2 ? size * 0.5 : size;
    pen.lineTo(x + Math.cos(angle) * far, y + Math.sin(angle) * far);
  }
  pen.closePath();
}
