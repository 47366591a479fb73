// The status page. Asks the engine every second and shows what it says; holds nothing of its own
// but the last minutes of the timeline. Text from the engine is only ever put in as text.
"use strict";

const $ = (id) => document.getElementById(id);
const KINDS = {
  porep_c2: "PoRep", snap_update: "SnapDeals", window_post: "WindowPoSt",
  winning_post: "WinningPoSt", circom: "circom",
};
const STAGES = {
  queue: ["s-pending", "·", "waits for a witness worker"],
  witness: ["s-witness", "W", "its witness is made"],
  ready: ["s-ready", "R", "waits for a device"],
  stage: ["s-stage", "C", "copied to the device"],
  compute: ["s-compute", "K", "kernels run"],
  finish: ["s-finish", "F", "sums are finished"],
  verify: ["s-finish", "F", "its proof is verified"],
  assemble: ["s-finish", "F", "the answer is put together"],
  done: ["s-done", "✓", "done"],
  failed: ["s-failed", "✕", "failed"],
};
const MAX_ROWS = 20;

// ---- asking ----

let token = "";
try { token = sessionStorage.getItem("cuzk-token") || ""; } catch { /* storage may be off */ }

class Refused extends Error {}

async function ask(path, method = "GET") {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const answer = await fetch(path, { method, headers, signal: AbortSignal.timeout(10000) });
  if (answer.status === 401) throw new Refused("token");
  return answer;
}

async function askJson(path) {
  const answer = await ask(path);
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error ? body.error.message : `status ${answer.status}`);
  return body;
}

// Does something; what went wrong is shown.
async function act(path, method) {
  try {
    const answer = await ask(path, method);
    if (!answer.ok) {
      const body = await answer.json().catch(() => ({}));
      throw new Error(body.error ? body.error.message : `status ${answer.status}`);
    }
    say("");
    found.at = 0;
  } catch (e) {
    say(e instanceof Refused ? "The access token was not accepted." : `That did not work: ${e.message}`);
  }
  refresh();
}

function say(text) {
  $("trouble").textContent = text;
  $("trouble").hidden = !text;
}

function confirmed(title, text, yes, no = "Keep it") {
  const box = $("ask");
  $("ask-title").textContent = title;
  $("ask-text").textContent = text;
  $("ask-yes").textContent = yes;
  $("ask-no").textContent = no;
  box.returnValue = "no";
  box.showModal();
  return new Promise((done) => {
    box.addEventListener("close", () => done(box.returnValue === "yes"), { once: true });
  });
}

// ---- writing numbers ----

