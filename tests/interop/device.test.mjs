// --device: what is asked for is used, or the command fails; nothing falls back.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { cuzk, cuzkOk, scratch, vectorsDir } from './lib/env.mjs';

const base = join(vectorsDir, 'bn128/mul3');
const inputs = [join(base, 'circuit_final.zkey'), join(base, 'witness.wtns')];
const r1cs = join(base, 'mul3.r1cs');
const stages = ['eval', 'ntt', 'msm_a', 'msm_b1', 'msm_b2', 'msm_c', 'msm_h'];

test('on the CPU every stage says so', (t) => {
  const dir = scratch(t);
  const out = [join(dir, 'proof.json'), join(dir, 'public.json')];
  for (const words of [[], ['--device', 'cpu']]) {
    const report = JSON.parse(cuzkOk('prove', '--json', ...words, ...inputs, ...out).stdout);
    assert.equal(report.device, 'cpu');
    assert.equal(report.sums_on, 'cpu');
    assert.deepEqual(report.stage_devices, Object.fromEntries([...stages, 'verify'].map((s) => [s, 'cpu'])));
    assert.equal(report.device_ms, undefined);
  }
});

test('a CUDA device computes, or the command fails with exit code 5 and writes nothing', (t) => {
  const dir = scratch(t);
  const result = cuzk('prove', '--json', '--device', 'cuda', ...inputs, join(dir, 'p'), join(dir, 'q'));
  if (result.status === 0) {
    const report = JSON.parse(result.stdout);
    assert.equal(report.device, 'cuda:0');
    for (const stage of stages) assert.equal(report.stage_devices[stage], 'cuda:0');
    assert.equal(report.stage_devices.verify, 'cpu');
    assert.ok(report.bytes_to_device > 0 && report.device_name.length > 0);
    return;
  }
  assert.equal(result.status, 5, result.stderr);
  assert.match(result.stderr, /^cuzk prove: [^\n]*(no CUDA device 0(: there is no NVIDIA driver [(]libcuda|: | [(])|built without CUDA)[^\n]*\n$/);
  assert.equal(result.stdout, '');
  assert.deepEqual(readdirSync(dir), []);
});

test('a device far beyond any is none', (t) => {
  const dir = scratch(t);
  const result = cuzk('prove', '--device', 'cuda:1000', ...inputs, join(dir, 'p'), join(dir, 'q'));
  assert.equal(result.status, 5, result.stderr);
  assert.match(result.stderr, /cuda:1000|CUDA device 1000/);
  assert.deepEqual(readdirSync(dir), []);
  assert.equal(cuzk('bench', 'prove', '--device', 'cuda:1000', ...inputs).status, 5);
});

test('keys are the same wherever points are multiplied out', (t) => {
  const dir = scratch(t);
  const make = (name, ...words) =>
    cuzk('setup', ...words, r1cs, join(dir, name), '--insecure-seed', '0a0b');
  const cpu = make('cpu.zkey', '--json', '--device', 'cpu');
  assert.equal(cpu.status, 0, cpu.stderr);
  const report = JSON.parse(cpu.stdout);
  assert.equal(report.key, join(dir, 'cpu.zkey'));
  assert.equal(report.points_on, 'cpu');
  assert.ok(report.points_g1 > report.points_g2 && report.points_g2 > 0);
  assert.equal(report.device_ms, undefined);
  const gpu = make('gpu.zkey', '--json', '--device', 'cuda');
  if (gpu.status === 0) {
    assert.deepEqual(readFileSync(join(dir, 'gpu.zkey')), readFileSync(join(dir, 'cpu.zkey')));
    assert.equal(JSON.parse(gpu.stdout).points_on, 'cuda:0');
    return;
  }
  assert.equal(gpu.status, 5, gpu.stderr);
  assert.match(gpu.stderr, /no CUDA device 0|built without CUDA/);
  assert.equal(gpu.stdout, '');
  assert.deepEqual(readdirSync(dir), ['cpu.zkey']);
});

test('kernels are timed on a device, or the command fails with exit code 5', () => {
  const result = cuzk('bench', 'ntt', '--device', 'cuda', '--log2', '4', '--runs', '1');
  if (result.status === 5) {
    assert.match(result.stderr, /no CUDA device 0|built without CUDA/);
    assert.equal(result.stdout, '');
    return;
  }
  assert.equal(result.status, 0, result.stderr);
  for (const row of JSON.parse(result.stdout).results) {
    assert.equal(row.device, 'cuda:0');
    assert.equal(row.verified, true);
    assert.ok(row.share_of_floor > 0 && row.bytes_moved > 0 && row.hardware.driver > 0);
  }
});

test('other words are a wrong use', (t) => {
  const dir = scratch(t);
  for (const word of ['gpu', 'cuda:', 'cuda:x', 'cuda:99999', 'cudas', '']) {
    const result = cuzk('prove', '--device', word, ...inputs, join(dir, 'p'), join(dir, 'q'));
    assert.equal(result.status, 2, `${word}: ${result.stderr}`);
  }
  assert.equal(cuzk('bench', 'witness', '--device', 'gpu', inputs[0]).status, 2);
  for (const words of [['field'], ['bits'], ['ntt', '--step', '2'], ['eval', '--circuit', 'porep-2k']])
    assert.equal(cuzk('bench', ...words).status, 2, words.join(' '));
  for (const words of [['--impl', 'asm'], ['--vs', 'blst', '--curve', 'bls12_381'], ['--window', '3']])
    assert.equal(cuzk('bench', 'msm', '--device', 'cuda', ...words).status, 2, words.join(' '));
  assert.equal(cuzk('setup', '--device', 'gpu', r1cs, join(dir, 'k'), '--insecure-seed', '00').status, 2);
  assert.equal(cuzk('bench', 'partition', '--insecure-seed', '00', inputs[0]).status, 2);
  assert.equal(cuzk('porep', 'verify', '--device', 'cuda', ...inputs).status, 2);
  assert.deepEqual(readdirSync(dir), []);
});

test('a plan adds up, fits, and names the least that does; without CUDA it is an error', (t) => {
  const dir = scratch(t);
  const params = 'v28-proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-0-0-'
    + '0170db1f394b35d995252228ee359194b13199d259380541dc529fb0099096b0.params';
  const plan = (...words) => cuzk('plan', '--json', '--circuit', 'porep-2k', ...words);
  const first = plan('--vram', '8GiB');
  if (first.status !== 0) {
    assert.equal(first.status, 5, first.stderr);
    assert.match(first.stderr, /^cuzk plan: [^\n]*built without CUDA[^\n]*\n$/);
    return;
  }
  const bytes = (r) => Object.values(r).reduce((a, b) => a + b, 0);
  for (const vram of [1, 2, 8, 64]) {
    const p = JSON.parse(plan('--vram', `${vram}GiB`).stdout);
    assert.equal(p.log2_domain, 22);
    assert.equal(bytes(p.device), 2 * p.device.all);
    assert.ok(p.device.all <= vram * 2 ** 30);
    assert.equal(p.streamed_bytes > 0, p.form.startsWith('streamed'));
    assert.ok(p.predicted_ms_slow_link >= p.predicted_ms);
  }
  const little = plan('--vram', '64MiB');
  assert.equal(little.status, 5);
  const least = Number(/at least (\d+) bytes/.exec(little.stderr)[1]);
  assert.equal(plan('--vram', String(least)).status, 0);
  assert.equal(plan('--vram', String(least - 65536)).status, 5);
  assert.equal(cuzk('prove', '--vram', '1GiB', ...inputs, 'p', 'q').status, 2);
  assert.equal(plan('--vram', 'much').status, 2);
  assert.equal(plan('--partitions', '0').status, 2);
  const absent = cuzk('plan', join(dir, params));
  assert.deepEqual([absent.status, /No such file/.test(absent.stderr)], [4, true], absent.stderr);
  writeFileSync(join(dir, params), '');
  assert.match(cuzkOk('plan', join(dir, params)).stdout, /^wpost-2k, domain 2\^15/);
});
