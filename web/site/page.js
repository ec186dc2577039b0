// The page: it asks the simulator (conclave.wasm) to run, and draws what it answers. It keeps no state of the network.

import { LESSONS } from "./lessons.js";
import { Live } from "./live.js";
import { Recording } from "./recording.js";

const $ = (id) => document.getElementById(id);
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
const SECOND = 1e6;

// The simulator.

const { instance } = await load("conclave.wasm");
const { memory, input, ask: askModule, output } = instance.exports;
const encoder = new TextEncoder(), decoder = new TextDecoder();
let stopped = false;

/// Compiles a module while it is read; some servers do not know its type, and then it is read first.
async function load(address) {
  try {
    return await WebAssembly.instantiateStreaming(fetch(address), {});
  } catch {
    return WebAssembly.instantiate(await (await fetch(address)).arrayBuffer(), {});
  }
}

/// A trace that is played instead of a run, or a swarm that is followed.
let recording = null;

function ask(question) {
  if (recording && recording.answers(question.ask)) return recording.answer(question);
  if (stopped) throw new Error("The simulator stopped. Reload the page.");
  const text = encoder.encode(JSON.stringify(question));
  let length;
  try {
    const at = input(text.length); // the memory may grow, and its buffer be another
    new Uint8Array(memory.buffer, at, text.length).set(text);
    length = askModule();
  } catch (error) {
    stopped = true;
    throw new Error(`The simulator stopped (${error.message}). Reload the page.`);
  }
  const answer = JSON.parse(decoder.decode(new Uint8Array(memory.buffer, output(), length)));
  if (answer.error !== undefined) throw new Error(answer.error);
  return answer;
}

function say(problem) {
  $("problem").hidden = !problem;
  $("problem").textContent = problem ?? "";
}

/// Runs `change`; an error is a sentence in the page.
function trying(change) {
  try {
    say(null);
    return change();
  } catch (error) {
    say(error.message);
    return null;
  }
}

// The run.

const catalogue = ask({ ask: "catalogue" });
const run = {
  name: null, base: "", seed: 0, acts: [], about: {},
  state: null, links: [], samples: [], log: [], colours: new Map(), playing: false, speed: 1, target: 0, seeking: null,
};

/// The scenario with all acts: what `conclave run` replays.
function textOfRun() {
  if (run.acts.length === 0) return run.base;
  const tables = run.acts.map(({ at, fault }) => `\n[[faults]]\nat = "${at}us"\n${fault}\n`);
  return ask({ ask: "without", text: run.base, table: "expect" }).text.trimEnd() + "\n" + tables.join("");
}

/// Opens the run again from its seed, and goes to a moment.
function reopen(moment = 0) {
  run.about = ask({ ask: "open", text: textOfRun(), seed: run.seed });
  Object.assign(run, { state: null, links: [], samples: [], colours: new Map(), target: moment });
  flying.length = 0;
  clearLog();
  seek(moment);
  describe();
}

function openText(text, { name = null, seed = run.seed, acts = [], moment = 0 } = {}) {
  recording = null;
  const before = { name: run.name, base: run.base, seed: run.seed, acts: run.acts };
  Object.assign(run, { name, base: text, seed, acts });
  try {
    reopen(moment);
  } catch (error) {
    Object.assign(run, before);
    throw error;
  }
  view.fit();
  select(null);
}

function openShipped(name, options) {
  const shipped = catalogue.scenarios.find((entry) => entry.name === name);
  if (!shipped) throw new Error(`There is no scenario "${name}".`);
  openText(shipped.text, { name, ...options });
}

/// Changes the scenario's text by a question; the run starts again and goes to where it was.
function change(question) {
  const before = run.base;
  run.base = ask({ text: run.base, ...question }).text;
  try {
    reopen(run.state?.now ?? 0);
  } catch (error) {
    run.base = before;
    describe();
    throw error;
  }
}

function act(fault) {
  if (recording?.act) {
    const acted = (at) => {
      run.acts.push({ at, fault });
      say(null);
      showActs();
    };
    return void recording.act(fault).then(acted, (error) => say(error.message));
  }
  return trying(() => {
    const { at } = ask({ ask: "act", fault });
    run.acts.push({ at, fault });
    // The act is due in the next free microsecond.
    ask({ ask: "run", until: at, budget: 100000 });
    run.target = Math.max(run.target, at);
    look();
    showActs();
    return at;
  });
}

function undo(index) {
  run.acts.splice(index, 1);
  trying(() => reopen(run.state?.now ?? 0));
}

// Time. A frame of the page runs the simulator for at most so long.

const FRAME_BUDGET_MS = 14, FRAME_BUDGET_MAX_MS = 70, SLICE = 1500, LESSON_GRAIN = 50000;
/// Where a picture takes longer than that, as of thousands of nodes, the simulator may run for as long as the picture took.
let frameBudget = FRAME_BUDGET_MS;

/// Runs towards a moment; returns whether it came there.
function advance(moment, budget = frameBudget) {
  const start = performance.now();
  for (;;) {
    const { reached } = ask({ ask: "run", until: Math.round(moment), budget: SLICE });
    if (reached) return true;
    if (performance.now() - start > budget) return false;
  }
}

function seek(moment) {
  moment = Math.max(0, Math.min(moment, run.about.duration));
  if (run.state && moment < run.state.now) {
    ask({ ask: "open", text: textOfRun(), seed: run.seed });
    Object.assign(run, { state: null, samples: [] });
    flying.length = 0;
    clearLog();
  }
  run.seeking = moment;
  run.target = moment;
  if (advance(moment, 60)) run.seeking = null;
  look();
}

/// Plays towards a moment, or to where a lesson has something to tell; returns whether it came there.
function playTo(moment) {
  const start = performance.now();
  for (;;) {
    // A lesson looks at fixed moments: what it sees does not depend on the machine.
    const next = lesson ? Math.min(moment, (Math.floor(run.state.now / LESSON_GRAIN) + 1) * LESSON_GRAIN) : moment;
    const came = advance(next);
    look();
    lesson?.watch();
    if (!came || !run.playing || performance.now() - start > frameBudget) return false;
    if (next >= moment) return true;
  }
}

let lastFrame = performance.now();

function tick(now) {
  const passed = Math.max(0, Math.min(100, now - lastFrame));
  lastFrame = now;
  try {
    if (run.seeking !== null) {
      if (advance(run.seeking, 40)) run.seeking = null;
      look();
    } else if (run.playing && recording?.running) {
      run.about.duration = recording.duration;
      playTo(recording.duration);
    } else if (run.playing) {
      run.target = Math.min(run.target + passed * 1000 * run.speed, run.about.duration);
      // A machine that cannot keep up runs slower than asked, and stays responsive.
      if (!playTo(run.target)) run.target = run.state.now;
      if (run.state.now >= run.about.duration) play(false);
    }
  } catch (error) {
    say(error.message);
    play(false);
  }
  const drawing = performance.now();
  draw(now);
  frameBudget = Math.max(FRAME_BUDGET_MS, Math.min(performance.now() - drawing, FRAME_BUDGET_MAX_MS));
  requestAnimationFrame(tick);
}

function play(playing) {
  run.playing = playing;
  $("play").textContent = playing ? "Pause" : "Play";
  $("play").setAttribute("aria-pressed", playing);
  if (!playing && run.state) show();
}

// What the simulator shows.

const NODE = { x: 0, y: 1, power: 2, capacity: 3, leader: 4, term: 5, acts: 6, component: 7, served: 8 };
const flying = [];
/// How many frames fly at once; fewer in networks of many nodes.
const FLYING_MAX = 700;

function look() {
  const state = ask({ ask: "look", samples: run.samples.length });
  if (state.links) run.links = state.links;
  run.samples.push(...state.samples);
  run.state = state;
  summarize(state);
  launch(state);
  write(state.sentences);
  show();
  return state;
}

