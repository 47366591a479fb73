// The verifier contracts of `cuzk export-verifier`, compiled and run; `cuzk calldata` against
// snarkjs.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { cuzk, cuzkOk, readJson, scratch, sharedCircuits, vectorsDir } from './lib/env.mjs';
import { call, compile, encode } from './lib/evm.mjs';
import { endWorkers, snarkjs } from './lib/snarkjs.mjs';

after(endWorkers);

const curves = {
  bn128: {
    r: 21888242871839275222246405745257275088548364400416034343698204186575808495617n,
    q: 21888242871839275222246405745257275088696311157297823662689037894645226208583n,
    coordinate: 1,
  },
  bls12381: {
    r: 52435875175126190479447740508185965837690552500527637822603658699938581184513n,
    q: BigInt(
      '0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab',
    ),
    coordinate: 2,
  },
};

const EIP_170 = 24_576;

function exported(vkey, t) {
  const path = join(scratch(t), 'verifier.sol');
  const result = cuzkOk('export-verifier', vkey, path);
  return { source: readFileSync(path, 'utf8'), warning: result.stderr };
}

function signature(curve, n) {
  const shape = curve === 'bn128' ? ['uint256[2]', 'uint256[2][2]', 'uint256[2]'] : ['uint256[4]', 'uint256[8]', 'uint256[4]'];
  if (n > 0) shape.push(`uint256[${n}]`);
  return `verifyProof(${shape.join(',')})`;
}

// A point's coordinate with q added: the same number mod q, which nobody may accept.
function addPrime(point, curve) {
  const { q, coordinate } = curves[curve];
  if (coordinate === 1) return [BigInt(point[0]) + q, ...point.slice(1)];
  const x = (BigInt(point[0]) << 256n) + BigInt(point[1]) + q;
  return [x >> 256n, x & ((1n << 256n) - 1n), ...point.slice(2)];
}

for (const c of sharedCircuits().filter((c) => c.name !== 'manypub')) {
  test(`${c.curve} ${c.name}: the contract`, async (t) => {
    const dir = scratch(t);
    const [proof, publics] = [join(dir, 'proof.json'), join(dir, 'public.json')];
    cuzkOk('prove', c.zkey, c.wtns, proof, publics);
    const text = cuzkOk('calldata', proof, publics).stdout;
    const [a, b, pc, signals] = JSON.parse(`[${text}]`);
    const { source, warning } = exported(c.vkey, t);
    assert.equal(warning, '');
    const { code, selectors } = compile(source, 'Groth16Verifier');
    assert.ok(code.length <= EIP_170);
    const selector = selectors[signature(c.curve, signals.length)];
    assert.ok(selector, Object.keys(selectors).join());
    assert.equal(Object.keys(selectors).length, 1);

    const verdict = async (...args) => {
      const result = await call(code, encode(selector, ...args));
      assert.equal(result.ok, true, 'the contract must answer, not revert');
      assert.equal(result.data.length, 32);
      return result.data.readBigUInt64BE(24);
    };
    assert.equal(await verdict(a, b, pc, signals), 1n);
    for (let i = 0; i < signals.length; i++) {
      const changed = (delta) => signals.map((s, k) => BigInt(s) + (k === i ? delta : 0n));
      assert.equal(await verdict(a, b, pc, changed(1n)), 0n);
      assert.equal(await verdict(a, b, pc, changed(curves[c.curve].r)), 0n);
    }
    const plusOne = (list) => [...list.slice(0, -1), BigInt(list.at(-1)) + 1n];
    const zeros = (list) => list.flat().map(() => 0);
    assert.equal(await verdict(pc, b, a, signals), 0n, 'A and C swapped');
    assert.equal(await verdict(plusOne(a), b, pc, signals), 0n, 'A off the curve');
    assert.equal(await verdict(a, plusOne(b.flat()), pc, signals), 0n, 'B off the curve');
    assert.equal(await verdict(a, b, plusOne(pc), signals), 0n, 'C off the curve');
    assert.equal(await verdict(addPrime(a, c.curve), b, pc, signals), 0n, 'A.x + q');
    assert.equal(await verdict(a, b, addPrime(pc, c.curve), signals), 0n, 'C.x + q');
    assert.equal(await verdict(zeros(a), zeros(b), zeros(pc), signals), 0n, 'all at infinity');
    const short = await call(code, encode(selector, a, b));
    assert.equal(short.ok, false, 'arguments missing');
  });
}

for (const c of sharedCircuits().filter((c) => c.curve === 'bn128' && c.proof)) {
  test(`bn128 ${c.name}: call data are those of snarkjs`, async () => {
    const ours = cuzkOk('calldata', c.proof, c.publics).stdout;
    const theirs = await snarkjs.groth16.exportSolidityCallData(readJson(c.proof), readJson(c.publics));
    assert.equal(ours, `${theirs}\n`);
  });
}

// The bound in the warning is the one that matters.
for (const [curve, fits] of [
  ['bn128', 360],
  ['bls12381', 175],
]) {
  test(`${curve}: a contract that is too large comes with a warning`, (t) => {
    const vkey = readJson(join(vectorsDir, curve, 'poseidon2/verification_key.json'));
    const path = join(scratch(t), 'vkey.json');
    const size = (n) => {
      vkey.IC = Array.from({ length: n + 1 }, (_, i) => vkey.IC[i % 2]);
      vkey.nPublic = n;
      writeFileSync(path, JSON.stringify(vkey));
      const { source, warning } = exported(path, t);
      return [compile(source, 'Groth16Verifier').code.length, warning];
    };
    const [small, silence] = size(fits);
    assert.ok(small <= EIP_170 && small > EIP_170 * 0.9, `${fits} signals: ${small} bytes`);
    assert.equal(silence, '');
    assert.match(size(fits + 1)[1], /24,576/);
  });
}

test('arguments and documents that are wrong', (t) => {
  const dir = scratch(t);
  const vkey = join(vectorsDir, 'bn128/mul3/verification_key.json');
  const out = join(dir, 'out.sol');
  assert.equal(cuzk('export-verifier', vkey).status, 2);
  assert.equal(cuzk('calldata', vkey).status, 2);
  assert.equal(cuzk('export-verifier', join(dir, 'none'), out).status, 4);
  assert.equal(cuzk('export-verifier', join(vectorsDir, 'MANIFEST.tsv'), out).status, 3);
  assert.equal(cuzk('export-verifier', vkey, join(dir, 'no/out.sol')).status, 4);
  assert.equal(cuzk('calldata', vkey, vkey).status, 3);
  assert.deepEqual(readdirSync(dir), []);
});
