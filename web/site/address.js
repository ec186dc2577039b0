// The run as a file and as an address, and both as a run.

import { $, complain, seconds, trying } from "./dom.js";
import { Live } from "./live.js";
import { play } from "./playback.js";
import { Recording } from "./recording.js";
import { catalogue, openRecording, openShipped, openText, run, textOfRun } from "./run.js";

/// The run as a scenario file.
export function savedText() {
  const { now, hash } = run.state;
  const head = `# Saved by the page at ${seconds(now)} with seed ${run.seed}: conclave run FILE --seed ${run.seed}\n`;
  return head + (now >= run.about.duration ? `# trace hash ${hash}\n` : "") + textOfRun();
}

$("save").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([savedText()], { type: "application/toml" }));
  link.download = `${run.about.name}-seed-${run.seed}.toml`;
  link.click();
  URL.revokeObjectURL(link.href);
});

/// Opens a scenario, or plays a trace.
async function openFile(file) {
  const text = await file.text();
  trying(() => (/^\s*\{/.test(text) ? openRecording(new Recording(file.name, text)) : openText(text, { name: null, acts: [] })));
}

$("file").addEventListener("change", () => $("file").files[0] && openFile($("file").files[0]));
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  if (event.dataTransfer.files[0]) openFile(event.dataTransfer.files[0]);
});

async function through(stream, bytes) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

async function packed(text) {
  const bytes = await through(new CompressionStream("deflate-raw"), text);
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpacked(text) {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (digit) => digit.charCodeAt(0));
    return new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes));
  } catch {
    throw new Error("The link is damaged: its scenario cannot be read.");
  }
}

/// The run as the part of an address after its `#`.
export async function permalink() {
  const shipped = catalogue.scenarios.find((entry) => entry.name === run.name);
  const fields = new URLSearchParams();
  if (shipped?.text === run.base) fields.set("s", run.name);
  else fields.set("z", await packed(run.base));
  fields.set("seed", run.seed);
  fields.set("t", run.state.now);
  for (const { at, fault } of run.acts) fields.append("a", `${at}:${fault.replaceAll("\n", ";")}`);
  return fields.toString();
}

$("link").addEventListener("click", async () => {
  if (run.recording) return complain(run.recording.refused);
  history.replaceState(null, "", `#${await permalink()}`);
  await navigator.clipboard?.writeText(location.href).catch(() => {});
  $("news").textContent = "The link is in the address bar and on the clipboard.";
  $("link").textContent = "Copied";
  setTimeout(() => ($("link").textContent = "Copy link"), 1500);
});

/// Opens what the address says; returns whether it names a moment.
export async function openLink() {
  const fields = new URLSearchParams(location.hash.slice(1));
  if (fields.has("swarm")) {
    const live = await Live.follow(fields.get("swarm"), () => live === run.recording && complain("The swarm has ended, or its server is gone. What was can be played."));
    openRecording(live);
    play(true);
    return false;
  }
  const acts = fields.getAll("a").map((words) => {
    const [, at, fault] = /^(\d+):(.*)$/s.exec(words) ?? [];
    if (!at) throw new Error(`The link is damaged: "${words}" is no act.`);
    return { at: Number(at), fault: fault.replaceAll(";", "\n") };
  });
  const options = { seed: Number(fields.get("seed") ?? 0), acts, moment: Number(fields.get("t") ?? 0) };
  if (fields.has("z")) openText(await unpacked(fields.get("z")), options);
  else openShipped(fields.get("s") ?? "demo", options);
  return fields.has("t");
}
