// The HTTP interface over an engine whose work is sleeping: the job API, events, metrics, and
// whether the OpenAPI file tells the truth about the answers. rpc_serve_mock is the server.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';

import { scratch } from './lib/env.mjs';
import { base64, serveMock } from './lib/mock_server.mjs';

const porep = (settings = {}) => ({
  proof_kind: 'POREP_SEAL_COMMIT',
  vanilla_proof: base64({ partitions: 2, witness_ms: 30, compute_ms: 10, stage_ms: 5, ...settings }),
});

// Holds a value against a schema of the document: types, names that are not there, and names that
// the document does not have.
function check(doc, schema, value, where = '') {
  if (schema.$ref) return check(doc, doc.components.schemas[schema.$ref.split('/').at(-1)], value, where);
  if (schema.allOf) {
    const merged = { type: 'object', properties: {}, required: [] };
    for (const part of schema.allOf) {
      const s = part.$ref ? doc.components.schemas[part.$ref.split('/').at(-1)] : part;
      Object.assign(merged.properties, s.properties);
      merged.required.push(...(s.required ?? []));
    }
    return check(doc, merged, value, where);
  }
  if (value === null && schema.nullable) return undefined;
  const type = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
  const want = schema.type === 'integer' ? 'number' : schema.type;
  assert.equal(type, want, `${where}: ${JSON.stringify(value)}`);
  if (schema.type === 'integer') assert.ok(Number.isInteger(value), where);
  if (schema.enum) assert.ok(schema.enum.includes(value), `${where}: ${value}`);
  if (type === 'array') {
    assert.ok(value.length <= (schema.maxItems ?? Infinity), where);
    value.forEach((v, i) => check(doc, schema.items, v, `${where}[${i}]`));
  }
  if (type === 'object' && (schema.properties || schema.additionalProperties)) {
    for (const name of schema.required ?? []) assert.ok(name in value, `${where}.${name} is missing`);
    for (const [name, v] of Object.entries(value)) {
      const s = schema.properties?.[name] ?? schema.additionalProperties;
      assert.ok(s, `${where}.${name} is not documented`);
      check(doc, s, v, `${where}.${name}`);
    }
  }
  return undefined;
}

