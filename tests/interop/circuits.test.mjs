// Circuits compiled from npm: set up by us or by snarkjs, proved by us, verified by both.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { circuit, freshWitness, snarkjsKey } from './lib/circuits.mjs';
import { cuzk, cuzkOk, hasVerb, readJson, scratch } from './lib/env.mjs';
import { endWorkers, snarkjs, verifies } from './lib/snarkjs.mjs';

after(endWorkers);

const plan = [
  ['poseidon', 'bn128'],
  ['poseidon', 'bls12381'],
  ['merkle', 'bn128'],
  ['eddsa', 'bn128'],
  ['sha256_512', 'bn128'],
];
// CUZK_INTEROP_BIG=1 adds what takes minutes to compile and prove with.
if (process.env.CUZK_INTEROP_BIG === '1') {
  plan.push(['merkle', 'bls12381'], ['sha256_512', 'bls12381'], ['sha256_2048', 'bn128']);
  plan.push(['sha256_16384', 'bn128']);
}

async function proveAndVerify(dir, zkey, wtns, expected) {
  const [proof, publics] = [join(dir, 'proof.json'), join(dir, 'public.json')];
  const vkeyPath = join(dir, 'vkey.json');
  const vkey = await snarkjs.zKey.exportVerificationKey(zkey);
  writeFileSync(vkeyPath, JSON.stringify(vkey));
  cuzkOk('prove', zkey, wtns, proof, publics);
  const signals = readJson(publics);
  if (expected) assert.deepEqual(signals, expected);
  assert.equal(await verifies(vkey, signals, readJson(proof)), true);
  cuzkOk('verify', vkeyPath, publics, proof);
  return { vkey, vkeyPath, proof, publics };
}

for (const [name, curve] of plan) {
  test(`${name} on ${curve}, our setup`, async (t) => {
    const dir = scratch(t);
    const c = await circuit(name, curve);
    const wtns = join(dir, 'witness.wtns');
    const expected = await freshWitness(c, wtns);
    const made = await proveAndVerify(dir, c.zkey, wtns, expected);
    if (hasVerb('export-vk')) {
      const ours = join(dir, 'ours.json');
      cuzkOk('export-vk', c.zkey, ours);
      assert.deepEqual(readJson(ours), JSON.parse(JSON.stringify(made.vkey)));
    }
    if (hasVerb('wtns')) cuzkOk('wtns', 'check', c.r1cs, wtns, '--sym', c.sym);

    // snarkjs proves with our key, too.
    const theirs = await snarkjs.groth16.prove(c.zkey, wtns);
    writeFileSync(made.proof, JSON.stringify(theirs.proof));
    cuzkOk('verify', made.vkeyPath, made.publics, made.proof);
    assert.deepEqual(theirs.publicSignals, readJson(made.publics));
  });
}

for (const curve of ['bn128', 'bls12381']) {
  test(`poseidon on ${curve}, setup and contribution by snarkjs`, async (t) => {
    const dir = scratch(t);
    const c = await circuit('poseidon', curve);
    const zkey = await snarkjsKey(c, 8);
    const wtns = join(dir, 'witness.wtns');
    const made = await proveAndVerify(dir, zkey, wtns, await freshWitness(c, wtns));
    const other = await freshWitness(c, wtns);
    if (other) {
      writeFileSync(made.publics, JSON.stringify(other));
      assert.equal(cuzk('verify', made.vkeyPath, made.publics, made.proof).status, 1);
    }
  });
}
