// cuzkd on mock providers, over gRPC with clients made from its .proto files, and through `cuzk`.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test as anyTest } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { code, Daemon, hasCalls, mockJob, quick, startDaemon, untilInTime } from './lib/daemon.mjs';
import { program, runProgram, scratch } from './lib/env.mjs';

// None of these takes ten seconds on a machine that does nothing else.
const test = (name, fn) => anyTest(name, { timeout: 300_000 }, fn);
const POREP = 'POREP_SEAL_COMMIT';
const porep = (id, what = {}, more = {}) => ({
  request_id: id,
  proof_kind: POREP,
  vanilla_proof: mockJob(what),
  ...more,
});

async function fails(promise, wanted, message) {
  await assert.rejects(promise, (error) => {
    assert.equal(error.code, wanted, `${error.code} ${error.details}`);
    if (message) assert.match(error.details, message);
    return true;
  });
}

const collect = async (stream) => {
  const all = [];
  for await (const m of stream) all.push(m);
  return all;
};

// Waits until a condition on a job holds.
async function until(c, id, condition) {
  for (let i = 0; i < 1200; i++) {
    const job = await c.GetJob({ job_id: id });
    if (condition(job)) return job;
    await sleep(25);
  }
  throw new Error(`never: ${condition} ${JSON.stringify(await c.GetJob({ job_id: id }))}`);
}

// Waits until what is asked for is so; says what was not.
async function eventually(check) {
  for (let i = 0; ; i++) {
    try {
      return await check();
    } catch (error) {
      if (i === 1200) throw error;
      await sleep(25);
    }
  }
}

test('every call of both services', async (t) => {
  const d = await startDaemon(t, scratch(t));
  const c = d.client();
  t.after(() => c.close());

  const submitted = await c.SubmitProof(porep('a', { partitions: 3 }));
  assert.match(submitted.job_id, /./);
  assert.equal(submitted.queue_depth, 1);
  assert.equal(submitted.existed, false);
  assert.match(submitted.assigned_gpu, /MOCK/);
  const done = await c.AwaitProof({ job_id: submitted.job_id, timeout_ms: 60000 });
  assert.equal(done.status, 'COMPLETED');
  assert.equal(done.proof.length, 3 * 192);
  assert.ok(done.synthesis_ms >= 30 && done.gpu_compute_ms >= 15 && done.total_ms >= 10);

  const once = await c.Prove({
    submit: { proof_kind: 'WINNING_POST', registered_proof: 3, vanilla_proofs: [Buffer.from('{}')] },
  });
  assert.equal(once.result.status, 'COMPLETED');
  assert.equal(once.result.proof.length, 192);

  assert.deepEqual(await c.CancelProof({ job_id: submitted.job_id }), { was_running: false });
  await fails(c.CancelProof({ job_id: 'nothing' }), code.NOT_FOUND);

  const status = await c.GetStatus();
  assert.equal(status.gpus.length, 1);
  assert.equal(status.total_proofs_completed, 2);
  assert.ok(status.gpus[0].up && status.gpus[0].vram_total_bytes > 0);
  assert.equal(status.host_memory_limit_bytes, 8 * 2 ** 30);
  assert.equal(status.version, '0.1.0');
  assert.match((await c.GetMetrics()).prometheus_text, /^cuzk_proofs_completed_total 2$/m);

  assert.equal((await c.PreloadSRS({ circuit_id: 'snap-32g' })).already_loaded, false);
  assert.equal((await c.PreloadSRS({ circuit_id: 'snap-32g' })).already_loaded, true);
  const evicted = await c.EvictSRS({ circuit_id: 'snap-32g' });
  assert.ok(evicted.was_loaded && evicted.freed_bytes > 0);
  assert.equal((await c.EvictSRS({ circuit_id: 'snap-32g' })).was_loaded, false);
  await fails(c.PreloadSRS({ circuit_id: 'nothing' }), code.NOT_FOUND);

  const circom = await c.SubmitCircom({ request_id: 'z', key: 'mock-b', wtns: Buffer.from('{}') });
  const states = await collect(c.WatchJob({ job_id: circom.job_id }));
  assert.equal(states.at(-1).state, 'DONE');
  assert.equal(states.at(-1).proof_kind, 'circom');
  const proved = await c.ProveCircom({ key: 'mock-a', wtns: Buffer.from('{}') });
  assert.equal(proved.result.status, 'COMPLETED');

  assert.equal((await c.GetJob({ job_id: 'z' })).job_id, circom.job_id);
  const { jobs } = await c.ListJobs({ limit: 2 });
  assert.equal(jobs.length, 2);
  assert.equal(jobs[1].job_id, circom.job_id);
  const result = await c.GetResult({ job_id: submitted.job_id });
  assert.deepEqual(result.proof, done.proof);

  const events = c.WatchEngine({ interval_ms: 200 });
  const seen = new Set();
  const watching = (async () => {
    for await (const e of events) {
      seen.add(e.event);
      if (seen.size === 2) break;
    }
  })();
  // The watch may come late; then another job is seen.
  let over = false;
  watching.finally(() => (over = true));
  for (let i = 0; !over; i++) await c.Prove({ submit: porep(`b${i}`, { partitions: 1 }) });
  await watching;

  const csv = (await c.GetTrace({ format: 'CSV' })).text.toString();
  assert.match(csv, /^TIMELINE,\d+,GPU_START,/m);
  JSON.parse((await c.GetTrace({ format: 'CHROME' })).text);
  assert.match((await c.GetTrace({ format: 'SVG' })).text.toString(), /<svg/);

  await c.LendMemory({ device: 0, bytes: 2 ** 30 });
  assert.equal((await c.GetStatus()).gpus[0].lent_bytes, 2 ** 30);
  await c.TakeBackMemory({ device: 0 });
  assert.equal((await c.GetStatus()).gpus[0].lent_bytes, 0);
  await c.RestoreDevice({ device: 0 });
  await fails(c.RestoreDevice({ device: 9 }), code.NOT_FOUND);

  for (const service of ['cuzk.v1.ProvingEngine', 'cuzk.v1.Engine', ''])
    await eventually(async () => assert.equal(await c.health(service), 1));
  await c.Drain({});
  assert.equal(await c.health('cuzk.v1.ProvingEngine'), 2);
  await fails(c.SubmitProof(porep('late')), code.UNAVAILABLE, /draining/);
  await c.Resume({});
  assert.equal(await c.health('cuzk.v1.ProvingEngine'), 1);
  assert.equal((await c.Prove({ submit: porep('c') })).result.status, 'COMPLETED');
  assert.deepEqual(await d.end(), { status: 0, signal: null });
});

