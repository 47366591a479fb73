// Filecoin's proofs on the command line: sectors made, proved and verified with development keys,
// and what is refused. What a library test cannot see: exit codes, messages, files.
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';

import { cuzk, cuzkOk, cuzkPath, rootDir, runProgram, scratch } from './lib/env.mjs';

const vectors = join(rootDir, 'tests/vectors/porep');
const littleEndian = (hex) => BigInt(`0x${Buffer.from(hex, 'hex').reverse().toString('hex')}`).toString();

// The secrets and blinding that the reference implementation's vectors were made with.
const secrets = {
  alpha: '039a5b7043ed72ed9447dfd7690cf6ac9753cda4c14de26c5a132e648fb16300',
  beta: '552ab1fc97eff8406a144532cb543152d1d5f36d3c34804b0afb5f0ed6334a00',
  gamma: '137764a0416c70d3370f7702766e6491aa4c1bd008560721c6cadea32f1f5500',
  delta: '7c32b79e427eacc598810f43d2aa1adf07ea90b8b04c2bae1fc9d6f5dd9c5200',
  tau: 'd61d0ac2599cc40016c23be7895f12acf96ed3a9a33b7e124352eb1d504efa00',
};
const blinding = [
  '8a7f4c52ddfd850947d13d0fbf2455a744e18f043f6c9f29cf630f4af5a57a00',
  '7e71242df02914abdf57488196f3993a822f1b1ed2414f8899665fb0d9809900',
].map(littleEndian).join(',');

const seed = Buffer.from('cuzk test').toString('hex'); // of the vectors' sectors
const window = (dir, name, ...more) => {
  const path = join(dir, name);
  cuzkOk('sector', 'wpost-2k', '--seed', seed, '--sector', 7, ...more, path);
  return path;
};

const state = {};
before((t) => {
  state.dir = scratch(t);
  state.keys = join(state.dir, 'keys');
  cuzkOk('setup', '--circuit', 'wpost-2k', '--insecure-toxic', Object.values(secrets).map(littleEndian).join(','), state.keys);
  state.flags = ['--params', state.keys, '--allow-insecure-keys'];
  state.two = window(state.dir, 'two.json', '--registered-proof', 10);
  state.one = window(state.dir, 'one.json', '--registered-proof', 5, '--sectors', 1);
});

// One line on stderr, nothing on stdout, no file.
function refuses(t, code, part, verb, command, input, ...more) {
  const out = join(scratch(t), 'proof.bin');
  const result = cuzk(verb, command, input, out, ...more);
  assert.equal(result.status, code, result.stderr);
  assert.equal(result.stdout, '');
  const lines = result.stderr.trim().split('\n').filter((line) => !line.includes('warning:'));
  assert.equal(lines.length, code === 2 && !lines[0].includes('--partition') ? 2 : 1, result.stderr);
  assert.ok(lines[0].startsWith(`cuzk ${verb}: `), result.stderr);
  assert.ok(lines[0].includes(part), `"${lines[0]}" should name ${part}`);
  assert.throws(() => statSync(out));
}

test('a WindowPoSt equals the reference implementation’s, byte for byte, and verifies', () => {
  const out = join(state.dir, 'two.bin');
  const report = JSON.parse(
    cuzkOk('wpost', 'prove', state.two, out, ...state.flags, '--insecure-blinding', blinding, '--json').stdout,
  );
  const want = JSON.parse(readFileSync(join(vectors, 'proofs/window_2kib_v1_2.json'), 'utf8')).proof;
  assert.equal(readFileSync(out).toString('hex'), want);
  assert.equal(report.verified, true);
  assert.equal(report.insecure_key, true);
  assert.equal(report.proof_bytes, 192);
  assert.equal(cuzkOk('wpost', 'verify', state.two, out, ...state.flags).stdout, 'valid\n');
  const other = cuzk('wpost', 'verify', state.one, out, ...state.flags);
  assert.equal(other.status, 1, other.stderr);
});