test('jobs from submission to proof, as documented', async (t) => {
  const s = await serveMock(t);
  const doc = await (await s.get('/api/v1/openapi.json')).json();
  // The answer of a call, held against the document.
  const call = async (method, pattern, path, init = {}) => {
    const answer = await s.get(path, { method, ...init });
    const documented = doc.paths[pattern][method.toLowerCase()].responses[answer.status];
    assert.ok(documented, `${method} ${path}: ${answer.status} is not documented`);
    const type = answer.headers.get('content-type').split(';')[0];
    const schema = documented.content?.[type]?.schema;
    assert.ok(schema, `${method} ${path}: ${answer.status} ${type} is not documented`);
    if (type !== 'application/json') return { status: answer.status, body: Buffer.from(await answer.arrayBuffer()), answer };
    const body = await answer.json();
    check(doc, schema, body, `${method} ${path}`);
    return { status: answer.status, body, answer };
  };
  const submit = (body, headers = { 'Content-Type': 'application/json' }) =>
    call('POST', '/api/v1/jobs', '/api/v1/jobs', { headers, body });

  const first = await submit(JSON.stringify({ ...porep(), request_id: 'one' }));
  assert.equal(first.status, 201);
  const id = first.body.job_id;
  assert.equal(first.answer.headers.get('location'), `/api/v1/jobs/${id}`);
  const same = await submit(JSON.stringify({ ...porep(), request_id: 'one' }));
  assert.deepEqual([same.status, same.body.job_id, same.body.existed], [200, id, true]);
  const other = await submit(JSON.stringify({ ...porep({ partitions: 3 }), request_id: 'one' }));
  assert.deepEqual([other.status, other.body.error.code], [409, 'already_exists']);

  await s.ended(id);
  const job = await call('GET', '/api/v1/jobs/{id}', '/api/v1/jobs/one'); // by its request id
  assert.deepEqual([job.body.job_id, job.body.state, job.body.partitions_done], [id, 'done', 2]);
  const proof = await call('GET', '/api/v1/jobs/{id}/proof', `/api/v1/jobs/${id}/proof`);
  const text = await call('GET', '/api/v1/jobs/{id}/proof', `/api/v1/jobs/${id}/proof?encoding=base64`);
  assert.ok(proof.body.length > 0);
  assert.deepEqual(Buffer.from(text.body.proof, 'base64'), proof.body);

  // The other forms of a body.
  const form = new FormData();
  form.set('proof_kind', 'SNAP_DEALS_UPDATE');
  form.set('registered_proof', '0');
  for (let i = 0; i < 2; i++) form.append('vanilla_proofs', new Blob([JSON.stringify({ partitions: 2, witness_ms: 5, compute_ms: 5 })]));
  const snap = await call('POST', '/api/v1/jobs', '/api/v1/jobs', { body: form });
  assert.equal(snap.status, 201);
  const raw = await call('POST', '/api/v1/jobs', '/api/v1/jobs?proof_kind=CIRCOM&key=mock-a&priority=HIGH', {
    headers: { 'Content-Type': 'application/octet-stream' }, body: JSON.stringify({ witness_ms: 5 }) });
  assert.equal(raw.status, 201);
  assert.equal((await s.ended(snap.body.job_id)).state, 'done');
  const circom = await s.ended(raw.body.job_id);
  assert.deepEqual([circom.state, circom.priority, circom.key], ['done', 'high', 'mock-a']);

  // Cancel; what has no proof says why.
  const slow = await submit(JSON.stringify(porep({ partitions: 20, witness_ms: 60000 })));
  const early = await call('GET', '/api/v1/jobs/{id}/proof', `/api/v1/jobs/${slow.body.job_id}/proof`);
  assert.equal(early.status, 409);
  assert.equal((await call('DELETE', '/api/v1/jobs/{id}', `/api/v1/jobs/${slow.body.job_id}`)).status, 200);
  assert.equal((await s.ended(slow.body.job_id)).state, 'cancelled');
  const failing = await submit(JSON.stringify(porep({ faults: [{ stage: 'compute', fault: 'error', times: 0 }] })));
  const failed = await s.ended(failing.body.job_id);
  assert.equal(failed.state, 'failed');
  assert.match(failed.message, /compute/);

  // Refusals.
  for (const [body, status] of [['', 400], ['{}', 400], [JSON.stringify(porep({ invalid: 1 })), 400],
    [JSON.stringify({ ...porep(), deadline_unix_ms: 1 }), 409],
    [JSON.stringify(porep({ witness: 2 ** 40 })), 409]]) {
    const refused = await submit(body);
    assert.equal(refused.status, status, body);
    assert.ok(refused.body.error.message.length > 10);
  }
  assert.equal((await call('GET', '/api/v1/jobs/{id}', '/api/v1/jobs/nobody')).status, 404);
  assert.equal((await call('DELETE', '/api/v1/jobs/{id}', '/api/v1/jobs/nobody')).status, 404);

  const list = await call('GET', '/api/v1/jobs', '/api/v1/jobs?limit=3');
  assert.equal(list.body.jobs.length, 3);
  assert.equal(list.body.jobs[0].job_id, failing.body.job_id);
  const troubles = await call('GET', '/api/v1/jobs', '/api/v1/jobs?state=failed,cancelled');
  assert.deepEqual(troubles.body.jobs.map((j) => j.job_id), [failing.body.job_id, slow.body.job_id]);
  assert.equal((await call('GET', '/api/v1/jobs', '/api/v1/jobs?limit=many')).status, 400);

  // The whole.
  const status = await call('GET', '/status', '/status');
  assert.equal(status.body.counters.completed_by_kind.porep_c2, 1);
  assert.ok(status.body.pipelines.length >= 4);
  assert.equal((await call('GET', '/api/v1/status', '/api/v1/status?pipelines=1')).body.pipelines.length, 1);
  for (const format of ['json', 'csv', 'svg']) await call('GET', '/trace', `/trace?format=${format}`);
  assert.equal((await call('GET', '/trace', '/trace?format=png')).status, 400);
  assert.equal((await call('GET', '/trace', '/trace?format=csv&since_ms=99999999')).body.length, 0);

  // Keys and devices.
  assert.equal((await call('POST', '/api/v1/keys/{name}/preload', '/api/v1/keys/mock-b/preload')).status, 202);
  assert.equal((await call('POST', '/api/v1/keys/{name}/preload', '/api/v1/keys/nobody/preload')).status, 404);
  await s.until(async () => (await (await s.get('/status')).json()).keys.some((k) => k.name === 'mock-b' && k.state === 'loaded'));
  const evicted = await call('POST', '/api/v1/keys/{name}/evict', '/api/v1/keys/mock-b/evict');
  assert.equal(evicted.body.was_loaded, true);
  assert.equal((await call('POST', '/api/v1/devices/{ordinal}/restore', '/api/v1/devices/x/restore')).status, 400);

  // Drain and resume.
  assert.equal((await s.get('/readyz')).status, 200);
  assert.equal((await call('POST', '/api/v1/drain', '/api/v1/drain')).status, 202);
  await s.until(async () => (await s.get('/readyz')).status === 503);
  const drained = await submit(JSON.stringify(porep()));
  assert.deepEqual([drained.status, drained.body.error.code], [503, 'draining']);
  assert.ok(Number(drained.answer.headers.get('retry-after')) >= 1);
  assert.equal((await call('POST', '/api/v1/resume', '/api/v1/resume')).status, 200);
  assert.equal((await submit(JSON.stringify(porep()))).status, 201);
});

