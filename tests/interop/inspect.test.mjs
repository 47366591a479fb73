// The verbs that explain files: inspect, wtns check, export-vk.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { cuzk, cuzkOk, rootDir, scratch, sharedCircuits, vectorsDir } from './lib/env.mjs';

const mul3 = join(vectorsDir, 'bn128/mul3');
const inspect = (path, ...options) => JSON.parse(cuzkOk('inspect', path, '--json', ...options).stdout);

// The figures of the shared circuits, from the compiler.
const figures = {
  mul3: { constraints: 2, wires: 6, publics: 1, domain: 4, coefs: 6 },
  nopub: { constraints: 2, wires: 4, publics: 0, domain: 4, coefs: 5 },
  poseidon2: { constraints: 240, wires: 243, publics: 1, domain: 256, coefs: 956 },
  semaphore20: { wires: 6454, publics: 4, domain: 8192, coefs: 25781 },
  manypub: { wires: 4097, publics: 4096, domain: 8192, coefs: 8193 },
};

for (const c of sharedCircuits()) {
  const want = figures[c.name];
  test(`inspect ${c.curve}/${c.name}`, () => {
    const key = inspect(c.zkey);
    assert.equal(key.kind, 'zkey');
    assert.equal(key.status, 'ok');
    assert.equal(key.curve, c.curve);
    assert.equal(key.wires, want.wires);
    assert.equal(key.public_signals, want.publics);
    assert.equal(key.domain, want.domain);
    assert.equal(key.coefficients.A + key.coefficients.B, want.coefs);
    assert.deepEqual(key.queries.map((q) => q.points), [
      want.publics + 1, want.wires, want.wires, want.wires, want.wires - want.publics - 1, want.domain,
    ]);
    assert.equal(key.gamma_is_1, true);
    assert.equal(key.delta_is_1, false);
    const last = key.sections.at(-1);
    assert.equal(last.offset + last.bytes, key.bytes);
    assert.equal(key.sections.length, 10);

    const witness = inspect(c.wtns);
    assert.equal(witness.kind, 'wtns');
    assert.equal(witness.curve, c.curve);
    assert.equal(witness.wires, want.wires);
    assert.ok(witness.ones.count >= 1);

    if (want.constraints) {
      const system = inspect(c.r1cs);
      assert.equal(system.kind, 'r1cs');
      assert.equal(system.constraints, want.constraints);
      assert.equal(system.domain, want.domain);
      const { A, B } = system.terms;
      assert.equal(A + B + want.publics + 1, want.coefs);
    }
  });
}

test('inspect --full says that the subgroups were checked, and text and JSON agree', () => {
  const path = join(mul3, 'circuit_final.zkey');
  assert.match(inspect(path, '--full').points, /in their subgroups$/);
  assert.match(inspect(path).points, /--full/);
  const text = cuzkOk('inspect', path).stdout;
  assert.match(text, /^file: /);
  assert.match(text, /\n {2}section 5, name A, offset \d+, bytes 384\n/);
  assert.match(text, /\n {2}query B2, points 6, infinity 4 \(66\.7 %\)\n/);
  assert.match(text, /\nstatus: ok\n$/);
});

test('inspect shares of a witness', () => {
  const w = inspect(join(mul3, 'witness.wtns'));
  assert.deepEqual(w.zeros, { count: 0, percent: 0 });
  assert.deepEqual(w.ones, { count: 1, percent: 16.7 });
  assert.deepEqual(w['below_2^64'], { count: 6, percent: 100 });
});

test('inspect JSON documents and a ptau', () => {
  const dir = join(vectorsDir, 'bls12381/mul3');
  assert.equal(inspect(join(dir, 'proof.json')).curve, 'bls12381');
  assert.equal(inspect(join(dir, 'verification_key.json')).public_signals, 1);
  assert.equal(inspect(join(dir, 'public.json')).signals, 1);
  const ptau = inspect(join(rootDir, 'tests/fuzz/seeds/fuzz_ptau/prepared'));
  assert.equal(ptau.power, 1);
  assert.equal(ptau.prepared_for_phase_2, true);
});

