// `prover` and `verifier` behave like rapidsnark's: arguments, exit codes, what goes to stderr.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { program, readJson, runProgram, scratch, sharedCircuits, vectorsDir } from './lib/env.mjs';
import { endWorkers, verifies } from './lib/snarkjs.mjs';

after(endWorkers);

const prover = (...args) => runProgram(program('prover'), args);
const verifier = (...args) => runProgram(program('verifier'), args);
const usage = {
  prover: 'Usage: prover <circuit.zkey> <witness.wtns> <proof.json> <public.json>\n',
  verifier: 'Usage: verifier <verification_key.json> <inputs.json> <proof.json>\n',
};

for (const c of sharedCircuits()) {
  test(`${c.curve} ${c.name}: proves, verifies, and so does snarkjs`, async (t) => {
    const dir = scratch(t);
    const [proof, publics] = [join(dir, 'proof.json'), join(dir, 'public.json')];
    const made = prover(c.zkey, c.wtns, proof, publics);
    assert.deepEqual([made.status, made.stdout, made.stderr], [0, '', '']);
    const text = readFileSync(proof, 'utf8');
    assert.equal(text, JSON.stringify(readJson(proof)), 'one line, no spaces');
    assert.deepEqual(Object.keys(readJson(proof)), ['curve', 'pi_a', 'pi_b', 'pi_c', 'protocol']);
    assert.equal(readJson(proof).curve, c.curve);
    if (c.publics) assert.deepEqual(readJson(publics), readJson(c.publics));
    if (!existsSync(c.vkey)) return;
    assert.equal(await verifies(readJson(c.vkey), readJson(publics), readJson(proof)), true);
    const good = verifier(c.vkey, publics, proof);
    assert.deepEqual([good.status, good.stdout, good.stderr], [0, '', 'Result: Valid proof\n']);
    writeFileSync(publics, JSON.stringify([...readJson(publics), '1']));
    const bad = verifier(c.vkey, publics, proof);
    assert.deepEqual([bad.status, bad.stdout, bad.stderr], [1, '', 'Result: Invalid proof\n']);
  });

  if (c.proof && existsSync(c.vkey)) {
    test(`${c.curve} ${c.name}: the committed proof is valid`, () => {
      assert.equal(verifier(c.vkey, c.publics, c.proof).status, 0);
    });
  }
}

test('the device is the one that the environment names', (t) => {
  const [c] = sharedCircuits();
  const dir = scratch(t);
  const on = (device) =>
    runProgram(program('prover'), [c.zkey, c.wtns, join(dir, 'p'), join(dir, 'q')], {
      env: { ...process.env, CUZK_DEVICE: device, CUDA_VISIBLE_DEVICES: '' },
    });
  for (const good of ['', 'cpu']) assert.equal(on(good).status, 0, good);
  for (const bad of ['nonsense', 'cuda:7']) {
    const result = on(bad);
    assert.equal(result.status, 1, bad);
    assert.match(result.stderr, bad === 'nonsense' ? /^Error: CUZK_DEVICE: device is nonsense: cpu, cuda/ : /^Error: .*CUDA/);
  }
});

test('a wrong number of arguments', () => {
  for (const [name, run, right] of [
    ['prover', prover, 4],
    ['verifier', verifier, 3],
  ]) {
    for (let n = 0; n < 6; n++) {
      if (n === right) continue;
      const result = run(...Array(n).fill('x'));
      assert.equal(result.status, 1);
      assert.equal(result.stdout, '');
      assert.equal(result.stderr, `Invalid number of parameters:\n${usage[name]}`);
    }
  }
});

const base = join(vectorsDir, 'bn128/poseidon2');
const zkey = join(base, 'circuit_final.zkey');
const wtns = join(base, 'witness.wtns');

test('errors exit with 1, say why, and write nothing', (t) => {
  const dir = scratch(t);
  const out = [join(dir, 'proof.json'), join(dir, 'public.json')];
  const malformed = (name) => join(vectorsDir, 'malformed', name);
  const cases = [
    [[malformed('truncated.zkey'), wtns, ...out], /section 7/],
    [[malformed('pointA_off_curve.zkey'), wtns, ...out], /section 5/],
    [[zkey, malformed('unsatisfied.wtns'), ...out], /does not satisfy/],
    [[zkey, malformed('wrong_prime.wtns'), ...out], /section 1/],
    [[zkey, join(vectorsDir, 'bn128/mul3/witness.wtns'), ...out], /6 values.*243 wires/],
    [[join(dir, 'none'), wtns, ...out], /none/],
    [[zkey, wtns, join(dir, 'no/proof.json'), out[1]], /no\/proof.json/],
    [[zkey, wtns, out[0], join(dir, 'no/public.json')], /no\/public.json/],
  ];
  for (const [args, message] of cases) {
    const result = prover(...args);
    assert.equal(result.status, 1);
    assert.equal(result.stdout, '');
    assert.match(result.stderr, /^Error: [^\n]+\n$/);
    assert.match(result.stderr, message);
    assert.deepEqual(readdirSync(dir), []);
  }
});

test('what is no document is an error, what is false is invalid', (t) => {
  const dir = scratch(t);
  const vkey = join(base, 'verification_key.json');
  const [proof, publics] = [join(dir, 'proof.json'), join(dir, 'public.json')];
  assert.equal(prover(zkey, wtns, proof, publics).status, 0);
  mkdirSync(join(dir, 'd'));
  for (const args of [
    [vkey, publics, join(dir, 'none')],
    [vkey, publics, join(dir, 'd')],
    [vkey, proof, publics],
    [proof, publics, proof],
  ]) {
    const result = verifier(...args);
    assert.equal(result.status, 1);
    assert.match(result.stderr, /^Error: [^\n]+\n$/);
  }
  const r = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;
  const invalid = (signals) => {
    writeFileSync(publics, JSON.stringify(signals));
    const result = verifier(vkey, publics, proof);
    assert.deepEqual([result.status, result.stderr], [1, 'Result: Invalid proof\n']);
  };
  const [signal] = readJson(publics);
  invalid([`${BigInt(signal) + r}`]);
  invalid([`${BigInt(signal) + 1n}`]);
  invalid([]);
});
