// cuzk sector: what it writes is the reference implementation's, byte for byte, and what it cannot
// make it refuses with a reason and without a file.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { cuzk, cuzkOk, readJson, rootDir, scratch } from './lib/env.mjs';

const vectors = join(rootDir, 'tests/vectors/porep');
const hex = (text) => Buffer.from(text).toString('hex');
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

// The vectors' values are hashes of texts that begin with these.
const testSeed = hex('cuzk test');
const sparseSeed = hex('cuzk sparse');

test('a real sector, derived from the seed, in every format', (t) => {
  const dir = scratch(t);
  const [json, bincode, lotus] = ['json', 'bincode', 'lotus'].map((f) => join(dir, f));
  const args = ['sector', 'porep-2k', '--seed', testSeed, '--sector', 7];
  const said = cuzkOk(...args, json).stdout;
  assert.match(said, /StackedDrg2KiBV1_1, real sector 7 of miner 1000, 100\d{3} bytes\n$/);
  cuzkOk(...args, '--format', 'bincode', bincode);
  cuzkOk(...args, '--format', 'lotus', '--threads', 1, lotus);
  assert.deepEqual(readFileSync(bincode), readFileSync(join(vectors, 'c1_real_2kib_bincode.bin')));
  assert.equal(
    sha256(readFileSync(lotus)),
    'ca82fd74092e8e900b75fdaf2b3f13cb6efd8332ff9ce6625fce35cee9e6119c',
  );
  const wrapper = readJson(lotus);
  assert.equal(wrapper.SectorNum, 7);
  assert.equal(wrapper.SectorSize, 2048);
  assert.deepEqual(Buffer.from(wrapper.Phase1Out, 'base64'), readFileSync(json));
});

test('a real sector whose every value is given', (t) => {
  const dir = scratch(t);
  const [data, out] = [join(dir, 'data'), join(dir, 'c1')];
  writeFileSync(data, Buffer.alloc(2032));
  const given = ['--ticket', '00'.repeat(32), '--challenge-seed', '01'.repeat(32)];
  const args = ['sector', 'porep-2k', '--seed', '00', '--data', data, ...given];
  cuzkOk(...args, '--format', 'bincode', out);
  assert.deepEqual(readFileSync(out), readFileSync(join(vectors, 'c1_2kib_bincode.bin')));
  // the registered proof's porep_id, given in both ways
  const id = `05${'00'.repeat(31)}`;
  for (const porepId of ['5', id]) {
    cuzkOk(...args, '--porep-id', porepId, '--format', 'bincode', out);
    assert.deepEqual(readFileSync(out), readFileSync(join(vectors, 'c1_2kib_bincode.bin')));
  }
  cuzkOk(...args, '--porep-id', '6', '--format', 'bincode', out);
  assert.notDeepEqual(readFileSync(out), readFileSync(join(vectors, 'c1_2kib_bincode.bin')));
});

test('the rules of other registered proofs, by name and number', (t) => {
  const out = join(scratch(t), 'c1');
  const args = ['sector', 'porep-2k', '--seed', testSeed];
  cuzkOk(...args, '--sector', 11, '--registered-proof', 15, '--format', 'bincode', out);
  assert.equal(
    sha256(readFileSync(out)),
    '59d8b3109179e3107b9da622c7298544ac4ee7a022a0e25f19cbaf961b17af87',
  );
  const synthetic = 'StackedDrg2KiBV1_1_Feat_SyntheticPoRep';
  cuzkOk(...args, '--sector', 10, '--registered-proof', synthetic, '--format', 'lotus', out);
  assert.equal(
    sha256(readFileSync(out)),
    'a4648744bc1cc4b6e2c865d7350ef62cd07439088f13f44dd98cd11cf286935d',
  );
});

test('a synthetic sector of 512 MiB', (t) => {
  const out = join(scratch(t), 'c1');
  const args = ['--seed', sparseSeed, '--sector', 77, '--format', 'bincode'];
  assert.match(cuzkOk('sector', 'porep-512m', ...args, out).stdout, /synthetic sector 77/);
  assert.equal(
    sha256(readFileSync(out)),
    '65052c2d87c50ad38446f03d01be70e45fec7ff4a8091a51d05a7bb4a32a592e',
  );
});

test('requests for PoSt and updates', (t) => {
  const out = join(scratch(t), 'request.json');
  const blobs = () => readJson(out).vanilla_proofs.map((b) => Buffer.from(b, 'base64').length);
  cuzkOk('sector', 'wpost-2k', '--seed', testSeed, '--sector', 7, out);
  assert.deepEqual(blobs(), [5680, 5680]);
  const window = readJson(out);
  assert.equal(window.proof_kind, 'WINDOW_POST_PARTITION');
  assert.equal(window.registered_proof, 10);
  assert.equal(window.randomness, 'tAPKb/VAz794KNUGA4WzFN6Py/+cDb5hgutGXwvnLDs=');
  cuzkOk('sector', 'winning-32g', '--seed', sparseSeed, '--sector', 77, out);
  assert.deepEqual(blobs(), [164064]);
  assert.equal(readJson(out).proof_kind, 'WINNING_POST');
  cuzkOk('sector', 'wpost-64g', '--seed', '00', '--sectors', 5, '--partition', 2, out);
  assert.equal(readJson(out).partition_index, 2);
  assert.equal(blobs().length, 5);
  cuzkOk('sector', 'snap-2k', '--seed', testSeed, '--sector', 7, out);
  assert.deepEqual(blobs(), [15064]);
  assert.equal(readJson(out).comm_r_new, 'geIVgEzs1z10PNUkH98fPv+6LKtCS98WMZ6oB+MQ50s=');
  cuzkOk('sector', 'snap-512m', '--seed', '00', out);
  assert.equal(blobs().length, 16);
});

