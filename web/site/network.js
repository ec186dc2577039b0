// The picture of the network: what stays is drawn once on a layer of its own, what moves in every frame.

import { drawGround, drawSuperPeers } from "./clusters.js";
import { reducedMotion } from "./dom.js";
import { on } from "./events.js";
import { STYLES, shape, styleOf } from "./kinds.js";
import { drawNodes } from "./nodes.js";
import { run } from "./run.js";
import { selection } from "./selection.js";
import { canvas, colours, pixel, radius, resize, view } from "./view.js";

const layer = document.createElement("canvas");
/// How many shades links have by their quality.
const QUALITY_SHADES = 6;
/// So many nodes have links too short for dashes, which take long to draw: the shade alone shows their quality.
const SOLID_FROM = 800;
/// A network with more links for each node is not drawn line by line.
const LINKS_MAX_PER_NODE = 60;

/// One path for all links that look alike: a path for each would take longer than the simulator.
function pathsOfLinks(nodes) {
  const paths = new Map();
  if (run.links.length > LINKS_MAX_PER_NODE * nodes.length) return paths;
  const back = new Set(run.links.map(([from, to]) => from * nodes.length + to));
  for (const [from, to, quality] of run.links) {
    const both = back.has(to * nodes.length + from);
    if (both && from > to) continue;
    const shade = Math.round((QUALITY_SHADES * quality) / 255), key = shade + (both ? 0 : 2 * QUALITY_SHADES);
    if (!paths.has(key)) paths.set(key, { path: new Path2D(), shade, dash: both ? (quality < 255 ? [6, 4] : []) : [1, 5] });
    const { path } = paths.get(key);
    path.moveTo(...pixel(nodes[from]));
    path.lineTo(...pixel(nodes[to]));
  }
  return paths;
}