test('the status starts no program', async (t) => {
  const dir = scratch(t);
  const called = join(dir, 'called');
  for (const name of ['nvidia-smi', 'sh', 'rocm-smi'])
    writeFileSync(join(dir, name), `#!/bin/sh\n: >${called}\n`, { mode: 0o755 });
  const d = await startDaemon(t, dir, { env: { PATH: dir } });
  const c = d.client();
  t.after(() => c.close());
  for (let i = 0; i < 5; i++) assert.equal((await c.GetStatus()).gpus.length, 1);
  await c.GetMetrics();
  assert.equal(existsSync(called), false);
});

test('figures are true while it works', async (t) => {
  const d = await startDaemon(t, scratch(t), {
    mock: { ...quick, key_load: '30ms' },
    set: { 'daemon.status_listen': '127.0.0.1:0', 'synthesis.workers': 1 },
  });
  const c = d.client();
  t.after(() => c.close());
  const json = async () => (await fetch(`http://${d.bound.HTTP[0]}/status`)).json();
  const first = await c.SubmitProof(porep('first', { partitions: 40, compute_ms: 3000 }));
  await c.SubmitProof(porep('second', {}));
  await until(c, first.job_id, (j) => j.state === 'RUNNING');
  await eventually(async () => assert.equal((await json()).buffers.provers_in_flight, 1));
  await eventually(async () => { // not just between two partitions
    const status = await c.GetStatus();
    const key = status.loaded_srs.find((k) => k.circuit_id === 'porep-32g');
    assert.equal(key.tier, 'HOT');
    assert.equal(key.size_bytes, 4 * 2 ** 30);
    assert.ok(key.ref_count >= 1, `${key.ref_count}`);
    const queue = status.queues.find((q) => q.proof_kind === 'porep_c2');
    assert.equal(queue.pending + queue.in_progress, 2);
    assert.ok(queue.in_progress >= 1);
    assert.equal(status.queue_depth, 2);
    assert.equal(status.pinned_memory_limit_bytes, 4 * 2 ** 30);
    assert.ok(status.host_memory_bytes > 2 ** 30);
    assert.equal(status.gpus[0].current_job_id, first.job_id);
    assert.equal(status.gpus[0].current_proof_kind, 'porep_c2');
    assert.ok(status.gpus[0].vram_free_bytes < status.gpus[0].vram_total_bytes);
  });

  await c.CancelProof({ job_id: first.job_id });
  assert.equal((await c.AwaitProof({ job_id: 'second' })).status, 'COMPLETED');
  const fresh = await c.ProveCircom({ key: 'mock-b', wtns: Buffer.from('{}') });
  assert.ok(fresh.result.srs_load_ms > 0);
  await eventually(async () => {
    const { buffers } = await json();
    assert.ok(Object.values(buffers).every((n) => n === 0), JSON.stringify(buffers));
    const after = await c.GetStatus();
    assert.ok(after.loaded_srs.every((k) => k.ref_count === 0));
    assert.equal(after.queue_depth, 0);
  });
});