test('a proof with fresh blinding verifies; each byte of it counts', (t) => {
  const out = join(state.dir, 'one.bin');
  cuzkOk('wpost', 'prove', state.one, out, ...state.flags);
  assert.equal(cuzkOk('wpost', 'verify', state.one, out, ...state.flags, '--partition', 0).stdout, 'valid\n');
  const proof = readFileSync(out);
  const changed = join(scratch(t), 'changed.bin');
  for (const at of [0, 47, 48, 143, 144, 191]) {
    const copy = Buffer.from(proof);
    copy[at] ^= 1;
    writeFileSync(changed, copy);
    const result = cuzk('wpost', 'verify', state.one, changed, ...state.flags);
    assert.equal(result.status, 1, result.stderr);
  }
  for (const length of [0, 191, 384]) {
    writeFileSync(changed, Buffer.concat([proof, proof]).subarray(0, length));
    const result = cuzk('wpost', 'verify', state.one, changed, ...state.flags);
    assert.equal(result.status, 3, result.stderr);
    assert.match(result.stderr, /expected/);
  }
});

test('public values alone are enough to verify', (t) => {
  const out = join(state.dir, 'public.bin');
  cuzkOk('wpost', 'prove', state.one, out, ...state.flags);
  const request = JSON.parse(readFileSync(state.one, 'utf8'));
  const blob = Buffer.from(request.vanilla_proofs[0], 'base64');
  delete request.vanilla_proofs;
  request.sectors = [{ sector_number: Number(blob.readBigUInt64LE(0)), comm_r: blob.subarray(8, 40).toString('hex') }];
  const path = join(scratch(t), 'public.json');
  writeFileSync(path, JSON.stringify(request));
  assert.equal(cuzkOk('wpost', 'verify', path, out, ...state.flags).stdout, 'valid\n');
  refuses(t, 3, 'vanilla_proofs', 'wpost', 'prove', path, ...state.flags);
  request.sectors[0].sector_number += 1;
  writeFileSync(path, JSON.stringify(request));
  assert.equal(cuzk('wpost', 'verify', path, out, ...state.flags).status, 1);
});

test('a false vanilla proof is exit code 1 and says where', (t) => {
  const request = JSON.parse(readFileSync(state.two, 'utf8'));
  const blob = Buffer.from(request.vanilla_proofs[1], 'base64');
  blob[8 + 32 + 16 + 4 + 64 + 16] ^= 1; // a sibling of the first path
  request.vanilla_proofs[1] = blob.toString('base64');
  const path = join(scratch(t), 'false.json');
  writeFileSync(path, JSON.stringify(request));
  refuses(t, 1, 'challenge 0', 'wpost', 'prove', path, ...state.flags);
});

test('what a request states beside its vanilla proofs is compared with them', (t) => {
  const dir = scratch(t);
  const path = join(dir, 'stated.json');
  const proof = join(dir, 'proof.bin');
  writeFileSync(proof, Buffer.alloc(192));
  const refusesBoth = (code, part, verb, request, ...more) => {
    writeFileSync(path, JSON.stringify(request));
    refuses(t, code, part, verb, 'prove', path, ...state.flags, ...more);
    const result = cuzk(verb, 'verify', path, proof, ...state.flags, ...more);
    assert.equal(result.status, code, result.stderr);
    assert.ok(result.stderr.includes(part), result.stderr);
  };
  const one = JSON.parse(readFileSync(state.one, 'utf8'));
  const seven = '07'.repeat(32);
  refusesBoth(1, 'actual 999', 'wpost', { ...one, sectors: [{ sector_number: 999, comm_r: seven }] });
  refusesBoth(1, `actual ${seven}`, 'wpost', { ...one, sectors: [{ sector_number: 7, comm_r: seven }] });
  refusesBoth(1, 'sector_number: expected', 'wpost', { ...one, sector_number: 999 });
  refusesBoth(3, 'comm_r: expected', 'wpost', { ...one, comm_r: seven });
  refusesBoth(3, 'none that is known', 'wpost', { ...one, registered_proof: '' });
  refusesBoth(3, 'StackedDrgWindow2KiBV1_2', 'wpost', { ...one, registered_proof: 'StackedDrgWindow2KiBV1_1' });

  const porep = { vanilla_proof: readFileSync(join(vectors, 'c1_2kib_lotusbench.json')).toString('base64') };
  for (const name of ['comm_r', 'comm_d', 'replica_id', 'seed', 'ticket'])
    refusesBoth(1, `${name}: expected`, 'porep', { ...porep, [name]: seven });
  refusesBoth(1, 'miner 1001, sector 1', 'porep', { ...porep, miner_id: 1001 });
  refusesBoth(3, 'SectorNum', 'porep', { ...porep, sector_number: 2 });
  refusesBoth(3, 'sector_size: expected 2048', 'porep', { ...porep, sector_size: 1 });
  refusesBoth(3, 'of WINNING_POST only', 'porep', { ...porep, proof_kind: 'WINNING_POST' });
  refusesBoth(3, 'vanilla_proofs: expected', 'porep', { ...porep, vanilla_proofs: ['AAAA'] });
  refusesBoth(3, 'miner_id: expected 1001', 'porep', { ...porep, miner_id: 1000 }, '--miner', 1001);
  refusesBoth(3, 'sector_number: expected 2', 'porep', { ...porep, sector_number: 1 }, '--sector', 2);
  refusesBoth(3, 'registered_proof: expected', 'porep', { ...porep, registered_proof: 5 }, '--registered-proof', 0);
  writeFileSync(path, `\ufeff${readFileSync(state.one, 'utf8')}`);
  refuses(t, 3, 'byte order mark', 'wpost', 'prove', path, ...state.flags);
});