/// Finds leaders, and which nodes disagree with most of their component; in a network of clusters, which have no super-peer.
function summarize(state) {
  const up = state.nodes.filter((node) => node[NODE.power] === 1);
  state.leaders = state.nodes.flatMap((node, id) => (node[NODE.power] === 1 && node[NODE.leader] === id ? [id] : []));
  state.colours = coloursOf(state);
  // Who follows whom, where there is more than one leader: while it is the same, so is the ground.
  state.ground = state.leaders.length < 2 ? 0 : state.nodes.reduce((sum, node) => (sum * 31 + 3 * node[NODE.leader] + node[NODE.power]) | 0, 1);
  if (run.about.horizon) {
    state.disagrees = state.nodes.map((node) => node[NODE.power] === 1 && node[NODE.served] !== 1);
    state.agrees = up.length > 0 && !state.disagrees.includes(true);
    return;
  }
  const votes = new Map();
  for (const node of up) {
    const key = node[NODE.component];
    if (!votes.has(key)) votes.set(key, new Map());
    const count = votes.get(key);
    count.set(node[NODE.leader], (count.get(node[NODE.leader]) ?? 0) + 1);
  }
  const most = new Map();
  for (const [component, count] of votes) most.set(component, [...count].sort((a, b) => b[1] - a[1])[0][0]);
  state.disagrees = state.nodes.map((node) => node[NODE.power] === 1 && node[NODE.leader] !== most.get(node[NODE.component]));
  const leaders = new Set(state.leaders);
  state.agrees = up.length > 0 && up.every((node) => leaders.has(node[NODE.leader])) && !state.disagrees.includes(true)
    && [...most].every(([component, leader]) => state.nodes[leader]?.[NODE.component] === component);
}

/// Lets frames fly: longer than they do, or nobody would see them.
function launch(state) {
  const now = performance.now();
  const most = FLYING_MAX / Math.max(1, state.nodes.length / 500);
  const room = most - flying.length;
  const every = Math.max(1, Math.ceil(state.frames.length / Math.max(1, Math.min(room, 260))));
  state.frames.forEach(([at, kind, from, to, end], index) => {
    if (index % every === 0 && flying.length < most) {
      flying.push({ from, to, end, style: styleOf(state.kinds[kind]), start: now, length: reducedMotion.matches ? 250 : 420 });
    }
  });
}

const LOG_MAX = 400;
/// Sentences that are not in the list yet: the list is written a few times a second.
const unwritten = [];

function write(sentences) {
  for (const [at, node, text] of sentences) run.log.push({ at, node, text });
  unwritten.push(...sentences);
  for (const list of [run.log, unwritten]) if (list.length > LOG_MAX) list.splice(0, list.length - LOG_MAX);
}

function showLog() {
  if (unwritten.length === 0) return;
  const list = $("log");
  const atEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 8;
  const items = unwritten.splice(0).map(([at, , text]) => {
    const item = document.createElement("li");
    const time = document.createElement("time");
    time.textContent = seconds(at);
    item.append(time, text);
    if (/LEADS|fails|PARTITION|HOLDS|TERMINATED|complete/.test(text)) {
      item.className = "loud";
      $("news").textContent = text;
    }
    return item;
  });
  list.append(...items);
  while (list.children.length > LOG_MAX) list.firstChild.remove();
  if (atEnd) list.scrollTop = list.scrollHeight;
}

function clearLog() {
  run.log = [];
  unwritten.length = 0;
  $("log").replaceChildren();
}

const seconds = (micros, digits = 3) => `${(micros / SECOND).toFixed(digits)} s`;

// Kinds of frames: a colour that the colour-blind tell apart (after Okabe and Ito), and a shape of its own.

const STYLES = [
  { name: "hello, heartbeat", colour: "#8a8a8a", shape: "dot", kinds: ["hello", "heartbeat"] },
  { name: "acknowledgement", colour: "#999999", shape: "dash", kinds: ["ack"] },
  { name: "election", colour: "#d55e00", shape: "triangle", kinds: ["election", "probe", "broadcast", "number", "seek", "alert", "ask", "doubt", "bid", "raise"] },
  { name: "report, answer", colour: "#cc79a7", shape: "flipped", kinds: ["report", "answer", "ok", "here", "veto"] },
  { name: "leader", colour: "#0072b2", shape: "diamond", kinds: ["leader", "elected", "coordinator", "leader-heartbeat", "pulse", "view", "beacon", "resigned"] },
  { name: "token", colour: "#e69f00", shape: "ring", kinds: ["token", "privilege", "token-lease"] },
  { name: "lock", colour: "#009e73", shape: "square", kinds: [] },
];
const [, , ELECTION, , LEADER, , LOCK] = STYLES;
const LOST = { name: "lost", colour: "#b00000", shape: "cross" };
const APP = { name: "application, request", colour: "#56b4e9", shape: "plus" };
const WAVE = { name: "snapshot, wave, clock", colour: "#8c6d31", shape: "bow" };
const WAVE_KINDS = ["marker", "fragment", "done", "abort", "query", "continue", "terminate", "resync", "signal", "announce", "broken", "poll", "adjust", "outdated"];
const REQUEST_KINDS = ["request", "answer", "refused"];
/// Of a leader's lease, where there are no locks that use the same words.
const LEASE_KINDS = ["grant", "release"];

function styleOf(kind) {
  if (run.about.requests && REQUEST_KINDS.includes(kind)) return APP;
  const found = STYLES.find((style) => style.kinds.includes(kind));
  if (found) return found;
  if (run.about.locks) return LOCK;
  if (LEASE_KINDS.includes(kind)) return LEADER;
  if (run.about.app) return WAVE_KINDS.includes(kind) ? WAVE : APP;
  return ELECTION;
}

function shape(pen, kind, x, y, size) {
  pen.beginPath();
  if (kind === "dot") pen.arc(x, y, size * 0.6, 0, 7);
  else if (kind === "ring") pen.arc(x, y, size * 1.2, 0, 7);
  else if (kind === "triangle") { pen.moveTo(x, y - size * 1.2); pen.lineTo(x + size, y + size * 0.8); pen.lineTo(x - size, y + size * 0.8); pen.closePath(); }
  else if (kind === "flipped") { pen.moveTo(x, y + size * 1.2); pen.lineTo(x + size, y - size * 0.8); pen.lineTo(x - size, y - size * 0.8); pen.closePath(); }
  else if (kind === "diamond") { pen.moveTo(x, y - size * 1.2); pen.lineTo(x + size, y); pen.lineTo(x, y + size * 1.2); pen.lineTo(x - size, y); pen.closePath(); }
  else if (kind === "square") pen.rect(x - size * 0.85, y - size * 0.85, size * 1.7, size * 1.7);
  else if (kind === "plus") { pen.rect(x - size, y - size * 0.35, size * 2, size * 0.7); pen.rect(x - size * 0.35, y - size, size * 0.7, size * 2); }
  else if (kind === "bow") { pen.moveTo(x - size, y - size); pen.lineTo(x + size, y + size); pen.lineTo(x + size, y - size); pen.lineTo(x - size, y + size); pen.closePath(); }
  else if (kind === "dash") pen.rect(x - size, y - size * 0.3, size * 2, size * 0.6);
  else { pen.moveTo(x - size, y - size); pen.lineTo(x + size, y + size); pen.moveTo(x + size, y - size); pen.lineTo(x - size, y + size); }
  if (kind === "cross" || kind === "ring") { pen.lineWidth = 2; pen.stroke(); } else pen.fill();
}

function legend() {
  for (const style of [...STYLES, APP, WAVE, LOST]) {
    const item = document.createElement("li"), swatch = document.createElement("canvas");
    swatch.width = swatch.height = 18;
    const pen = swatch.getContext("2d");
    pen.fillStyle = pen.strokeStyle = style.colour;
    shape(pen, style.shape, 9, 9, 5);
    item.append(swatch, style.name);
    $("legend").append(item);
  }
  const words = document.createElement("li");
  words.textContent = "★ leads · ● follows · ? no leader · × down · ‖ paused · dashed ring: disagrees · thick line: tree of the election, or to a super-peer · coloured ground with an edge, and a letter: one cluster";
  $("legend").append(words);
}

// The view: metres to pixels.

const view = {
  scale: 1, x: 0, y: 0, width: 1, height: 1, moved: true,
  fit() {
    const nodes = run.state?.nodes ?? [];
    const xs = nodes.map((node) => node[NODE.x]), ys = nodes.map((node) => node[NODE.y]);
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const margin = Math.min(64, this.width / 8);
    const scale = Math.min((this.width - 2 * margin) / Math.max(1e-6, right - left), (this.height - 2 * margin) / Math.max(1e-6, bottom - top));
    this.scale = Number.isFinite(scale) ? Math.min(scale, 150) : 10;
    this.x = (left + right) / 2 || 0;
    this.y = (top + bottom) / 2 || 0;
    this.moved = true;
  },
  at(x, y) { return [(x - this.x) * this.scale + this.width / 2, (y - this.y) * this.scale + this.height / 2]; },
  metres(px, py) { return [(px - this.width / 2) / this.scale + this.x, (py - this.height / 2) / this.scale + this.y]; },
  zoom(factor, px = this.width / 2, py = this.height / 2) {
    const [x, y] = this.metres(px, py);
    this.scale = Math.max(0.001, Math.min(400, this.scale * factor));
    const [nx, ny] = this.metres(px, py);
    this.x += x - nx;
    this.y += y - ny;
    this.moved = true;
  },
};

