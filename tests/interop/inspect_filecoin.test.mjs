// `cuzk inspect` on Filecoin's files: keys, proofs, C1 outputs, requests; whole, cut and misnamed.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { cuzk, cuzkOk, readJson, rootDir, scratch } from './lib/env.mjs';

const vectors = join(rootDir, 'tests/vectors/porep');
const look = (path, ...options) => {
  const result = cuzk('inspect', path, '--json', ...options);
  return { code: result.status, error: result.stderr, ...JSON.parse(result.stdout) };
};

// A directory, and one for what cuzk remembers of files.
function place(t) {
  const dir = scratch(t);
  process.env.XDG_CACHE_HOME = join(dir, 'cache');
  mkdirSync(process.env.XDG_CACHE_HOME);
  return dir;
}

test('keys whose circuit nobody knows', () => {
  const params = look(join(vectors, 'keys/cubic.params'), '--full');
  assert.equal(params.status, 'ok');
  assert.equal(params.kind, 'Filecoin proving key (.params)');
  assert.match(params.circuit, /unknown/);
  assert.deepEqual(params.sections.map((s) => s.points ?? 1), [1, 1, 1, 1, 1, 1, 2, 7, 3, 5, 2, 2]);
  const last = params.sections.at(-1);
  assert.equal(last.offset + last.bytes, params.bytes);
  assert.equal(params.domain, 8);
  assert.match(params.points, /^all on their curves/);
  const vk = look(join(vectors, 'keys/porep-2KiB.vk'));
  assert.equal(vk.kind, 'Filecoin verifying key (.vk)');
  assert.equal(vk.public_inputs, 39);
  assert.equal(vk.bytes, 868 + 96 * 40);
  assert.match(vk.digest, /^[0-9a-f]{32}$/);
});

test('keys under their names', (t) => {
  const dir = join(place(t), 'params');
  cuzkOk('setup', '--circuit', 'wpost-2k', '--insecure-seed', '00', dir);
  const [insecure, meta, params, vk] = readdirSync(dir).sort().map((f) => join(dir, f));
  for (const path of [params, vk]) {
    const r = look(path, '--full');
    assert.equal(r.status, 'ok');
    assert.equal(r.circuit, 'wpost-2k');
    assert.equal(r.sector_size, 2048);
    assert.match(r.origin, /^development/);
    assert.equal(r.gamma_is_1, true);
    assert.equal(r.delta_is_1, false);
    assert.equal(r.public_inputs, 22);
    assert.equal(r.published_digest.length, 32);
  }
  assert.equal(look(params).domain, 32768);
  assert.equal(look(params).private_wires, 22128);
  assert.equal(look(meta).sector_size, 2048);
  assert.match(look(insecure).meaning, /can forge proofs/);

  // by contents, whatever the name
  const other = join(dir, 'key.bin');
  copyFileSync(vk, other);
  assert.equal(look(other).kind, 'Filecoin verifying key (.vk)');
  copyFileSync(params, other);
  assert.equal(look(other).kind, 'Filecoin proving key (.params)');

  // of another circuit than the name says
  copyFileSync(join(vectors, 'keys/porep-2KiB.vk'), vk);
  const wrong = look(vk);
  assert.equal(wrong.code, 3);
  assert.match(wrong.status, /section ic at offset 864: expected 23 points, as wpost-2k has, actual 40/);

  // cut in every section: what is there is listed, and the error says where it ends
  const bytes = readFileSync(params);
  for (const at of [0, 50, 400, 866, 2000, 5_000_000, bytes.length - 1]) {
    writeFileSync(params, bytes.subarray(0, at));
    const cut = look(params);
    assert.equal(cut.code, 3, `${at}`);
    assert.match(cut.status, /section \w+ at offset \d+: expected .*cut short/);
    assert.ok(cut.sections.every((s) => s.offset < at || at === 0));
    assert.ok(cut.error.includes(cut.status));
  }
  for (const [contents, offset] of [['', 0], ['{"sector_size":}', 15], ['{"sector_size":2048', 19], ['xyz', 0]]) {
    writeFileSync(meta, contents);
    const bad = look(meta);
    assert.equal(bad.code, 3, contents);
    assert.match(bad.status, new RegExp(`\\.meta: offset ${offset}: expected \\{"sector_size":N\\}`));
  }
  writeFileSync(meta, '{"sector_size":8388608}');
  assert.match(look(meta).status, /expected sector_size 2048, as wpost-2k has, actual 8388608/);
});

