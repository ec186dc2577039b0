// Clusters: a colour and letters for each leader, and the ground around those who follow it.

import { on } from "./events.js";
import { NODE, UP, run } from "./run.js";
import { pixel, radius, view } from "./view.js";

/// Few colours are told apart: of two leaders with one colour, the nearest are as far from each other as can be.
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6d31"];
/// How many clusters have an edge; of more, only the colour of the ground is drawn.
export const EDGES_MAX = 200;

/// The number and the colour of each leader, which it keeps while it leads.
let signs = new Map();

function assign({ nodes, leaders }) {
  const kept = new Map(leaders.filter((leader) => signs.has(leader)).map((leader) => [leader, signs.get(leader)]));
  for (const leader of leaders) {
    if (kept.has(leader)) continue;
    const [x, y] = nodes[leader], nearest = COLOURS.map(() => Infinity);
    for (const [other, { colour }] of kept) {
      nearest[colour] = Math.min(nearest[colour], (nodes[other][NODE.x] - x) ** 2 + (nodes[other][NODE.y] - y) ** 2);
    }
    const used = new Set([...kept.values()].map(({ number }) => number));
    let number = 0;
    while (used.has(number)) number += 1;
    kept.set(leader, { colour: nearest.indexOf(Math.max(...nearest)), number });
  }
  signs = kept;
}
on("opened", () => (signs = new Map()));
on("looked", () => assign(run.state));

export const colourOf = (leader) => COLOURS[signs.get(leader)?.colour ?? 0];

export function letterOf(leader) {
  const number = signs.get(leader)?.number;
  if (number === undefined) return "?";
  return (number >= 26 ? String.fromCharCode(64 + Math.floor(number / 26) % 26) : "") + String.fromCharCode(65 + (number % 26));
}

const sketch = document.createElement("canvas");

/// Links that are longer, in sizes of the ground around a node, have no ground.
const BRIDGE_MAX = 2.7;
/// Of more nodes, the links have no ground: it would take most of the time.
const BRIDGED_NODES_MAX = 300;

/// Fills the ground of a cluster: discs around its nodes, and bridges along their links, or there would be holes.
function fillGround(pen, { places, bridges }, size) {
  pen.beginPath();
  for (const [x, y] of places) {
    pen.moveTo(x + size, y);
    pen.arc(x, y, size, 0, 7);
  }
  for (const [[x, y], [toX, toY], length] of bridges) {
    const [dx, dy] = [((toX - x) / length) * size * 0.62, ((toY - y) / length) * size * 0.62];
    // In the direction of the discs: what both cover is covered.
    pen.moveTo(x + dy, y - dx);
    pen.lineTo(toX + dy, toY - dx);
    pen.lineTo(toX - dy, toY + dx);
    pen.lineTo(x - dy, y + dx);
    pen.closePath();
  }
  pen.fill();
}

/// The ground of each cluster: its colour around its nodes, and an edge around all of them.
export function drawGround(pen, ratio) {
  const { nodes, leaders } = run.state;
  if (leaders.length < 2) return;
  const reach = Math.max(radius() * 2.3, Math.min(radius() * 5, (run.about.range ?? 15) * view.scale * 0.42));
  const clusters = new Map(leaders.map((leader) => [leader, { places: [], bridges: [] }]));
  const places = nodes.map((node) => (node[NODE.power] === UP && clusters.has(node[NODE.leader]) ? pixel(node) : null));
  places.forEach((place, id) => place && clusters.get(nodes[id][NODE.leader]).places.push(place));
  for (const [from, to] of nodes.length > BRIDGED_NODES_MAX ? [] : run.links) {
    const [a, b] = [places[from], places[to]], leader = nodes[from][NODE.leader];
    if (from > to || !a || !b || nodes[to][NODE.leader] !== leader) continue;
    const length = Math.hypot(b[0] - a[0], b[1] - a[1]);
    if (length > 1 && length < BRIDGE_MAX * reach) clusters.get(leader).bridges.push([a, b, length]);
  }
  const { width, height } = pen.canvas;
  if (sketch.width !== width || sketch.height !== height) [sketch.width, sketch.height] = [width, height];
  for (const [leader, cluster] of clusters) {
    pen.fillStyle = colourOf(leader);
    pen.globalAlpha = 0.17;
    fillGround(pen, cluster, reach);
    pen.globalAlpha = 1;
    if (leaders.length <= EDGES_MAX && cluster.places.length > 0) drawEdge(pen, ratio, leader, cluster, reach);
  }
}

/// The edge is what is left of a larger ground without a smaller one.
function drawEdge(pen, ratio, leader, cluster, reach) {
  const { places } = cluster;
  const xs = places.map(([x]) => x), ys = places.map(([, y]) => y);
  const [left, top] = [Math.max(0, Math.min(...xs) - reach - 3), Math.max(0, Math.min(...ys) - reach - 3)];
  const [right, bottom] = [Math.min(view.width, Math.max(...xs) + reach + 3), Math.min(view.height, Math.max(...ys) + reach + 3)];
  if (right <= left || bottom <= top) return;
  const draft = sketch.getContext("2d");
  draft.setTransform(ratio, 0, 0, ratio, 0, 0);
  draft.clearRect(left, top, right - left, bottom - top);
  draft.fillStyle = colourOf(leader);
  fillGround(draft, cluster, reach + 1);
  draft.globalCompositeOperation = "destination-out";
  fillGround(draft, cluster, reach - 1);
  draft.globalCompositeOperation = "source-over";
  pen.drawImage(sketch, left * ratio, top * ratio, (right - left) * ratio, (bottom - top) * ratio, left, top, right - left, bottom - top);
}

/// A line from each node to its super-peer, where there are many of them.
export function drawSuperPeers(pen) {
  if (!run.about.horizon) return;
  const { nodes, leaders } = run.state;
  const paths = new Map(leaders.map((leader) => [leader, new Path2D()]));
  nodes.forEach((node, id) => {
    const leader = node[NODE.leader], path = paths.get(leader);
    if (!path || node[NODE.power] !== UP || leader === id) return;
    path.moveTo(...pixel(node));
    path.lineTo(...pixel(nodes[leader]));
  });
  pen.lineWidth = Math.max(1.5, radius() * 0.5);
  pen.globalAlpha = 0.55;
  for (const [leader, path] of paths) {
    pen.strokeStyle = colourOf(leader);
    pen.stroke(path);
  }
  pen.globalAlpha = 1;
}