function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 1024 && i < 4) { n /= 1024; i++; }
  return `${i && n < 100 ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}

function span(s) {
  if (s < 0.9995) return `${Math.round(s * 1000)} ms`;
  if (s < 60) return `${s.toFixed(s < 10 ? 1 : 0)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor(s % 86400 / 3600)} h`;
}

const ago = (ms, now) => (now - ms < 1500 ? "now" : `${span((now - ms) / 1000)} ago`);
const kind = (k) => KINDS[k] || k;
const share = (part, whole) => (whole > 0 ? Math.min(1, part / whole) : 0);
const many = (n, one, more = `${one}s`) => `${n} ${n === 1 ? one : more}`;
// The short form of an id: what tells two apart is mostly at its end.
const short = (id) => (id.length > 18 ? `…${id.slice(-14)}` : id);

// A colour of a job's own: jobs that came one after another get far apart ones.
const hues = new Map();

function hue(id) {
  if (!hues.has(id)) {
    if (hues.size > 2000) hues.clear();
    hues.set(id, Math.round((215 + hues.size * 137.5) % 360));
  }
  return hues.get(id);
}

// ---- building ----

function el(tag, className, text) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

function setText(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

// Makes the children of a box those of the list, and keeps elements (and the focus) of what stays.
function keyed(box, list, keyOf, make, update) {
  const old = new Map([...box.children].map((c) => [c.dataset.key, c]));
  let at = box.firstElementChild;
  for (const item of list) {
    const key = keyOf(item);
    let e = old.get(key);
    if (e) old.delete(key);
    else {
      e = make(item);
      e.dataset.key = key;
    }
    if (e === at) at = at.nextElementSibling;
    else box.insertBefore(e, at);
    update(e, item);
  }
  for (const e of old.values()) e.remove();
}

function cellsOf(row, n, classes = []) {
  for (let i = row.children.length; i < n; i++) row.append(el("td", classes[i] || ""));
  return row.children;
}

function gauge(name) {
  const g = el("div", "gauge");
  const line = el("div", "line");
  line.append(el("span", "", name), el("span", "quiet"));
  const bar = el("span", "bar");
  bar.append(el("b"));
  g.append(line, bar);
  return g;
}

function setGauge(g, used, limit, text) {
  const part = share(used, limit);
  const fill = g.querySelector("b");
  setText(g.querySelector(".quiet"), text || `${bytes(used)} of ${bytes(limit)}`);
  fill.style.width = `${(part * 100).toFixed(1)}%`;
  fill.classList.toggle("high", part > 0.92);
}

// ---- the parts ----

const samples = []; // of counters, one a poll, ten minutes

function remember(s) {
  samples.push({
    t: s.uptime_secs, done: s.counters.total_completed, parts: s.counters.partitions_done,
    busy: s.devices.map((d) => d.busy_secs),
  });
  if (samples.length > 1 && samples.at(-2).t > s.uptime_secs) samples.splice(0, samples.length - 1);
  while (samples.length > 2 && samples[0].t < s.uptime_secs - 600) samples.shift();
}

// The last sample that is at least so old, or the oldest.
function before(seconds) {
  const now = samples.at(-1).t;
  let found = samples[0];
  for (const x of samples) if (x.t <= now - seconds) found = x;
  return found;
}

function busyShare(index, seconds) {
  const now = samples.at(-1);
  let then = before(seconds);
  if (now.t - then.t < 3) then = { t: 0, busy: [] }; // the page is new: since the start
  return share(now.busy[index] - (then.busy[index] || 0), now.t - then.t);
}

function showHead(s) {
  const down = s.devices.filter((d) => !d.up || d.quarantined).length;
  const live = s.counters.live_jobs;
  let state = ["idle", ""];
  if (s.draining) state = [live ? "draining: no new jobs" : "drained: no new jobs", "warn"];
  else if (s.devices.length && down === s.devices.length) state = ["no device is up", "bad"];
  else if (down) state = [`${many(down, "device")} set aside`, "warn"];
  else if (live) state = ["proving", "good"];
  else state = ["ready, nothing to do", "good"];
  setText($("state"), state[0]);
  $("state").className = `pill ${state[1]}`;
  setText($("version"), s.version);
  setText($("uptime"), `up ${span(s.uptime_secs)}`);
  $("drain").hidden = s.draining;
  $("resume").hidden = !s.draining;
  document.title = live ? `cuzk – ${many(live, "job")}` : "cuzk";
}

function showTiles(s) {
  const c = s.counters;
  const then = before(600);
  const seconds = samples.at(-1).t - then.t;
  const enough = seconds > 30;
  const proofs = enough ? c.total_completed - then.done : c.total_completed;
  const per = enough ? seconds : s.uptime_secs;
  const rate = per > 0 ? proofs / per * 3600 : 0;
  setText($("t-done"), String(c.total_completed));
  setText($("t-failed"), `${c.total_failed} failed`);
  $("t-failed").classList.toggle("some", c.total_failed > 0);
  setText($("t-done-note"), `, ${c.total_cancelled} cancelled`);
  setText($("t-rate"), `${rate < 100 ? rate.toFixed(1) : Math.round(rate)} / h`);
  setText($("t-rate-note"), enough ? `proofs, over the last ${span(seconds)}` : "proofs, since the start");
  const busy = s.devices.map((d, i) => busyShare(i, 60));
  const mean = busy.length ? busy.reduce((a, b) => a + b, 0) / busy.length : 0;
  setText($("t-busy"), s.devices.length ? `${Math.round(mean * 100)} %` : "–");
  setText($("t-busy-note"), s.devices.length ? `of the last minute, ${many(s.devices.length, "device")}` : "no device");
  const running = s.queues.reduce((n, q) => n + q.in_progress, 0);
  const waiting = s.queues.reduce((n, q) => n + q.pending, 0);
  setText($("t-jobs"), String(running));
  setText($("t-jobs-note"), `${waiting} waiting${s.jobs_limit ? `, room for ${Math.max(0, s.jobs_limit - s.counters.live_jobs)} more` : ""}`);
}

function makeLive(p) {
  const row = el("div", "row");
  const name = el("div", "name");
  name.append(el("span", "mono clip", short(p.job_id)), el("span", "quiet"));
  name.firstChild.title = p.job_id;
  row.append(name, el("div", "cells"));
  row.style.setProperty("--job", `hsl(${hue(p.job_id)} 65% 50%)`);
  return row;
}

function updateLive(row, p) {
  setText(row.firstChild.lastChild, `${kind(p.proof_kind)}, ${p.partitions_done}/${p.total_partitions}`);
  const box = row.lastChild;
  while (box.children.length < p.partitions.length) box.append(el("i", "cell"));
  while (box.children.length > p.partitions.length) box.lastChild.remove();
  p.partitions.forEach((x, i) => {
    const cell = box.children[i];
    const [name, sign, words] = STAGES[x.state === "failed" ? "failed" : x.stage] || STAGES.queue;
    cell.className = `cell ${name}`;
    setText(cell, sign);
    const times = [x.synth_ms && `witness ${span(x.synth_ms / 1000)}`, x.gpu_ms && `kernels ${span(x.gpu_ms / 1000)}`];
    cell.title = [`partition ${x.index}: ${words}`, x.device !== undefined && `device ${x.device}`, ...times].filter(Boolean).join(", ");
  });
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", `${p.partitions_done} of ${p.total_partitions} partitions done`);
}

function showLive(s) {
  const live = s.pipelines.filter(isLive).slice(0, MAX_ROWS);
  const ended = s.pipelines.filter((p) => !isLive(p)).slice(0, Math.max(3, 8 - live.length));
  const list = [...live, ...ended];
  keyed($("live"), list, (p) => p.job_id, makeLive, updateLive);
  const more = s.counters.live_jobs - live.length;
  setText($("live-note"), more > 0 ? `and ${many(more, "more job")}` : list.length ? "" : "No job is under way.");
}

function makeDevice(d) {
  const card = el("article", "card");
  const head = el("div", "head");
  head.append(el("h3", "clip", `${d.ordinal} · ${d.name || "device"}`), el("span", "spring"), el("span", "pill"));
  const restore = el("button", "small", "Use it again");
  restore.type = "button";
  restore.addEventListener("click", () => act(`api/v1/devices/${d.ordinal}/restore`, "POST"));
  const gate = el("div", "gate");
  gate.append(el("i", "lamp"), el("span", "clip"));
  card.append(head, el("p", "quiet mono clip"), gate, gauge("Busy, last minute"), gauge("Memory"),
    el("p", "quiet"), el("p", "st failed"), restore);
  return card;
}

function updateDevice(card, d) {
  const [head, uuid, gate, busy, memory, note, trouble, restore] = card.children;
  const pill = head.lastChild;
  const state = d.quarantined ? ["set aside", "bad"] : d.up ? ["up", "good"] : ["down", "bad"];
  setText(pill, state[0]);
  pill.className = `pill ${state[1]}`;
  setText(uuid, d.uuid);
  uuid.title = d.uuid;
  gate.firstChild.classList.toggle("on", Boolean(d.current));
  setText(gate.lastChild, d.current ? `${kind(d.current.proof_kind)} ${short(d.current.job_id)}, partition ${d.current.partition}` : "computes nothing now");
  const part = busyShare(d.ordinal, 60);
  setGauge(busy, part, 1, `${Math.round(part * 100)} %, ${many(d.slots_busy, "slot")} in use`);
  setGauge(memory, d.memory_used_bytes, d.memory_limit_bytes);
  const m = d.moved_bytes;
  const to = m.to_device_pinned + m.to_device_pageable;
  const from = m.to_host_pinned + m.to_host_pageable;
  const notes = [`in ${bytes(to)}, out ${bytes(from)}`];
  if (m.in_gate) notes.push(`${bytes(m.in_gate)} of it while computing could not go on`);
  if (d.memory_lent_bytes) notes.push(`${bytes(d.memory_lent_bytes)} lent to other programs`);
  if (d.restarts) notes.push(`worker started again ${many(d.restarts, "time")}`);
  if (d.proof_kinds.length < 5) notes.push(`only ${d.proof_kinds.map(kind).join(", ")}`);
  setText(note, notes.join("; "));
  setText(trouble, d.trouble ? `Last trouble: ${d.trouble}` : "");
  trouble.hidden = !d.trouble;
  restore.hidden = !d.quarantined;
}

const memoryNames = ["Proving budget", "Pinned", "Resident size of the engine"];

function showMemory(s) {
  const m = s.memory;
  const box = $("memory");
  keyed(box, memoryNames, (n) => n, gauge, () => {});
  setGauge(box.children[0], m.used_bytes, m.total_bytes);
  setGauge(box.children[1], m.pinned_used_bytes, m.pinned_limit_bytes);
  setGauge(box.children[2], m.resident_bytes, m.total_bytes,
    `${bytes(m.resident_bytes)}; ${bytes(s.journal.spool_bytes)} of payloads and proofs on disk`);
}

function showQueues(s) {
  keyed($("queues"), s.queues, (q) => q.proof_kind, () => el("tr"), (row, q) => {
    const c = cellsOf(row, 6, ["", "num", "num", "num", "num", "num"]);
    [kind(q.proof_kind), q.pending, q.in_progress, q.completed, q.failed, q.mean_secs ? span(q.mean_secs) : "–"]
      .forEach((x, i) => setText(c[i], String(x)));
  });
  const p = s.partitions;
  setText($("stages"), `Partitions: ${p.queued} waiting, ${p.witness} of ${s.synthesis.max_concurrent || "?"} witness workers busy` +
    `${s.synthesis.paused ? " (paused: enough are ready)" : ""}, ${p.ready} ready, ${p.stage} copied in, ${p.compute} computing, ` +
    `${p.finish + p.verify + p.assemble} finishing; ${many(s.counters.retries, "retry", "retries")}, ${many(s.counters.refused, "refusal")}.`);
}

// What to do about a failure, by the stage that its message begins with.
const REMEDIES = {
  witness: "Check the input: it does not fit the circuit, or was damaged on its way. Make it again and submit it again.",
  key: "Look at the key under Keys, and at its file; submit the job again when it loads.",
  stage: "The device failed, not the job: see Devices, and submit it again.",
  compute: "The device failed, not the job: see Devices, and submit it again.",
  finish: "The device failed, not the job: see Devices, and submit it again.",
  verify: "The result was wrong, also when tried again: see whether key and input belong together, and whether other jobs fail on that device.",
  assemble: "The proofs do not make an answer together: check the input, and report it if it was right.",
  deadline: "Submit it earlier, with a higher priority, or with a later deadline.",
};

function remedy(j) {
  if (j.state === "cancelled") return "";
  return REMEDIES[j.state === "deadline" ? "deadline" : j.message.split(/[:\s,]/, 1)[0]] || "";
}

const jobState = (j) => (j.state === "deadline" ? "too late" : j.state);
const isLive = (j) => j.state === "queued" || j.state === "running";

async function cancel(j) {
  const yes = await confirmed("Cancel this job?", `${kind(j.proof_kind)} ${j.job_id}: ${j.partitions_done} of ` +
    `${j.total_partitions} partitions are done. It cannot be taken up again; whoever waits for it is told.`, "Cancel the job");
  if (yes) act(`api/v1/jobs/${encodeURIComponent(j.job_id)}`, "DELETE");
}

function jobRows(jobs) {
  const rows = [];
  for (const j of jobs) {
    rows.push({ key: j.job_id, job: j });
    if (j.message || j.state === "deadline") rows.push({ key: `${j.job_id} why`, why: j });
  }
  return rows;
}

function makeJobRow(r) {
  const row = el("tr", r.why ? "more" : "");
  if (r.why) {
    const cell = el("td");
    cell.colSpan = 8;
    cell.append(el("p"), el("p", "quiet"));
    row.append(cell);
    return row;
  }
  const c = cellsOf(row, 8, ["mono", "", "", "num", "", "num", "num", "act"]);
  const button = el("button", "small", "Cancel");
  button.type = "button";
  button.setAttribute("aria-label", `Cancel job ${r.job.job_id}`);
  button.addEventListener("click", () => cancel(row.job));
  c[7].append(button);
  c[2].append(el("span", "st"));
  return row;
}

function updateJobRow(now) {
  return (row, r) => {
    if (r.why) {
      const [what, how] = row.firstChild.children;
      setText(what, `Why: ${r.why.message || "its deadline passed first"}`);
      setText(how, remedy(r.why));
      return;
    }
    const j = r.job;
    const c = row.children;
    row.job = j;
    row.classList.toggle("has-more", Boolean(j.message) || j.state === "deadline");
    setText(c[0], j.job_id);
    c[0].title = [j.request_id && `request ${j.request_id}`, j.client && `from ${j.client}`, j.key && `key ${j.key}`].filter(Boolean).join(", ");
    setText(c[1], `${kind(j.proof_kind)}${j.priority === "critical" || j.priority === "high" ? `, ${j.priority}` : ""}`);
    setText(c[2].firstChild, jobState(j));
    c[2].firstChild.className = `st ${j.state}`;
    setText(c[3], `${j.partitions_done}/${j.total_partitions}`);
    setText(c[4], ago(j.submitted_unix_ms, now));
    const late = j.deadline_unix_ms && isLive(j) ? `due in ${span(Math.max(0, j.deadline_unix_ms - now) / 1000)}` : "";
    setText(c[5], j.state === "queued" ? "–" : span(j.times_ms.queue_wait / 1000));
    setText(c[6], late || (isLive(j) ? "–" : span(((j.ended_unix_ms || now) - j.submitted_unix_ms) / 1000)));
    c[7].firstChild.hidden = !isLive(j);
  };
}

const FILTERS = { "": "", live: "queued,running", failed: "failed,deadline,cancelled", done: "done" };

// With a filter the engine looks through many jobs, which need not be every second.
const found = { filter: "", at: 0, jobs: [] };

async function askJobs() {
  const filter = $("filter").value;
  if (filter && filter === found.filter && Date.now() - found.at < 4000) return found.jobs;
  const states = FILTERS[filter];
  const { jobs } = await askJson(`api/v1/jobs?limit=100${states ? `&state=${states}` : ""}`);
  Object.assign(found, { filter, at: Date.now(), jobs });
  return jobs;
}

function showJobs(jobs, now) {
  keyed($("joblist"), jobRows(jobs), (r) => r.key, makeJobRow, updateJobRow(now));
  setText($("jobs-note"), jobs.length ? (jobs.length === 100 ? "The newest hundred." : "") : "None.");
}

async function evict(name) {
  const yes = await confirmed("Take this key out of memory?", `${name} is loaded again when a job asks for it, which takes a while.`, "Take it out");
  if (yes) act(`api/v1/keys/${encodeURIComponent(name)}/evict`, "POST");
}

function showKeys(s) {
  const order = { loading: 0, loaded: 1, "on disk": 2, missing: 3 };
  const there = s.keys.filter((k) => k.state !== "missing").sort((a, b) => order[a.state] - order[b.state] || a.name.localeCompare(b.name));
  keyed($("keys"), there, (k) => k.name, (k) => {
    const row = el("tr");
    const c = cellsOf(row, 7, ["mono", "", "num", "num", "", "num", "act"]);
    c[1].append(el("span", "st"));
    const load = el("button", "small", "Load");
    const drop = el("button", "small", "Take out");
    load.type = drop.type = "button";
    load.addEventListener("click", () => act(`api/v1/keys/${encodeURIComponent(k.name)}/preload`, "POST"));
    drop.addEventListener("click", () => evict(k.name));
    load.setAttribute("aria-label", `Load key ${k.name}`);
    drop.setAttribute("aria-label", `Take key ${k.name} out of memory`);
    c[6].append(load, drop);
    return row;
  }, (row, k) => {
    const c = row.children;
    setText(c[0], k.name);
    setText(c[1].firstChild, k.state);
    c[1].firstChild.className = `st ${k.state === "loaded" ? "done" : k.state === "loading" ? "loading" : ""}`;
    setText(c[2], k.size_bytes ? bytes(k.size_bytes) : "–");
    setText(c[3], k.host_bytes ? bytes(k.host_bytes) : "–");
    setText(c[4], k.devices.join(", ") || "–");
    setText(c[5], k.users ? many(k.users, "partition") : "–");
    c[6].children[0].hidden = k.state !== "on disk";
    c[6].children[1].hidden = k.state !== "loaded";
    c[6].children[1].disabled = k.users > 0;
  });
  const missing = s.keys.length - there.length;
  setText($("keys-note"), [there.length ? "" : "No key is here.", missing ? `${many(missing, "known key")} without a file.` : ""].join(" ").trim());
}

// ---- the timeline ----

const marks = { list: [], at: 0, upto: 0 }; // bars; uptime of the last answer, and when it came

function readTimeline(text) {
  const open = new Map(marks.list.filter((b) => b.end === undefined).map((b) => [b.key, b]));
  for (const line of text.split("\n")) {
    const [tag, ms, event, job, ...rest] = line.split(",");
    if (tag !== "TIMELINE") continue;
    const d = Object.fromEntries(rest.map((x) => x.split("=")));
    const t = Number(ms) / 1000;
    marks.upto = Math.max(marks.upto, Number(ms));
    const id = `${job} ${d.partition}`;
    const start = (lane, key) => {
      const bar = { key, job, partition: d.partition, lane, begin: t };
      open.set(key, bar);
      marks.list.push(bar);
    };
    const stop = (key) => {
      const bar = open.get(key);
      if (bar) bar.end = t;
      open.delete(key);
    };
    if (event === "SYNTH_START") start("witness", `w ${id}`);
    else if (event === "SYNTH_END") stop(`w ${id}`);
    else if (event === "GPU_PICKUP") start(`copy ${d.device || 0}`, `c ${id}`);
    else if (event === "GPU_START") { stop(`c ${id}`); start(`device ${d.device || 0}`, `k ${id}`); }
    else if (event === "GPU_END") stop(`k ${id}`);
  }
  const oldest = marks.upto / 1000 - 1260;
  if (marks.list.length > 200) marks.list = marks.list.filter((b) => (b.end ?? Infinity) > oldest && b.begin > oldest - 3600);
}

async function pollTimeline(s) {
  const from = marks.upto ? marks.upto + 1 : Math.max(0, Math.floor(s.uptime_secs * 1000) - 1200000);
  if (s.uptime_secs * 1000 + 1000 < marks.upto) { // the engine was started again
    marks.list = [];
    marks.upto = 0;
    return;
  }
  const answer = await ask(`trace?format=csv&since_ms=${from}`);
  if (answer.ok) readTimeline(await answer.text());
  marks.at = performance.now();
  marks.now = s.uptime_secs;
}

// Bars of one lane in rows so that none covers another.
function pack(bars, now) {
  const ends = [];
  for (const b of bars.sort((x, y) => x.begin - y.begin)) {
    let row = ends.findIndex((e) => e <= b.begin);
    if (row < 0) row = ends.length;
    ends[row] = b.end ?? now;
    b.row = row;
  }
  return Math.max(1, ends.length);
}

const drawn = []; // rectangles with their words, for the pointer

function lanes(now, from, devices) {
  const of = new Map();
  for (const b of marks.list) {
    if ((b.end ?? now) < from || b.begin > now) continue;
    if (!of.has(b.lane)) of.set(b.lane, []);
    of.get(b.lane).push(b);
  }
  const list = [{ name: "Witnesses", bars: of.get("witness") || [] }];
  for (let d = 0; d < devices; d++) {
    list.push({ name: devices > 1 ? `${d} copies` : "Copies", bars: of.get(`copy ${d}`) || [] });
    list.push({ name: devices > 1 ? `${d} kernels` : "Kernels", bars: of.get(`device ${d}`) || [], tall: true });
  }
  for (const l of list) l.rows = Math.min(12, pack(l.bars, now));
  return list;
}

function step(seconds, most) {
  return [1, 2, 5, 10, 15, 30, 60, 120, 300].find((x) => seconds / x <= most) || 600;
}

function draw() {
  const canvas = $("timeline");
  if (!marks.at) return;
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(name).trim();
  const seconds = Number($("span").value);
  const now = marks.now + (performance.now() - marks.at) / 1000;
  const from = now - seconds;
  const list = lanes(now, from, marks.devices || 0);
  const width = canvas.parentElement.clientWidth;
  const left = width < 500 ? 84 : 126, top = 6, foot = 20;
  const rowHeight = (l) => (l.tall ? 16 : 9);
  const height = top + foot + list.reduce((h, l) => h + l.rows * rowHeight(l) + 8, 0);
  const scale = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.height = `${height}px`;
  }
  const g = canvas.getContext("2d");
  const x = (t) => left + (width - left) * (t - from) / seconds;
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.clearRect(0, 0, width, height);
  g.font = "12px system-ui, sans-serif";
  g.textBaseline = "middle";
  drawn.length = 0;

  g.strokeStyle = color("--line");
  g.fillStyle = color("--quiet");
  const tick = step(seconds, Math.max(1, Math.min(8, (width - left) / 75)));
  for (let t = 0; t <= seconds; t += tick) {
    const at = Math.round(width - (width - left) * t / seconds) - 0.5;
    g.beginPath();
    g.moveTo(at, top);
    g.lineTo(at, height - foot);
    g.stroke();
    g.textAlign = t === 0 ? "right" : "center";
    if (at > left + 10) g.fillText(t === 0 ? "now" : `−${span(t)}`, at, height - foot / 2);
  }
  let y = top;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  for (const l of list) {
    const h = rowHeight(l);
    g.textAlign = "left";
    g.fillStyle = color("--quiet");
    g.fillText(width < 500 || !/^\d/.test(l.name) ? l.name : `Device ${l.name}`, 0, y + l.rows * h / 2, left - 8);
    g.fillStyle = color("--track");
    g.globalAlpha = 0.45;
    g.fillRect(left, y, width - left, l.rows * h);
    g.globalAlpha = 1;
    for (const b of l.bars) {
      const x0 = Math.max(left, x(b.begin));
      const x1 = Math.min(width, x(b.end ?? now));
      const yy = y + Math.min(b.row, l.rows - 1) * h;
      g.fillStyle = `hsl(${hue(b.job)} ${dark ? "55% 55%" : "65% 50%"})`;
      g.globalAlpha = b.end === undefined ? 0.65 : 1;
      g.fillRect(x0, yy + 0.5, Math.max(1, x1 - x0 - 0.5), h - 1.5);
      g.globalAlpha = 1;
      drawn.push({ x0, x1: Math.max(x1, x0 + 2), y0: yy, y1: yy + h, b, l });
    }
    y += l.rows * h + 8;
  }
  const kernels = list.filter((l) => l.tall).reduce((n, l) => n + l.bars.length, 0);
  canvas.setAttribute("aria-label", `The last ${span(seconds)}: ${list[0].bars.length} witnesses, ${kernels} passages through devices. The tables below say the same in words.`);
}

function point(event) {
  const box = $("timeline").getBoundingClientRect();
  const x = event.clientX - box.left;
  const y = event.clientY - box.top;
  const hit = drawn.find((r) => x >= r.x0 && x <= r.x1 && y >= r.y0 && y <= r.y1);
  const now = marks.now + (performance.now() - marks.at) / 1000;
  setText($("timeline-hint"), hit ? `${hit.l.name}: job ${hit.b.job}, partition ${hit.b.partition}, ` +
    `${span((hit.b.end ?? now) - hit.b.begin)}${hit.b.end === undefined ? " so far" : ""}` : "\u00a0");
}

// ---- round and round ----

let failures = 0;
let polling = false;
let again = false;

function lost(e) {
  failures++;
  const refused = e instanceof Refused;
  $("token-form").hidden = !refused;
  if (refused && token) say("The access token was not accepted.");
  if (!refused && failures > 1) {
    setText($("state"), "unreachable");
    $("state").className = "pill bad";
    say(`The engine does not answer (${e.message}). What is shown is old. Is the daemon running?`);
  }
}

async function refresh() {
  if (polling) {
    again = true;
    return;
  }
  polling = true;
  try {
    const [s, jobs] = await Promise.all([askJson(`status?pipelines=${2 * MAX_ROWS}`), askJobs()]);
    if (failures > 1) say("");
    failures = 0;
    $("token-form").hidden = true;
    marks.devices = s.devices.length;
    remember(s);
    showHead(s);
    showTiles(s);
    showLive(s);
    keyed($("devices"), s.devices, (d) => `${d.ordinal} ${d.uuid}`, makeDevice, updateDevice);
    showMemory(s);
    showQueues(s);
    showJobs(jobs, s.now_unix_ms);
    showKeys(s);
    await pollTimeline(s);
  } catch (e) {
    lost(e);
  }
  polling = false;
  if (again) {
    again = false;
    refresh();
  }
}

function round() {
  const wait = failures > 1 ? Math.min(10000, 1000 * failures) : 1000;
  setTimeout(async () => {
    if (!document.hidden) await refresh();
    round();
  }, wait);
}

function animate() {
  if (!document.hidden) draw();
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches || Number($("span").value) > 60;
  setTimeout(() => requestAnimationFrame(animate), calm ? 1000 : 100);
}

$("drain").addEventListener("click", async () => {
  const yes = await confirmed("Take no new jobs?", "Jobs that are here are finished; new ones are refused until you take jobs again or the daemon is started again.", "Drain", "Go on");
  if (yes) act("api/v1/drain", "POST");
});
$("resume").addEventListener("click", () => act("api/v1/resume", "POST"));
$("t-failed").addEventListener("click", () => {
  $("filter").value = "failed";
  $("jobs").scrollIntoView();
  $("filter").focus();
  refresh();
});
$("filter").addEventListener("change", refresh);
$("span").addEventListener("change", draw);
$("timeline").addEventListener("pointermove", point);
$("timeline").addEventListener("pointerleave", point);
$("token-form").addEventListener("submit", (e) => {
  e.preventDefault();
  token = $("token").value.trim();
  $("token").value = "";
  try { sessionStorage.setItem("cuzk-token", token); } catch { /* then it lives as long as the page */ }
  say("");
  refresh();
});
// Links cannot carry the token, so that with one the file is fetched and handed over.
for (const a of document.querySelectorAll("[data-download]")) {
  a.addEventListener("click", async (e) => {
    if (!token) return;
    e.preventDefault();
    try {
      const answer = await ask(a.getAttribute("href"));
      const url = URL.createObjectURL(await answer.blob());
      const link = el("a");
      link.href = url;
      link.download = a.dataset.download;
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 60000);
    } catch (problem) {
      say(`That did not work: ${problem.message}`);
    }
  });
}
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });

refresh().then(() => { round(); animate(); });
