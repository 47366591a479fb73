// Filecoin's keys on the command line: made, looked at, and every wrong use of the two verbs.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { cuzk, cuzkOk, scratch } from './lib/env.mjs';

const stem =
  'v28-proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-0-0-' +
  '0170db1f394b35d995252228ee359194b13199d259380541dc529fb0099096b0';
const names = ['.insecure', '.meta', '.params', '.vk'].map((suffix) => stem + suffix);

// tests/vectors/porep/README.md: the first 31 bytes of SHA-256("cuzk test NAME"), little-endian.
function secret(name) {
  const hash = createHash('sha256').update(`cuzk test ${name}`).digest().subarray(0, 31);
  return BigInt(`0x${Buffer.from(hash).reverse().toString('hex')}`).toString();
}
const toxic = ['alpha', 'beta', 'gamma', 'delta', 'tau'].map(secret).join(',');

// A directory for keys, and one for what cuzk remembers of files.
function place(t) {
  const dir = scratch(t);
  process.env.XDG_CACHE_HOME = join(dir, 'cache');
  mkdirSync(process.env.XDG_CACHE_HOME);
  return join(dir, 'params');
}

const states = (dir) =>
  JSON.parse(cuzk('params', 'check', dir, '--json').stdout).map((r) => [r.circuit, r.state]);

test('keys of the reference from the same secrets', (t) => {
  const dir = place(t);
  const made = cuzkOk('setup', '--circuit', 'wpost-2k', '--insecure-toxic', toxic, dir);
  assert.equal(made.stdout, `${join(dir, stem)}.params\n`);
  assert.match(made.stderr, /warning: a development key/);
  assert.deepEqual(readdirSync(dir).sort(), names);
  const sha256 = (file) => createHash('sha256').update(readFileSync(join(dir, file))).digest('hex');
  assert.equal(sha256(names[2]), 'dd7fc4568fdd3f90b2266ef97531a86e60b7458820961f0757487a53a9b5b046');
  assert.equal(sha256(names[3]), '2dd7bd2ecc5d3320fa7d5d0783f0a1c0489f412a49aa3e7b160e7765ce8d5001');
  assert.equal(readFileSync(join(dir, names[1]), 'utf8'), '{"sector_size":2048}');
  assert.deepEqual(states(dir), [
    ['wpost-2k', 'development'],
    ['wpost-2k', 'development'],
  ]);
  assert.equal(cuzk('params', 'check', dir).status, 0);

  // the same seed gives the same keys, over development keys only
  cuzkOk('setup', '--circuit', 'wpost-2k', '--insecure-seed', '0102', dir, '--threads', 1);
  const first = sha256(names[2]);
  cuzkOk('setup', '--circuit', 'wpost-2k', '--insecure-seed', '0102', dir);
  assert.equal(sha256(names[2]), first);
  rmSync(join(dir, names[0]));
  const refused = cuzk('setup', '--circuit', 'wpost-2k', '--insecure-seed', '03', dir);
  assert.equal(refused.status, 2);
  assert.match(refused.stderr, /not overwritten/);
  assert.equal(sha256(names[2]), first);
  assert.deepEqual(readdirSync(dir).sort(), names.slice(1));

  // without the sidecar they are just not the published ones
  const check = cuzk('params', 'check', dir);
  assert.equal(check.status, 1);
  assert.match(check.stdout, /^differs +wpost-2k /m);
  assert.match(check.stdout, /published 7610b9f82bfc88405b7a832b651ce2f6/);
});

test('a damaged key is named with section and offset', (t) => {
  const dir = place(t);
  cuzkOk('setup', '--circuit', 'wpost-2k', '--insecure-seed', '00', dir);
  const path = join(dir, names[2]);
  const bytes = readFileSync(path);
  bytes[3 * 1024 * 1024] ^= 1;
  writeFileSync(path, bytes);
  const damaged = cuzk('params', 'check', dir);
  assert.equal(damaged.status, 1);
  assert.match(damaged.stdout, /^bad +wpost-2k .*\n +\S+\.params: section h at offset \d+: point/m);
  writeFileSync(path, bytes.subarray(0, 5_000_000));
  const [row] = JSON.parse(cuzk('params', 'check', dir, '--json').stdout);
  assert.equal(row.state, 'bad');
  assert.match(row.reason, /section l at offset 31487\d+: expected .*cut short/);
  assert.equal(statSync(path).size, 5_000_000);
});