const canvas = $("network");
const layer = document.createElement("canvas");
let colours = {};

/// Whether the size of the network's picture may have changed.
let resized = true;
new ResizeObserver(() => (resized = true)).observe(canvas);

function resize() {
  if (!resized) return;
  resized = false;
  const ratio = devicePixelRatio || 1;
  const { width, height } = canvas.getBoundingClientRect();
  if (canvas.width === Math.round(width * ratio) && canvas.height === Math.round(height * ratio)) return;
  const first = view.width === 1;
  [canvas.width, canvas.height] = [layer.width, layer.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  Object.assign(view, { width, height, moved: true });
  if (first || run.state) view.fit();
}

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["ground", "panel", "ink", "faint", "line", "accent", "alarm"]) colours[name] = style.getPropertyValue(`--${name}`).trim();
  view.moved = true;
}

/// A colour and letters for each leader, which it keeps while it leads. Few colours are told apart: of two leaders with one colour,
/// the nearest are as far from each other as can be.
const CLUSTERS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6d31"];

function coloursOf({ nodes, leaders }) {
  const known = run.colours, chosen = new Map();
  for (const leader of leaders) if (known.has(leader)) chosen.set(leader, known.get(leader));
  for (const leader of leaders) {
    if (chosen.has(leader)) continue;
    const [x, y] = nodes[leader], nearest = CLUSTERS.map(() => Infinity);
    for (const [other, { colour }] of chosen) {
      nearest[colour] = Math.min(nearest[colour], (nodes[other][NODE.x] - x) ** 2 + (nodes[other][NODE.y] - y) ** 2);
    }
    const used = new Set([...chosen.values()].map(({ number }) => number));
    let number = 0;
    while (used.has(number)) number += 1;
    chosen.set(leader, { colour: nearest.indexOf(Math.max(...nearest)), number });
  }
  return (run.colours = chosen);
}

const clusterOf = (leader) => CLUSTERS[run.state.colours.get(leader)?.colour ?? 0];

function letterOf(leader) {
  const number = run.state.colours.get(leader)?.number;
  if (number === undefined) return "?";
  return (number >= 26 ? String.fromCharCode(64 + Math.floor(number / 26) % 26) : "") + String.fromCharCode(65 + (number % 26));
}

const radius = () => Math.max(3, Math.min(13, view.scale * (run.about.range ?? 15) * 0.13));

/// How many shades links have by their quality.
const QUALITY_SHADES = 6;
/// So many nodes have links too short for dashes, which take long to draw: the shade alone tells their quality.
const SOLID_FROM = 800;

function drawLinks() {
  const pen = layer.getContext("2d");
  const ratio = canvas.width / view.width;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, view.width, view.height);
  drawGround(pen, ratio);
  const nodes = run.state.nodes;
  const back = new Set(run.links.map(([from, to]) => from * nodes.length + to));
  const whole = run.links.length > 60 * nodes.length ? 0 : 1; // a complete network of many nodes is not drawn line by line
  // One path for all links that look alike: a path for each would take longer than the simulator.
  const paths = new Map();
  for (const [from, to, quality] of whole ? run.links : []) {
    const both = back.has(to * nodes.length + from);
    if (both && from > to) continue;
    const shade = Math.round((QUALITY_SHADES * quality) / 255), key = shade + (both ? 0 : 2 * QUALITY_SHADES);
    if (!paths.has(key)) paths.set(key, { path: new Path2D(), shade, dash: both ? (quality < 255 ? [6, 4] : []) : [1, 5] });
    const { path } = paths.get(key), [a, b] = [nodes[from], nodes[to]];
    path.moveTo(...view.at(a[NODE.x], a[NODE.y]));
    path.lineTo(...view.at(b[NODE.x], b[NODE.y]));
  }
  pen.lineWidth = 1;
  pen.strokeStyle = colours.faint;
  for (const { path, shade, dash } of paths.values()) {
    pen.globalAlpha = 0.12 + (0.33 * shade) / QUALITY_SHADES;
    pen.setLineDash(nodes.length > SOLID_FROM && dash[0] !== 1 ? [] : dash);
    pen.stroke(path);
  }
  pen.globalAlpha = 1;
  pen.setLineDash([]);
}

/// The links, and the ground of clusters, that were drawn last.
let linksDrawn = null, groundDrawn = null, layerDrawnAt = 0;
/// The more nodes, the less often changed links are drawn.
const LAYER_MS_PER_NODE = 0.2;

function draw(now) {
  if (!run.state) return;
  resize();
  const changed = linksDrawn !== run.links || groundDrawn !== run.state.ground;
  if (view.moved || (changed && now - layerDrawnAt >= run.state.nodes.length * LAYER_MS_PER_NODE)) {
    layerDrawnAt = now;
    drawLinks();
    view.moved = false;
    linksDrawn = run.links;
    groundDrawn = run.state.ground;
  }
  const pen = canvas.getContext("2d");
  const ratio = canvas.width / view.width;
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(layer, 0, 0);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  drawClusters(pen);
  drawTree(pen);
  drawVotes(pen);
  drawFrames(pen, now);
  drawNodes(pen);
  drawTool(pen);
  drawScale(pen);
}

function drawTree(pen) {
  const nodes = run.state.nodes;
  pen.strokeStyle = colours.accent;
  pen.lineWidth = 3;
  pen.globalAlpha = 0.4;
  pen.beginPath();
  for (const [parent, child] of run.state.tree) {
    pen.moveTo(...view.at(nodes[parent][NODE.x], nodes[parent][NODE.y]));
    pen.lineTo(...view.at(nodes[child][NODE.x], nodes[child][NODE.y]));
  }
  pen.stroke();
  pen.globalAlpha = 1;
}

/// How many clusters have an edge; of more, only the colour of the ground is drawn.
const EDGES_MAX = 200;
const sketch = document.createElement("canvas");

/// The ground of each cluster: its colour around its nodes, and an edge around all of them.
function drawGround(pen, ratio) {
  const { nodes, leaders } = run.state;
  if (leaders.length < 2) return;
  const reach = Math.max(radius() * 2.3, Math.min(radius() * 5, (run.about.range ?? 15) * view.scale * 0.42));
  const clusters = new Map(leaders.map((leader) => [leader, []]));
  for (const node of nodes) if (node[NODE.power] === 1) clusters.get(node[NODE.leader])?.push(view.at(node[NODE.x], node[NODE.y]));
  if (sketch.width !== layer.width || sketch.height !== layer.height) [sketch.width, sketch.height] = [layer.width, layer.height];
  const draft = sketch.getContext("2d");
  const discs = (on, places, size) => {
    on.beginPath();
    for (const [x, y] of places) {
      on.moveTo(x + size, y);
      on.arc(x, y, size, 0, 7);
    }
    on.fill();
  };
  for (const [leader, places] of clusters) {
    pen.fillStyle = clusterOf(leader);
    pen.globalAlpha = 0.2;
    discs(pen, places, reach);
    pen.globalAlpha = 1;
    if (leaders.length > EDGES_MAX || places.length === 0) continue;
    // The edge is what is left of larger discs without smaller ones.
    const xs = places.map(([x]) => x), ys = places.map(([, y]) => y);
    const [left, top] = [Math.max(0, Math.min(...xs) - reach - 3), Math.max(0, Math.min(...ys) - reach - 3)];
    const [right, bottom] = [Math.min(view.width, Math.max(...xs) + reach + 3), Math.min(view.height, Math.max(...ys) + reach + 3)];
    if (right <= left || bottom <= top) continue;
    draft.setTransform(ratio, 0, 0, ratio, 0, 0);
    draft.clearRect(left, top, right - left, bottom - top);
    draft.fillStyle = clusterOf(leader);
    discs(draft, places, reach + 1);
    draft.globalCompositeOperation = "destination-out";
    discs(draft, places, reach - 1);
    draft.globalCompositeOperation = "source-over";
    pen.drawImage(sketch, left * ratio, top * ratio, (right - left) * ratio, (bottom - top) * ratio, left, top, right - left, bottom - top);
  }
}