test('malformed requests, other kinds and keys that are not there', (t) => {
  const dir = scratch(t);
  const path = join(dir, 'bad.json');
  const whole = readFileSync(state.two, 'utf8');
  writeFileSync(path, whole.slice(0, whole.length / 2));
  refuses(t, 3, `${path}: offset `, 'wpost', 'prove', path, ...state.flags);
  writeFileSync(path, whole.replace('"registered_proof"', '"registered_prof"'));
  refuses(t, 3, 'registered_prof', 'wpost', 'prove', path, ...state.flags);
  refuses(t, 3, 'use `cuzk wpost`', 'snap', 'prove', state.two, ...state.flags);
  refuses(t, 2, '--partition 1', 'wpost', 'prove', state.two, ...state.flags, '--partition', 1);
  refuses(t, 2, '--miner', 'wpost', 'prove', state.two, ...state.flags, '--miner', 1000);
  refuses(t, 4, 'nothing.json', 'wpost', 'prove', join(dir, 'nothing.json'), ...state.flags);
  refuses(t, 3, '--allow-insecure-keys', 'wpost', 'prove', state.two, '--params', state.keys);
  const eight = join(dir, 'w.json');
  cuzkOk('sector', 'winning-2k', '--seed', seed, eight);
  refuses(t, 4, 'v28-', 'winning', 'prove', eight, ...state.flags);
  const same = cuzk('wpost', 'prove', state.two, state.two, ...state.flags);
  assert.equal(same.status, 2, same.stderr);
  assert.equal(readFileSync(state.two, 'utf8'), whole);
});

