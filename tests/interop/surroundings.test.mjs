// What the programs do in odd surroundings: closed descriptors, small limits, links, outputs that are
// inputs, ends by a signal.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

import { cuzk, cuzkOk, cuzkPath, scratch, startProgram, vectorsDir } from './lib/env.mjs';

const base = join(vectorsDir, 'bn128/poseidon2');
const zkey = join(base, 'circuit_final.zkey');
const wtns = join(base, 'witness.wtns');
const proverPath = join(dirname(cuzkPath), 'prover');

// Runs a line of bash; $CUZK and $PROVER are the programs.
function bash(line, cwd) {
  const env = { ...process.env, CUZK: cuzkPath, PROVER: proverPath, ZKEY: zkey, WTNS: wtns };
  return spawnSync('bash', ['-c', line], { cwd, env, encoding: 'utf8' });
}

test('closed standard descriptors do not become output files', (t) => {
  const dir = scratch(t);
  for (const closed of ['2>&-', '>&- 2>&-', '<&- >&- 2>&-']) {
    const result = bash(`"$CUZK" export-vk "$ZKEY" vk.json ${closed}`, dir);
    assert.equal(result.status, 0, closed);
    assert.equal(JSON.parse(readFileSync(join(dir, 'vk.json'), 'utf8')).protocol, 'groth16');
  }
  // A message has nowhere to go, and must not go into the output.
  const r1cs = join(base, 'poseidon2.r1cs');
  cuzkOk('setup', r1cs, join(dir, 'good.zkey'), '--insecure-seed', '00');
  assert.equal(bash(`"$CUZK" setup "${r1cs}" bare.zkey --insecure-seed 00 2>&-`, dir).status, 0);
  assert.ok(readFileSync(join(dir, 'good.zkey')).equals(readFileSync(join(dir, 'bare.zkey'))));
});

test('cuzk hands on to cuzk-full beside it, wherever it is called from', (t) => {
  const dir = scratch(t);
  symlinkSync(cuzkPath, join(dir, 'name'));
  const linked = bash('./name circuit info winning-2k', dir);
  assert.equal(linked.status, 0, linked.stderr);
  assert.equal(linked.stdout, cuzkOk('circuit', 'info', 'winning-2k').stdout);
  assert.equal(bash('"$CUZK" inspect "$ZKEY" | head -n 1 >/dev/null; exit ${PIPESTATUS[0]}', dir).status, 0);
  assert.equal(bash('"$CUZK" inspect no-such-file', dir).status, 4);
  // Alone it proves all the same, and says what is missing where something is.
  copyFileSync(cuzkPath, join(dir, 'alone'));
  assert.equal(bash('./alone prove "$ZKEY" "$WTNS" proof.json public.json', dir).status, 0);
  for (const verb of ['circuit list', 'prove --addr unix:///none k w p q']) {
    const result = bash(`./alone ${verb}`, dir);
    assert.equal(result.status, 4, verb);
    assert.match(result.stderr, /^cuzk \w+: this verb is in the program \S+\/cuzk-full, which cannot be started: No such file/);
  }
  // Nor does it start itself for ever, by whatever name.
  symlinkSync('alone', join(dir, 'cuzk-full'));
  mkdirSync(join(dir, 'twice'));
  for (const name of ['cuzk', 'cuzk-full']) copyFileSync(cuzkPath, join(dir, 'twice', name));
  for (const path of ['./alone', './cuzk-full', 'twice/cuzk', 'twice/cuzk-full']) {
    const result = bash(`timeout 20 ${path} circuit list`, dir);
    assert.equal(result.status, 4, path);
    assert.match(result.stderr, /is the one without it: put the right one there/);
  }
  const help = bash('./alone --help', dir);
  assert.equal(help.status, 0);
  assert.match(help.stdout, /\n {2}submit /);
});

test('standard output in a file is written in place', (t) => {
  const dir = scratch(t);
  symlinkSync('/proc/self/fd/1', join(dir, 'out')); // as /dev/stdout, but ours to lose
  assert.equal(bash('echo first >f; "$CUZK" export-vk "$ZKEY" out >>f', dir).status, 0);
  assert.ok(lstatSync(join(dir, 'out')).isSymbolicLink());
  const lines = readFileSync(join(dir, 'f'), 'utf8');
  assert.ok(lines.startsWith('first\n{'), lines.slice(0, 20));
  JSON.parse(lines.slice(6));
});

