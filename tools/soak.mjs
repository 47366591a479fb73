#!/usr/bin/env node
// A long mixed load against `cuzkd --mock`, and what has to hold after it: see usage.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { cpus, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const usage = `usage: tools/soak.mjs [--minutes N] [--seed N] [--build DIR] [--out FILE]

Two daemons on simulated devices are under load for N minutes (60). One runs all the time; the
other is ended again and again, by SIGTERM and by kill -9, and started on the same state. Both get
jobs of every kind, priority and size, with deadlines, cancels, faults that are retried, hanging and
crashing devices, clients that go away in the middle, keys loaded and evicted, memory lent, drain
and resume. Requests whose answer was lost are sent again with their id.

At the end it exits 0 when
  * every request is one job with one end, and the daemons' own totals say the same;
  * no proof differed between two fetches, and each had the length that its partitions give;
  * jobs that nothing happened to were all completed;
  * the daemon that ran all the time is as large as before: resident memory, by a straight line
    through the second half, grows by less than 4 MiB + 8 MiB an hour, and it has as many open
    descriptors as before the load when its clients are gone;
  * the state directories stay below what retention leaves (jobs of one retention time).
and 1 when not. The result is written as JSON (bench/results/daemon_soak.json).

  --minutes N   may be a fraction; below 3 it is a short form: retention 6 s instead of 60 s,
                and 24 MiB instead of 4, since memory is not steady yet
  --seed N      the same requests in the same order (what happens between is the machine's)
  --build DIR   where bin/cuzkd is (CUZK_BUILD, build/release)
  --out FILE    '-': only to stdout

Needs the npm packages of tests/interop (tools/install_deps.sh test).
`;

function options() {
  const o = { minutes: 60, seed: Date.now() % 2 ** 31, out: join(root, 'bench/results/daemon_soak.json') };
  const words = process.argv.slice(2);
  const bad = (text) => {
    console.error(`${text}\n${usage}`);
    process.exit(2);
  };
  while (words.length) {
    const word = words.shift();
    if (word === '--help' || word === '-h') {
      process.stdout.write(usage);
      process.exit(0);
    }
    const value = words.shift();
    if (value === undefined) bad(`${word}: unknown, or without its value`);
    if (word === '--minutes') o.minutes = Number(value);
    else if (word === '--seed') o.seed = Number(value);
    else if (word === '--build') process.env.CUZK_BUILD = resolve(value);
    else if (word === '--out') o.out = value;
    else bad(`${word}: unknown`);
  }
  if (!(o.minutes > 0) || !Number.isInteger(o.seed)) bad('--minutes and --seed take numbers');
  return o;
}

const opt = options();
const { Daemon, code } = await import('../tests/interop/lib/daemon.mjs');
const short = opt.minutes < 3;
const retention = short ? 6 : 60; // seconds
const lengthMs = opt.minutes * 60_000;
const lanes = 6; // clients of each daemon
const maxPad = 300_000; // bytes of the largest payload, above what goes to the spool

// mulberry32: a small generator, so that lanes have one each and a seed repeats their requests.
function generator(seed) {
  let a = seed >>> 0;
  const next = () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    below: (n) => Math.floor(next() * n),
    chance: (p) => next() < p,
    of: (list) => list[Math.floor(next() * list.length)],
  };
}

const errors = [];
const counts = {};
const count = (what, n = 1) => (counts[what] = (counts[what] ?? 0) + n);
const wrong = (text) => {
  count('wrong');
  if (errors.length >= 50) return;
  errors.push(text);
  console.error(`soak: ${text}`);
};

// What may answer a call that does not insist: the daemon is away, the key is in use, ...
const may = [code.UNAVAILABLE, code.FAILED_PRECONDITION, code.DEADLINE_EXCEEDED,
  code.RESOURCE_EXHAUSTED, code.NOT_FOUND, code.CANCELLED];

const kinds = {
  POREP_SEAL_COMMIT: { name: 'porep_c2', most: 4 },
  SNAP_DEALS_UPDATE: { name: 'snap_update', most: 4 },
  WINDOW_POST_PARTITION: { name: 'window_post', most: 1 },
  WINNING_POST: { name: 'winning_post', most: 1 },
  circom: { name: 'circom', most: 1 },
};
const kindNames = Object.keys(kinds);
const faults = [
  { stage: 'witness', fault: 'slow' },
  { stage: 'stage', fault: 'error' },
  { stage: 'compute', fault: 'error' },
  { stage: 'compute', fault: 'wrong' },
  { stage: 'finish', fault: 'error' },
  { stage: 'compute', fault: 'slow' },
  { stage: 'verify', fault: 'error' },
];

// What a lane asks for next: the request and what is done to it meanwhile.
function makeJob(r, id) {
  const kind = r.of(kindNames);
  const partitions = 1 + r.below(kinds[kind].most);
  const what = { id, partitions, witness_ms: 2 + r.below(20), compute_ms: 1 + r.below(8) };
  const job = { id, kind, partitions, act: 'await', harmed: false };
  if (r.chance(0.08)) what.pad = 'x'.repeat(70_000 + r.below(maxPad - 71_000));
  if (r.chance(0.15)) {
    what.faults = [{ ...r.of(faults), partition: r.below(partitions), times: 1 }];
    job.faulty = true;
    count('with_faults');
  } else if (r.chance(0.02)) {
    what.faults = [{ stage: r.of(['witness', 'compute']), fault: r.of(['input', 'error']), times: 0 }];
    job.harmed = true;
  } else if (r.chance(0.004)) {
    what.faults = [{ stage: r.of(['stage', 'compute']), fault: r.of(['crash', 'hang']), times: 1 }];
    count('device_lost');
  }
  const act = r.below(100);
  if (act < 12) job.act = 'cancel';
  else if (act < 22) job.act = 'leave';
  else if (act < 26) job.act = 'leave-and-cancel';
  else if (act < 32) job.act = 'submit-only';
  if (r.chance(0.08)) {
    job.deadline_unix_ms = Date.now() + 30 + r.below(3000);
    job.harmed = true;
  }
  if (job.act === 'cancel' || job.act === 'leave-and-cancel') job.harmed = true;
  const common = {
    request_id: id,
    priority: r.of(['PRIORITY_UNSPECIFIED', 'LOW', 'NORMAL', 'HIGH', 'CRITICAL']),
    deadline_unix_ms: job.deadline_unix_ms ?? 0,
  };
  const payload = Buffer.from(JSON.stringify(what));
  if (kind === 'circom') job.request = { ...common, key: r.of(['mock-a', 'mock-b']), wtns: payload };
  else if (kind === 'POREP_SEAL_COMMIT')
    job.request = { ...common, proof_kind: kind, vanilla_proof: payload };
  else
    job.request = {
      ...common,
      proof_kind: kind,
      registered_proof: 3,
      vanilla_proofs: [payload],
    };
  job.wait = 5 + r.below(150);
  job.again = r.below(retention * 300);
  return job;
}

// A daemon, its clients, and every job that it was asked for.
class Side {
  constructor(name, dir, seed) {
    this.name = name;
    this.seed = seed;
    this.d = new Daemon(dir, {
      mock: {
        devices: 2, witness: '10ms', stage: '2ms', compute: '5ms', finish: '2ms', verify: '1ms',
        key_load: '5ms',
      },
      set: {
        'daemon.status_listen': '127.0.0.1:0',
        'jobs.retention': `${retention}s`,
        'jobs.retention_count': '0',
        'gpus.hang_timeout': '3s',
        'gpus.quarantine': '2s',
        'scheduler.max_jobs': '64',
      },
    });
    this.jobs = 0;
    this.byEnd = {}; // kind -> outcome -> how many
    this.unseen = {}; // kind -> how many ended, and went by retention, before their client asked
    this.second = []; // fetches still to come
    this.rss = [];
    this.state = [];
    this.lifetimes = 0;
  }

  async start() {
    await this.d.start();
    const { child, log } = this.d;
    child.on('close', (status, signal) => {
      // Restarts and the end send a signal first; nothing else may end it.
      if (!child.killed) wrong(`${this.name}: ended by itself: ${status} ${signal}: ${log.slice(-5).join(' | ')}`);
    });
    this.lifetimes++;
  }

  proc(what) {
    return `/proc/${this.d.child.pid}/${what}`;
  }

  descriptors() {
    return readdirSync(this.proc('fd')).length;
  }

  // Asks until there is an answer: a daemon that is away, drains or is full is asked again.
  async asked(call, deadline = 120_000) {
    const until = Date.now() + deadline;
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (error.code === code.RESOURCE_EXHAUSTED) count('queue_full');
        else if (error.code === code.UNAVAILABLE) count('unavailable');
        else throw error;
        if (Date.now() > until) throw new Error(`${this.name}: no answer: ${error.details}`);
        await sleep(60 + Math.random() * 100);
      }
    }
  }

  // The id of the request's job, whether it is new or not; null when it never was one.
  async submit(c, job) {
    const call = job.kind === 'circom' ? c.SubmitCircom : c.SubmitProof;
    try {
      return (await this.asked(() => call(job.request))).job_id;
    } catch (error) {
      if (error.code !== code.DEADLINE_EXCEEDED || !job.deadline_unix_ms) throw error;
      try {
        return (await this.asked(() => c.GetJob({ job_id: job.id }))).job_id;
      } catch (e) {
        if (e.code !== code.NOT_FOUND) throw e;
        count('too_late_to_submit');
        return null;
      }
    }
  }

  async oneJob(c, job, r) {
    job.begun = Date.now();
    if (job.act === 'leave-and-cancel') {
      const call = job.kind === 'circom' ? c.ProveCircom : c.Prove;
      const request = { ...job.request, cancel_on_disconnect: true };
      job.request = request;
      const wrapped = job.kind === 'circom' ? request : { submit: request };
      await call(wrapped, { deadline: Date.now() + job.wait }).catch((error) => {
        const known = [code.DEADLINE_EXCEEDED, code.UNAVAILABLE, code.RESOURCE_EXHAUSTED];
        if (!known.includes(error.code)) throw error;
      });
      count('calls_left');
    }
    const id = await this.submit(c, job);
    if (id === null) return;
    this.jobs++;
    const gone = (error) => error.code === code.NOT_FOUND && Date.now() - job.begun >= retention * 1000;
    if (r.chance(0.1) && Date.now() - job.begun < retention * 500) {
      const again = await this.submit(c, job);
      if (again !== id) wrong(`${job.id}: job ${id}, then ${again}`);
      count('sent_again');
    }
    if (job.act === 'cancel') {
      await sleep(job.wait);
      await this.asked(() => c.CancelProof({ job_id: id })).catch((error) => {
        if (!gone(error)) throw error;
      });
      count('cancels');
    } else if (job.act === 'leave') {
      await c.AwaitProof({ job_id: id }, { deadline: Date.now() + job.wait }).catch((error) => {
        if (![code.DEADLINE_EXCEEDED, code.UNAVAILABLE].includes(error.code) && !gone(error)) throw error;
      });
      count('calls_left');
    } else if (job.act === 'submit-only') {
      await sleep(job.wait);
    }
    let end;
    try {
      end = await this.asked(() => c.AwaitProof({ job_id: id, timeout_ms: 100_000 }));
    } catch (error) {
      // A client that was held up for the retention time comes too late.
      if (!gone(error)) throw error;
      const { name } = kinds[job.kind];
      this.unseen[name] = (this.unseen[name] ?? 0) + 1;
      count('ended_unseen');
      return;
    }
    this.note(job, end);
    this.second.push({ job, id, end, at: Date.now() + job.again });
  }

  note(job, end) {
    const outcome = end.deadline_passed ? 'DEADLINE' : end.status;
    const row = (this.byEnd[kinds[job.kind].name] ??= {});
    row[outcome] = (row[outcome] ?? 0) + 1;
    if (outcome === 'TIMEOUT') wrong(`${job.id}: did not end in 100 s`);
    if (outcome === 'COMPLETED' && end.proof.length !== 192 * job.partitions)
      wrong(`${job.id}: ${end.proof.length} bytes for ${job.partitions} partitions`);
    if (outcome !== 'COMPLETED' && !job.harmed) {
      // Its device was lost under it more than once, or once beside a fault of its own.
      const lost = job.faulty ? /device|stage|compute|finish|verify/ : /device|stage|compute|finish/;
      if (outcome === 'FAILED' && lost.test(end.error_message)) count('failed_by_devices');
      else wrong(`${job.id}: ${outcome} ${end.error_message}`);
    }
    // A call's deadline is its job's, so a call that leaves sets one.
    if (outcome === 'DEADLINE' && !job.deadline_unix_ms && job.act !== 'leave-and-cancel')
      wrong(`${job.id}: it had no deadline`);
  }

  async load(index, over) {
    const r = generator(this.seed + 7919 * index);
    let c = this.d.client();
    for (let n = 0; !over(); n++) {
      const job = makeJob(r, `${this.name}-${index}-${n}`);
      try {
        await this.oneJob(c, job, r);
      } catch (error) {
        wrong(`${job.id}: ${error.code ?? ''} ${error.details ?? error.stack}`);
      }
      if (r.chance(0.03)) {
        c.close();
        c = this.d.client();
        count('connections_closed');
      }
      await this.fetchAgain(c, Date.now());
    }
    c.close();
  }

  // The second fetch of results whose time has come.
  async fetchAgain(c, now) {
    for (let i = 0; i < 3; i++) {
      const at = this.second.findIndex((s) => s.at <= now);
      if (at < 0) return;
      const [{ job, id, end }] = this.second.splice(at, 1);
      try {
        const got = await this.asked(() => c.AwaitProof({ job_id: id, timeout_ms: 60_000 }));
        if (got.status !== end.status) wrong(`${job.id}: ${end.status}, then ${got.status}`);
        else if (!got.proof.equals(end.proof)) wrong(`${job.id}: two different proofs`);
        else count('fetched_twice');
      } catch (error) {
        // It is kept for the retention time from its end, and it ended after it was asked for.
        const age = (Date.now() - job.begun) / 1000;
        if (error.code === code.NOT_FOUND && age >= retention) count('gone_by_retention');
        else wrong(`${job.id}: fetched after ${age} s: ${error.code} ${error.details ?? error.stack}`);
      }
    }
  }

  // Keys, lent memory, drains, watches, HTTP and clients that behave badly.
  async others(over) {
    const r = generator(this.seed ^ 0x5eed);
    const c = this.d.client();
    while (!over()) {
      await sleep(100 + r.below(400));
      try {
        await this.one(c, r);
      } catch (error) {
        // fetch says no more than that; numbers are gRPC's.
        const known = typeof error.code === 'number'
          ? may.includes(error.code)
          : /fetch failed|ECONN|terminated/.test(`${error} ${error.cause}`);
        if (!known)
          wrong(`${this.name}: ${error.code} ${error.details ?? error.stack}`);
      }
    }
    await this.asked(() => c.TakeBackMemory({ device: 0 }));
    await this.asked(() => c.Resume({}));
    c.close();
  }

  async one(c, r) {
    const http = this.d.bound.HTTP[0];
    switch (r.below(10)) {
      case 0:
        await c.PreloadSRS({ circuit_id: r.of(['snap-32g', 'porep-32g', 'wpost-32g']) });
        return count('preloads');
      case 1:
        await c.EvictSRS({ circuit_id: r.of(['snap-32g', 'porep-32g', 'wpost-32g']) });
        return count('evictions');
      case 2:
        await c.LendMemory({ device: 0, bytes: 2 ** 30, timeout_ms: 2000 });
        await c.TakeBackMemory({ device: 0 });
        return count('lendings');
      case 3: {
        const { jobs } = await c.ListJobs({ limit: 20 });
        for (const j of jobs.slice(0, 3)) {
          const watch = c.WatchJob({ job_id: j.job_id });
          watch.on('error', () => {});
          watch.resume();
          setTimeout(() => watch.cancel(), 200);
        }
        return count('watches', Math.min(3, jobs.length));
      }
      case 4: {
        const text = await (await fetch(`http://${http}/metrics`)).text();
        if (!text.includes('cuzk_uptime_seconds')) wrong(`${this.name}: /metrics: ${text.slice(0, 100)}`);
        JSON.parse(await (await fetch(`http://${http}/status`)).text());
        return count('http');
      }
      case 5: {
        const stop = new AbortController();
        setTimeout(() => stop.abort(), 300);
        await fetch(`http://${http}/api/v1/events`, { signal: stop.signal })
          .then((answer) => answer.text())
          .catch(() => {});
        return count('event_streams_left');
      }
      case 6: {
        if (r.below(4)) return count('status', (await c.GetStatus()).gpus.length > 0 ? 1 : 0);
        await c.Drain({ checkpoint: r.chance(0.5), timeout_ms: 3000 }).finally(() =>
          this.asked(() => c.Resume({})),
        );
        return count('drains');
      }
      case 7:
        return this.rude(r);
      case 8: {
        // A client that is killed while it waits.
        const { jobs } = await c.ListJobs({ limit: 1 });
        if (!jobs.length || r.below(4)) return undefined;
        const child = spawn(join(process.env.CUZK_BUILD ?? join(root, 'build/release'), 'bin/cuzk'),
          ['watch', jobs[0].job_id, '--addr', this.d.addr], { stdio: 'ignore' });
        setTimeout(() => child.kill('SIGKILL'), 200);
        return count('clients_killed');
      }
      default: {
        const bad = { proof_kind: 'POREP_SEAL_COMMIT', vanilla_proof: Buffer.from('{"invalid": 1}') };
        await c.SubmitProof(bad).then(
          () => wrong('an invalid job was accepted'),
          (error) => {
            if (error.code !== code.INVALID_ARGUMENT && !may.includes(error.code)) throw error;
          },
        );
        return count('invalid_requests');
      }
    }
  }

  // A connection that says nothing, something else, or half of what it should.
  async rude(r) {
    const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
    const say = r.of(['', 'GET / HTTP/1.1\r\n\r\n', preface.slice(0, 11), preface, `${preface}\0\0\x04\x08`,
      `${preface}${'\xff'.repeat(64)}`]);
    const socket = net.connect(this.d.addr.slice('unix:'.length));
    socket.on('error', () => {});
    socket.write(Buffer.from(say, 'latin1'));
    await sleep(50);
    socket.destroy();
    return count('rude_connections');
  }

  // Ends the daemon by turns with SIGTERM and kill -9 and starts it on the same state.
  async restarts(over) {
    const r = generator(this.seed ^ 0xdead);
    for (let i = 0; ; i++) {
      for (let left = 2000 + r.below(short ? 2000 : 12_000); left > 0 && !over(); left -= 200) await sleep(200);
      if (over()) return;
      const hard = i % 2 === 0;
      const { status, signal } = await this.d.end(hard ? 'SIGKILL' : 'SIGTERM');
      if (hard ? signal !== 'SIGKILL' : status !== 0)
        wrong(`${this.name}: ended with ${status} ${signal}: ${this.d.log.slice(-5).join(' | ')}`);
      count(hard ? 'kills' : 'terminations');
      await sleep(r.below(300));
      await this.start();
    }
  }

  sample(begun) {
    const seconds = (Date.now() - begun) / 1000;
    try {
      const kb = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(this.proc('status'), 'utf8'))[1]);
      this.rss.push({ seconds, bytes: kb * 1024, descriptors: this.descriptors() });
    } catch {
      // It is down just now.
    }
    this.state.push({ seconds, bytes: sizeOf(join(this.d.dir, 'state')) });
    this.d.log.splice(0, Math.max(0, this.d.log.length - 20));
  }

  // Whether the daemon's own totals are what its clients were told.
  async totals() {
    const c = this.d.client();
    await this.fetchAll(c);
    const { prometheus_text: text } = await c.GetMetrics();
    c.close();
    const metric = (name, kind) =>
      Number(new RegExp(`^${name}\\{proof_kind="${kind}"\\} (\\d+)$`, 'm').exec(text)[1]);
    const sum = {};
    for (const { name } of Object.values(kinds)) {
      const told = this.byEnd[name] ?? {};
      const own = {
        COMPLETED: metric('cuzk_proofs_completed', name),
        CANCELLED: metric('cuzk_jobs_cancelled_total', name),
        FAILED: metric('cuzk_proofs_failed', name),
      };
      const here = {
        COMPLETED: told.COMPLETED ?? 0,
        CANCELLED: told.CANCELLED ?? 0,
        FAILED: (told.FAILED ?? 0) + (told.DEADLINE ?? 0),
      };
      const unseen = this.unseen[name] ?? 0;
      const more = Object.keys(own).map((end) => own[end] - here[end]);
      if (more.some((n) => n < 0) || more.reduce((a, b) => a + b, 0) !== unseen)
        wrong(`${this.name}: ${name}: clients ${JSON.stringify(here)}, ${unseen} unseen, daemon ${JSON.stringify(own)}`);
      for (const [end, n] of Object.entries(told)) sum[end] = (sum[end] ?? 0) + n;
    }
    const ends = [...Object.values(sum), ...Object.values(this.unseen)].reduce((a, b) => a + b, 0);
    if (ends !== this.jobs) wrong(`${this.name}: ${this.jobs} jobs, ${ends} ends`);
    return sum;
  }

  async fetchAll(c) {
    while (this.second.length) await this.fetchAgain(c, Infinity);
  }
}