test('a check that takes long holds up nobody', async (t) => {
  const d = await startDaemon(t, scratch(t));
  const c = d.client();
  t.after(() => c.close());
  const slow = await c.SubmitProof(porep('slow', { partitions: 1, verify_ms: 60_000 }));
  await until(c, slow.job_id, (j) => j.gpu_compute_ms > 0 || j.state === 'RUNNING');
  for (let i = 0; i < 3; i++)
    assert.equal((await c.Prove({ submit: porep(`quick${i}`, { partitions: 4 }) })).result.status, 'COMPLETED');
  assert.equal((await c.GetJob({ job_id: slow.job_id })).state, 'RUNNING');
  await c.CancelProof({ job_id: slow.job_id });
});

test('order is by priority, then submission', async (t) => {
  const d = await startDaemon(t, scratch(t), { set: { 'synthesis.workers': 1 } });
  const c = d.client();
  t.after(() => c.close());
  // Holds the only synthesis worker until all are in the queue, however long that takes.
  const blocker = await c.SubmitProof(porep('blocker', { partitions: 1, witness_ms: 60_000 }));
  await until(c, blocker.job_id, (j) => j.state === 'RUNNING');
  const ids = [];
  for (const priority of ['LOW', 'NORMAL', 'LOW', 'HIGH', 'CRITICAL', 'NORMAL']) {
    const what = { partitions: 2, witness_ms: 100 };
    ids.push((await c.SubmitProof(porep(`p${ids.length}`, what, { priority }))).job_id);
  }
  await c.CancelProof({ job_id: blocker.job_id });
  for (const id of ids) assert.equal((await c.AwaitProof({ job_id: id })).status, 'COMPLETED');
  const csv = (await c.GetTrace({ format: 'CSV' })).text.toString();
  const begun = csv
    .split('\n')
    .map((line) => line.split(','))
    .filter(([, , event, job]) => event === 'SYNTH_START' && job !== blocker.job_id)
    .sort((a, b) => a[1] - b[1])
    .map(([, , , job]) => ids.indexOf(job));
  assert.deepEqual(begun, [4, 4, 3, 3, 1, 1, 5, 5, 0, 0, 2, 2]);
});

test('cancel, deadline, time limits', async (t) => {
  const d = await startDaemon(t, scratch(t));
  const c = d.client();
  t.after(() => c.close());
  const long = { partitions: 50, witness_ms: 60_000 };
  const running = await c.SubmitProof(porep('long', long));
  const queued = await c.SubmitProof(porep('queued', long));
  await until(c, running.job_id, (j) => j.state === 'RUNNING');

  const awaited = await c.AwaitProof({ job_id: running.job_id, timeout_ms: 50 });
  assert.equal(awaited.status, 'TIMEOUT');
  await fails(
    c.AwaitProof({ job_id: running.job_id }, { deadline: Date.now() + 100 }),
    code.DEADLINE_EXCEEDED,
  );

  const waiting = c.AwaitProof({ job_id: running.job_id });
  assert.deepEqual(await c.CancelProof({ job_id: running.job_id }), { was_running: true });
  assert.equal((await waiting).status, 'CANCELLED');
  await c.CancelProof({ job_id: 'queued' });
  assert.equal((await c.AwaitProof({ job_id: queued.job_id })).status, 'CANCELLED');

  const late = await untilInTime(() =>
    c.SubmitProof(porep('late', long, { deadline_unix_ms: Date.now() + 300 })));
  const missed = await c.AwaitProof({ job_id: late.job_id });
  assert.equal(missed.status, 'FAILED');
  assert.equal(missed.deadline_passed, true);
  await fails(
    c.SubmitProof(porep('past', {}, { deadline_unix_ms: Date.now() - 1000 })),
    code.DEADLINE_EXCEEDED,
  );

  // A call that ends takes its job with it only when it says so.
  let heard;
  for (let i = 0; !heard; i++) { // a call may be over before it arrives
    const dropped = c.Prove(
      { submit: porep(`dropped${i}`, long, { cancel_on_disconnect: true }) },
      { deadline: Date.now() + 300 },
    );
    await fails(dropped, code.DEADLINE_EXCEEDED);
    heard = await c.GetJob({ job_id: `dropped${i}` }).catch((error) => {
      assert.equal(error.code, code.NOT_FOUND);
      assert.ok(i < 50);
    });
  }
  const gone = await until(c, heard.job_id, (j) => !['QUEUED', 'RUNNING'].includes(j.state));
  assert.ok(['JOB_CANCELLED', 'DEADLINE_PASSED'].includes(gone.state));
});