test('what looks like a key and is none', (t) => {
  const dir = place(t);
  const rows = () => JSON.parse(cuzk('params', 'check', dir, '--json').stdout);
  const strays = () => rows().filter((r) => r.state === 'stray').map((r) => [r.circuit, r.file]);
  cuzkOk('setup', '--circuit', 'wpost-2k', '--insecure-seed', '00', dir);
  assert.deepEqual(strays(), []);
  assert.equal(cuzk('params', 'check', dir).status, 0);

  // names
  const wrongHash = `${stem.slice(0, -3)}abc.params`;
  const odd = [
    [wrongHash, /begins like the files of wpost-2k \(-0170db1f\.\.\.\).*hash of another circuit/],
    [`v27-${stem.slice(4)}.vk`, /of version 27 of Filecoin's keys, which are at 28/],
    ['v28-proof-of-something-0123.params', /no circuit that cuzk knows has this name/],
    ['mine.vk', /not the name of a key/],
    ['a\nb.meta', /not the name of a key/],
  ];
  for (const [name] of odd) writeFileSync(join(dir, name), 'x');
  writeFileSync(join(dir, 'v28-fil-inner-product-v1.srs'), 'not ours to judge');
  writeFileSync(join(dir, 'notes.txt'), 'nor this');
  const found = rows().filter((r) => r.state === 'stray');
  assert.deepEqual(found.map((r) => r.file), odd.map(([name]) => name).sort());
  for (const [name, reason] of odd) {
    const row = found.find((r) => r.file === name);
    assert.equal(row.circuit, null);
    assert.equal(row.bytes, 1);
    assert.match(row.reason, reason);
    assert.ok(row.reason.includes(join(dir, name.replace('\n', '?'))), row.reason);
  }
  const text = cuzk('params', 'check', dir);
  assert.equal(text.status, 1);
  assert.match(text.stdout, /^stray +- +mine\.vk$/m);
  assert.match(text.stdout, /^stray +- +a\?b\.meta$/m);
  for (const [name] of odd) rmSync(join(dir, name));
  assert.equal(cuzk('params', 'check', dir).status, 0);

  // a .meta with other contents
  const meta = join(dir, names[1]);
  for (const contents of ['', 'junk', '{"sector_size":2049}', '{"sector_size":2048}}', '{}']) {
    writeFileSync(meta, contents);
    const [row] = rows().filter((r) => r.state === 'stray');
    assert.deepEqual([row.circuit, row.file], ['wpost-2k', names[1]], contents);
    assert.match(row.reason, /expected \{"sector_size":2048\}/);
    assert.equal(cuzk('params', 'check', dir).status, 1);
  }
  for (const contents of ['{"sector_size":2048}', ' { "sector_size": 2048 }\n']) {
    writeFileSync(meta, contents);
    assert.deepEqual(strays(), [], contents);
  }

  // halves of a set: a .vk alone is enough to verify, a .params is not
  const keep = readFileSync(join(dir, names[3]));
  rmSync(join(dir, names[3]));
  assert.deepEqual(strays(), [['wpost-2k', names[3]]]);
  assert.match(rows().at(-1).reason, /not there, though the \.params is.*cuzk setup --circuit/);
  writeFileSync(join(dir, names[3]), keep);
  rmSync(join(dir, names[2]));
  assert.deepEqual(strays(), []);
  assert.equal(cuzk('params', 'check', dir).status, 0);
  rmSync(join(dir, names[3]));
  assert.deepEqual(strays(), [['wpost-2k', names[0]], ['wpost-2k', names[1]]]);
  assert.match(rows()[0].reason, /no \.params and no \.vk stand beside it/);
  assert.match(cuzk('params', 'check', dir).stderr, /no key of a known circuit/);

  // a directory that is none
  assert.equal(cuzk('params', 'check', join(dir, 'nowhere')).status, 4);
});

test('wrong use', (t) => {
  const dir = place(t);
  const wrong = [
    ['setup', '--circuit', 'wpost-3k', '--insecure-seed', '00', dir],
    ['setup', '--circuit', 'wpost-2k', dir],
    ['setup', '--circuit', 'wpost-2k', '--insecure-seed', '0', dir],
    ['setup', '--circuit', 'wpost-2k', '--insecure-seed', '00', dir, dir],
    ['setup', '--circuit', 'wpost-2k', '--insecure-seed', '00', '--insecure-toxic', toxic, dir],
    ['setup', '--circuit', 'wpost-2k', '--insecure-toxic', '1,2,3,4', dir],
    ['setup', '--circuit', 'wpost-2k', '--insecure-toxic', '1,2,3,4,5,6', dir],
    ['setup', '--circuit', 'wpost-2k', '--insecure-toxic', '1,2,0,4,5', dir],
    ['setup', '--circuit', 'wpost-2k', '--insecure-toxic', '1,2,3,4,1', dir], // a root of unity
    ['setup', '--insecure-toxic', '1,2,3,4,5', 'a.r1cs', 'a.zkey'],
    ['params'],
    ['params', 'list'],
    ['params', 'check', dir, dir],
    ['params', 'check', dir, '--what'],
  ];
  for (const args of wrong) {
    const result = cuzk(...args);
    assert.equal(result.status, 2, `${args.join(' ')}: ${result.stderr}`);
    assert.equal(result.stdout, '');
  }
  const none = cuzk('params', 'check', dir, '--json');
  assert.equal(none.status, 0);
  assert.equal(none.stdout, '[]\n');
  assert.match(none.stderr, /no key of a known circuit/);
});

test('a key of another circuit, a proof over a key, a place without keys', (t) => {
  const dir = place(t);
  const insecure = ['--params', dir, '--allow-insecure-keys'];
  const request = join(dir, 'request.json');
  const proof = join(dir, 'proof.bin');
  cuzkOk('setup', '--circuit', 'wpost-2k', '--insecure-seed', '00', dir);
  cuzkOk('sector', 'wpost-2k', '--seed', '01', request);

  // every file of the key survives being named as the output
  for (const name of names) {
    const before = readFileSync(join(dir, name));
    const result = cuzk('wpost', 'prove', request, join(dir, name), ...insecure);
    assert.equal(result.status, 2, name);
    assert.match(result.stderr, /a file of a key/);
    assert.ok(readFileSync(join(dir, name)).equals(before), name);
  }
  cuzkOk('wpost', 'prove', request, proof, ...insecure);
  cuzkOk('wpost', 'verify', request, proof, ...insecure);

  // a .vk with the wrong number of points, however many
  const vk = join(dir, names[3]);
  const whole = readFileSync(vk);
  for (const points of [1, 3, 22, 24, 133, 20000]) {
    const other = Buffer.alloc(868 + 96 * points);
    for (let i = 0; i < points; i++) whole.copy(other, 868 + 96 * i, 868 + 96 * (i % 23), 868 + 96 * (i % 23 + 1));
    whole.copy(other, 0, 0, 864);
    other.writeUInt32BE(points, 864);
    writeFileSync(vk, other);
    const result = cuzk('wpost', 'verify', request, proof, ...insecure);
    assert.equal(result.status, 3, `${points} points: ${result.stderr}`);
    assert.match(result.stderr, /ic.*expected 23 points/);
  }

  // a verifying key of another setup is not the .params'
  writeFileSync(vk, whole);
  const first = readFileSync(join(dir, names[2]));
  cuzkOk('setup', '--circuit', 'wpost-2k', '--insecure-seed', '05', dir);
  writeFileSync(join(dir, names[2]), first);
  const pair = JSON.parse(cuzk('params', 'check', dir, '--json').stdout);
  assert.deepEqual(pair.map((r) => r.state), ['development', 'bad']);
  assert.match(pair[1].reason, /not made together/);

  for (const nowhere of [join(dir, 'nope'), request]) {
    const result = cuzk('params', 'check', nowhere);
    assert.equal(result.status, 4);
    assert.match(result.stderr, /no directory of keys/);
  }
});
