// cuzkd with real proofs on the CPU: WindowPoSt of 2 KiB sectors and circom together, verified here;
// faults of devices; the client verbs. CUZK_INTEROP_BIG=1 adds WinningPoSt, SnapDeals and PoRep of 2
// KiB (their development keys take minutes and gigabytes).
import assert from 'node:assert/strict';
import {
  copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { before, test as anyTest } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { startDaemon } from './lib/daemon.mjs';
import { cuzk, cuzkOk, readJson, scratch, sharedCircuits } from './lib/env.mjs';

const big = process.env.CUZK_INTEROP_BIG === '1';
const test = (name, fn) => anyTest(name, { timeout: big ? 1_800_000 : 240_000 }, fn);
const kinds = [
  { verb: 'wpost', circuit: 'wpost-2k', more: ['--registered-proof', 10] },
  ...(big
    ? [
        { verb: 'winning', circuit: 'winning-2k', more: [] },
        { verb: 'snap', circuit: 'snap-2k', more: [] },
        { verb: 'porep', circuit: 'porep-2k', more: [] },
      ]
    : []),
];
const circom = sharedCircuits().filter((c) => ['mul3', 'poseidon2'].includes(c.name));
const keyOf = (c) => `${c.name}-${c.curve}`;

const state = {};
before((t) => {
  state.dir = scratch(t);
  state.keys = join(state.dir, 'keys');
  state.zkeys = join(state.dir, 'zkeys');
  mkdirSync(state.zkeys);
  for (const c of circom) copyFileSync(c.zkey, join(state.zkeys, `${keyOf(c)}.zkey`));
  for (const k of kinds) {
    cuzkOk('setup', '--circuit', k.circuit, '--insecure-seed', '00', state.keys);
    k.input = join(state.dir, `${k.verb}.json`);
    cuzkOk('sector', k.circuit, '--seed', '00', ...k.more, k.input);
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

test('jobs of every kind submitted together are proved and verify', async (t) => {
  const dir = scratch(t);
  const d = await daemon(t, { 'srs.preload': 'wpost-2k' });
  const c = d.client();
  t.after(() => c.close());
  const ids = kinds.map((k) => d.cuzk('submit', k.verb, k.input).stdout.trim());
  const jobs = await Promise.all(
    circom.map((k) => c.SubmitCircom({ key: keyOf(k), wtns: readFileSync(k.wtns) })),
  );
  for (const [i, { job_id }] of jobs.entries()) {
    const { status, proof, error_message } = await c.AwaitProof({ job_id });
    assert.equal(status, 'COMPLETED', error_message);
    verifyCircom(dir, circom[i], proof);
  }
  for (const [i, k] of kinds.entries()) {
    const out = join(dir, `${k.verb}.bin`);
    const awaited = d.cuzk('await', ids[i], out, '--json');
    assert.equal(awaited.status, 0, awaited.stderr);
    assert.equal(JSON.parse(awaited.stdout).proof_kind ?? JSON.parse(awaited.stdout).kind, {
      wpost: 'window_post', winning: 'winning_post', snap: 'snap_update', porep: 'porep_c2',
    }[k.verb]);
    cuzkOk(k.verb, 'verify', k.input, out, ...state.flags);
  }

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
  const request = readJson(kinds[0].input);
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
  const r = d.cuzk('bench', 'daemon', '--mix', `wpost:${kinds[0].input}:1`, '--mix',
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
  const { job_id } = JSON.parse(d.cuzk('submit', 'wpost', kinds[0].input, '--json').stdout);
  for (let i = 0; i < 2000; i++) {
    if ((await c.GetStatus()).gpus[0].current_job_id === job_id) break;
    await sleep(5);
  }
  const [worker] = workers(d.child.pid);
  assert.ok(worker > 0);
  process.kill(worker, 'SIGKILL');
  const { status, error_message } = await c.AwaitProof({ job_id });
  assert.equal(status, 'COMPLETED', error_message);
  assert.ok((await c.GetStatus()).gpus[0].restarts >= 1);
  const [fresh] = workers(d.child.pid);
  assert.ok(fresh > 0 && fresh !== worker);
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
  verifyCircom(dir, k, (await prove()).result.proof);
  truncateSync(file, 1000);
  await ended(prove());
  rmSync(file);
  await ended(prove());
  assert.equal((await d.end()).status, 0);
  copyFileSync(k.zkey, file);
  await d.start();
  const { result } = await prove();
  assert.equal(result.status, 'COMPLETED', result.error_message);
  verifyCircom(dir, k, result.proof);
  assert.equal((await d.end()).status, 0);
});

test('keys that are not there, or not to be used, are named', async (t) => {
  const d = await daemon(t, { 'srs.allow_insecure_keys': 'false' });
  const r = d.cuzk('wpost', 'prove', '--addr', d.addr, kinds[0].input, join(d.dir, 'out'));
  assert.notEqual(r.status, 0);
  assert.match(r.stderr, /insecure|development|official/);
  const s = cuzk('status', '--addr', d.addr);
  assert.equal(s.status, 0);
});