test('a request id is an idempotency key; bad input fails at once; faults are retried', async (t) => {
  const d = await startDaemon(t, scratch(t));
  const c = d.client();
  t.after(() => c.close());
  const first = await c.SubmitProof(porep('same', { partitions: 2 }));
  const again = await c.SubmitProof(porep('same', { partitions: 2 }));
  assert.equal(again.job_id, first.job_id);
  assert.equal(again.existed, true);
  await fails(c.SubmitProof(porep('same', { partitions: 3 })), code.ALREADY_EXISTS);
  const a = await c.AwaitProof({ job_id: first.job_id });
  const b = await c.Prove({ submit: porep('same', { partitions: 2 }) });
  assert.deepEqual(b.result.proof, a.proof);

  await fails(c.SubmitProof(porep('bad', { invalid: 1 })), code.INVALID_ARGUMENT);
  const faults = [{ stage: 'compute', fault: 'wrong', partition: 1, times: 1 }];
  const retried = await c.Prove({ submit: porep('retried', { partitions: 2, faults }) });
  assert.equal(retried.result.status, 'COMPLETED');
  const input = [{ stage: 'witness', fault: 'input', times: 0 }];
  const failed = await c.Prove({ submit: porep('input', { partitions: 2, faults: input }) });
  assert.equal(failed.result.status, 'FAILED');
  assert.match(failed.result.error_message, /witness/);
  await fails(
    c.SubmitProof(porep('huge', { witness: 2 ** 40 })),
    code.FAILED_PRECONDITION,
    /never fits/,
  );
});

test('a full queue is refused with a time to come back', async (t) => {
  const d = await startDaemon(t, scratch(t), { set: { 'scheduler.max_jobs': 3 } });
  const c = d.client();
  t.after(() => c.close());
  for (let i = 0; i < 3; i++) await c.SubmitProof(porep(`f${i}`, { witness_ms: 60_000 }));
  await assert.rejects(c.SubmitProof(porep('f3')), (error) => {
    assert.equal(error.code, code.RESOURCE_EXHAUSTED);
    assert.match(error.details, /queue depth 3/);
    assert.ok(Number(error.metadata.get('grpc-retry-pushback-ms')[0]) > 0);
    assert.equal(error.metadata.get('grpc-status-details-bin').length, 1);
    return true;
  });
  const busy = d.cuzk('submit', 'porep', join(d.dir, 'mock.toml'));
  assert.equal(busy.status, 75);
  assert.match(busy.stderr, /try again in/);
});

test('killed in the middle, it goes on where it was', async (t) => {
  const dir = scratch(t);
  const d = await startDaemon(t, dir);
  let c = d.client();
  const done = await c.Prove({ submit: porep('done', { partitions: 2 }) });
  const ids = [];
  for (let i = 0; i < 4; i++)
    ids.push((await c.SubmitProof(porep(`k${i}`, { partitions: 4, witness_ms: 60 }))).job_id);
  await until(c, ids[0], (j) => j.partitions_done > 0);
  c.close();
  assert.equal((await d.end('SIGKILL')).signal, 'SIGKILL');

  await d.start();
  c = d.client();
  t.after(() => c.close());
  for (const id of ids) {
    const job = await c.AwaitProof({ job_id: id });
    assert.equal(job.status, 'COMPLETED', job.error_message);
    assert.equal(job.proof.length, 4 * 192);
  }
  assert.deepEqual((await c.GetResult({ job_id: 'done' })).proof, done.result.proof);
  assert.equal((await c.GetStatus()).total_proofs_completed, 5);
});

