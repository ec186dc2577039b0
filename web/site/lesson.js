// A lesson: a scenario, captions at its moments, and acts between them. The reader goes on from caption to caption.

import { $, SECOND, trying } from "./dom.js";
import { LESSONS } from "./lessons.js";
import { play, setWatcher } from "./playback.js";
import { act, openShipped, openText, run } from "./run.js";

let current = null;
export const currentLesson = () => current;

class Lesson {
  constructor({ title, scenario, text, seed = 1, steps }) {
    Object.assign(this, { title, steps, next: 0 });
    if (text) openText(text, { name: null, seed });
    else openShipped(scenario, { seed, acts: [] });
    this.caption();
  }

  /// Shows the caption of the step, and waits for the reader.
  caption() {
    play(false);
    const { text } = this.steps[this.next], last = this.next + 1 === this.steps.length;
    $("caption").hidden = false;
    $("caption-step").textContent = `${this.title} · ${this.next + 1} of ${this.steps.length}`;
    $("caption-text").textContent = typeof text === "function" ? text(run.state, run) : text;
    $("caption-next").textContent = last ? "End of the lesson" : "Continue";
    $("caption-next").focus();
  }

  go() {
    const done = this.steps[this.next];
    $("caption").hidden = true;
    this.next += 1;
    if (this.next >= this.steps.length) return leave();
    if (done.open) openText(done.open.text, { name: null, seed: done.open.seed ?? 1 });
    if (done.act) act(done.act);
    this.since = run.state.now;
    run.speed = this.steps[this.next].speed ?? 1;
    $("speed").value = run.speed;
    play(true);
  }

  /// Shows the next caption when its moment has come.
  watch() {
    const step = this.steps[this.next];
    if (!$("caption").hidden || !step) return;
    const passed = (run.state.now - this.since) / SECOND;
    const due = step.when ? step.when(run.state, run) && passed > (step.after ?? 0) : passed >= step.after;
    if (due || run.state.now >= run.about.duration) this.caption();
  }
}

/// Ends the lesson; the run stays as it is.
export function leave() {
  current = null;
  setWatcher(null);
  $("lesson").value = "";
  $("caption").hidden = true;
}

export const begin = (index) => trying(() => {
  leave();
  if (!LESSONS[index]) return;
  current = new Lesson(LESSONS[index]);
  setWatcher(() => current.watch());
  $("lesson").value = index;
  $("picture").scrollIntoView({ block: "nearest" });
});

LESSONS.forEach(({ title }, index) => $("lesson").append(new Option(title, index)));
$("lesson").addEventListener("change", () => begin($("lesson").value));
$("tour").addEventListener("click", () => begin(0));
$("caption-next").addEventListener("click", () => current?.go());
$("caption-leave").addEventListener("click", leave);
