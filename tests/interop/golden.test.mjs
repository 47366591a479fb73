// Proofs with fixed blinding equal those of tests/vectors/circom/golden_fixed_rs.json byte for
// byte, whatever the number of threads and the arithmetic used.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { cuzkOk, cuzkPath, readJson, runProgram, scratch, vectorsDir } from './lib/env.mjs';

const golden = readJson(join(vectorsDir, 'golden_fixed_rs.json'));
// As snarkjs prints: an empty list takes three bytes.
const text = (value) => (value.length === 0 ? '[\n]' : JSON.stringify(value, null, 1));

test('there are golden proofs for both curves', () => {
  for (const curve of ['bn128', 'bls12381']) {
    assert.ok(golden.filter((g) => g.curve === curve).length >= 4);
  }
});

for (const [i, { curve, circuit, r, s, proof, public: publics }] of golden.entries()) {
  test(`golden ${i}: ${curve} ${circuit}`, (t) => {
    const dir = scratch(t);
    const source = join(vectorsDir, curve, circuit);
    const out = [join(dir, 'proof.json'), join(dir, 'public.json')];
    const inputs = [join(source, 'circuit_final.zkey'), join(source, 'witness.wtns')];
    const variants = [
      ['--threads', 1],
      ['--threads', 2],
      ['--threads', 7],
      ['--impl', 'ifma'], // of those, what the processor has
      ['--impl', 'asm'],
      ['--impl', 'portable'],
    ];
    for (const variant of variants) {
      const result = cuzkOk('prove', ...variant, '--insecure-blinding', `${r},${s}`, ...inputs, ...out);
      assert.match(result.stderr, /fixed blinding/);
      assert.equal(readFileSync(out[0], 'utf8'), text(proof), variant.join(' '));
      if (publics) assert.equal(readFileSync(out[1], 'utf8'), text(publics));
    }
    // As on processors without AVX-512 IFMA, and without ADX.
    for (const hide of ['scalar', 'baseline']) {
      const args = ['prove', '--insecure-blinding', `${r},${s}`, ...inputs, ...out];
      const result = runProgram(cuzkPath, args, { env: { ...process.env, CUZK_CPU: hide } });
      assert.equal(result.status, 0, result.stderr);
      assert.equal(readFileSync(out[0], 'utf8'), text(proof), `CUZK_CPU=${hide}`);
    }
  });
}