test('SIGTERM checkpoints or finishes, SIGHUP reloads, one daemon a directory', async (t) => {
  const dir = scratch(t);
  const d = new Daemon(dir);
  const file = join(dir, 'cuzkd.toml');
  const config = (text) => writeFileSync(file, text);
  config('[daemon]\nstop = "checkpoint"\n[memory]\npinned_budget = "1GiB"\n');
  d.words.push('--config', file);
  await d.start();
  t.after(() => d.child.kill('SIGKILL'));
  assert.ok(d.log.some((l) => /warn .*memory.pinned_budget is not used any more/.test(l)));
  assert.ok(d.log.some((l) => /MOCK/.test(l)));

  const second = new Daemon(dir);
  await assert.rejects(second.start(), /another process|in use|pid/);
  assert.equal(second.child.exitCode, 4);

  const c = d.client();
  const long = await c.SubmitProof(porep('long', { partitions: 40, witness_ms: 400 }));
  await until(c, long.job_id, (j) => j.partitions_done > 0);
  config('[daemon]\nstop = "checkpoint"\n[logging]\nlevel = "debug"\n[scheduler]\nmax_jobs = 7\n');
  d.child.kill('SIGHUP');
  for (let i = 0; i < 2400 && !d.log.some((l) => /settings read again/.test(l)); i++) await sleep(25);
  assert.ok(d.log.some((l) => /scheduler.max_jobs has changed: it will count from/.test(l)));
  config('[daemon]\nstop = "later"\n');
  d.child.kill('SIGHUP');
  for (let i = 0; i < 2400 && !d.log.some((l) => /settings stay as they/.test(l)); i++) await sleep(25);
  assert.ok(d.log.some((l) => /error.*settings stay as they are.*daemon.stop/.test(l)));

  config('');
  const waiting = fails(c.AwaitProof({ job_id: long.job_id }), code.UNAVAILABLE);
  await hasCalls(c, 1);
  assert.deepEqual(await d.end(), { status: 0, signal: null });
  await waiting;
  c.close();

  // It goes on, and this time is asked to finish.
  d.set['daemon.stop'] = 'finish';
  d.set['limits.drain_grace'] = '30s';
  await d.start();
  const e = d.client();
  const job = await e.GetJob({ job_id: long.job_id });
  assert.ok(job.partitions_done > 0 && job.partitions_done < 40);
  const awaited = e.AwaitProof({ job_id: long.job_id });
  await hasCalls(e, 1);
  d.child.kill('SIGTERM');
  assert.equal((await awaited).status, 'COMPLETED');
  e.close();
  assert.equal((await d.ended)[0], 0);

  // Twice: at once.
  await d.start();
  const f = d.client();
  await f.SubmitProof(porep('slow', { witness_ms: 60000 }));
  d.child.kill('SIGTERM');
  for (let i = 0; i < 2400 && !d.log.some((l) => /no new jobs/.test(l)); i++) await sleep(25);
  d.child.kill('SIGINT');
  assert.equal((await d.ended)[0], 0);
  assert.ok(d.log.some((l) => /ending at once/.test(l)));
  f.close();
});