/// A line from each node to its super-peer, where there are many of them.
function drawClusters(pen) {
  if (!run.about.horizon) return;
  const { nodes, leaders } = run.state;
  const paths = new Map(leaders.map((leader) => [leader, new Path2D()]));
  nodes.forEach((node, id) => {
    const leader = node[NODE.leader], path = paths.get(leader);
    if (!path || node[NODE.power] !== 1 || leader === id) return;
    path.moveTo(...view.at(node[NODE.x], node[NODE.y]));
    path.lineTo(...view.at(nodes[leader][NODE.x], nodes[leader][NODE.y]));
  });
  pen.lineWidth = Math.max(1.5, radius() * 0.5);
  pen.globalAlpha = 0.55;
  for (const [leader, path] of paths) {
    pen.strokeStyle = clusterOf(leader);
    pen.stroke(path);
  }
  pen.globalAlpha = 1;
}

function drawFrames(pen, now) {
  const nodes = run.state.nodes;
  for (let at = flying.length - 1; at >= 0; at--) {
    const { from, to, end, style, start, length } = flying[at];
    const part = (now - start) / length;
    if (part >= 1 || !nodes[from] || !nodes[to]) {
      flying.splice(at, 1);
      continue;
    }
    const [ax, ay] = view.at(nodes[from][NODE.x], nodes[from][NODE.y]);
    const [bx, by] = view.at(nodes[to][NODE.x], nodes[to][NODE.y]);
    const way = reducedMotion.matches ? 0.5 : end === 1 ? part : Math.min(part, 0.6);
    const lost = end !== 1 && (part > 0.6 || reducedMotion.matches);
    const drawn = lost ? LOST : style;
    pen.fillStyle = pen.strokeStyle = drawn.colour;
    pen.globalAlpha = lost ? 1 - part : 0.9;
    shape(pen, drawn.shape, ax + (bx - ax) * way, ay + (by - ay) * way, lost ? 3 : style.shape === "dot" ? 3.2 : 4.6);
  }
  pen.globalAlpha = 1;
}

function star(pen, x, y, size) {
  pen.beginPath();
  for (let at = 0; at < 10; at++) {
    const angle = (at * Math.PI) / 5 - Math.PI / 2, far = at % 2 ? size * 0.5 : size;
    pen.lineTo(x + Math.cos(angle) * far, y + Math.sin(angle) * far);
  }
  pen.closePath();
}

/// The members that a node asks for their votes: of the selected one, or of one that waits.
function drawVotes(pen) {
  const { voting, nodes, locks } = run.state;
  if (!voting) return;
  const asks = selected ?? locks.find(([, , since, fence]) => since !== null || fence)?.[0];
  if (asks === undefined) return;
  const [ax, ay] = view.at(nodes[asks][NODE.x], nodes[asks][NODE.y]);
  pen.strokeStyle = pen.fillStyle = LOCK.colour;
  pen.setLineDash([2, 4]);
  pen.lineWidth = 3;
  for (const voter of voting[asks]) {
    const [x, y] = view.at(nodes[voter][NODE.x], nodes[voter][NODE.y]);
    pen.beginPath();
    pen.moveTo(ax, ay);
    pen.lineTo(x, y);
    pen.stroke();
    pen.beginPath();
    pen.arc(x, y, radius() * 1.4, 0, 7);
    pen.stroke();
  }
  pen.setLineDash([]);
}

/// Text on a plate, so that what is below does not mingle with it.
function plate(pen, text, x, y) {
  const { width } = pen.measureText(text);
  const left = pen.textAlign === "center" ? x - width / 2 : x;
  const colour = pen.fillStyle;
  pen.fillStyle = colours.ground;
  pen.globalAlpha = 0.85;
  pen.fillRect(left - 2, y - 10, width + 4, 13);
  pen.globalAlpha = 1;
  pen.fillStyle = colour;
  pen.fillText(text, x, y);
}

/// Nodes smaller than that are squares without dashes: of thousands, circles would take most of the time.
const TINY = 4;

function drawNodes(pen) {
  const { nodes, disagrees, leaders } = run.state;
  const size = radius(), labels = size >= 6 || nodes.length <= 80;
  const tiny = size < TINY;
  const holders = new Map(run.state.locks.filter(([, , , fence]) => fence).map(([node, , , fence]) => [node, fence]));
  const waiting = new Set(run.state.locks.filter(([, , since, fence]) => since !== null && !fence).map(([node]) => node));
  const stars = [];
  pen.textAlign = "center";
  nodes.forEach((node, id) => {
    const [x, y] = view.at(node[NODE.x], node[NODE.y]);
    if (x < -40 || y < -40 || x > view.width + 40 || y > view.height + 40) return;
    const power = node[NODE.power], leader = node[NODE.leader];
    const colour = power === 1 && leader >= 0 ? clusterOf(leader) : colours.faint;
    pen.fillStyle = pen.strokeStyle = colour;
    pen.lineWidth = 2;
    if (power === 0) shape(pen, "cross", x, y, size * 0.8);
    else if (power === 2) {
      pen.fillRect(x - size * 0.8, y - size, size * 0.55, size * 2);
      pen.fillRect(x + size * 0.25, y - size, size * 0.55, size * 2);
    } else if (leader === id) {
      star(pen, x, y, size * 1.9);
      pen.fill();
      pen.strokeStyle = colours.ink;
      pen.lineWidth = node[NODE.acts] ? 2.5 : 1; // a thick edge where it may act
      pen.stroke();
    } else if (tiny) {
      if (leader >= 0) pen.fillRect(x - size * 0.9, y - size * 0.9, size * 1.8, size * 1.8);
      else pen.strokeRect(x - size * 0.7, y - size * 0.7, size * 1.4, size * 1.4);
    } else if (leader < 0) {
      pen.beginPath();
      pen.arc(x, y, size, 0, 7);
      pen.fillStyle = colours.ground;
      pen.fill();
      pen.stroke();
      pen.fillStyle = colours.ink;
      if (size >= 6) {
        pen.font = `${size * 1.4}px system-ui`;
        pen.fillText("?", x, y + size * 0.5);
      }
    } else {
      pen.beginPath();
      pen.arc(x, y, size, 0, 7);
      pen.fill();
      if (leaders.length > 1 && size >= 6) {
        pen.fillStyle = "#000";
        pen.font = `bold ${size * 1.2}px system-ui`;
        pen.fillText(letterOf(leader), x, y + size * 0.42);
      }
    }
    if (disagrees[id] && tiny) {
      pen.strokeStyle = colours.alarm;
      pen.lineWidth = 1.5;
      pen.strokeRect(x - size * 1.4, y - size * 1.4, size * 2.8, size * 2.8);
    } else if (disagrees[id]) {
      pen.setLineDash([3, 3]);
      pen.strokeStyle = colours.alarm;
      pen.lineWidth = 2.5;
      pen.beginPath();
      pen.arc(x, y, size * 1.55, 0, 7);
      pen.stroke();
      pen.setLineDash([]);
    }
    if (holders.has(id)) {
      pen.strokeStyle = colours.ink;
      pen.lineWidth = 2;
      pen.strokeRect(x - size * 1.5, y - size * 1.5, size * 3, size * 3);
    }
    if (leader === id && power === 1) stars.push([id, x, y]);
    if (labels) {
      pen.fillStyle = colours.ink;
      if (leader !== id || power !== 1) {
        pen.font = "11px system-ui";
        pen.fillText(`${id}${waiting.has(id) && !holders.has(id) ? " waits" : ""}`, x, y + size + (holders.has(id) ? 20 : 12));
      }
      if (size >= 9) {
        const share = Math.max(0, node[NODE.capacity]) / 10000;
        pen.fillStyle = colours.line;
        pen.fillRect(x - 12, y - size - 9, 24, 3);
        pen.fillStyle = colours.ink;
        pen.fillRect(x - 12, y - size - 9, 24 * share, 3);
      }
    }
  });
  if (labels) {
    pen.fillStyle = colours.ink;
    pen.font = "bold 11px system-ui";
    for (const [id, [term, count]] of holders) {
      const [x, y] = view.at(nodes[id][NODE.x], nodes[id][NODE.y]);
      plate(pen, `holds, fence ${term}.${count}`, x, y - size * 1.5 - 12);
    }
  }
  // Over all nodes, or the labels of their neighbours would cross them.
  pen.fillStyle = colours.ink;
  pen.font = "bold 11px system-ui";
  for (const [id, x, y] of stars) {
    const letter = leaders.length > 1 ? letterOf(id) : "";
    const words = `${letter && `${letter}: `}${id} leads, term ${nodes[id][NODE.term]}`;
    // Where there is little room, a letter, or nothing.
    if (labels || leaders.length === 1) plate(pen, leaders.length > 24 ? `${letter}: ${id}` : words, x, y + size * 2.1 + 10);
    else if (leaders.length <= EDGES_MAX) plate(pen, letter, x, y + size * 2.1 + 10);
  }
}