test('a C1 output: replica_id, damage, and the reference implementation’s proof', (t) => {
  const dir = scratch(t);
  const c1 = join(vectors, 'c1_2kib_lotusbench.json');
  refuses(t, 1, 'miner 1001, sector 1', 'porep', 'prove', c1, ...state.flags, '--miner', 1001);
  refuses(t, 3, 'SectorNum', 'porep', 'prove', c1, ...state.flags, '--miner', 1000, '--sector', 2);
  refuses(t, 3, 'StackedDrg8MiBV1', 'porep', 'prove', c1, ...state.flags, '--registered-proof', 6);
  refuses(t, 2, '--registered-proof 20', 'porep', 'prove', c1, ...state.flags, '--registered-proof', 20);
  const bytes = readFileSync(join(vectors, 'c1_2kib_bincode.bin'));
  bytes[2000] ^= 4;
  const bad = join(dir, 'bad.bin');
  writeFileSync(bad, bytes);
  refuses(t, 1, 'partition 0, challenge 0', 'porep', 'prove', bad, ...state.flags);
  writeFileSync(bad, bytes.subarray(0, 28000));
  refuses(t, 3, 'offset', 'porep', 'prove', bad, ...state.flags);

  // the .vk alone verifies; it stands in for the published one with a sidecar
  const line = readFileSync(join(vectors, 'parameters.tsv'), 'utf8').split('\n')
    .find((l) => l.includes('stacked-proof-of-replication') && l.split('\t')[1] === '2048');
  const stem = join(dir, line.split('\t')[0]);
  copyFileSync(join(vectors, 'keys/porep-2KiB.vk'), `${stem}.vk`);
  writeFileSync(`${stem}.insecure`, 'for a test\n');
  const vector = JSON.parse(readFileSync(join(vectors, 'proofs/porep_2kib_lotusbench.json'), 'utf8'));
  const proof = join(dir, 'proof.bin');
  writeFileSync(proof, Buffer.from(vector.proof, 'hex'));
  const flags = ['--params', dir, '--allow-insecure-keys'];
  const checked = cuzkOk('porep', 'verify', c1, proof, ...flags, '--miner', 1000);
  assert.equal(checked.stdout, 'valid\n');
  assert.doesNotMatch(checked.stderr, /replica_id/);
  assert.match(cuzkOk('porep', 'verify', c1, proof, ...flags).stderr, /warning: replica_id/);
  const other = join(dir, 'other.json');
  cuzkOk('sector', 'porep-2k', '--seed', seed, other);
  assert.equal(cuzk('porep', 'verify', other, proof, ...flags).status, 1);
  assert.ok(readdirSync(dir).length > 0);
});

test('bench witness and eval give the reference implementation’s digests', () => {
  const rows = (command, path) => JSON.parse(cuzkOk('bench', command, '--runs', 1, path).stdout).results;
  const [witness] = rows('witness', state.two);
  const vector = JSON.parse(readFileSync(join(vectors, 'proofs/window_2kib_v1_2.json'), 'utf8'));
  assert.equal(witness.digest, vector.witness_blake2s);
  assert.equal(witness.verified, true);
  assert.ok(witness.core_seconds > 0 && witness.witness_bytes > 0);
  const [values] = rows('eval', state.two);
  assert.deepEqual(Object.values(values.digests), vector.abc_blake2s);
  assert.equal(values.verified, true);
  for (const [name, vectorName, label] of [
    ['winning-2k', 'winning_2kib_v1', 'test'],
    ['snap-2k', 'update_2kib', 'test'],
    ['winning-32g', 'winning_sparse_32gib', 'sparse'],
  ]) {
    const path = join(state.dir, `${name}.json`);
    const from = Buffer.from(`cuzk ${label}`).toString('hex');
    cuzkOk('sector', name, '--seed', from, '--sector', label === 'test' ? 7 : 77, path);
    const want = JSON.parse(readFileSync(join(vectors, `proofs/${vectorName}.json`), 'utf8'));
    assert.equal(rows('witness', path)[0].digest, want.witness_blake2s, name);
    assert.deepEqual(Object.values(rows('eval', path)[0].digests), want.abc_blake2s, name);
  }
  const c1 = join(vectors, 'c1_2kib_lotusbench.json');
  const porep = JSON.parse(readFileSync(join(vectors, 'proofs/porep_2kib_lotusbench.json'), 'utf8'));
  assert.equal(rows('witness', c1)[0].digest, porep.witness_blake2s);
  assert.deepEqual(Object.values(rows('eval', c1)[0].digests), porep.abc_blake2s);
  assert.equal(cuzk('bench', 'witness', '--partition', 1, c1).status, 2);
  for (const command of ['witness', 'eval']) {
    const env = { ...process.env, CUZK_FAULT: 'bench_result' }; // one bit of the result
    const result = runProgram(cuzkPath, ['bench', command, '--runs', '1', state.two], { env });
    assert.equal(result.status, 70, result.stderr);
    assert.equal(JSON.parse(result.stdout).results[0].verified, false);
  }
});

test('--help of each verb', () => {
  for (const verb of ['porep', 'wpost', 'winning', 'snap'])
    assert.match(cuzkOk(verb, '--help').stdout, new RegExp(`^usage: cuzk ${verb} prove `));
});