test('what does not start says why', async (t) => {
  const dir = scratch(t);
  const start = (set, ...words) => {
    const sets = Object.entries({
      'daemon.listen': `unix:${join(dir, 's')}`,
      'daemon.state_dir': join(dir, 'state'),
      ...set,
    }).flatMap(([k, v]) => ['--set', `${k}=${v}`]);
    return runProgram(program('cuzkd'), ['--mock', 'default', ...words, ...sets]);
  };
  const refused = (result, status, message) => {
    assert.equal(result.status, status, result.stderr);
    assert.match(result.stderr, message);
  };
  refused(start({}, '--nothing'), 2, /unknown option --nothing/);
  refused(start({ 'daemon.listn': ':1' }), 3, /did you mean `daemon.listen`/);
  refused(start({ 'tls.cert': 'a' }), 3, /go together/);
  refused(start({ 'tls.cert': 'a', 'tls.key': 'b' }), 3, /a: no certificate/);
  refused(start({ 'daemon.state_dir': '/proc/cuzk' }), 4, /\/proc\/cuzk/);
  refused(start({ 'daemon.listen': `unix:${join(dir, 'no/s')}` }), 4, /daemon.listen/);
  refused(start({ 'auth.token_file': join(dir, 'none') }), 4, /none/);
  refused(start({ 'gpus.reserve': 'winning_post=cuda:7' }), 3, /no device cuda:7/);
  refused(start({ 'gpus.devices': 'gpu0' }, '--check-config'), 3, /gpus.devices: `gpu0` is no device/);
  refused(start({}, '--config', join(dir, 'none.toml')), 4, /none.toml/);
  assert.equal(start({}, '--check-config').stdout, 'settings are well-formed\n');
  const state = join(dir, 'damaged');
  mkdirSync(state);
  writeFileSync(join(state, 'journal.db'), 'no database');
  refused(start({ 'daemon.state_dir': state }), 4, /`cuzkd --recover`.*journal\.db: damaged/);
  // Without a GPU there is no cuda:0 to reserve, and the CPU is not taken for it.
  if (!existsSync('/proc/driver/nvidia')) {
    const sets = [`daemon.listen=unix:${join(dir, 's')}`, `daemon.state_dir=${join(dir, 'state')}`, 'gpus.reserve=winning_post=cuda:0'];
    const keys = ['srs.param_cache=/none', `circom.zkey_dir=${program('cuzkd')}`];
    const result = runProgram(program('cuzkd'), [...sets, ...keys].flatMap((s) => ['--set', s]));
    refused(result, 3, /no device cuda:0 among 1 \(cpu\)/);
    assert.match(result.stderr, /srs.param_cache: there is no directory \/none/);
    assert.match(result.stderr, /circom.zkey_dir: there is no directory \S+cuzkd/);
  }
  // A misspelt name in the environment is warned of.
  const misspelt = { ...process.env, CUZK_GPUS_DEVICE: 'cpu' };
  const warned = runProgram(program('cuzkd'), ['--check-config'], { env: misspelt });
  assert.deepEqual([warned.status, warned.stdout], [0, 'settings are well-formed\n']);
  assert.equal(warned.stderr, 'cuzkd: warning: CUZK_GPUS_DEVICE in the environment is no setting; did you mean CUZK_GPUS_DEVICES?\n');
  // A word in the environment is what it says, not merely there.
  for (const [word, status, text] of [
    ['false', 0, /allow_insecure_keys = false/],
    ['true', 0, /allow_insecure_keys = true/],
    ['0', 3, /CUZK_SRS_ALLOW_INSECURE_KEYS: .* wants true or false/],
  ]) {
    const env = { ...process.env, CUZK_SRS_ALLOW_INSECURE_KEYS: word };
    const r = runProgram(program('cuzkd'), ['--mock', 'default', '--print-config'], { env });
    assert.equal(r.status, status, r.stderr);
    assert.match(r.stdout + r.stderr, text);
  }
  assert.match(start({ 'memory.total_budget': '3GiB' }, '--print-config').stdout, /total_budget = "3GiB"/);
});

test('a device reserved for a kind takes nothing else', async (t) => {
  const d = await startDaemon(t, scratch(t), {
    mock: { ...quick, devices: 2 },
    set: { 'gpus.reserve': 'winning_post=cuda:0' },
  });
  const c = d.client();
  t.after(() => c.close());
  for (let i = 0; i < 3; i++) await c.Prove({ submit: porep(`r${i}`, { partitions: 4 }) });
  const before = (await c.GetStatus()).gpus.map((g) => g.busy_ms);
  assert.equal(before[0], 0);
  assert.ok(before[1] > 0);
});

