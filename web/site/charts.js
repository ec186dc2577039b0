// Charts of a run: a point for each sample that the simulator took.

import { $, SECOND, seconds } from "./dom.js";
import { run } from "./run.js";
import { colours, plate, sized } from "./view.js";

/// The highest value stays below the edge.
const HEIGHT = 56, PLOT = 50, HEADROOM = 4;
/// A chart is at least so many samples wide.
const SAMPLES_MIN = 60;

function chart(id, values, { bars = false, format = String, top = Math.max(1, ...values) } = {}) {
  const { pen, width } = sized($(`chart-${id}`), HEIGHT) ?? {};
  if (!pen) return;
  const step = width / Math.max(values.length, SAMPLES_MIN);
  pen.strokeStyle = colours.line;
  pen.strokeRect(0.5, 2.5, width - 1, PLOT);
  pen.fillStyle = pen.strokeStyle = colours.accent;
  pen.lineWidth = 1.5;
  pen.beginPath();
  values.forEach((value, at) => {
    const y = 2.5 + HEADROOM + (PLOT - HEADROOM) * (1 - value / top);
    if (bars) pen.rect(at * step, y, Math.max(1, step - 0.5), 2.5 + PLOT - y);
    else pen.lineTo(at * step, y);
  });
  if (bars) pen.fill(); else pen.stroke();
  pen.fillStyle = colours.faint;
  pen.font = "10px system-ui";
  pen.textAlign = "left";
  plate(pen, format(top), 6, 14);
  $(`chart-${id}-now`).textContent = values.length ? format(values.at(-1)) : "";
}

export function showCharts() {
  const { samples } = run;
  const period = samples.length ? samples[0][0] / SECOND : 1;
  chart("frames", samples.map((sample) => Math.round(sample[1] / period)));
  chart("agreement", samples.map((sample) => sample[2]), { top: 1, format: (share) => `${Math.round(share * 100)} %` });
  chart("changes", samples.map((sample) => sample[3]), { bars: true });
  $("figure-waits").hidden = !run.about.locks;
  $("figure-skew").hidden = !samples.some((sample) => sample[5] > 0);
  $("figure-trips").hidden = !run.about.requests;
  chart("waits", samples.map((sample) => sample[4]), { bars: true, format: (wait) => seconds(wait, 2) });
  chart("trips", samples.map((sample) => sample[6] ?? 0), { bars: true, format: (time) => seconds(time, 2) });
  chart("skew", samples.map((sample) => sample[5]), { format: (skew) => `${skew} us` });
}
