// The pointer in the picture: it selects, drags, cuts, draws partitions, and adds nodes, by the tool in hand.

import { addNode, carry, markOrCut, partition } from "./faults.js";
import { NODE, run } from "./run.js";
import { select, selection, useTool } from "./selection.js";
import { canvas, pixel, radius, view } from "./view.js";

/// What was pressed and where, until the pointer is let go.
let pressed = null;
/// A pointer that moves less than so many pixels has clicked.
const DRAG_FROM = 5;

function nodeAt(px, py) {
  let best = null, nearest = Math.max(14, radius() * 2) ** 2;
  run.state.nodes.forEach((node, id) => {
    const [x, y] = pixel(node);
    const far = (x - px) ** 2 + (y - py) ** 2;
    if (far < nearest) [best, nearest] = [id, far];
  });
  return best;
}

const place = (event) => [event.offsetX, event.offsetY];

canvas.addEventListener("pointerdown", (event) => {
  const [x, y] = place(event);
  canvas.setPointerCapture(event.pointerId);
  selection.path = selection.tool === "partition" ? [[x, y]] : null;
  pressed = { x, y, node: nodeAt(x, y), moved: false, from: [view.x, view.y] };
});

canvas.addEventListener("pointermove", (event) => {
  const [x, y] = place(event);
  if (!pressed) return void (canvas.style.cursor = run.state && nodeAt(x, y) !== null ? "pointer" : "");
  pressed.moved ||= Math.hypot(x - pressed.x, y - pressed.y) > DRAG_FROM;
  if (selection.path) selection.path.push([x, y]);
  else if (pressed.moved && selection.tool === "hand" && pressed.node !== null) {
    // The node follows the pointer in the picture; it is carried when the pointer lets go.
    [run.state.nodes[pressed.node][NODE.x], run.state.nodes[pressed.node][NODE.y]] = view.metres(x, y);
    view.moved = true;
  } else if (pressed.moved && selection.tool === "hand") {
    view.x = pressed.from[0] - (x - pressed.x) / view.scale;
    view.y = pressed.from[1] - (y - pressed.y) / view.scale;
    view.moved = true;
  }
});

canvas.addEventListener("pointerup", (event) => {
  if (!pressed) return;
  const [x, y] = place(event), { node, moved } = pressed, { tool, path } = selection;
  pressed = selection.path = null;
  if (path) return partition(inside(path));
  if (tool === "cut") {
    if (node === null) selection.marked = null;
    else markOrCut(node);
  } else if (tool === "add" && !moved) addNode(x, y);
  else if (tool === "hand" && node !== null && moved) {
    select(node);
    carry(node, ...view.metres(x, y));
  } else if (!moved) select(node);
});
canvas.addEventListener("pointercancel", () => (pressed = selection.path = null));
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
  return run.state.nodes.flatMap((node, id) => (within(...pixel(node)) ? [id] : []));
}

for (const button of document.querySelectorAll("[data-tool]")) button.addEventListener("click", () => useTool(button.dataset.tool));
