// What whoever runs cuzkd relies on: readiness, reload, the log, the end.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test as anyTest } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { mockJob, startDaemon } from './lib/daemon.mjs';
import { scratch } from './lib/env.mjs';

const test = (name, fn) => anyTest(name, { timeout: 120_000 }, fn);
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
  assert.equal(await c.health('cuzk.v1.ProvingEngine'), 1);
  rmSync(join(d.dir, 'state'), { recursive: true });
  await assert.rejects(c.SubmitProof(porep('lost')), /removed or replaced/);
  const answer = await d.http('/readyz');
  assert.deepEqual([answer.status, await answer.text()], [503, 'the journal cannot be written\n']);
  assert.equal((await d.http('/healthz')).status, 200);
  await until(async () => (await c.health('cuzk.v1.ProvingEngine')) === 2);
  await until(() => d.logged(/error journal: .*state cannot be written, so no job is accepted: .*removed/));
});
