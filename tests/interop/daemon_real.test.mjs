// cuzkd with real proofs on the CPU: every kind of 2 KiB sectors and circom together, verified here;
// faults of devices; the client verbs.
import assert from 'node:assert/strict';
import {
  copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { before, test as anyTest } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { filecoinKeys, sectorKinds } from './lib/circuits.mjs';
import { code, startDaemon, untilInTime } from './lib/daemon.mjs';
import { cuzk, cuzkOk, readJson, scratch, sharedCircuits } from './lib/env.mjs';

const test = (name, fn) => anyTest(name, { timeout: 600_000 }, fn);
const sectors = sectorKinds.map((verb) => ({ verb, circuit: `${verb}-2k` }));
const wpost = sectors.find(({ verb }) => verb === 'wpost');
const circom = sharedCircuits().filter((c) => ['mul3', 'poseidon2'].includes(c.name));
const keyOf = (c) => `${c.name}-${c.curve}`;

const state = {};
before(async (t) => {
  state.dir = scratch(t);
  state.keys = await filecoinKeys();
  state.zkeys = join(state.dir, 'zkeys');
  mkdirSync(state.zkeys);
  for (const c of circom) copyFileSync(c.zkey, join(state.zkeys, `${keyOf(c)}.zkey`));
  for (const k of sectors) {
    k.input = join(state.dir, `${k.verb}.json`);
    const more = k === wpost ? ['--registered-proof', 10] : [];
    cuzkOk('sector', k.circuit, '--seed', '00', ...more, k.input);
  }
  state.flags = ['--params', state.keys, '--allow-insecure-keys'];
});

const settings = (more = {}) => ({
  'srs.param_cache': state.keys,
  'srs.allow_insecure_keys': 'true',
  'circom.zkey_dir': state.zkeys,
  'gpus.devices': 'cpu',
  ...more,
});
const daemon = (t, set = {}, env = {}) =>
  startDaemon(t, scratch(t), { mock: null, set: settings(set), env });

function verifyCircom(dir, c, answer) {
  const { proof, public: publics } = JSON.parse(answer);
  writeFileSync(join(dir, 'proof.json'), JSON.stringify(proof));
  writeFileSync(join(dir, 'public.json'), JSON.stringify(publics));
  cuzkOk('verify', c.vkey, join(dir, 'public.json'), join(dir, 'proof.json'));
}

// A request as clients make it: the file of `cuzk sector` is the message as JSON, or a C1 output.
const requestOf = (k, more) => ({
  ...(k.verb === 'porep'
    ? { proof_kind: 'POREP_SEAL_COMMIT', vanilla_proof: readFileSync(k.input) }
    : readJson(k.input)),
  ...more,
});

// Ids of jobs in the order in which the device took them.
async function computed(c) {
  const csv = (await c.GetTrace({ format: 'CSV' })).text.toString();
  return csv
    .split('\n')
    .map((line) => line.split(','))
    .filter((l) => l[2] === 'GPU_START')
    .sort((a, b) => a[1] - b[1])
    .map((l) => l[3]);
}

async function poll(condition) {
  while (!(await condition())) await sleep(20);
}

test('every kind together: order, deadline, cancel, drain, and a crash in the middle', async (t) => {
  const dir = scratch(t);
  // With all keys on the device, only order decides who is next.
  const d = await daemon(t, {
    'srs.preload': sectors.map((k) => k.circuit).join(),
    'gpus.gpu_workers_per_device': 1,
  });
  let c = d.client();
  t.after(() => c.close());
  const hot = async () => (await c.GetStatus()).loaded_srs.filter((k) => k.tier === 'HOT').length;
  await poll(async () => (await hot()) === sectors.length);
  const ids = {};
  const submit = async (kind, id, more = {}) => {
    const k = sectors.find(({ verb }) => verb === kind);
    ids[id] = (await c.SubmitProof(requestOf(k, { request_id: id, ...more }))).job_id;
    return ids[id];
  };
  const ended = async (id) => {
    const answer = await c.AwaitProof({ job_id: ids[id] });
    assert.equal(answer.status, 'COMPLETED', `${id}: ${answer.error_message}`);
    return answer.proof;
  };
  // The device is busy with snap while the others come.
  await submit('snap', 'snap');
  await poll(async () => (await computed(c)).length > 0);
  await untilInTime(() =>
    submit('wpost', 'late', { priority: 'LOW', deadline_unix_ms: Date.now() + 1000 }));
  await submit('wpost', 'low', { priority: 'LOW' });
  await submit('porep', 'porep', { deadline_unix_ms: Date.now() + 7_200_000 });
  await submit('porep', 'doomed', { deadline_unix_ms: Date.now() + 3_600_000 });
  for (const k of circom) {
    const wtns = readFileSync(k.wtns);
    const { job_id } = await c.SubmitCircom({ request_id: keyOf(k), key: keyOf(k), wtns });
    ids[keyOf(k)] = job_id;
  }
  await submit('wpost', 'wpost');
  await submit('winning', 'winning');
  assert.equal((await c.CancelProof({ job_id: ids.doomed })).was_running, true);
  assert.equal((await c.AwaitProof({ job_id: ids.doomed })).status, 'CANCELLED');
  assert.equal((await c.AwaitProof({ job_id: ids.late })).deadline_passed, true);

  // Asked to drain in the middle of porep, then killed: what was accepted goes on, and once only.
  await poll(async () => (await computed(c)).includes(ids.porep));
  const drained = assert.rejects(c.Drain({}), { code: code.UNAVAILABLE });
  await poll(async () => (await c.GetStatus()).draining);
  await assert.rejects(submit('wpost', 'too-late'), { code: code.UNAVAILABLE });
  // By priority, deadline and submission: porep alone of its priority has a deadline.
  const name = (job) => Object.keys(ids).find((id) => ids[id] === job);
  assert.deepEqual((await computed(c)).map(name), ['snap', 'winning', 'wpost', 'porep']);
  const first = await ended('winning');
  assert.equal((await c.GetJob({ job_id: ids.porep })).state, 'RUNNING');
  await d.end('SIGKILL');
  await drained;
  c.close();
  d.set['srs.preload'] = 'wpost-2k';
  await d.start();
  c = d.client();
  assert.deepEqual((await c.GetResult({ job_id: 'winning' })).proof, first);
  const { winning } = ids;
  assert.equal(await submit('winning', 'winning'), winning);

  for (const [id, verb] of Object.entries({
    snap: 'snap', winning: 'winning', wpost: 'wpost', porep: 'porep', low: 'wpost',
  })) {
    const out = join(dir, `${id}.bin`);
    writeFileSync(out, await ended(id));
    cuzkOk(verb, 'verify', join(state.dir, `${verb}.json`), out, ...state.flags);
  }
  for (const k of circom) verifyCircom(dir, k, await ended(keyOf(k)));
  const { jobs } = await c.ListJobs({});
  const states = Object.fromEntries(jobs.map((j) => [j.request_id, j.state]));
  assert.equal(jobs.length, 7 + circom.length);
  assert.equal(states.late, 'DEADLINE_PASSED');
  assert.equal(states.doomed, 'JOB_CANCELLED');
  assert.equal((await d.end()).status, 0);
});

test('the command line, and what cannot be proved', async (t) => {
  const dir = scratch(t);
  const d = await daemon(t, { 'srs.preload': 'wpost-2k' });
  const out = join(dir, 'wpost.bin');
  const id = d.cuzk('submit', 'wpost', wpost.input).stdout.trim();
  const awaited = d.cuzk('await', id, out, '--json');
  assert.equal(awaited.status, 0, awaited.stderr);
  assert.equal(JSON.parse(awaited.stdout).proof_kind, 'window_post');
  cuzkOk('wpost', 'verify', wpost.input, out, ...state.flags);

  // As without --addr.
  const [k] = circom;
  const proof = join(dir, 'p.json');
  const publics = join(dir, 'q.json');
  const remote = d.cuzk('prove', '--addr', d.addr, keyOf(k), k.wtns, proof, publics);
  assert.equal(remote.status, 0, remote.stderr);
  cuzkOk('verify', k.vkey, publics, proof);
  assert.deepEqual(readJson(publics), readJson(k.publics));

  // What cannot be proved is the job's own fault and says so.
  const other = circom.find((x) => x.name !== k.name && x.curve === k.curve);
  const wrong = d.cuzk('prove', '--addr', d.addr, keyOf(k), other.wtns, proof, publics);
  assert.ok([3, 6].includes(wrong.status), wrong.stderr);
  const unknown = d.cuzk('prove', '--addr', d.addr, 'nothing', k.wtns, proof, publics);
  assert.notEqual(unknown.status, 0);
  assert.match(unknown.stderr, /nothing/);
  const altered = join(dir, 'altered.json');
  const request = readJson(wpost.input);
  const bytes = Buffer.from(request.vanilla_proofs[0], 'base64');
  bytes[100] ^= 1;
  request.vanilla_proofs[0] = bytes.toString('base64');
  writeFileSync(altered, JSON.stringify(request));
  const lie = d.cuzk('wpost', 'prove', '--addr', d.addr, altered, join(dir, 'no.bin'));
  assert.ok([3, 6].includes(lie.status), lie.stderr);
  assert.equal((await d.end()).status, 0);
});

test('a load of real proofs, each verified', async (t) => {
  const d = await daemon(t);
  const [k] = circom;
  const r = d.cuzk('bench', 'daemon', '--mix', `wpost:${wpost.input}:1`, '--mix',
    `circom:${keyOf(k)}:${k.wtns}:5`, '--vk', k.vkey, ...state.flags, '-c', 6, '-j', 2, '--warm-up', 0,
    '--json');
  assert.equal(r.status, 0, r.stderr);
  const run = JSON.parse(r.stdout).results.find((x) => x.kind === 'run');
  assert.equal(run.verified, true);
  assert.equal(run.failed + run.wrong, 0);
});

// The processes that a daemon started.
const workers = (pid) =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        return Number(stat.slice(stat.lastIndexOf(')') + 4).split(' ')[0]) === pid;
      } catch {
        return false;
      }
    })
    .map(Number);

