// What the reader points at: the node that is selected, the tool in hand, and what it has gathered so far.

import { emit, on } from "./events.js";

export const selection = {
  node: null,
  tool: "hand",
  /// The first end of a link to cut.
  marked: null,
  /// The nodes of one side of a partition, gathered by keys.
  side: new Set(),
  /// The line that is being drawn around one side.
  path: null,
};

export function select(id) {
  selection.node = id;
  emit("selected");
}

export function useTool(name) {
  Object.assign(selection, { tool: name, marked: null });
  for (const button of document.querySelectorAll("[data-tool]")) button.setAttribute("aria-pressed", button.dataset.tool === name);
}

on("network", () => select(null));