function sizeOf(path) {
  try {
    const s = statSync(path);
    return s.isDirectory()
      ? readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
      : s.size;
  } catch {
    return 0; // removed meanwhile
  }
}

// Slope of a straight line through (x, y), least squares.
function slope(points) {
  const mean = (f) => points.reduce((s, p) => s + f(p), 0) / points.length;
  const x = mean((p) => p[0]);
  const y = mean((p) => p[1]);
  const dx = mean((p) => (p[0] - x) ** 2);
  return dx === 0 ? 0 : mean((p) => (p[0] - x) * (p[1] - y)) / dx;
}

const thin = (list, n) => list.filter((_, i) => i % Math.ceil(list.length / n) === 0);

// Open descriptors when clients are gone; node keeps HTTP connections for some seconds.
async function atRest(side, wanted) {
  let n = side.descriptors();
  for (let i = 0; i < 150 && (i < 10 || n > wanted); i++) {
    await sleep(100);
    n = side.descriptors();
  }
  return n;
}

const dir = mkdtempSync(join(tmpdir(), 'cuzk-soak-'));
const sides = ['steady', 'restarted'].map((name, i) => {
  mkdirSync(join(dir, name));
  return new Side(name, join(dir, name), opt.seed + i * 104729);
});
const [steady, restarted] = sides;
const result = { command: 'tools/soak.mjs', minutes: opt.minutes, seed: opt.seed };
console.error(`soak: ${opt.minutes} minutes, seed ${opt.seed}, in ${dir}`);
try {
  for (const s of sides) await s.start();
  const warm = steady.d.client();
  await warm.Prove({ submit: { proof_kind: 'POREP_SEAL_COMMIT', vanilla_proof: Buffer.from('{"partitions": 1}') } });
  steady.jobs++;
  steady.byEnd.porep_c2 = { COMPLETED: 1 };
  warm.close();
  const before = await atRest(steady, 0);

  const begun = Date.now();
  const over = () => Date.now() - begun >= lengthMs;
  const sampling = setInterval(() => sides.forEach((s) => s.sample(begun)), short ? 500 : 5000);
  let saidAt = begun;
  const saying = setInterval(() => {
    if (Date.now() - saidAt < 60_000) return;
    saidAt = Date.now();
    console.error(`soak: ${Math.round((saidAt - begun) / 60_000)} min, ${steady.jobs + restarted.jobs} jobs, ${errors.length} wrong`);
  }, 1000);
  const restarting = restarted.restarts(over);
  await Promise.all(
    sides.flatMap((s) => [
      ...Array.from({ length: lanes }, (_, i) => s.load(i, over)),
      s.others(over),
    ]).concat(restarting),
  );
  clearInterval(sampling);
  clearInterval(saying);
  result.ran_seconds = Math.round((Date.now() - begun) / 1000);

  result.ends = {};
  for (const s of sides) result.ends[s.name] = await s.totals();
  const after = await atRest(steady, before);
  if (after > before) wrong(`steady: ${before} descriptors at rest before the load, ${after} after it`);

  const half = steady.rss.filter((p) => p.seconds >= result.ran_seconds / 2);
  const growth = slope(half.map((p) => [p.seconds, p.bytes])) * (result.ran_seconds / 2);
  const bound = 2 ** 20 * ((short ? 24 : 4) + (8 * result.ran_seconds) / 7200);
  if (growth > bound) wrong(`steady: resident memory grew by ${growth} bytes in the second half, at most ${bound}`);
  result.memory = {
    resident_growth_second_half: Math.round(growth),
    bound: Math.round(bound),
    resident_bytes: thin(steady.rss, 40).map((p) => [Math.round(p.seconds), p.bytes]),
  };
  result.descriptors = {
    at_rest_before: before,
    at_rest_after: after,
    under_load: thin(steady.rss, 40).map((p) => [Math.round(p.seconds), p.descriptors]),
  };

  // A job takes its payload, its result, and rows: below 4 KiB. Retention is looked after every few
  // seconds; log and free pages of the database come on top.
  result.state = {};
  for (const s of sides) {
    const rate = s.jobs / result.ran_seconds;
    const most = Math.max(...s.state.map((p) => p.bytes));
    const kept = rate * (2 * retention + 15) + 64;
    const limit = Math.round(kept * (0.08 * maxPad + 8192) + 24 * 2 ** 20);
    if (most > limit) wrong(`${s.name}: the state directory took ${most} bytes, at most ${limit}`);
    result.state[s.name] = {
      most, limit, bytes: thin(s.state, 40).map((p) => [Math.round(p.seconds), p.bytes]),
    };
  }
  for (const s of sides) {
    const { status } = await s.d.end();
    if (status !== 0) wrong(`${s.name}: the last SIGTERM ended it with ${status}`);
  }
} catch (error) {
  wrong(error.stack);
} finally {
  for (const { d } of sides) {
    if (d.child && d.child.exitCode === null && d.child.signalCode === null) d.child.kill('SIGKILL');
  }
  await Promise.all(sides.map((s) => s.d.ended));
  rmSync(dir, { recursive: true, force: true });
}

result.jobs = steady.jobs + restarted.jobs;
result.lifetimes_of_restarted = restarted.lifetimes;
result.counts = Object.fromEntries(Object.entries(counts).sort());
result.machine = { cpu: cpus()[0]?.model, cores: cpus().length };
result.wrong = errors;
result.passed = errors.length === 0;
// One line a list of numbers.
const text = `${JSON.stringify(result, null, 2).replace(/\[\s+(\d+),\s+(\d+)\s+\]/g, '[$1, $2]')}\n`;
if (opt.out === '-') process.stdout.write(text);
else writeFileSync(opt.out, text);
console.error(
  `soak: ${result.ran_seconds} s, ${result.jobs} jobs, ${counts.fetched_twice ?? 0} fetched twice, ${counts.kills ?? 0} kills, ${counts.terminations ?? 0} terminations: ${result.passed ? 'passed' : 'FAILED'}`,
);
process.exit(result.passed ? 0 : 1);