test('a worker that is killed costs a retry', async (t) => {
  const d = await daemon(t);
  const c = d.client();
  t.after(() => c.close());
  const { job_id } = JSON.parse(d.cuzk('submit', 'wpost', wpost.input, '--json').stdout);
  for (let i = 0; i < 2000; i++) {
    if ((await c.GetStatus()).gpus[0].current_job_id === job_id) break;
    await sleep(5);
  }
  const [worker] = workers(d.child.pid);
  assert.ok(worker > 0);
  process.kill(worker, 'SIGKILL');
  const { status, error_message } = await c.AwaitProof({ job_id });
  assert.equal(status, 'COMPLETED', error_message);
  await poll(async () => (await c.GetStatus()).gpus[0].restarts >= 1);
  await poll(() => workers(d.child.pid).some((pid) => pid !== worker));
  const fresh = workers(d.child.pid).find((pid) => pid !== worker);
  assert.equal((await d.end()).status, 0);
  assert.throws(() => process.kill(fresh, 0), { code: 'ESRCH' });
});

for (const fault of ['flip:finish:1', 'error:compute:1', 'crash:compute:1', 'crash:key_load:1'])
  test(`a device with a fault (${fault}) costs a retry`, async (t) => {
    const [k] = circom;
    const d = await daemon(t, {}, { CUZKD_TEST_INJECT: fault });
    const c = d.client();
    t.after(() => c.close());
    const { result } = await c.ProveCircom({ key: keyOf(k), wtns: readFileSync(k.wtns) });
    assert.equal(result.status, 'COMPLETED', result.error_message);
    verifyCircom(d.dir, k, result.proof);
    assert.match((await c.GetMetrics()).prometheus_text, /retr/);
    assert.equal((await d.end()).status, 0);
  });

