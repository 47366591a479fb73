// What whoever runs cuzkd relies on: readiness, reload, the log, the end.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { copyFileSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test as anyTest } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { mockJob, startDaemon } from './lib/daemon.mjs';
import { program, runProgram, scratch } from './lib/env.mjs';

const test = (name, fn) => anyTest(name, { timeout: 300_000 }, fn);
const porep = (id, what = {}) => ({ request_id: id, proof_kind: 'POREP_SEAL_COMMIT', vanilla_proof: mockJob(what) });

// A daemon with an HTTP port, by which it can be asked.
async function start(t, set = {}, options = {}) {
  const d = await startDaemon(t, scratch(t), { ...options, set: { 'daemon.status_listen': '127.0.0.1:0', ...set } });
  d.http = (path, init) => fetch(`http://${d.bound.HTTP[0]}${path}`, init);
  d.logged = (pattern) => d.log.some((line) => pattern.test(line));
  return d;
}

async function until(condition) {
  for (let i = 0; i < 1200; i++) {
    if (await condition()) return;
    await sleep(25);
  }
  assert.fail(`never: ${condition}`);
}

test('not ready, and not serving, while the journal cannot be written', async (t) => {
  const d = await start(t);
  const c = d.client();
  t.after(() => c.close());
  await until(async () => (await d.http('/readyz')).status === 200);
  await until(async () => (await c.health('cuzk.v1.ProvingEngine')) === 1);
  rmSync(join(d.dir, 'state'), { recursive: true });
  await assert.rejects(c.SubmitProof(porep('lost')), /removed or replaced/);
  const answer = await d.http('/readyz');
  assert.deepEqual([answer.status, await answer.text()], [503, 'the journal cannot be written\n']);
  assert.equal((await d.http('/healthz')).status, 200);
  await until(async () => (await c.health('cuzk.v1.ProvingEngine')) === 2);
  await until(() => d.logged(/error journal: .*state cannot be written, so no job is accepted: .*removed/));
});

const makeCertificate = (dir, name, curve = 'P-256') => {
  const r = runProgram('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', `ec_paramgen_curve:${curve}`,
    '-nodes', '-days', '2', '-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1',
    '-keyout', `${name}.key`, '-out', `${name}.pem`], { cwd: dir });
  assert.equal(r.status, 0, r.stderr);
};

test('SIGHUP reads certificates and tokens again; broken files leave all as it was', async (t) => {
  const dir = scratch(t);
  makeCertificate(dir, 'first');
  makeCertificate(dir, 'second');
  const at = (name) => join(dir, name);
  const use = (name) => {
    copyFileSync(at(`${name}.pem`), at('cert.pem'));
    copyFileSync(at(`${name}.key`), at('key.pem'));
  };
  const tokens = (...all) => writeFileSync(at('tokens'), `${all.join('\n')}\n`, { mode: 0o600 });
  for (const n of [1, 2, 3]) writeFileSync(at(`token${n}`), `a-token-of-a-client-${n}\n`, { mode: 0o600 });
  const token = (n) => `a-token-of-a-client-${n}`;
  use('first');
  tokens(token(1), token(2));
  const d = await startDaemon(t, dir, { set: {
    'daemon.listen': `unix:${at('s')},127.0.0.1:0`,
    'daemon.status_listen': '127.0.0.1:0',
    'tls.cert': at('cert.pem'),
    'tls.key': at('key.pem'),
    'auth.token_file': at('tokens'),
  } });
  const addr = d.bound.gRPC.find((a) => !a.startsWith('unix:'));
  const grpc = (ca, n) => d.cuzk('status', '--addr', addr, '--tls-ca', at(`${ca}.pem`), '--token-file', at(`token${n}`)).status;
  const http = (ca, n) => Number(runProgram('curl', ['-s', '-o', '/dev/null', '-w', '%{http_code}', '--cacert', at(`${ca}.pem`),
    '-H', `Authorization: Bearer ${token(n)}`, `https://${d.bound.HTTP[0]}/status`]).stdout);
  let reloads = 0;
  const reload = async (pattern) => {
    reloads++;
    d.child.kill('SIGHUP');
    await until(() => d.log.filter((line) => /certificates and tokens (read again|stay)/.test(line)).length === reloads);
    assert.match(d.log.filter((line) => /certificates and tokens/.test(line)).at(-1), pattern);
  };
  const serves = (ca, n, wanted) => assert.deepEqual([grpc(ca, n), http(ca, n)], wanted, `${ca} ${n}`);
  const good = [0, 200];
  const denied = [4, 401];
  const untrusted = [75, 0];
  serves('first', 1, good);
  serves('first', 3, denied);

  tokens(token(2), token(3));
  await reload(/read again/);
  serves('first', 1, denied);
  serves('first', 3, good);

  use('second');
  await reload(/read again/);
  serves('second', 3, good);
  serves('first', 3, untrusted);

  // Each broken file, with a good change beside it that must not count either.
  for (const [breaks, pattern] of [
    [() => copyFileSync(at('second.key'), at('key.pem')), /stay as they are: .*key\.pem is not the key of .*cert\.pem: it belongs to another certificate/],
    [() => writeFileSync(at('cert.pem'), 'no certificate'), /stay as they are: .*cert\.pem: no certificate in PEM form/],
    [() => rmSync(at('key.pem')), /stay as they are: .*key\.pem/],
    [() => tokens('short'), /stay as they are: .*tokens: line 1: a token of 5 bytes/],
  ]) {
    use('first');
    tokens(token(1));
    breaks();
    await reload(pattern);
    serves('second', 3, good);
    serves('second', 1, denied);
    serves('first', 3, untrusted);
  }
  use('first');
  tokens(token(1));
  for (let i = 0; i < 3; i++) await reload(/read again/);
  serves('first', 1, good);
  assert.deepEqual(await d.end(), { status: 0, signal: null });

  const wrong = runProgram(program('cuzkd'), ['--mock', 'default', ...Object.entries({
    'daemon.listen': '127.0.0.1:0', 'daemon.state_dir': at('other'),
    'tls.cert': at('second.pem'), 'tls.key': at('first.key'),
  }).flatMap(([k, v]) => ['--set', `${k}=${v}`])]);
  assert.equal(wrong.status, 3);
  assert.match(wrong.stderr, /first\.key is not the key of .*second\.pem: it belongs to another certificate/);
});