test('TLS, client certificates and tokens', async (t) => {
  const dir = scratch(t);
  const openssl = (...args) => {
    const r = runProgram('openssl', args, { cwd: dir });
    assert.equal(r.status, 0, r.stderr);
  };
  openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days',
    '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout',
    'key.pem', '-out', 'cert.pem');
  const tokens = join(dir, 'tokens');
  writeFileSync(tokens, '# one a line\nnot-so-secret-token-1\n', { mode: 0o600 });
  writeFileSync(join(dir, 'wrong'), 'another-token-altogether\n', { mode: 0o600 });
  const cert = join(dir, 'cert.pem');
  const d = await startDaemon(t, dir, {
    set: {
      'daemon.listen': `unix:${join(dir, 's')},127.0.0.1:0`,
      'tls.cert': cert,
      'tls.key': join(dir, 'key.pem'),
      'tls.client_ca': cert,
      'auth.token_file': tokens,
    },
  });
  const addr = d.bound.gRPC.find((a) => !a.startsWith('unix:'));
  const status = (...more) => d.cuzk('status', '--addr', addr, ...more);
  const me = ['--tls-cert', cert, '--tls-key', join(dir, 'key.pem')];
  const ok = status('--tls-ca', cert, ...me, '--token-file', tokens);
  assert.equal(ok.status, 0, ok.stderr);
  assert.equal(status().status, 75); // no TLS
  assert.equal(status('--tls', ...me, '--token-file', tokens).status, 75); // not trusted
  assert.equal(status('--tls-ca', cert, '--token-file', tokens).status, 75); // no certificate
  const denied = status('--tls-ca', cert, ...me, '--token-file', join(dir, 'wrong'));
  assert.equal(denied.status, 4);
  assert.match(denied.stderr, /UNAUTHENTICATED/);
  assert.equal(d.cuzk('status').status, 0); // the socket goes by its mode
});

test('the client verbs', async (t) => {
  const dir = scratch(t);
  const d = await startDaemon(t, dir);
  const c1 = join(dir, 'c1.json');
  const post = join(dir, 'post.json');
  const out = join(dir, 'proof.bin');
  writeFileSync(c1, JSON.stringify({ partitions: 3 }));
  writeFileSync(
    post,
    JSON.stringify({
      request_id: 'from-file',
      registered_proof: 'StackedDrgWinning2KiBV1',
      proof_kind: 'WINNING_POST',
      randomness: Buffer.alloc(32, 1).toString('base64'),
      vanilla_proofs: [Buffer.from('{}').toString('base64')],
    }),
  );
  const ok = (r) => {
    assert.equal(r.status, 0, r.stderr);
    return r.stdout;
  };
  const json = (...args) => JSON.parse(ok(d.cuzk(...args, '--json')));

  const id = ok(d.cuzk('submit', 'porep', c1, '--priority', 'high')).trim();
  ok(d.cuzk('await', id, out));
  assert.equal(readFileSync(out).length, 3 * 192);
  const job = json('await', id);
  assert.equal(job.job_id, id);
  const winning = json('submit', 'winning', post);
  assert.equal(winning.existed, false);
  assert.equal(json('submit', 'winning', post).existed, true);
  ok(d.cuzk('await', 'from-file'));
  ok(d.cuzk('porep', 'prove', '--addr', d.addr, c1, out));
  ok(d.cuzk('winning', 'prove', `--addr=${d.addr}`, post, out, '--json'));
  assert.equal(readFileSync(out).length, 192);
  const circom = ok(d.cuzk('submit', 'circom', 'mock-a', c1)).trim();
  ok(d.cuzk('await', circom));

  assert.match(ok(d.cuzk('status')), /Mock device 0/);
  assert.equal(json('status').total_proofs_completed, 4);
  assert.equal(json('status', '--jobs', '--limit', '2').jobs.length, 2);
  assert.equal(json('status', id).job_id, id);
  assert.match(ok(d.cuzk('status', '--metrics')), /cuzk_uptime_seconds/);
  assert.match(ok(d.cuzk('watch', id)), /done/);

  const drawn = join(dir, 't.svg');
  const lines = join(dir, 't.log');
  const measured = json('timeline', '--addr', d.addr, '--svg', drawn, '--save', lines);
  assert.equal(measured.partitions, 3 + 1 + 3 + 3);
  assert.match(readFileSync(drawn, 'utf8'), /<svg/);
  assert.equal(json('timeline', lines).partitions, measured.partitions);

  const long = join(dir, 'long.json');
  writeFileSync(long, JSON.stringify({ partitions: 40, witness_ms: 60_000 }));
  const slow = ok(d.cuzk('submit', 'porep', long)).trim();
  const late = d.cuzk('await', slow, out, '--timeout', '200ms');
  assert.equal(late.status, 6, late.stderr);
  const waiting = d.cuzkAsync('await', slow, out);
  const watching = d.cuzkAsync('watch', slow, '--json');
  const c = d.client();
  t.after(() => c.close());
  await hasCalls(c, 2);
  assert.match(ok(d.cuzk('cancel', slow)), /cancelled/);
  assert.equal((await waiting).status, 6);
  const watched = (await watching).stdout.trim().split('\n').map((l) => JSON.parse(l));
  assert.equal(watched.at(-1).job_id, slow);

  const faults = join(dir, 'faults.json');
  writeFileSync(faults, JSON.stringify({ faults: [{ stage: 'compute', fault: 'error', times: 0 }] }));
  const failed = d.cuzk('porep', 'prove', '--addr', d.addr, faults, out);
  assert.equal(failed.status, 6);
  assert.match(failed.stderr, /compute/);
  const expired = d.cuzk('porep', 'prove', '--addr', d.addr, long, out, '--deadline', '300ms');
  assert.equal(expired.status, 6);

  assert.match(ok(d.cuzk('preload', 'snap-32g')), /loaded in/);
  assert.match(ok(d.cuzk('evict', 'snap-32g')), /freed 5.0 GiB/);
  assert.equal(json('lend', 0, '1GiB').lent_bytes, 2 ** 30);
  ok(d.cuzk('lend', '--take-back', 0));
  ok(d.cuzk('lend', '--restore', 0));
  ok(d.cuzk('drain', '--timeout', '60s'));
  assert.equal(d.cuzk('submit', 'porep', c1).status, 75);
  ok(d.cuzk('resume'));

  // A restart meanwhile is waited for.
  const across = ok(d.cuzk('submit', 'porep', long)).trim();
  const patient = d.cuzkAsync('await', across, out);
  await hasCalls(c, 1);
  await d.end('SIGKILL');
  await sleep(300);
  await d.start();
  d.cuzk('cancel', across);
  assert.equal((await patient).status, 6);

  assert.equal(d.cuzk('status', 'nothing').status, 3);
  assert.equal(d.cuzk('submit', 'porep', join(dir, 'none')).status, 4);
  assert.equal(d.cuzk('submit', 'porep').status, 2);
  assert.equal(d.cuzk('submit', 'porep', c1, '--priority', 'top').status, 2);
  assert.equal(d.cuzk('cancel').status, 2);
  assert.equal(d.cuzk('lend', 0).status, 2);
  assert.equal((await d.end()).status, 0);
  const nobody = d.cuzk('status');
  assert.equal(nobody.status, 75);
  for (const verb of ['submit', 'await', 'status', 'watch', 'cancel', 'drain', 'resume', 'preload', 'evict', 'lend'])
    assert.match(ok(d.cuzk(verb, '--help')), /usage: cuzk [\s\S]*--addr[\s\S]*example:/);
});

