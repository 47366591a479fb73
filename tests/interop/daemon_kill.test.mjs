// kill -9 at random moments under a load of small jobs: no accepted job is lost, none has two
// results. CUZK_KILLS sets how often (200), CUZK_TEST_SEED repeats a run as far as time allows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { code, mockJob, startDaemon } from './lib/daemon.mjs';
import { scratch } from './lib/env.mjs';

const kills = Number(process.env.CUZK_KILLS ?? 200);
const lanes = 8;
let seed = Number(process.env.CUZK_TEST_SEED ?? Date.now() % 2 ** 31);
console.error(`CUZK_TEST_SEED=${seed}`);
const random = (n) => {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return (seed >>> 8) % n;
};

const mock = {
  witness: '3ms', stage: '1ms', compute: '2ms', finish: '1ms', verify: '1ms', key_load: '1ms',
};

// One daemon that is killed again and again, and what became of its jobs.
async function lane(t, name, times) {
  const d = await startDaemon(t, scratch(t), {
    mock,
    set: { 'jobs.retention': '0', 'jobs.retention_count': '0' },
  }).catch((error) => assert.fail(`${name}: ${error.message}`));
  const accepted = new Map(); // request id -> job id
  const results = new Map(); // request id -> proof
  let n = 0;

  const submitOne = async (c) => {
    const id = `${name}-${n++}`;
    const request = {
      request_id: id,
      proof_kind: 'POREP_SEAL_COMMIT',
      vanilla_proof: mockJob({ partitions: 1 + random(3), id }),
    };
    const { job_id } = await c.SubmitProof(request);
    accepted.set(id, job_id);
    if (random(2)) return;
    const { status, proof } = await c.AwaitProof({ job_id });
    assert.equal(status, 'COMPLETED');
    results.set(id, proof);
  };

  for (let i = 0; i < times; i++) {
    if (i > 0) await d.start();
    const c = d.client();
    let over = false;
    const load = Array.from({ length: 3 }, async () => {
      while (!over) {
        try {
          await submitOne(c);
        } catch (error) {
          if (error.code === undefined) throw error;
          if (over || error.code === code.UNAVAILABLE) return;
          throw error;
        }
      }
    });
    // A few jobs later, at any moment; or at once, however fast this machine is.
    const enough = accepted.size + random(7);
    for (let k = 0; k < 400 && accepted.size < enough; k++) await sleep(5);
    await sleep(random(12));
    over = true;
    await d.end('SIGKILL');
    c.close();
    await Promise.all(load);
  }

  await d.start();
  const c = d.client();
  for (const [id, job_id] of accepted) {
    assert.equal((await c.GetJob({ job_id: id })).job_id, job_id, `${id} is another job now`);
    const { status, proof, error_message } = await c.AwaitProof({ job_id, timeout_ms: 60000 });
    assert.equal(status, 'COMPLETED', `${id}: ${error_message}`);
    if (results.has(id)) assert.deepEqual(proof, results.get(id), `${id} was proved twice`);
  }
  c.close();
  assert.equal((await d.end()).status, 0);
  return { accepted: accepted.size, kept: results.size };
}

test(`killed ${kills} times`, { timeout: 600_000 }, async (t) => {
  const each = Math.ceil(kills / lanes);
  const all = await Promise.all(
    Array.from({ length: lanes }, (_, i) => lane(t, `lane${i}`, each)),
  );
  const accepted = all.reduce((sum, r) => sum + r.accepted, 0);
  const kept = all.reduce((sum, r) => sum + r.kept, 0);
  t.diagnostic(`${each * lanes} kills, ${accepted} jobs accepted, ${kept} results compared`);
  assert.ok(accepted > kills / 2, `only ${accepted} jobs were accepted`);
  assert.ok(kept > 0);
});
