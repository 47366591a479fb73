// The committed circuits: our proofs verify in snarkjs and by us, theirs by us.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { cuzk, cuzkOk, readJson, scratch, sharedCircuits } from './lib/env.mjs';
import { endWorkers, snarkjs, verifies } from './lib/snarkjs.mjs';

after(endWorkers);

// The committed verification key, or what snarkjs takes out of the proving key.
async function vkeyOf(c, dir) {
  if (existsSync(c.vkey)) return c.vkey;
  const path = join(dir, 'vkey.json');
  writeFileSync(path, JSON.stringify(await snarkjs.zKey.exportVerificationKey(c.zkey)));
  return path;
}

for (const c of sharedCircuits()) {
  test(`${c.curve} ${c.name}: random proofs verify in snarkjs and here`, async (t) => {
    const dir = scratch(t);
    const [proof, publics] = [join(dir, 'proof.json'), join(dir, 'public.json')];
    const vkeyPath = await vkeyOf(c, dir);
    const vkey = readJson(vkeyPath);
    const seen = new Set();
    for (let round = 0; round < 2; round++) {
      cuzkOk('prove', c.zkey, c.wtns, proof, publics);
      assert.equal(await verifies(vkey, readJson(publics), readJson(proof)), true);
      cuzkOk('verify', vkeyPath, publics, proof);
      seen.add(readFileSync(proof, 'utf8'));
    }
    assert.equal(seen.size, 2, 'blinding must differ');
    const signals = readJson(publics);
    if (signals.length > 0) {
      signals[0] = signals[0] === '1' ? '2' : '1';
      assert.equal(await verifies(vkey, signals, readJson(proof)), false);
    }
  });

  if (c.proof) {
    test(`${c.curve} ${c.name}: the committed proof verifies here`, async (t) => {
      cuzkOk('verify', await vkeyOf(c, scratch(t)), c.publics, c.proof);
    });
  }

  test(`${c.curve} ${c.name}: a fresh snarkjs proof verifies here`, async (t) => {
    const dir = scratch(t);
    const { proof, publicSignals } = await snarkjs.groth16.prove(c.zkey, c.wtns);
    const paths = [join(dir, 'public.json'), join(dir, 'proof.json')];
    writeFileSync(paths[0], JSON.stringify(publicSignals));
    writeFileSync(paths[1], JSON.stringify(proof));
    const vkeyPath = await vkeyOf(c, dir);
    cuzkOk('verify', vkeyPath, ...paths);
    [proof.pi_a, proof.pi_c] = [proof.pi_c, proof.pi_a];
    writeFileSync(paths[1], JSON.stringify(proof));
    assert.equal(cuzk('verify', vkeyPath, ...paths).status, 1);
  });
}