test('a full queue says when to come back', async (t) => {
  const s = await serveMock(t);
  let refused;
  for (let i = 0; i < 80 && !refused; i++) {
    const answer = await s.post({ ...porep({ witness_ms: 60000 }) });
    if (answer.status !== 201) refused = answer;
  }
  assert.equal(refused?.status, 429);
  assert.ok(Number(refused.headers.get('retry-after')) >= 1);
  assert.match((await refused.json()).error.message, /queue depth 64/);
});

test('metrics pass promtool', async (t) => {
  if (spawnSync('promtool', ['--version']).error) return t.skip('promtool is not installed');
  const s = await serveMock(t);
  await s.ended((await (await s.post(porep())).json()).job_id);
  const answer = await s.get('/metrics');
  assert.match(answer.headers.get('content-type'), /^text\/plain; version=0\.0\.4/);
  const text = await answer.text();
  const result = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
  assert.deepEqual([result.status, result.stderr], [0, '']);
  assert.match(text, /^cuzk_proofs_completed_total 1$/m);
  assert.match(text, /^cuzk_transfer_bytes_total\{device="\d",.*direction="to_device",memory="pinned"\} [1-9]/m);
  return undefined;
});

test('events tell of jobs and of the status', async (t) => {
  const s = await serveMock(t);
  const seen = [];
  const request = http.get(`${s.http}/api/v1/events`, (res) => {
    res.setEncoding('utf8');
    let text = '';
    res.on('data', (chunk) => {
      text += chunk;
      for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
        const lines = Object.fromEntries(text.slice(0, end).split('\n').map((l) => [l.split(': ')[0], l.slice(l.indexOf(': ') + 2)]));
        if (lines.event) seen.push([lines.event, JSON.parse(lines.data)]);
      }
    });
  });
  request.on('error', () => {});
  t.after(() => request.destroy());
  await s.until(() => seen.some(([name]) => name === 'status'));
  const { job_id: id } = await (await s.post(porep())).json();
  await s.until(() => seen.some(([name, job]) => name === 'job' && job.job_id === id && job.state === 'done'));
  const progress = seen.filter(([name, job]) => name === 'job' && job.job_id === id).map(([, job]) => job.partitions_done);
  assert.deepEqual(progress, [...progress].sort((a, b) => a - b));
});

test('only with the token, and not for other sites', async (t) => {
  const file = join(scratch(t), 'tokens');
  writeFileSync(file, 'sesame-open-the-door\n', { mode: 0o600 });
  const s = await serveMock(t, { tokens: file });
  const withToken = { Authorization: 'Bearer sesame-open-the-door' };
  for (const path of ['/', '/page.js', '/page.css', '/icon.svg', '/healthz', '/readyz'])
    assert.equal((await s.get(path)).status, 200, path);
  for (const path of ['/status', '/metrics', '/trace', '/api/v1/jobs', '/api/v1/events', '/api/v1/openapi.json'])
    assert.equal((await s.get(path)).status, 401, path);
  assert.equal((await s.get('/status', { headers: withToken })).status, 200);
  const resume = (headers) => new Promise((done, fail) => {
    const r = http.request(`${s.http}/api/v1/resume`, { method: 'POST', headers: { ...withToken, ...headers } },
      (res) => (res.resume(), done(res.statusCode)));
    r.on('error', fail);
    r.end();
  });
  assert.equal(await resume({ Origin: 'http://elsewhere.example' }), 403);
  assert.equal(await resume({ Origin: 'null' }), 403);
  assert.equal(await resume({ Origin: s.http }), 200);
  assert.equal(await resume({}), 200);
});