function drawScale(pen) {
  const range = run.about.range;
  if (!range) return;
  const length = range * view.scale;
  pen.strokeStyle = pen.fillStyle = colours.faint;
  pen.lineWidth = 2;
  pen.beginPath();
  pen.moveTo(12, view.height - 12);
  pen.lineTo(12 + length, view.height - 12);
  pen.stroke();
  pen.font = "11px system-ui";
  pen.textAlign = "left";
  pen.fillText(`radio range ${range} m`, 12, view.height - 18);
}

function drawTool(pen) {
  const nodes = run.state.nodes;
  if (selected !== null && nodes[selected]) {
    const [x, y] = view.at(nodes[selected][NODE.x], nodes[selected][NODE.y]);
    pen.strokeStyle = colours.accent;
    pen.lineWidth = 3;
    pen.beginPath();
    pen.arc(x, y, radius() * 2.1, 0, 7);
    pen.stroke();
    if (run.about.range) {
      pen.lineWidth = 1;
      pen.setLineDash([4, 4]);
      pen.beginPath();
      pen.arc(x, y, run.about.range * view.scale, 0, 7);
      pen.stroke();
      pen.setLineDash([]);
    }
  }
  for (const id of side) {
    if (!nodes[id]) continue;
    const [x, y] = view.at(nodes[id][NODE.x], nodes[id][NODE.y]);
    pen.strokeStyle = colours.alarm;
    pen.lineWidth = 2;
    pen.strokeRect(x - radius() * 1.7, y - radius() * 1.7, radius() * 3.4, radius() * 3.4);
  }
  if (pointer?.path) {
    pen.strokeStyle = colours.alarm;
    pen.lineWidth = 2;
    pen.beginPath();
    pointer.path.forEach(([x, y]) => pen.lineTo(x, y));
    pen.stroke();
  }
  if (marked !== null && nodes[marked]) {
    const [x, y] = view.at(nodes[marked][NODE.x], nodes[marked][NODE.y]);
    pen.fillStyle = colours.alarm;
    pen.font = "bold 12px system-ui";
    pen.textAlign = "center";
    pen.fillText("cut from here", x, y - radius() * 2);
  }
}

// The panels.

let selected = null, marked = null, side = new Set(), tool = "hand", shownAt = 0;

function show() {
  const { state } = run;
  $("clock").textContent = seconds(state.now);
  $("hash").textContent = state.hash;
  $("moment").value = Math.round((1000 * state.now) / run.about.duration);
  $("moment").setAttribute("aria-valuetext", seconds(state.now));
  // Text and charts a few times a second: they cost more than the picture.
  const now = performance.now();
  if (run.playing && now - shownAt < 200) return;
  shownAt = now;
  const { leaders } = state;
  const up = state.nodes.filter((node) => node[NODE.power] === 1).length;
  const words = leaders.length === 0 ? "no leader" : `${leaders.length === 1 ? "leader" : "leaders"} ${leaders.slice(0, 8).join(", ")}`;
  canvas.setAttribute("aria-label", `Network of ${state.nodes.length} nodes at ${seconds(state.now)}: ${up} up, ${words}, ${state.agrees ? "all agree" : "no agreement"}.`);
  showLog();
  showNode();
  showClusters();
  showLocks();
  showRequests();
  showCharts();
  showSpacetime();
}

function facts(list, rows) {
  list.replaceChildren(...rows.flatMap(([name, value]) => {
    const term = document.createElement("dt"), fact = document.createElement("dd");
    [term.textContent, fact.textContent] = [name, value];
    return [term, fact];
  }));
}

function showNode() {
  const node = selected === null ? null : run.state.nodes[selected];
  $("node-name").textContent = node ? selected : "none: click one, or use the arrow keys in the network";
  for (const button of document.querySelectorAll("[data-act], #capacity-form button, #remove")) button.disabled = !node;
  const lines = node ? run.state.lines?.[selected] : null;
  $("node-log").hidden = !lines?.length;
  $("node-log").textContent = lines?.join("\n") ?? "";
  if (!node) return facts($("node-facts"), []);
  const power = ["down", "up", "paused"][node[NODE.power]];
  const leader = node[NODE.leader];
  const role = node[NODE.power] !== 1 ? "none" : leader === selected ? (node[NODE.acts] ? "leads, may act" : "leads, may not act") : leader < 0 ? "knows no leader" : `follows node ${leader}`;
  const links = run.links.filter(([from]) => from === selected).map(([, to]) => to);
  facts($("node-facts"), [
    ["power", power], ["believes", role], ["term", node[NODE.term] || "none"],
    ["capacity", node[NODE.capacity] < 0 ? "unfit to lead" : node[NODE.capacity]],
    run.about.horizon ? ["served", run.state.disagrees[selected] ? "NO, no super-peer in reach" : `by a super-peer within ${run.about.horizon} hops`]
      : ["agrees", run.state.disagrees[selected] ? "NO, others of its component follow another" : "with its component"],
    ["reaches", links.length > 20 ? `${links.length} nodes` : links.join(", ") || "nobody"],
  ]);
}

const CLUSTERS_SHOWN = 12;

/// Who leads how many, and how many follow nobody or somebody else than most of their component.
function showClusters() {
  const { nodes, leaders, disagrees } = run.state;
  const followers = new Map(leaders.map((leader) => [leader, 0]));
  let alone = 0;
  for (const node of nodes) {
    if (node[NODE.power] !== 1) continue;
    if (followers.has(node[NODE.leader])) followers.set(node[NODE.leader], followers.get(node[NODE.leader]) + 1);
    else alone += 1;
  }
  const lines = [...followers].map(([leader, count]) => {
    const letter = leaders.length > 1 ? `${letterOf(leader)}: ` : "";
    return `${letter}node ${leader} leads ${count} of ${nodes.length}, term ${nodes[leader][NODE.term]}${nodes[leader][NODE.acts] ? "" : ", and may not act"}`;
  });
  if (lines.length > CLUSTERS_SHOWN) lines.splice(CLUSTERS_SHOWN, lines.length, `${lines.length - CLUSTERS_SHOWN} more`);
  if (alone > 0) lines.push(`${alone} without a leader that leads`);
  const differ = disagrees.filter(Boolean).length;
  if (differ > 0) lines.push(`${differ} ${run.about.horizon ? "have no super-peer in reach" : "disagree with most of their component"}`);
  listed($("clusters-list"), lines);
  leaders.slice(0, CLUSTERS_SHOWN).forEach((leader, at) => {
    const star = Object.assign(document.createElement("span"), { textContent: "★ ", ariaHidden: "true" });
    star.style.color = clusterOf(leader);
    $("clusters-list").children[at].prepend(star);
  });
}

function listed(list, lines) {
  list.replaceChildren(...lines.map((line) => Object.assign(document.createElement("li"), { textContent: line })));
}

function showLocks() {
  $("voting").hidden = !run.state.voting;
  if (run.state.voting) listed($("voting-list"), run.state.voting.map((set, node) => `node ${node} asks ${set.join(", ")}`));
  const { locks } = run.about;
  $("locks").hidden = !locks;
  if (!locks) return;
  $("locks-list").replaceChildren(...locks.map((name, index) => {
    const of = run.state.locks.filter(([, lock]) => lock === index);
    const holds = of.filter(([, , , fence]) => fence).map(([node, , , [term, count]]) => `node ${node} holds it, fence ${term}.${count}${run.state.nodes[node][NODE.power] === 2 ? " (paused: as far as it knows)" : ""}`);
    const waits = of.filter(([, , since, fence]) => since !== null && !fence).map(([node, , since]) => `${node} (${seconds(run.state.now - since, 1)})`);
    const item = document.createElement("li");
    item.textContent = `${name}: ${holds.join("; ") || "free"}${waits.length ? `; waiting: ${waits.join(", ")}` : ""}`;
    return item;
  }));
}

function showRequests() {
  $("service").hidden = !run.about.requests;
  if (!run.about.requests) return;
  const [made, answered, refused, timedOut, open] = run.state.requests;
  listed($("service-list"), [`${made} made`, `${answered} answered`, `${refused} refused`, `${timedOut} without an answer`, `${open} open`]);
}