test('a load, measured', async (t) => {
  const dir = scratch(t);
  const c1 = join(dir, 'c1.json');
  const small = join(dir, 'small.json');
  writeFileSync(c1, JSON.stringify({ partitions: 2, witness_ms: 5, compute_ms: 2 }));
  writeFileSync(small, JSON.stringify({ witness_ms: 2, compute_ms: 1 }));
  const d = await startDaemon(t, dir);
  const r = d.cuzk('bench', 'daemon', '--no-verify', '--mix', `porep:${c1}:1`, '--mix',
    `circom:mock-a:${small}:3`, '-c', 24, '-j', 4, '--json');
  assert.equal(r.status, 0, r.stderr);
  const { results } = JSON.parse(r.stdout);
  const row = (kind) => results.find((x) => x.kind === kind);
  assert.equal(row('porep_c2').count + row('circom').count, 24);
  assert.equal(row('all').count, 24);
  assert.ok(row('all').seconds.p50 <= row('all').seconds.p99 && row('all').proofs_per_minute > 0);
  assert.equal(row('run').failed, 0);
  assert.ok(row('run').peak_budget_bytes > 0 && row('run').peak_resident_bytes > 0);
  const own = d.cuzk('bench', 'daemon', '--spawn', '--mock', join(dir, 'mock.toml'), '--set',
    'memory.total_budget=8GiB', '--set', 'gpus.gpu_workers_per_device=1', '--no-verify', '--kind',
    'porep', c1, '-c', 3, '-j', 1);
  assert.equal(own.status, 0, own.stderr);
  assert.match(own.stdout, /porep_c2 +3 /);
  assert.equal(d.cuzk('bench', 'daemon', '--kind', 'porep').status, 2);
});