test('what a client is refused says which exit code', async (t) => {
  const d = await startDaemon(t, scratch(t));
  const file = (what) => {
    const path = join(d.dir, 'job.json');
    writeFileSync(path, JSON.stringify(what));
    return path;
  };
  const never = d.cuzk('submit', 'porep', file({ witness: 2 ** 40 }));
  assert.deepEqual([never.status, /never fits/.test(never.stderr)], [5, true], never.stderr);
  const running = d.cuzk('submit', 'porep', file({ partitions: 64, witness_ms: 500, compute_ms: 500 }));
  assert.equal(running.status, 0, running.stderr);
  const c = d.client();
  t.after(() => c.close());
  await until(async () => (await c.GetJob({ job_id: running.stdout.trim() })).partitions_done > 0);
  const used = d.cuzk('evict', 'porep-32g');
  assert.deepEqual([used.status, /jobs use it/.test(used.stderr)], [75, true], used.stderr);
  d.cuzk('cancel', running.stdout.trim());
  assert.equal(d.cuzk('await', running.stdout.trim(), join(d.dir, 'out')).status, 6);
});

// The processes of a group, and a daemon's workers.
const groupOf = (pid) => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
};
const childrenOf = (pid) =>
  readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number).filter((p) => {
    try {
      const stat = readFileSync(`/proc/${p}/stat`, 'utf8');
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === pid;
    } catch {
      return false;
    }
  });

// What a terminal does: the whole group of processes gets the signal.
test('Ctrl-C reaches the daemon, not its workers, and it ends in order', async (t) => {
  const dir = scratch(t);
  const log = [];
  const child = spawn(program('cuzkd'), ['--set', `daemon.listen=unix:${join(dir, 's')}`, '--set', `daemon.state_dir=${join(dir, 'state')}`,
    '--set', 'gpus.devices=cpu', '--set', 'memory.total_budget=2GiB', '--set', 'limits.drain_grace=500ms'],
  { stdio: ['ignore', 'ignore', 'pipe'], detached: true });
  t.after(() => { if (child.exitCode === null) child.kill('SIGKILL'); });
  child.stderr.setEncoding('utf8').on('data', (text) => log.push(...text.split('\n')));
  await until(() => log.some((line) => line.endsWith('daemon: ready')));
  await until(() => childrenOf(child.pid).length === 1);
  const [worker] = childrenOf(child.pid);
  assert.equal(groupOf(child.pid), child.pid);
  assert.notEqual(groupOf(worker), child.pid);
  process.kill(-child.pid, 'SIGINT');
  await until(() => child.exitCode !== null || child.signalCode !== null);
  assert.deepEqual([child.exitCode, child.signalCode], [0, null], log.join('\n'));
  assert.ok(log.some((line) => /daemon: drained/.test(line)), log.join('\n'));
  assert.ok(!log.some((line) => /device 0 is lost|warn|error/.test(line)), log.join('\n'));
  assert.throws(() => process.kill(worker, 0), { code: 'ESRCH' });
});