test('the same seed gives the same bytes, another others', (t) => {
  const dir = scratch(t);
  const [a, b] = [join(dir, 'a'), join(dir, 'b')];
  for (const name of ['porep-2k', 'wpost-2k', 'winning-2k', 'snap-2k']) {
    cuzkOk('sector', name, '--seed', '0123', a);
    cuzkOk('sector', name, '--seed', '0123', '--threads', 1, b);
    assert.deepEqual(readFileSync(a), readFileSync(b));
    cuzkOk('sector', name, '--seed', '0124', b);
    assert.notDeepEqual(readFileSync(a), readFileSync(b));
  }
});

const refusals = [
  [['porep-2k'], /--seed HEX is required/],
  [['porep-2k', '--seed', '0'], /even number of hexadecimal digits/],
  [['porep-2k', '--seed', '00'.repeat(65)], /even number of hexadecimal digits/],
  [['porep-3k', '--seed', '00'], /no sector for porep-3k/],
  [['snap-poseidon-2k', '--seed', '00'], /no sector for/],
  [['porep-4k', '--seed', '00'], /no registered proof/],
  [['snap-4k', '--seed', '00'], /no registered proof/],
  [['porep-2k', '--seed', '00', '--registered-proof', '6'], /is none of porep-2k/],
  [['porep-2k', '--seed', '00', '--registered-proof', '20'], /is none of porep-2k/],
  [['wpost-2k', '--seed', '00', '--registered-proof', '0'], /is none of wpost-2k/],
  [['winning-2k', '--seed', '00', '--partition', '3'], /goes with wpost- only/],
  [['wpost-2k', '--seed', '00', '--registered-proof', 'StackedDrgWindow2KiBV1_1'], /is StackedDrgWindow2KiBV1_2 here/],
  [['porep-512m', '--seed', '00', '--registered-proof', '12'], /depend on comm_r/],
  [['porep-2k', '--seed', '00', '--ticket', '00'], /64 hexadecimal digits/],
  [['porep-2k', '--seed', '00', '--porep-id', '-1'], /64 hexadecimal digits or a number/],
  [['porep-2k', '--seed', '00', '--format', 'xml'], /json, lotus or bincode/],
  [['porep-2k', '--seed', '00', '--sectors', '2'], /goes with wpost/],
  [['wpost-2k', '--seed', '00', '--sectors', '3'], /1 to 2 sectors/],
  [['wpost-2k', '--seed', '00', '--format', 'json'], /goes with porep/],
  [['winning-2k', '--seed', '00', '--randomness', 'ff'.repeat(32)], /no field element/],
  [['porep-2k', '--seed', '00', '--nonsense'], /nonsense/],
];

for (const [args, message] of refusals) {
  test(`refuses ${args.join(' ').slice(0, 60)}`, (t) => {
    const dir = scratch(t);
    const result = cuzk('sector', ...args, join(dir, 'out'));
    assert.equal(result.status, 2, result.stderr);
    assert.match(result.stderr, message);
    assert.equal(result.stdout, '');
    assert.deepEqual(readdirSync(dir), []);
  });
}

test('data that does not fit, is not there, or would be overwritten', (t) => {
  const dir = scratch(t);
  const data = join(dir, 'data');
  writeFileSync(data, Buffer.alloc(2033));
  const run = (...args) => cuzk('sector', ...args, '--seed', '00', '--data', data, join(dir, 'out'));
  assert.match(run('porep-2k').stderr, /2033 bytes; porep-2k has room for 2032/);
  assert.match(run('porep-512m').stderr, /data can be given to a real/);
  assert.match(run('wpost-2k').stderr, /data can be given to a real/);
  const missing = cuzk('sector', 'porep-2k', '--seed', '00', '--data', join(dir, 'no'), join(dir, 'o'));
  assert.equal(missing.status, 4);
  const same = cuzk('sector', 'porep-2k', '--seed', '00', '--data', data, data);
  assert.equal(same.status, 2);
  assert.equal(readFileSync(data).length, 2033);
  const nowhere = cuzk('sector', 'porep-2k', '--seed', '00', join(dir, 'no/where'));
  assert.equal(nowhere.status, 4);
  assert.deepEqual(readdirSync(dir), ['data']);
});

test('help and list', () => {
  assert.match(cuzkOk('sector', '--help').stdout, /^usage: cuzk sector NAME --seed HEX/);
  const list = cuzkOk('sector', '--list').stdout;
  assert.match(list, /StackedDrg32GiBV1_1 +8 +porep-32g\n/);
  assert.match(list, /StackedDrgWindow64GiBV1_2 +14 +wpost-64g\n/);
  assert.equal(list.trim().split('\n').length, 41);
});