test('an output that is an input or another output is refused', (t) => {
  const dir = scratch(t);
  const files = { 'k.zkey': zkey, 'w.wtns': wtns, 'c.r1cs': join(base, 'poseidon2.r1cs') };
  for (const [name, from] of Object.entries(files)) copyFileSync(from, join(dir, name));
  symlinkSync('k.zkey', join(dir, 'alias'));
  const lines = [
    '"$CUZK" prove k.zkey w.wtns same same',
    '"$CUZK" prove k.zkey w.wtns same ./same',
    '"$CUZK" prove k.zkey w.wtns k.zkey q',
    '"$CUZK" prove k.zkey w.wtns q alias',
    '"$CUZK" prove k.zkey w.wtns w.wtns q',
    '"$CUZK" setup c.r1cs c.r1cs --insecure-seed 00',
    '"$CUZK" export-vk k.zkey k.zkey',
    '"$PROVER" k.zkey w.wtns same same',
    '"$PROVER" k.zkey w.wtns k.zkey q',
  ];
  for (const line of lines) {
    const result = bash(line, dir);
    assert.equal(result.status, line.includes('PROVER') ? 1 : 2, line);
    assert.match(result.stderr, /same file|overwritten/, line);
  }
  for (const [name, from] of Object.entries(files))
    assert.ok(readFileSync(join(dir, name)).equals(readFileSync(from)), name);
  assert.deepEqual(readdirSync(dir).sort(), ['alias', ...Object.keys(files)].sort());
  cuzkOk('prove', zkey, wtns, '/dev/null', '/dev/null');
});

test('a small stack is no signal', (t) => {
  const dir = scratch(t);
  for (const kib of [64, 256, 512]) {
    for (const program of ['"$CUZK" prove', '"$PROVER"']) {
      const result = bash(`ulimit -s ${kib}; ${program} "$ZKEY" "$WTNS" p q`, dir);
      assert.equal(result.status, 0, `${program} with ${kib} KiB: ${result.stderr}`);
    }
  }
});

test("prover's limit on file sizes is an error, not a signal", (t) => {
  const dir = scratch(t);
  const result = bash('ulimit -f 0; "$PROVER" "$ZKEY" "$WTNS" p q', dir);
  assert.equal(result.status, 1);
  assert.match(result.stderr, /^Error: [^\n]+\n$/);
  assert.deepEqual(readdirSync(dir), []);
});

test('nothing is left when a signal ends a program that is writing', async (t) => {
  const dir = scratch(t);
  const fifo = join(scratch(t), 'fifo');
  assert.equal(spawnSync('mkfifo', [fifo]).status, 0);
  // The proof is on disk, not yet visible, while the signals wait for a reader of the pipe.
  for (const signal of ['SIGTERM', 'SIGKILL', 'SIGINT']) {
    const child = startProgram(cuzkPath, ['prove', zkey, wtns, join(dir, 'proof.json'), fifo]);
    const exit = once(child, 'exit');
    const waiting = () => readFileSync(`/proc/${child.pid}/task/${child.pid}/status`, 'utf8');
    for (let i = 0; i < 200 && !/State:\tS/.test(waiting()); i++)
      await new Promise((resolve) => setTimeout(resolve, 10));
    await new Promise((resolve) => setTimeout(resolve, 500));
    child.kill(signal);
    assert.equal((await exit)[1], signal);
    assert.deepEqual(readdirSync(dir), [], signal);
  }
});

test('standard output that cannot be written is one message', () => {
  for (const line of ['verify verification_key.json public_rapidsnark.json proof_rapidsnark.json', 'circuit list', '--help', 'prove --help']) {
    const result = bash(`"$CUZK" ${line} >/dev/full`, base);
    assert.equal(result.status, 4, line);
    assert.match(result.stderr, /^cuzk [^\n]+: cannot write to standard output[^\n]*\n$/, line);
  }
});

test('a name cannot write to the terminal', () => {
  const result = cuzk('inspect', 'no\nsuch\x1b[31m');
  assert.equal(result.status, 4);
  assert.match(result.stderr, /^cuzk inspect: no\?such\?\[31m: [^\n]+\n$/);
});

test('a damaged key is not blamed on the witness alone', (t) => {
  const dir = scratch(t);
  const key = join(dir, 'key.zkey');
  const bytes = Buffer.from(readFileSync(zkey));
  const size = (at) => Number(bytes.readBigUInt64LE(at + 4));
  let at = 12;
  while (bytes.readUInt32LE(at) !== 9) at += 12 + size(at);
  bytes.fill(0, at + 12, at + 12 + size(at)); // every point of H at infinity
  writeFileSync(key, bytes);
  const result = cuzk('prove', key, wtns, join(dir, 'p'), join(dir, 'q'));
  assert.equal(result.status, 1);
  assert.match(result.stderr, /witness.*or the key is damaged/);
  assert.equal(statSync(key).size, bytes.length);
});