function drawLayer() {
  if (layer.width !== canvas.width || layer.height !== canvas.height) [layer.width, layer.height] = [canvas.width, canvas.height];
  const pen = layer.getContext("2d"), ratio = canvas.width / view.width, { nodes } = run.state;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, view.width, view.height);
  drawGround(pen, ratio);
  pen.lineWidth = 1;
  pen.strokeStyle = colours.faint;
  for (const { path, shade, dash } of pathsOfLinks(nodes).values()) {
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

export function draw(now) {
  if (!run.state) return;
  resize();
  const changed = linksDrawn !== run.links || groundDrawn !== run.state.ground;
  if (view.moved || (changed && now - layerDrawnAt >= run.state.nodes.length * LAYER_MS_PER_NODE)) {
    drawLayer();
    view.moved = false;
    [layerDrawnAt, linksDrawn, groundDrawn] = [now, run.links, run.state.ground];
  }
  const pen = canvas.getContext("2d"), ratio = canvas.width / view.width;
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(layer, 0, 0);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  drawSuperPeers(pen);
  drawTree(pen);
  drawVotes(pen);
  drawFrames(pen, now);
  drawNodes(pen);
  drawSelection(pen);
  drawScale(pen);
}

/// The tree of the last wireless election.
function drawTree(pen) {
  const { nodes, tree } = run.state;
  pen.strokeStyle = colours.accent;
  pen.lineWidth = 3;
  pen.globalAlpha = 0.4;
  pen.beginPath();
  for (const [parent, child] of tree) {
    pen.moveTo(...pixel(nodes[parent]));
    pen.lineTo(...pixel(nodes[child]));
  }
  pen.stroke();
  pen.globalAlpha = 1;
}

/// The members that a node asks for their votes: of the selected one, or of one that waits.
function drawVotes(pen) {
  const { voting, nodes, locks } = run.state;
  const asks = selection.node ?? locks.find(([, , since, fence]) => since !== null || fence)?.[0];
  if (!voting?.[asks]) return;
  pen.strokeStyle = STYLES.lock.colour;
  pen.setLineDash([2, 4]);
  pen.lineWidth = 3;
  for (const voter of voting[asks]) {
    const [x, y] = pixel(nodes[voter]);
    pen.beginPath();
    pen.moveTo(...pixel(nodes[asks]));
    pen.lineTo(x, y);
    pen.stroke();
    pen.beginPath();
    pen.arc(x, y, radius() * 1.7, 0, 7);
    pen.stroke();
  }
  pen.setLineDash([]);
}

// Frames fly from sender to receiver: longer than they do, or nobody would see them.

const flying = [];
/// How many fly at once, and how many begin in one picture; fewer in networks of many nodes.
const FLYING_MAX = 700, LAUNCHED_MAX = 260;
const FLIGHT_MS = 420, FLIGHT_REDUCED_MS = 250;

function launch() {
  const { frames, kinds, parts, nodes } = run.state, now = performance.now();
  const most = FLYING_MAX / Math.max(1, nodes.length / 500), room = most - flying.length;
  const every = Math.max(1, Math.ceil(frames.length / Math.max(1, Math.min(room, LAUNCHED_MAX))));
  frames.forEach(([, kind, from, to, end], index) => {
    if (index % every !== 0 || flying.length >= most) return;
    flying.push({ from, to, end, style: styleOf(parts[kind], kinds[kind]), start: now, length: reducedMotion.matches ? FLIGHT_REDUCED_MS : FLIGHT_MS });
  });
}
on("looked", launch);
on("opened", () => (flying.length = 0));

function drawFrames(pen, now) {
  const { nodes } = run.state;
  for (let at = flying.length - 1; at >= 0; at--) {
    const { from, to, end, style, start, length } = flying[at];
    const part = (now - start) / length;
    if (part >= 1 || !nodes[from] || !nodes[to]) {
      flying.splice(at, 1);
      continue;
    }
    const [ax, ay] = pixel(nodes[from]), [bx, by] = pixel(nodes[to]);
    const way = reducedMotion.matches ? 0.5 : end === 1 ? part : Math.min(part, 0.6);
    const lost = end !== 1 && (part > 0.6 || reducedMotion.matches);
    const drawn = lost ? STYLES.lost : style;
    pen.fillStyle = pen.strokeStyle = drawn.colour;
    pen.globalAlpha = lost ? 1 - part : 0.9;
    shape(pen, drawn.shape, ax + (bx - ax) * way, ay + (by - ay) * way, lost ? 3 : style.shape === "dot" ? 3.2 : 4.6);
  }
  pen.globalAlpha = 1;
}

function drawScale(pen) {
  const { range } = run.about;
  if (!range) return;
  const y = view.height - 12;
  pen.strokeStyle = pen.fillStyle = colours.faint;
  pen.lineWidth = 2;
  pen.beginPath();
  pen.moveTo(12, y - 4);
  pen.lineTo(12, y);
  pen.lineTo(12 + range * view.scale, y);
  pen.lineTo(12 + range * view.scale, y - 4);
  pen.stroke();
  pen.font = "11px system-ui";
  pen.textAlign = "left";
  pen.fillText(`radio range ${range} m`, 18, y - 6);
}

function circle(pen, x, y, size) {
  pen.beginPath();
  pen.arc(x, y, size, 0, 7);
  pen.stroke();
}

function drawSelection(pen) {
  const { nodes } = run.state, { node, side, path, marked } = selection;
  if (nodes[node]) {
    const [x, y] = pixel(nodes[node]);
    pen.strokeStyle = colours.accent;
    pen.lineWidth = 3;
    circle(pen, x, y, radius() * 2.4);
    if (run.about.range) {
      pen.lineWidth = 1;
      pen.setLineDash([4, 4]);
      circle(pen, x, y, run.about.range * view.scale);
      pen.setLineDash([]);
    }
  }
  pen.strokeStyle = pen.fillStyle = colours.alarm;
  pen.lineWidth = 2;
  for (const id of side) {
    if (!nodes[id]) continue;
    const [x, y] = pixel(nodes[id]);
    pen.strokeRect(x - radius() * 1.9, y - radius() * 1.9, radius() * 3.8, radius() * 3.8);
  }
  if (path) {
    pen.beginPath();
    path.forEach(([x, y]) => pen.lineTo(x, y));
    pen.stroke();
  }
  if (nodes[marked]) {
    const [x, y] = pixel(nodes[marked]);
    pen.font = "bold 12px system-ui";
    pen.textAlign = "center";
    pen.fillText("cut from here", x, y - radius() * 2.2);
  }
}
