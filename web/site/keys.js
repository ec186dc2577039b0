// Keys: all that the pointer does, in the picture and in the whole page.

import { SECOND } from "./dom.js";
import { ACTIONS, addNode, carry, crashLeader, heal, markOrCut, partition, pauseOrResume, removeNode } from "./faults.js";
import { changeSpeed, play, seekSafely, step } from "./playback.js";
import { NODE, run } from "./run.js";
import { select, selection, useTool } from "./selection.js";
import { canvas, pixel, view } from "./view.js";

/// The range of a network that has none.
const RANGE = 15;

/// Selects the nearest node in a direction.
function selectTowards(dx, dy) {
  const { nodes, leaders } = run.state;
  if (selection.node === null) return select(leaders[0] ?? 0);
  const here = nodes[selection.node];
  let best = null, nearest = Infinity;
  nodes.forEach((node, id) => {
    const [x, y] = [node[NODE.x] - here[NODE.x], node[NODE.y] - here[NODE.y]];
    const along = x * dx + y * dy, aside = Math.abs(x * dy - y * dx);
    if (id !== selection.node && along > 1e-9 && along + 2 * aside < nearest) [best, nearest] = [id, along + 2 * aside];
  });
  if (best !== null) select(best);
}

/// Carries the selected node by a third of the radio range.
function carryTowards(dx, dy) {
  const node = run.state.nodes[selection.node], by = (run.about.range ?? RANGE) / 3;
  carry(selection.node, node[NODE.x] + dx * by, node[NODE.y] + dy * by);
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const IN_PICTURE = {
  k: ACTIONS.crash, r: ACTIONS.restart, b: ACTIONS["restart-blank"], h: heal, p: pauseOrResume, l: crashLeader,
  x: () => selection.node !== null && markOrCut(selection.node),
  m() {
    const { node, side } = selection;
    if (node !== null && !side.delete(node)) side.add(node);
  },
  a() {
    const [x, y] = selection.node === null ? [view.width / 2, view.height / 2] : pixel(run.state.nodes[selection.node]);
    addNode(x + (run.about.range ?? RANGE) * 0.6 * view.scale, y);
  },
  Delete: removeNode,
  Enter() {
    partition([...selection.side].sort((a, b) => a - b));
    selection.side.clear();
  },
  "+": () => view.zoom(1.25), "=": () => view.zoom(1.25), "-": () => view.zoom(0.8), 0: () => view.fit(),
  1: () => useTool("hand"), 2: () => useTool("cut"), 3: () => useTool("partition"), 4: () => useTool("add"),
};
const EVERYWHERE = {
  ".": step, ",": () => seekSafely(run.state.now - SECOND), "[": () => changeSpeed(-1), "]": () => changeSpeed(1),
};

canvas.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const arrow = ARROWS[event.key], key = IN_PICTURE[event.key];
  if (!arrow && !key) return;
  event.preventDefault();
  if (!arrow) key();
  else if (event.shiftKey && selection.node !== null) carryTowards(...arrow);
  else selectTowards(...arrow);
});

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const key = event.key === " " && !/^(BUTTON|SUMMARY)$/.test(event.target.tagName) ? () => play(!run.playing) : EVERYWHERE[event.key];
  if (!key) return;
  event.preventDefault();
  key();
});