function chart(id, values, { bars = false, format = String, top = Math.max(1, ...values) } = {}) {
  const figure = $(`chart-${id}`);
  const ratio = devicePixelRatio || 1, { width } = figure.getBoundingClientRect();
  if (width === 0) return;
  [figure.width, figure.height] = [Math.round(width * ratio), Math.round(56 * ratio)];
  const pen = figure.getContext("2d");
  pen.scale(ratio, ratio);
  const step = width / Math.max(values.length, 60), height = 50;
  pen.strokeStyle = colours.line;
  pen.strokeRect(0.5, 2.5, width - 1, height);
  pen.fillStyle = pen.strokeStyle = colours.accent;
  pen.lineWidth = 1.5;
  pen.beginPath();
  values.forEach((value, at) => {
    const y = 2.5 + height * (1 - value / top);
    if (bars) pen.rect(at * step, y, Math.max(1, step - 0.5), 2.5 + height - y);
    else pen.lineTo(at * step, y);
  });
  if (bars) pen.fill(); else pen.stroke();
  pen.fillStyle = colours.faint;
  pen.font = "10px system-ui";
  pen.textAlign = "left";
  plate(pen, format(top), 4, 13);
  $(`chart-${id}-now`).textContent = values.length ? format(values[values.length - 1]) : "";
}

function showCharts() {
  const samples = run.samples;
  const period = samples.length ? samples[0][0] / SECOND : 1;
  chart("frames", samples.map((sample) => Math.round(sample[1] / period)));
  chart("agreement", samples.map((sample) => sample[2]), { top: 1, format: (share) => `${Math.round(share * 100)} %` });
  chart("changes", samples.map((sample) => sample[3]), { bars: true });
  $("figure-waits").hidden = !run.about.locks;
  $("figure-skew").hidden = !samples.some((sample) => sample[5] > 0);
  chart("waits", samples.map((sample) => sample[4]), { bars: true, format: (wait) => seconds(wait, 2) });
  $("figure-trips").hidden = !run.about.requests;
  chart("trips", samples.map((sample) => sample[6] ?? 0), { bars: true, format: (time) => seconds(time, 2) });
  chart("skew", samples.map((sample) => sample[5]), { format: (skew) => `${skew} us` });
}

/// Columns are nodes, time runs downwards; a line is a message, a square where a node recorded its state.
function showSpacetime() {
  $("spacetime-section").hidden = !run.about.app || run.state.app.length === 0;
  if ($("spacetime-section").hidden) return;
  const figure = $("spacetime"), ratio = devicePixelRatio || 1, { width } = figure.getBoundingClientRect();
  [figure.width, figure.height] = [Math.round(width * ratio), Math.round(260 * ratio)];
  const pen = figure.getContext("2d");
  pen.scale(ratio, ratio);
  const marks = run.state.app, cut = marks.filter((mark) => mark[2] === "recorded");
  // Of a snapshot, what is around its cut; of a job, all of it; otherwise what was sent last.
  const job = cut.length ? [] : marks.filter((mark) => ["busy", "wave", "terminated"].includes(mark[2]));
  const last = cut.length ? Math.max(...cut.map((mark) => mark[0])) + 40000 : job.length ? Math.max(...marks.map((mark) => mark[0])) + 20000 : run.state.now;
  const from = job.length ? job[0][0] - 20000 : last - 160000, column = (node) => ((node + 0.5) * width) / run.about.nodes, row = (at) => 14 + ((at - from) / (last - from)) * 240;
  pen.font = "10px system-ui";
  pen.textAlign = "center";
  for (let node = 0; node < run.about.nodes; node++) {
    pen.strokeStyle = colours.line;
    pen.fillStyle = colours.faint;
    pen.fillText(node, column(node), 10);
    pen.beginPath();
    pen.moveTo(column(node), 14);
    pen.lineTo(column(node), 258);
    pen.stroke();
  }
  const sends = new Map(marks.filter((mark) => mark[2] === "sends").map((mark) => [mark[3], mark]));
  const recordedAt = new Map(cut.map((mark) => [mark[1], mark[0]]));
  for (const mark of marks) {
    if (mark[2] !== "receives" || !sends.has(mark[3]) || mark[0] < from) continue;
    const sent = sends.get(mark[3]);
    const crosses = recordedAt.has(sent[1]) && recordedAt.has(mark[1]) && sent[0] < recordedAt.get(sent[1]) && mark[0] > recordedAt.get(mark[1]);
    pen.strokeStyle = crosses ? "#d55e00" : colours.faint;
    pen.lineWidth = crosses ? 2.5 : 1;
    pen.beginPath();
    pen.moveTo(column(sent[1]), row(sent[0]));
    pen.lineTo(column(mark[1]), row(mark[0]));
    pen.stroke();
  }
  drawJob(pen, job, marks, column, row, last);
  pen.fillStyle = colours.accent;
  pen.strokeStyle = colours.accent;
  pen.lineWidth = 2;
  pen.beginPath();
  for (const mark of [...cut].sort((a, b) => a[1] - b[1])) {
    pen.fillRect(column(mark[1]) - 4, row(mark[0]) - 4, 8, 8);
    pen.lineTo(column(mark[1]), row(mark[0]));
  }
  pen.stroke();
}

/// The nodes at work, the waves that ask them, and where they know that the job has terminated.
function drawJob(pen, job, marks, column, row, last) {
  if (job.length === 0) return;
  const since = new Map();
  const work = (node, until) => pen.fillRect(column(node) - 3, row(since.get(node)), 6, Math.max(2, row(until) - row(since.get(node))));
  pen.fillStyle = APP.colour;
  for (const [at, node, word] of marks) {
    if (word === "busy") since.set(node, at);
    else if (word === "idle" && since.has(node)) {
      work(node, at);
      since.delete(node);
    }
  }
  for (const node of since.keys()) work(node, last);
  pen.textAlign = "left";
  for (const [at, node, word, number] of job) {
    if (word === "wave") {
      pen.fillStyle = WAVE.colour;
      shape(pen, "diamond", column(node), row(at), 5);
      plate(pen, `wave ${number}`, column(node) + 8, row(at) + 4);
    } else if (word === "terminated") {
      pen.fillStyle = colours.ink;
      star(pen, column(node), row(at), 7);
      pen.fill();
    }
  }
  pen.textAlign = "center";
}

function showActs() {
  $("acts-done").replaceChildren(...run.acts.map(({ at, fault }, index) => {
    const item = document.createElement("li"), time = document.createElement("time"), button = document.createElement("button");
    time.textContent = seconds(at);
    button.textContent = "undo";
    button.addEventListener("click", () => undo(index));
    item.append(time, fault.replaceAll("\n", ", ").replaceAll("do = ", "").replaceAll('"', ""), ...(recording ? [] : [button]));
    return item;
  }));
}

function describe() {
  const { about } = run;
  $("about").textContent = about.about;
  $("scenario").value = run.name ?? "";
  $("seed").value = run.seed;
  const word = (name) => name.split(":")[0];
  $("election").value = word(about.election);
  $("mode").value = about.quorum ? "quorum" : "available";
  $("mutex").value = about.mutex ? word(about.mutex) : "none";
  $("app").value = about.app || (about.requests ? "requests" : "none");
  for (const id of ["election", "mode", "mutex", "app", "seed"]) $(id).disabled = Boolean(recording);
  $("requests").hidden = !APP_ACTS.some(({ kinds }) => kinds.includes(about.app));
  for (const { id, kinds } of APP_ACTS) $(id).hidden = !kinds.includes(about.app);
  showActs();
  if (run.state) show();
}

function select(id) {
  selected = id;
  if (run.state) showNode();
  if (id !== null) $("capacity").value = Math.max(0, run.state.nodes[id][NODE.capacity]);
}

// Breaking it.

/// Requests to an application: the id of a button and the name of a fault, the applications, and more keys of the fault.
const APP_ACTS = [
  { id: "snapshot", kinds: ["tokens", "diffusing"], fault: "" },
  { id: "start", kinds: ["diffusing"], fault: "\nunits = 16" },
  { id: "detect-termination", kinds: ["diffusing"], fault: "" },
];

const quoted = (words) => `"${words}"`;
const onNode = (word) => selected !== null && act(`do = ${quoted(word)}\nnode = ${selected}`);

/// A node that is up is crashed first.
function reboot(word) {
  if (selected === null) return;
  if (run.state.nodes[selected][NODE.power] !== 0) act(`do = "crash"\nnode = ${selected}`);
  act(`do = ${quoted(word)}\nnode = ${selected}`);
}

