// Elements, sentences and lists.

export const $ = (id) => document.getElementById(id);
export const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
export const SECOND = 1e6;

export const seconds = (micros, digits = 3) => `${(micros / SECOND).toFixed(digits)} s`;
export const quoted = (words) => `"${words}"`;

export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/// Shows a problem as a sentence, or none.
export function complain(problem) {
  $("problem").hidden = !problem;
  $("problem").textContent = problem ?? "";
}

/// Runs `change`; an error is a sentence in the page.
export function trying(change) {
  try {
    complain(null);
    return change();
  } catch (error) {
    complain(error.message);
    return null;
  }
}

export function listed(list, lines) {
  list.replaceChildren(...lines.map((line) => element("li", { textContent: line })));
}

export function facts(list, rows) {
  list.replaceChildren(...rows.flatMap(([name, value]) => [element("dt", { textContent: name }), element("dd", { textContent: value })]));
}
