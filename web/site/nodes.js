// The nodes in the picture: what each believes, its capacity, and the locks it holds.

import { EDGES_MAX, colourOf, letterOf } from "./clusters.js";
import { shape, star } from "./kinds.js";
import { DOWN, NODE, OUTSIDE, PAUSED, UP, run } from "./run.js";
import { colours, pixel, plate, radius, view } from "./view.js";

/// Nodes smaller than that are squares without dashes: of thousands, circles would take most of the time.
const TINY = 4;
/// Nodes of this size have letters; of that one, a gauge of their capacity.
const LETTERS_FROM = 6, GAUGE_FROM = 9;
const CAPACITY_MAX = 10000;
/// In a picture less wide than that, long names would cover their neighbours.
const NARROW = 480;

export function drawNodes(pen) {
  const { nodes, disagrees, leaders, locks } = run.state;
  const size = radius(), labels = size >= LETTERS_FROM || nodes.length <= 80;
  const holders = new Map(locks.filter(([, , , fence]) => fence).map(([node, , , fence]) => [node, fence]));
  const waiting = new Set(locks.filter(([, , since, fence]) => since !== null && !fence).map(([node]) => node));
  const stars = [];
  pen.textAlign = "center";
  nodes.forEach((node, id) => {
    const [x, y] = pixel(node);
    if (x < -40 || y < -40 || x > view.width + 40 || y > view.height + 40) return;
    const leads = node[NODE.leader] === id && node[NODE.power] === UP;
    if (leads) stars.push([id, x, y]);
    drawNode(pen, node, leads, x, y, size, leaders.length > 1);
    if (disagrees[id]) drawDissent(pen, x, y, size);
    if (holders.has(id)) {
      pen.strokeStyle = colours.ink;
      pen.lineWidth = 2;
      pen.strokeRect(x - size * 1.9, y - size * 1.9, size * 3.8, size * 3.8);
    }
    if (labels && !leads) {
      pen.font = "11px system-ui";
      outlined(pen, `${id}${waiting.has(id) && !holders.has(id) ? " waits" : ""}`, x, y + size + (holders.has(id) ? 26 : 15));
    }
  });
  if (labels) drawFences(pen, holders, size);
  drawLeaders(pen, stars, size, labels, (id) => waiting.has(id) && !holders.has(id));
}

/// Text that stays legible over lines.
function outlined(pen, text, x, y) {
  pen.strokeStyle = colours.ground;
  pen.lineWidth = 3;
  pen.strokeText(text, x, y);
  pen.fillStyle = colours.ink;
  pen.fillText(text, x, y);
}

function drawNode(pen, node, leads, x, y, size, letters) {
  const power = node[NODE.power], leader = node[NODE.leader];
  const colour = power === UP && leader >= 0 ? colourOf(leader) : colours.faint;
  pen.fillStyle = pen.strokeStyle = colour;
  pen.lineWidth = 2;
  if (power === DOWN) return shape(pen, "cross", x, y, size * 0.8);
  if (power === PAUSED) {
    pen.fillRect(x - size * 0.8, y - size, size * 0.55, size * 2);
    return pen.fillRect(x + size * 0.25, y - size, size * 0.55, size * 2);
  }
  if (power === OUTSIDE) return drawOutsider(pen, x, y, size);
  if (leads) drawLeader(pen, node, x, y, size);
  else if (size < TINY) {
    if (leader >= 0) pen.fillRect(x - size * 0.9, y - size * 0.9, size * 1.8, size * 1.8);
    else pen.strokeRect(x - size * 0.7, y - size * 0.7, size * 1.4, size * 1.4);
  } else drawFollower(pen, leader, x, y, size, letters);
  if (size >= GAUGE_FROM) drawGauge(pen, node[NODE.capacity], x, y, leads ? size * 2.15 : size + 4, colour);
}

/// A node that is no member of the group.
function drawOutsider(pen, x, y, size) {
  pen.setLineDash([2, 3]);
  pen.beginPath();
  pen.arc(x, y, size, 0, 7);
  pen.fillStyle = colours.ground;
  pen.fill();
  pen.stroke();
  pen.setLineDash([]);
}

function drawLeader(pen, node, x, y, size) {
  pen.globalAlpha = 0.18;
  pen.beginPath();
  pen.arc(x, y, size * 2.15, 0, 7);
  pen.fill();
  pen.globalAlpha = 1;
  star(pen, x, y, size * 1.9);
  pen.fill();
  pen.strokeStyle = colours.ink;
  pen.lineWidth = node[NODE.acts] ? 2.5 : 1; // a thick edge where it may act
  pen.stroke();
}

function drawFollower(pen, leader, x, y, size, letters) {
  pen.beginPath();
  pen.arc(x, y, size, 0, 7);
  if (leader < 0) {
    pen.fillStyle = colours.ground;
    pen.fill();
    pen.stroke();
  } else pen.fill();
  if (size < LETTERS_FROM || (leader >= 0 && !letters)) return;
  pen.fillStyle = leader < 0 ? colours.ink : "#000";
  pen.font = `bold ${size * 1.2}px system-ui`;
  pen.fillText(leader < 0 ? "?" : letterOf(leader), x, y + size * 0.42);
}

/// How much of the highest capacity a node has, clockwise from the top.
function drawGauge(pen, capacity, x, y, size, colour) {
  pen.lineWidth = 3;
  pen.strokeStyle = colours.line;
  pen.beginPath();
  pen.arc(x, y, size, 0, 7);
  pen.stroke();
  if (capacity <= 0) return;
  pen.strokeStyle = colour;
  pen.beginPath();
  pen.arc(x, y, size, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * Math.min(1, capacity / CAPACITY_MAX));
  pen.stroke();
}

/// A node that follows another than most of its component.
function drawDissent(pen, x, y, size) {
  pen.strokeStyle = colours.alarm;
  if (size < TINY) {
    pen.lineWidth = 1.5;
    return pen.strokeRect(x - size * 1.4, y - size * 1.4, size * 2.8, size * 2.8);
  }
  pen.setLineDash([3, 3]);
  pen.lineWidth = 2.5;
  pen.beginPath();
  pen.arc(x, y, size * 1.75, 0, 7);
  pen.stroke();
  pen.setLineDash([]);
}

function drawFences(pen, holders, size) {
  pen.fillStyle = colours.ink;
  pen.font = "bold 11px system-ui";
  for (const [id, [term, count]] of holders) {
    const [x, y] = pixel(run.state.nodes[id]);
    plate(pen, `holds, fence ${term}.${count}`, x, y - size * 1.9 - 8);
  }
}

/// The names of leaders, over all nodes, or the labels of their neighbours would cross them.
function drawLeaders(pen, stars, size, labels, waits) {
  const { nodes, leaders } = run.state;
  pen.fillStyle = colours.ink;
  pen.font = "bold 12px system-ui";
  for (const [id, x, y] of stars) {
    const letter = leaders.length > 1 ? letterOf(id) : "";
    const term = view.width < NARROW ? "" : `, term ${nodes[id][NODE.term]}`; // the list has it, too
    const words = `${letter && `${letter}: `}${id} leads${term}${waits(id) ? ", waits" : ""}`;
    // Where there is little room, a letter, or nothing.
    if (labels || leaders.length === 1) plate(pen, leaders.length > 24 ? `${letter}: ${id}` : words, x, y + size * 2.15 + 16);
    else if (leaders.length <= EDGES_MAX) plate(pen, letter, x, y + size * 2.1 + 12);
  }
}
