// buf's curl against cuzkd: a client that knows nothing of us but the reflection service, or the
// .proto files. Every method of both services, unary and streaming, over the socket and over TCP.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';

import { mockJob, startDaemon } from './lib/daemon.mjs';
import { rootDir, runProgram, scratch } from './lib/env.mjs';

const arch = { x64: 'x64', arm64: 'aarch64' }[process.arch];
const buf = createRequire(import.meta.url).resolve(`@bufbuild/buf-linux-${arch}/bin/buf`);
const proto = join(rootDir, 'src/rpc/proto');
const base64 = (bytes) => bytes.toString('base64');

// A way to reach the daemon: calls by method name, and the list of what was called.
function way(dir, host, flags) {
  const words = (path, more) => ['curl', '--protocol', 'grpc', ...flags, ...more, `${host}${path}`];
  const env = { ...process.env, BUF_CACHE_DIR: join(dir, 'buf'), BUF_LOG_FORMAT: 'text' };
  const run = (path, more = []) => runProgram(buf, words(path, more), { env, timeout: 120_000 });
  const called = new Set();
  const data = (request) => ['--data', JSON.stringify(request)];
  const start = (method, request) => {
    called.add(method);
    return run(`/cuzk.v1.${method}`, data(request));
  };
  const listed = (flag) => {
    const { status, stdout, stderr } = run('', [flag]);
    assert.equal(status, 0, stderr);
    return stdout.split('\n').filter((line) => /^[a-z].*\w$/.test(line));
  };
  return {
    called,
    listed,
    // The replies of a call that has to succeed; one JSON document a message.
    all(method, request = {}) {
      const { status, stdout, stderr } = start(method, request);
      assert.equal(status, 0, `${method}: ${stderr}`);
      return stdout.split(/\n(?=\{)/).filter((text) => text.trim()).map(JSON.parse);
    },
    one(method, request) {
      const replies = this.all(method, request);
      assert.equal(replies.length, 1, method);
      return replies[0];
    },
    // The error of a call that has to fail.
    fails(method, request, code, message) {
      const { status, stderr } = start(method, request);
      assert.notEqual(status, 0, `${method} was answered`);
      const error = JSON.parse(stderr.slice(stderr.indexOf('{')));
      assert.equal(error.code, code, stderr);
      assert.match(error.message, message);
      return error;
    },
    plain(path, request = {}) {
      const { status, stdout, stderr } = run(path, data(request));
      assert.equal(status, 0, stderr);
      return JSON.parse(stdout);
    },
    // Lines of a call that goes on until enough(text so far).
    async until(method, request, enough) {
      called.add(method);
      const child = spawn(buf, words(`/cuzk.v1.${method}`, data(request)), { env });
      const ended = once(child, 'close');
      let text = '';
      for await (const line of createInterface({ input: child.stdout })) {
        text += `${line}\n`;
        if (enough(text)) break;
      }
      child.kill();
      await ended;
      assert.ok(enough(text), text);
    },
  };
}

const porep = (id, what) => ({
  request_id: id,
  proof_kind: 'POREP_SEAL_COMMIT',
  vanilla_proof: base64(mockJob(what)),
});

async function everyCall(w, name) {
  const id = (x) => `${name}-${x}`;
  const first = w.one('ProvingEngine/SubmitProof', porep(id('a'), { partitions: 3 }));
  assert.match(first.assignedGpu, /MOCK/);
  const job = { job_id: first.jobId };
  const done = w.one('ProvingEngine/AwaitProof', { ...job, timeout_ms: 60000 });
  assert.equal(done.status, 'COMPLETED');
  assert.equal(Buffer.from(done.proof, 'base64').length, 3 * 192);
  const proved = w.one('ProvingEngine/Prove', { submit: porep(id('a'), { partitions: 3 }) });
  assert.equal(proved.result.proof, done.proof);
  assert.equal(proved.result.jobId, first.jobId);

  const long = w.one('ProvingEngine/SubmitProof', porep(id('long'), { partitions: 9, witness_ms: 60000 }));
  w.one('ProvingEngine/CancelProof', { job_id: long.jobId });
  assert.equal(w.one('ProvingEngine/AwaitProof', { job_id: long.jobId }).status, 'CANCELLED');
  assert.equal(w.one('Engine/GetJob', { job_id: id('long') }).state, 'JOB_CANCELLED');

  assert.match(w.one('ProvingEngine/GetMetrics').prometheusText, /^cuzk_proofs_completed_total \d/m);
  w.one('ProvingEngine/PreloadSRS', { circuit_id: 'snap-32g' });
  assert.ok(Number(w.one('ProvingEngine/EvictSRS', { circuit_id: 'snap-32g' }).freedBytes) > 0);

  const wtns = base64(mockJob({}));
  const circom = w.one('Engine/SubmitCircom', { request_id: id('z'), key: 'mock-a', wtns });
  const states = w.all('Engine/WatchJob', { job_id: circom.jobId });
  assert.equal(states.at(-1).state, 'DONE');
  assert.equal(states.at(-1).proofKind, 'circom');
  const again = w.one('Engine/ProveCircom', { request_id: id('z'), key: 'mock-a', wtns });
  assert.equal(again.result.status, 'COMPLETED');
  assert.equal(w.one('Engine/ListJobs', { limit: 2 }).jobs[0].jobId, circom.jobId);
  assert.equal(w.one('Engine/GetResult', job).proof, done.proof);
  await w.until('Engine/WatchEngine', { interval_ms: 200 }, (text) => text.split('"status"').length > 2);
  const csv = Buffer.from(w.one('Engine/GetTrace', { format: 'CSV' }).text, 'base64').toString();
  assert.match(csv, /^TIMELINE,\d+,GPU_START,/m);

  w.one('Engine/LendMemory', { device: 0, bytes: 2 ** 30 });
  const status = w.one('ProvingEngine/GetStatus');
  assert.ok(Number(status.totalProofsCompleted) >= 2);
  assert.equal(Number(status.gpus[0].lentBytes), 2 ** 30);
  w.one('Engine/TakeBackMemory', { device: 0 });
  w.one('Engine/RestoreDevice', { device: 0 });
  w.one('Engine/Drain', { timeout_ms: 60000 });
  const late = w.fails('ProvingEngine/SubmitProof', porep(id('late'), {}), 'unavailable', /draining/);
  // Somebody who knows google.rpc.RetryInfo reads when to come back.
  assert.equal(late.details[0].type, 'google.rpc.RetryInfo');
  w.one('Engine/Resume');
}

function everyCode(w) {
  w.fails('ProvingEngine/SubmitProof', porep('reflection-a', {}), 'already_exists', /another content/);
  w.fails('ProvingEngine/SubmitProof', { proof_kind: 'WINNING_POST' }, 'invalid_argument', /vanilla_proofs/);
  w.fails('ProvingEngine/CancelProof', { job_id: 'nothing' }, 'not_found', /nothing/);
}

test('every method, by reflection over the socket and by .proto over TCP', async (t) => {
  const dir = scratch(t);
  const d = await startDaemon(t, dir, { set: { 'daemon.listen': `unix:${join(dir, 's')},127.0.0.1:0` } });
  const socket = ['--unix-socket', join(dir, 's')];
  const tcp = d.bound.gRPC.find((a) => !a.startsWith('unix:'));
  const ways = {
    reflection: way(dir, 'http://localhost', socket),
    proto: way(dir, `http://${tcp}`, ['--http2-prior-knowledge', '--schema', proto]),
  };
  const methods = ways.proto
    .listed('--list-methods')
    .filter((m) => m.startsWith('cuzk.v1.'))
    .map((m) => m.replace('cuzk.v1.', ''));
  assert.equal(methods.length, 21);
  for (const [name, w] of Object.entries(ways)) {
    await everyCall(w, name);
    assert.deepEqual([...w.called].sort(), methods.sort());
  }
  everyCode(ways.reflection);

  const listed = ways.reflection.listed('--list-methods');
  for (const m of methods) assert.ok(listed.includes(`cuzk.v1.${m}`), m);
  const { status } = ways.reflection.plain('/grpc.health.v1.Health/Check', { service: 'cuzk.v1.ProvingEngine' });
  assert.equal(status, 'SERVING');
  const old = way(dir, `http://${tcp}`, ['--reflect-protocol', 'grpc-v1alpha']);
  assert.equal(old.one('ProvingEngine/GetStatus').version, '0.1.0');
  assert.equal((await d.end()).status, 0);
});

test('with TLS, a client certificate and a token', async (t) => {
  const dir = scratch(t);
  const file = (name) => join(dir, name);
  const made = runProgram('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt',
    'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost', '-addext',
    'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', file('key.pem'), '-out', file('cert.pem')]);
  assert.equal(made.status, 0, made.stderr);
  writeFileSync(file('tokens'), 'not-so-secret-token-1\n', { mode: 0o600 });
  const d = await startDaemon(t, dir, {
    set: {
      'daemon.listen': '127.0.0.1:0',
      'tls.cert': file('cert.pem'),
      'tls.key': file('key.pem'),
      'tls.client_ca': file('cert.pem'),
      'auth.token_file': file('tokens'),
    },
  });
  const tls = ['--cacert', file('cert.pem'), '--cert', file('cert.pem'), '--key', file('key.pem')];
  const token = (text) => ['--header', `authorization: Bearer ${text}`, '--reflect-header', '*'];
  const host = `https://${d.bound.gRPC[0]}`;
  const ok = way(dir, host, [...tls, ...token('not-so-secret-token-1')]);
  assert.equal(ok.one('ProvingEngine/GetStatus').gpus.length, 1);
  const other = way(dir, host, [...tls, '--schema', proto, '--header', 'authorization: Bearer other']);
  other.fails('ProvingEngine/GetStatus', {}, 'unauthenticated', /token/);
});