test('proofs', (t) => {
  const dir = place(t);
  const path = join(dir, 'proof.bin');
  const proof = Buffer.from(readJson(join(vectors, 'proofs/porep_2kib_lotusbench.json')).proof, 'hex');
  writeFileSync(path, Buffer.concat([proof, proof, proof]));
  const three = look(path);
  assert.equal(three.kind, 'Filecoin proof');
  assert.equal(three.partitions, 3);
  assert.deepEqual(three.proofs.map((p) => p.offset), [0, 192, 384]);
  assert.equal(three.proofs[0].A, proof.subarray(0, 8).toString('hex'));
  assert.match(three.points, /all on their curves/);
  const bad = Buffer.concat([proof, proof]);
  bad[192 + 60] ^= 1; // in the second's B
  writeFileSync(path, bad);
  const wrong = look(path);
  assert.equal(wrong.code, 1);
  assert.match(wrong.status, /proof\.bin: .*offset 240/);
});

test('C1 outputs and requests', (t) => {
  const dir = place(t);
  const want = { 'c1_2kib_phase1out.json': 'C1 output (JSON)',
    'c1_2kib_lotusbench.json': 'C1 output (JSON, in the wrapper of lotus-bench)',
    'c1_2kib_bincode.bin': 'C1 output (bincode)' };
  for (const [file, kind] of Object.entries(want)) {
    const c1 = look(join(vectors, file));
    assert.equal(c1.kind, kind);
    assert.equal(c1.circuit, 'porep-2k');
    assert.equal(c1.registered_proof, 'StackedDrg2KiBV1_1');
    assert.equal(c1.comm_d, 'fc7e928296e516faade986b28f92d44a4f24b935485223376a799027bc18f833');
    assert.equal(c1.partitions, 1);
    assert.match(c1.replica_id_is, /not checked/);
  }
  const request = join(dir, 'request.json');
  cuzkOk('sector', 'wpost-2k', '--seed', '01', '--sector', 5, request);
  const post = look(request);
  assert.equal(post.kind, 'request for a proof (JSON)');
  assert.equal(post.circuit, 'wpost-2k');
  assert.equal(post.first_sectors[0].sector, 5);
  cuzkOk('sector', 'snap-2k', '--seed', '01', request);
  assert.equal(look(request).circuit, 'snap-2k');
  assert.match(look(request).comm_r_new, /^[0-9a-f]{64}$/);

  // cut and wrong: file and offset, or the field
  const text = readFileSync(join(vectors, 'c1_2kib_phase1out.json'));
  const path = join(dir, 'c1.json');
  writeFileSync(path, text.subarray(0, text.length - 100));
  const cut = look(path);
  assert.equal(cut.code, 3);
  assert.match(cut.status, /c1\.json: offset \d+/);
  const bincode = readFileSync(join(vectors, 'c1_2kib_bincode.bin'));
  writeFileSync(path, bincode.subarray(0, bincode.length - 1));
  assert.equal(look(path).code, 3);
  assert.match(look(path).status, /c1\.json: .*offset|c1\.json: .*bytes/);
});

test('something else', (t) => {
  const path = join(place(t), 'x');
  for (const contents of ['', '{', '{"a":1}', 'abc', Buffer.alloc(192), Buffer.alloc(2000)]) {
    writeFileSync(path, contents);
    const r = look(path);
    assert.equal(r.code, 3);
    assert.match(r.status, /expected a zkey, .*key, proof, C1 output or request of Filecoin/);
  }
});
