// The view of the network: metres to pixels, the canvas, and the colours of the page.

import { $ } from "./dom.js";
import { on } from "./events.js";
import { NODE, run } from "./run.js";

export const canvas = $("network");
export const colours = {};

export const view = {
  scale: 1, x: 0, y: 0, width: 1, height: 1,
  /// How many metres wide the room of a node is, on average.
  room: Infinity,
  /// Whether all of it has to be drawn again.
  moved: true,
  fit() {
    const nodes = run.state?.nodes ?? [];
    const xs = nodes.map((node) => node[NODE.x]), ys = nodes.map((node) => node[NODE.y]);
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const margin = Math.min(64, this.width / 8);
    const scale = Math.min((this.width - 2 * margin) / Math.max(1e-6, right - left), (this.height - 2 * margin) / Math.max(1e-6, bottom - top));
    this.scale = Number.isFinite(scale) ? Math.min(scale, 150) : 10;
    this.room = nodes.length > 1 ? Math.max(right - left, bottom - top) / Math.sqrt(nodes.length) : Infinity;
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

/// Where a node is in the picture.
export const pixel = (node) => view.at(node[NODE.x], node[NODE.y]);
/// The size of a node in the picture.
export const radius = () => Math.max(3, Math.min(13, view.scale * (run.about.range ?? 15) * 0.13, view.scale * view.room * 0.2));

/// Whether the size of the picture may have changed.
let resized = true;
new ResizeObserver(() => (resized = true)).observe(canvas);
addEventListener("resize", () => (resized = true));

/// Gives a canvas the size that it has in the page; returns a pen that draws in pixels of the page.
export function sized(figure, height) {
  const ratio = devicePixelRatio || 1, { width } = figure.getBoundingClientRect();
  if (width === 0) return null;
  [figure.width, figure.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  const pen = figure.getContext("2d");
  pen.scale(ratio, ratio);
  return { pen, width };
}

/// Follows the size of the picture.
export function resize() {
  if (!resized) return;
  resized = false;
  const ratio = devicePixelRatio || 1;
  const { width, height } = canvas.getBoundingClientRect();
  if (canvas.width === Math.round(width * ratio) && canvas.height === Math.round(height * ratio)) return;
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  Object.assign(view, { width, height, moved: true });
  view.fit();
}

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["ground", "panel", "ink", "faint", "line", "accent", "alarm"]) colours[name] = style.getPropertyValue(`--${name}`).trim();
  view.moved = true;
}
readColours();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", readColours);
on("network", () => view.fit());

/// Text on a plate, so that what is below does not mingle with it.
export function plate(pen, text, x, y) {
  const { width } = pen.measureText(text);
  const left = pen.textAlign === "center" ? x - width / 2 : x;
  const colour = pen.fillStyle;
  pen.fillStyle = colours.ground;
  pen.globalAlpha = 0.85;
  pen.beginPath();
  pen.roundRect(left - 4, y - 11, width + 8, 15, 4);
  pen.fill();
  pen.globalAlpha = 1;
  pen.fillStyle = colour;
  pen.fillText(text, x, y);
}