function cut(a, b) {
  act(`do = "one-way"\nfrom = [${a}]\nto = [${b}]`);
  act(`do = "one-way"\nfrom = [${b}]\nto = [${a}]`);
}

const carry = (id, x, y) => act(`do = "move"\nnode = ${id}\nposition = [${x.toFixed(2)}, ${y.toFixed(2)}]`);

function partition(ids) {
  if (ids.length > 0 && ids.length < run.state.nodes.length) act(`do = "partition"\nsets = [[${ids.join(", ")}]]`);
}

const ACTIONS = {
  crash: () => onNode("crash"), restart: () => reboot("restart"), "restart-blank": () => reboot("restart-blank"),
  pause: () => onNode("pause"), resume: () => onNode("resume"), call: () => onNode("call"),
};
for (const button of document.querySelectorAll("[data-act]")) button.addEventListener("click", ACTIONS[button.dataset.act]);
$("crash-leader").addEventListener("click", () => act('do = "crash"\nnode = "leader"'));
$("halves").addEventListener("click", () => act('do = "partition"\ncut = "left-right"'));
$("heal").addEventListener("click", () => act('do = "heal"'));
$("rejoin").addEventListener("click", () => act('do = "both-ways"'));
for (const { id, fault } of APP_ACTS) $(id).addEventListener("click", () => act(`do = ${quoted(id)}\nnode = ${selected ?? 0}${fault}`));
$("remove").addEventListener("click", () => removeNode());
$("capacity-form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (selected !== null) act(`do = "capacity"\nnode = ${selected}\ncapacity = ${$("capacity").value}`);
});
$("loss-form").addEventListener("submit", (event) => {
  event.preventDefault();
  act(`do = "loss"\nprobability = "${$("loss").value}%"`);
});

// The pointer.

let pointer = null;

function nodeAt(px, py) {
  let best = null, nearest = Math.max(14, radius() * 2) ** 2;
  run.state.nodes.forEach((node, id) => {
    const [x, y] = view.at(node[NODE.x], node[NODE.y]);
    const far = (x - px) ** 2 + (y - py) ** 2;
    if (far < nearest) [best, nearest] = [id, far];
  });
  return best;
}

const place = (event) => [event.offsetX, event.offsetY];

canvas.addEventListener("pointerdown", (event) => {
  const [x, y] = place(event), node = nodeAt(x, y);
  canvas.setPointerCapture(event.pointerId);
  pointer = { x, y, node, moved: false, path: tool === "partition" ? [[x, y]] : null, from: [view.x, view.y] };
});

canvas.addEventListener("pointermove", (event) => {
  if (!pointer) return;
  const [x, y] = place(event);
  pointer.moved ||= Math.hypot(x - pointer.x, y - pointer.y) > 5;
  if (pointer.path) pointer.path.push([x, y]);
  else if (pointer.moved && tool === "hand" && pointer.node !== null) {
    // The node follows the pointer in the picture; it is carried when the pointer lets go.
    const [mx, my] = view.metres(x, y);
    run.state.nodes[pointer.node][NODE.x] = mx;
    run.state.nodes[pointer.node][NODE.y] = my;
    view.moved = true;
  } else if (pointer.moved && tool === "hand") {
    view.x = pointer.from[0] - (x - pointer.x) / view.scale;
    view.y = pointer.from[1] - (y - pointer.y) / view.scale;
    view.moved = true;
  }
});

canvas.addEventListener("pointerup", (event) => {
  if (!pointer) return;
  const [x, y] = place(event), { node, moved, path } = pointer;
  pointer = null;
  if (path) return partition(inside(path));
  if (tool === "cut") {
    if (node === null) marked = null;
    else if (marked === null || marked === node) marked = node;
    else {
      cut(marked, node);
      marked = null;
    }
  } else if (tool === "add" && !moved) addNode(x, y);
  else if (tool === "hand" && node !== null && moved) {
    select(node);
    carry(node, ...view.metres(x, y));
  } else if (!moved) select(node);
});
canvas.addEventListener("pointercancel", () => (pointer = null));
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  view.zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, ...place(event));
}, { passive: false });

/// The nodes within a path, by the number of its edges to the right of each.
function inside(path) {
  const within = (px, py) => path.reduce((odd, [ax, ay], at) => {
    const [bx, by] = path[(at + 1) % path.length];
    return ay > py !== by > py && px < ((bx - ax) * (py - ay)) / (by - ay) + ax ? !odd : odd;
  }, false);
  return run.state.nodes.flatMap((node, id) => (within(...view.at(node[NODE.x], node[NODE.y])) ? [id] : []));
}

/// The run starts again with other nodes, and goes to where it was.
function renew(question) {
  return trying(() => {
    if (recording) throw new Error(recording.refused);
    const { acts, base, name, state: { now } } = run;
    run.acts = [];
    reopen(0); // the positions of the beginning
    try {
      const { text, faults } = ask(question(acts));
      const kept = acts.map(({ at, fault }, index) => ({ at, fault: faults ? faults[index] : fault })).filter(({ fault }) => fault !== null);
      openText(text, { name: null, acts: kept, moment: now });
    } catch (error) {
      openText(base, { name, acts, moment: now });
      throw error;
    }
    return true;
  });
}

function addNode(px, py) {
  const [x, y] = view.metres(px, py);
  if (renew(() => ({ ask: "add-node", x, y }))) select(run.about.nodes - 1);
}

/// Those after it have the id before theirs.
function removeNode() {
  const id = selected;
  if (id !== null) renew((acts) => ({ ask: "remove-node", id, faults: acts.map(({ fault }) => fault) }));
}

function useTool(name) {
  tool = name;
  marked = null;
  for (const button of document.querySelectorAll("[data-tool]")) button.setAttribute("aria-pressed", button.dataset.tool === name);
}
for (const button of document.querySelectorAll("[data-tool]")) button.addEventListener("click", () => useTool(button.dataset.tool));

// Keys.

/// Selects the nearest node in a direction.
function selectTowards(dx, dy) {
  const nodes = run.state.nodes;
  if (selected === null) return select(run.state.leaders[0] ?? 0);
  const here = nodes[selected];
  let best = null, nearest = Infinity;
  nodes.forEach((node, id) => {
    const [x, y] = [node[NODE.x] - here[NODE.x], node[NODE.y] - here[NODE.y]];
    const along = x * dx + y * dy, aside = Math.abs(x * dy - y * dx);
    if (id !== selected && along > 1e-9 && along + 2 * aside < nearest) [best, nearest] = [id, along + 2 * aside];
  });
  if (best !== null) select(best);
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const KEYS = {
  k: ACTIONS.crash, r: ACTIONS.restart, b: ACTIONS["restart-blank"], h: () => act('do = "heal"'),
  p: () => selected !== null && onNode(run.state.nodes[selected][NODE.power] === 2 ? "resume" : "pause"),
  l: () => act('do = "crash"\nnode = "leader"'),
  x() {
    if (selected === null) return;
    if (marked === null || marked === selected) marked = selected;
    else {
      cut(marked, selected);
      marked = null;
    }
  },
  m() {
    if (selected !== null && !side.delete(selected)) side.add(selected);
  },
  a() {
    const [x, y] = selected === null ? [view.width / 2, view.height / 2] : view.at(...run.state.nodes[selected]);
    addNode(x + (run.about.range ?? 15) * 0.6 * view.scale, y);
  },
  Delete: () => removeNode(),
  Enter() {
    partition([...side].sort((a, b) => a - b));
    side.clear();
  },
  "+": () => view.zoom(1.25), "=": () => view.zoom(1.25), "-": () => view.zoom(0.8), 0: () => view.fit(),
  1: () => useTool("hand"), 2: () => useTool("cut"), 3: () => useTool("partition"), 4: () => useTool("add"),
};

canvas.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const arrow = ARROWS[event.key];
  if (arrow) {
    event.preventDefault();
    if (event.shiftKey && selected !== null) {
      const node = run.state.nodes[selected], step = (run.about.range ?? 15) / 3;
      carry(selected, node[NODE.x] + arrow[0] * step, node[NODE.y] + arrow[1] * step);
    } else selectTowards(...arrow);
  } else if (KEYS[event.key]) {
    event.preventDefault();
    KEYS[event.key]();
  }
});

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  if (event.key === " " && event.target.tagName !== "BUTTON") play(!run.playing);
  else if (event.key === ".") step();
  else if (event.key === ",") seekSafely(run.state.now - SECOND);
  else if (event.key === "[" || event.key === "]") {
    const speeds = $("speed"), next = speeds.selectedIndex + (event.key === "]" ? 1 : -1);
    speeds.selectedIndex = Math.max(0, Math.min(speeds.options.length - 1, next));
    run.speed = Number(speeds.value);
  } else return;
  event.preventDefault();
});