test('a key file that is cut or removed while it is loaded gives no wrong proof', async (t) => {
  const dir = scratch(t);
  const k = circom[0];
  const file = join(dir, 'own.zkey');
  copyFileSync(k.zkey, file);
  const d = await daemon(t, { 'circom.zkey_dir': dir });
  const c = d.client();
  t.after(() => c.close());
  const prove = () => c.ProveCircom({ key: 'own', wtns: readFileSync(k.wtns) });
  const ended = async (promise) => {
    const answer = await promise.catch((error) => ({ refused: error }));
    if (answer.refused) return assert.match(answer.refused.details, /own/);
    // What was loaded may be used on; a proof that is given is right.
    if (answer.result.status === 'COMPLETED') return verifyCircom(dir, k, answer.result.proof);
    assert.equal(answer.result.status, 'FAILED');
    return assert.match(answer.result.error_message, /own/);
  };
  const proved = async () => {
    const { result } = await prove();
    assert.equal(result.status, 'COMPLETED', result.error_message);
    verifyCircom(dir, k, result.proof);
  };
  await proved();
  for (const damage of [
    () => truncateSync(file, 1000),
    () => truncateSync(file, statSync(file).size / 2),
    () => rmSync(file),
    () => writeFileSync(file, readFileSync(k.wtns)),
    () => {
      rmSync(file);
      writeFileSync(file, readFileSync(k.zkey).subarray(0, 5000));
    },
  ]) {
    damage();
    await ended(prove());
    copyFileSync(k.zkey, file); // repaired where it lies: the next job is proved, without a restart
    await proved();
  }
  assert.equal((await c.GetStatus()).gpus[0].quarantined, false);
  // Another key under the same name.
  const other = circom.find((x) => x !== k && readFileSync(x.zkey).length !== readFileSync(k.zkey).length);
  rmSync(file);
  copyFileSync(other.zkey, file);
  const { result } = await c.ProveCircom({ key: 'own', wtns: readFileSync(other.wtns) });
  assert.equal(result.status, 'COMPLETED', result.error_message);
  verifyCircom(dir, other, result.proof);
  assert.equal((await d.end()).status, 0);
});

test('keys that are not there, or not to be used, are named', async (t) => {
  const d = await daemon(t, { 'srs.allow_insecure_keys': 'false' });
  const r = d.cuzk('wpost', 'prove', '--addr', d.addr, wpost.input, join(d.dir, 'out'));
  assert.notEqual(r.status, 0);
  assert.match(r.stderr, /insecure|development|official/);
  const s = cuzk('status', '--addr', d.addr);
  assert.equal(s.status, 0);
});