test('inspect of what is broken: what is readable, then the error', (t) => {
  const whole = readFileSync(join(mul3, 'circuit_final.zkey'));
  const path = join(scratch(t), 'cut.zkey');
  writeFileSync(path, whole.subarray(0, 2000));
  const result = cuzk('inspect', path, '--json');
  assert.equal(result.status, 3);
  const report = JSON.parse(result.stdout);
  assert.ok(report.sections.length >= 4);
  assert.match(report.status, /section \d+ .* truncated/);
  assert.ok(result.stderr.includes(report.status));

  const bad = cuzk('inspect', join(vectorsDir, 'malformed/pointA_off_curve.zkey'));
  assert.equal(bad.status, 3);
  assert.match(bad.stderr, /section 5 \(A\) at offset \d+: point 1: expected .*, actual /);

  writeFileSync(path, '["1", "99999999999999999999999999999999999999999999999999999999999999999999999999999999"]');
  assert.equal(cuzk('inspect', path).status, 1);
  writeFileSync(path, '{"some": "thing"}');
  assert.equal(cuzk('inspect', path).status, 3);
  writeFileSync(path, '');
  assert.equal(cuzk('inspect', path).status, 3);
  assert.equal(cuzk('inspect', join(path, 'none')).status, 4);
  assert.equal(cuzk('inspect').status, 2);
  assert.equal(cuzk('inspect', path, '--wrong').status, 2);
});

test('export-vk writes the files of snarkjs', (t) => {
  const dir = scratch(t);
  let n = 0;
  for (const c of sharedCircuits()) {
    if (c.name === 'manypub') continue; // its verification key is not among the vectors
    const out = join(dir, 'vk.json');
    cuzkOk('export-vk', c.zkey, out);
    assert.ok(readFileSync(out).equals(readFileSync(c.vkey)), `${c.curve}/${c.name}`);
    n++;
  }
  assert.equal(n, 7);
  assert.equal(cuzk('export-vk', join(mul3, 'witness.wtns'), join(dir, 'none.json')).status, 3);
  assert.equal(cuzk('export-vk', join(mul3, 'none.zkey'), join(dir, 'none.json')).status, 4);
  assert.equal(cuzk('export-vk', join(mul3, 'circuit_final.zkey')).status, 2);
  assert.deepEqual(readdirSync(dir), ['vk.json']);
});

test('wtns check names the constraint, the values and the signals', (t) => {
  const dir = scratch(t);
  const r1cs = join(mul3, 'mul3.r1cs');
  const sym = join(dir, 'mul3.sym');
  const wtns = join(dir, 'bad.wtns');
  writeFileSync(sym, '1,1,0,main.d\n2,2,0,main.a\n3,3,0,main.b\n4,4,0,main.c\n5,5,0,main.ab\n');
  assert.match(cuzkOk('wtns', 'check', r1cs, join(mul3, 'witness.wtns')).stdout, /all 2 constraints/);

  const bytes = readFileSync(join(mul3, 'witness.wtns'));
  bytes[76 + 32] = 104; // main.d, which should be 3 * 5 * 7
  writeFileSync(wtns, bytes);
  const result = cuzk('wtns', 'check', r1cs, wtns, '--sym', sym);
  assert.equal(result.status, 1);
  assert.equal(result.stdout, '');
  assert.match(result.stderr, /does not satisfy constraint 1 of the 2 of /);
  assert.match(result.stderr, /A \* B = -105, C = -104\n/);
  assert.match(result.stderr, /-1 \* main\.d \(wire 1\) = 104\n/);
  assert.match(result.stderr, /1 \* main\.c \(wire 4\) = 7\n/);
  assert.match(cuzk('wtns', 'check', r1cs, wtns).stderr, /-1 \* wire 1 = 104\n/);

  writeFileSync(sym, '1,77,0,main.d\n');
  assert.equal(cuzk('wtns', 'check', r1cs, wtns, '--sym', sym).status, 3);
  assert.equal(cuzk('wtns', 'check', r1cs, wtns, '--sym', join(dir, 'none')).status, 4);
  const other = join(vectorsDir, 'bls12381/mul3/witness.wtns');
  assert.equal(cuzk('wtns', 'check', r1cs, other).status, 3);
  assert.equal(cuzk('wtns', 'check', r1cs).status, 2);
  assert.equal(cuzk('wtns', 'chekc', r1cs, wtns).status, 2);
  const poseidon = join(vectorsDir, 'bn128/poseidon2/poseidon2.r1cs');
  assert.equal(cuzk('wtns', 'check', poseidon, join(vectorsDir, 'malformed/unsatisfied.wtns')).status, 1);
});