// The bars.

function step() {
  play(false);
  trying(() => {
    ask({ ask: "step" });
    run.target = look().now;
  });
}

const seekSafely = (moment) => trying(() => {
  const wasPlaying = run.playing;
  seek(moment);
  play(wasPlaying && moment < run.about.duration);
});

$("play").addEventListener("click", () => {
  if (run.state.now >= run.about.duration && !recording?.running) seekSafely(0);
  play(!run.playing);
});
$("step").addEventListener("click", step);
$("back").addEventListener("click", () => seekSafely(run.state.now - SECOND));
$("end").addEventListener("click", () => seekSafely(run.about.duration));
$("moment").addEventListener("change", () => seekSafely(($("moment").value / 1000) * run.about.duration));
$("speed").addEventListener("change", () => (run.speed = Number($("speed").value)));
$("zoom-in").addEventListener("click", () => view.zoom(1.25));
$("zoom-out").addEventListener("click", () => view.zoom(0.8));
$("zoom-fit").addEventListener("click", () => view.fit());
$("scenario").addEventListener("change", () => trying(() => {
  lesson = null;
  openShipped($("scenario").value, { acts: [] });
  play(true);
}));
$("seed").addEventListener("change", () => trying(() => {
  run.seed = Number($("seed").value);
  reopen(0);
}));
const setKey = (key, value) => change({ ask: "set", table: "", key, value: quoted(value) });
$("election").addEventListener("change", () => trying(() => setKey("election", $("election").value)));
$("mode").addEventListener("change", () => trying(() => setKey("mode", $("mode").value)));
for (const part of ["mutex", "app"]) {
  $(part).addEventListener("change", () => trying(() => change({ ask: "choose", [part]: $(part).value })));
}
$("save").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([savedText()], { type: "application/toml" }));
  link.download = `${run.about.name}-seed-${run.seed}.toml`;
  link.click();
  URL.revokeObjectURL(link.href);
});
$("link").addEventListener("click", async () => {
  location.hash = await permalink();
  await navigator.clipboard?.writeText(location.href).catch(() => {});
  $("news").textContent = "The link is in the address bar.";
});

async function openFile(file) {
  const text = await file.text();
  trying(() => (/^\s*\{/.test(text) ? openTrace(file.name, text) : openText(text, { name: null, acts: [] })));
}

/// Plays a trace, of a run or of a swarm of boards.
const openTrace = (name, text) => openRecording(new Recording(name, text));

function openRecording(opened) {
  recording = opened;
  Object.assign(run, { name: null, base: "", acts: [] });
  reopen(0);
  view.fit();
  select(null);
}
$("file").addEventListener("change", () => $("file").files[0] && openFile($("file").files[0]));
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  if (event.dataTransfer.files[0]) openFile(event.dataTransfer.files[0]);
});

// The run as a file, and as an address.

function savedText() {
  const text = textOfRun();
  const { now, hash } = run.state;
  const head = `# Saved by the page at ${seconds(now)} with seed ${run.seed}: conclave run FILE --seed ${run.seed}\n`;
  return head + (run.state.now >= run.about.duration ? `# trace hash ${hash}\n` : "") + text;
}

async function packed(text, direction) {
  const stream = direction === "pack" ? new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"))
    : new Blob([Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0))]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const buffer = await new Response(stream).arrayBuffer();
  if (direction !== "pack") return decoder.decode(buffer);
  return btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function permalink() {
  const shipped = catalogue.scenarios.find((entry) => entry.name === run.name);
  const fields = new URLSearchParams();
  if (shipped?.text === run.base) fields.set("s", run.name);
  else fields.set("z", await packed(run.base, "pack"));
  fields.set("seed", run.seed);
  fields.set("t", run.state.now);
  for (const { at, fault } of run.acts) fields.append("a", `${at}:${fault.replaceAll("\n", ";")}`);
  return fields.toString();
}

async function openLink() {
  const fields = new URLSearchParams(location.hash.slice(1));
  if (fields.has("swarm")) {
    const live = await Live.follow(fields.get("swarm"), () => live === recording && say("The swarm has ended, or its server is gone. What was can be played."));
    openRecording(live);
    play(true);
    return false;
  }
  const acts = fields.getAll("a").map((words) => {
    const [, at, fault] = /^(\d+):(.*)$/s.exec(words) ?? [];
    if (!at) throw new Error(`The link is damaged: "${words}" is no act.`);
    return { at: Number(at), fault: fault.replaceAll(";", "\n") };
  });
  const options = { seed: Number(fields.get("seed") ?? 0), acts, moment: Number(fields.get("t") ?? 0) };
  if (fields.has("z")) openText(await packed(fields.get("z"), "unpack"), options);
  else openShipped(fields.get("s") ?? "demo", options);
  return fields.has("t");
}

// Lessons: a scenario, captions, and acts at their moments.

let lesson = null;

class Lesson {
  constructor({ scenario, text, seed = 1, steps }) {
    this.steps = steps;
    this.next = 0;
    if (text) openText(text, { name: null, seed });
    else openShipped(scenario, { seed, acts: [] });
    this.tell();
  }

  /// Shows the caption of the step, and waits for the reader.
  tell() {
    play(false);
    const { text } = this.steps[this.next];
    $("caption").hidden = false;
    $("caption").querySelector("p").textContent = typeof text === "function" ? text(run.state, run) : text;
    $("caption").querySelector("button").textContent = this.next + 1 < this.steps.length ? "Continue" : "End of the lesson";
    $("caption").querySelector("button").focus();
  }

  go() {
    const done = this.steps[this.next];
    $("caption").hidden = true;
    this.next += 1;
    if (this.next >= this.steps.length) {
      lesson = null;
      $("lesson").value = "";
      return;
    }
    if (done.open) openText(done.open.text, { name: null, seed: done.open.seed ?? 1 });
    if (done.act) act(done.act);
    this.since = run.state.now;
    run.speed = this.steps[this.next].speed ?? 1;
    $("speed").value = run.speed;
    play(true);
  }

  /// Tells the next step when its moment has come.
  watch() {
    const step = this.steps[this.next];
    if (!$("caption").hidden || !step) return;
    const passed = (run.state.now - this.since) / SECOND;
    const due = step.when ? step.when(run.state, run) && passed > (step.after ?? 0) : passed >= step.after;
    if (due || run.state.now >= run.about.duration) this.tell();
  }
}

$("caption").querySelector("button").addEventListener("click", () => lesson?.go());
$("lesson").addEventListener("change", () => trying(() => {
  const chosen = LESSONS[$("lesson").value];
  lesson = chosen ? new Lesson(chosen) : null;
  $("caption").hidden = !lesson;
}));

// The beginning.

function fill(list, names, label = (name) => name) {
  list.append(...names.map((name) => new Option(label(name), name)));
}
fill($("scenario"), catalogue.scenarios.map((entry) => entry.name));
$("scenario").prepend(new Option("of one's own", ""));
fill($("election"), catalogue.elections);
fill($("mutex"), ["none", ...catalogue.mutexes]);
fill($("app"), ["none", ...catalogue.applications]);
LESSONS.forEach(({ title }, index) => $("lesson").append(new Option(title, index)));
legend();
readColours();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", readColours);
addEventListener("resize", () => (resized = true));
resize();

async function begin() {
  try {
    const paused = await openLink();
    resize();
    view.fit();
    play(!paused && (!reducedMotion.matches || Boolean(recording?.running)));
  } catch (error) {
    say(error.message);
    if (!run.state) openShipped("demo", { seed: 0, acts: [] });
  }
}
addEventListener("hashchange", () => begin());
await begin();
requestAnimationFrame(() => performance.mark("first picture of the network"));
requestAnimationFrame(tick);

// For tests, and for those who look.
window.conclave = {
  run, view, select, act, permalink, savedText, seek: seekSafely, play, ask,
  pixel: (id) => view.at(run.state.nodes[id][NODE.x], run.state.nodes[id][NODE.y]),
  settled: () => run.seeking === null,
  lesson: () => lesson,
  simulatorBytes: () => memory.buffer.byteLength,
};
document.documentElement.dataset.ready = "yes";
