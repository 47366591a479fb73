// What the programs do with bad input and bad output: exit code, message, and nothing written.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

import { cuzk, cuzkOk, cuzkPath, readJson, runProgram, scratch, sharedCircuits, startProgram, vectorsDir } from './lib/env.mjs';

const base = join(vectorsDir, 'bn128/poseidon2');
const zkey = join(base, 'circuit_final.zkey');
const wtns = join(base, 'witness.wtns');
const small = join(vectorsDir, 'bn128/mul3');

// Proves into an empty directory and expects the exit code, one line on stderr, and no file.
function refuses(t, key, witness, code) {
  const dir = scratch(t);
  const result = cuzk('prove', key, witness, join(dir, 'proof.json'), join(dir, 'public.json'));
  assert.equal(result.status, code, result.stderr);
  assert.equal(result.stdout, '');
  assert.match(result.stderr, /^cuzk prove: [^\n]+\n$/);
  assert.deepEqual(readdirSync(dir), []);
  return result.stderr;
}

const manifest = readFileSync(join(vectorsDir, 'MANIFEST.tsv'), 'utf8')
  .split('\n')
  .filter((line) => line && !line.startsWith('#'))
  .map((line) => line.split('\t'));

test('the manifest is read', () => assert.ok(manifest.length >= 11));

for (const [file, what, code, where] of manifest) {
  test(`${file}: ${what}`, (t) => {
    const path = join(vectorsDir, file);
    const inputs = file.endsWith('.zkey') ? [path, wtns] : [zkey, path];
    if (code === '0') {
      const dir = scratch(t);
      cuzkOk('prove', ...inputs, join(dir, 'proof.json'), join(dir, 'public.json'));
      return;
    }
    const message = refuses(t, ...inputs, Number(code));
    assert.ok(message.includes(where), `"${message}" should name ${where}`);
    if (where.startsWith('section')) assert.ok(message.includes(path), message);
  });
}

test('a key cut anywhere is refused', (t) => {
  const whole = readFileSync(join(small, 'circuit_final.zkey'));
  const dir = scratch(t);
  for (let size = 0; size < whole.length; size += 61) {
    const path = join(dir, `cut.zkey`);
    writeFileSync(path, whole.subarray(0, size));
    const result = cuzk('prove', path, join(small, 'witness.wtns'), join(dir, 'p'), join(dir, 'q'));
    assert.equal(result.status, 3, `${size} bytes: ${result.stderr}`);
  }
  assert.deepEqual(readdirSync(dir), ['cut.zkey']);
});

test('a witness cut anywhere is refused', (t) => {
  const whole = readFileSync(join(small, 'witness.wtns'));
  const dir = scratch(t);
  for (let size = 0; size < whole.length; size += 7) {
    writeFileSync(join(dir, 'cut.wtns'), whole.subarray(0, size));
    const args = [join(small, 'circuit_final.zkey'), join(dir, 'cut.wtns')];
    const result = cuzk('prove', ...args, join(dir, 'p'), join(dir, 'q'));
    assert.equal(result.status, 3, `${size} bytes: ${result.stderr}`);
  }
});

test('key and witness of different circuits or curves', (t) => {
  assert.match(refuses(t, zkey, join(small, 'witness.wtns'), 3), /6 values.*243 wires/);
  refuses(t, join(vectorsDir, 'bls12381/poseidon2/circuit_final.zkey'), wtns, 3);
});

test('a witness for a key, a key for a witness', (t) => {
  refuses(t, wtns, wtns, 3);
  refuses(t, zkey, zkey, 3);
});

test('inputs that cannot be read', (t) => {
  refuses(t, join(base, 'no-such-file'), wtns, 4);
  refuses(t, base, wtns, 4);
  refuses(t, zkey, '/dev/null', 4);
});

test('old outputs survive a failure', (t) => {
  const dir = scratch(t);
  const out = [join(dir, 'proof.json'), join(dir, 'public.json')];
  for (const path of out) writeFileSync(path, 'old');
  const broken = join(vectorsDir, 'malformed/unsatisfied.wtns');
  assert.equal(cuzk('prove', zkey, broken, ...out).status, 1);
  for (const path of out) assert.equal(readFileSync(path, 'utf8'), 'old');
  cuzkOk('prove', zkey, wtns, ...out);
  assert.equal(readJson(out[0]).protocol, 'groth16');
});

test('outputs that cannot be written', (t) => {
  const dir = scratch(t);
  mkdirSync(join(dir, 'a-directory'));
  const good = join(dir, 'good.json');
  for (const bad of [join(dir, 'missing/x.json'), join(dir, 'a-directory'), '/dev/full']) {
    for (const out of [[bad, good], [good, bad]]) {
      const result = cuzk('prove', zkey, wtns, ...out);
      assert.equal(result.status, 4, `${out}: ${result.stderr}`);
      assert.match(result.stderr, /^cuzk prove: [^\n]+\n$/);
      assert.ok(result.stderr.includes(bad), result.stderr);
    }
  }
  assert.deepEqual(readdirSync(dir), ['a-directory']);
});

test('a limit on the size of files is an error, not a signal', (t) => {
  const dir = scratch(t);
  const out = [join(dir, 'proof.json'), join(dir, 'public.json')];
  const script = 'ulimit -f 0; exec "$@"';
  const result = runProgram('sh', ['-c', script, 'sh', cuzkPath, 'prove', zkey, wtns, ...out]);
  assert.equal(result.signal, null);
  assert.equal(result.status, 4, result.stderr);
  assert.deepEqual(readdirSync(dir), []);
});

test('standard output that is full or closed', () => {
  for (const args of [['--version'], ['--help'], ['prove', '--help']]) {
    const script = 'exec "$@" >/dev/full';
    const result = runProgram('sh', ['-c', script, 'sh', cuzkPath, ...args]);
    assert.equal(result.status, 4, `${args}: ${result.stderr}`);
  }
});

test('too little memory is exit 5', (t) => {
  const dir = scratch(t);
  const out = [join(dir, 'proof.json'), join(dir, 'public.json')];
  const large = join(vectorsDir, 'bn128/semaphore20');
  const args = ['prove', '--threads', '1', join(large, 'circuit_final.zkey')];
  args.push(join(large, 'witness.wtns'), ...out);
  const script = 'ulimit -v "$1"; shift; exec "$@"';
  const seen = new Set();
  for (let kilobytes = 9700; kilobytes < 60000; kilobytes += 700) {
    const result = runProgram('sh', ['-c', script, 'sh', String(kilobytes), cuzkPath, ...args]);
    assert.equal(result.signal, null, `${kilobytes} kB`);
    if (result.status === 127) continue; // not even the C library fits
    seen.add(result.status);
    assert.ok([0, 5].includes(result.status), `${kilobytes} kB: ${result.stderr}`);
    if (result.status === 0) break;
    assert.deepEqual(readdirSync(dir), []);
  }
  assert.ok(seen.has(5), 'no limit was low enough');
  assert.ok(seen.has(0), 'no limit was high enough');
});

test('a terminated process leaves nothing behind', async (t) => {
  const dir = scratch(t);
  const large = join(vectorsDir, 'bn128/semaphore20');
  const out = [join(dir, 'proof.json'), join(dir, 'public.json')];
  const args = ['prove', '--threads', '1', '--impl', 'portable'];
  args.push(join(large, 'circuit_final.zkey'), join(large, 'witness.wtns'), ...out);
  let signal;
  for (let i = 0; i < 20 && !signal; i++) { // until it has not ended before
    out.forEach((path) => rmSync(path, { force: true }));
    const child = startProgram(cuzkPath, args);
    await new Promise((resolve) => setTimeout(resolve, 30));
    child.kill('SIGTERM');
    [, signal] = await once(child, 'exit');
  }
  assert.equal(signal, 'SIGTERM');
  assert.deepEqual(readdirSync(dir), []);
});

test('usage errors', () => {
  const cases = [
    [],
    ['no-such-verb'],
    ['prove'],
    ['prove', 'a', 'b', 'c'],
    ['prove', '--threads', 'many', 'a', 'b', 'c', 'd'],
    ['prove', '--threads'],
    ['prove', '--no-such-option', 'a', 'b', 'c', 'd'],
    ['prove', '--insecure-blinding', '1', 'a', 'b', 'c', 'd'],
    ['prove', '--insecure-blinding', '1,x', 'a', 'b', 'c', 'd'],
    ['verify', 'a', 'b'],
    ['setup', 'a', 'b'],
    ['setup', 'a', 'b', '--insecure-seed', 'xyz'],
    ['bench', 'msm', '--window', '3'],
    ['bench', 'msm', '--window', '25'],
    ['bench', 'msm', '--factor', '65'],
    ['bench', 'msm', '--step', '0'],
    ['preload'],
    ['drain', 'x'],
  ];
  for (const args of cases) {
    const result = cuzk(...args);
    assert.equal(result.status, 2, args.join(' '));
    assert.equal(result.stdout, '');
    assert.match(result.stderr, /--help/);
  }
  assert.match(cuzk('preload').stderr, /^cuzk preload: wants KEY\.\.\., at most 64 words, got 0\n/);
  assert.match(cuzk('drain', 'x').stderr, /^cuzk drain: takes no words\n/);
  assert.match(cuzk('bench', 'msm', '--window', '3').stderr, /^cuzk bench: --window 3: 4 to 24, or 0\n/);
  // 0 is chosen, and no error of its own
  assert.match(cuzk('bench', 'msm', '--window', '0').stderr, /are for field, ntt, msm, bits and eval/);
});

test('a misspelt CUZK_CPU is an error in every program', () => {
  const env = { ...process.env, CUZK_CPU: 'scalr' };
  const programs = [
    ['cuzk', 2, 'bench', 'ntt', '--log2', '4'],
    ['cuzk', 2, 'circuit', 'list'], // by cuzk-full
    ['cuzkd', 2, '--check-config'],
    ['cuzk-worker', 2, '--fd', '0', '--device', 'cpu'],
    ['prover', 1, zkey, wtns, '/dev/null', '/dev/null'],
  ];
  for (const [name, status, ...args] of programs) {
    const result = runProgram(join(dirname(cuzkPath), name), args, { env });
    assert.equal(result.status, status, name);
    assert.match(result.stderr, /CUZK_CPU is scalr: auto, scalar or baseline/, name);
    assert.equal(result.stdout, '');
  }
});

test('--help of every verb', () => {
  const verbs = [...cuzk('--help').stdout.matchAll(/^ {2}([a-z-]+) /gm)].map((m) => m[1]);
  assert.ok(verbs.length >= 3);
  for (const verb of verbs) {
    const result = cuzkOk(verb, '--help');
    assert.match(result.stdout, new RegExp(`usage: cuzk ${verb}`), verb);
    assert.equal(result.stderr, '');
  }
});

test('--json describes the proof', (t) => {
  const dir = scratch(t);
  const out = [join(dir, 'proof.json'), join(dir, 'public.json')];
  const report = JSON.parse(cuzkOk('prove', '--json', '--threads', 2, zkey, wtns, ...out).stdout);
  assert.equal(report.curve, 'bn128');
  assert.equal(report.threads, 2);
  assert.equal(report.verified, true);
  assert.ok(report.ms > 0);
});

// Changes one document of a valid set and expects verify's exit code.
const order = {
  bn128: {
    r: 21888242871839275222246405745257275088548364400416034343698204186575808495617n,
    p: 21888242871839275222246405745257275088696311157297823662689037894645226208583n,
  },
  bls12381: {
    r: 52435875175126190479447740508185965837690552500527637822603658699938581184513n,
    p: 4002409555221667393417789825735904156556882819939007885332058136124031650490837864442687629129015664037894272559787n,
  },
};

for (const c of sharedCircuits().filter((s) => s.proof && s.name === 'poseidon2')) {
  const { r, p } = order[c.curve];
  const valid = () => ({ proof: readJson(c.proof), publics: readJson(c.publics), vkey: readJson(c.vkey) });
  const cases = {
    'signal x + r': [1, (d) => (d.publics[0] = (BigInt(d.publics[0]) + r).toString())],
    'signal r': [1, (d) => (d.publics[0] = r.toString())],
    'another signal': [1, (d) => (d.publics[0] = '1')],
    'a signal too many': [1, (d) => d.publics.push('0')],
    'a signal too few': [1, (d) => d.publics.pop()],
    'coordinate x + p': [1, (d) => (d.proof.pi_a[0] = (BigInt(d.proof.pi_a[0]) + p).toString())],
    'a point off the curve': [1, (d) => (d.proof.pi_a[0] = '5')],
    'G2 off the curve': [1, (d) => (d.proof.pi_b[0][0] = '5')],
    'another proof': [1, (d) => (d.proof.pi_c = d.proof.pi_a)],
    'all infinity': [1, (d) => { d.proof.pi_a = ['0', '1', '0']; d.proof.pi_c = ['0', '1', '0']; }],
    'a negative signal': [3, (d) => (d.publics[0] = '-1')],
    'a signal that is no number': [3, (d) => (d.publics[0] = 'abc')],
    'a missing part': [3, (d) => delete d.proof.pi_b],
    'a part too short': [3, (d) => d.proof.pi_a.splice(1)],
    'a key without IC': [3, (d) => delete d.vkey.IC],
    'a key with too few IC': [3, (d) => d.vkey.IC.pop()],
    'a key point off the curve': [3, (d) => (d.vkey.vk_alpha_1[0] = '5')],
    'an unknown curve': [3, (d) => (d.vkey.curve = 'secp256k1')],
    'another protocol': [3, (d) => (d.vkey.protocol = 'plonk')],
  };
  test(`verify on ${c.curve}`, async (t) => {
    const dir = scratch(t);
    const write = (d) =>
      ['vkey', 'publics', 'proof'].map((name) => {
        const path = join(dir, `${name}.json`);
        writeFileSync(path, typeof d[name] === 'string' ? d[name] : JSON.stringify(d[name]));
        return path;
      });
    cuzkOk('verify', ...write(valid()));
    for (const [what, [code, change]] of Object.entries(cases)) {
      await t.test(what, () => {
        const documents = valid();
        change(documents);
        const result = cuzk('verify', ...write(documents));
        assert.equal(result.status, code, result.stderr);
        assert.match(result.stderr, /^cuzk verify: [^\n]+\n$/);
      });
    }
    await t.test('no JSON at all', () => {
      for (const name of ['vkey', 'publics', 'proof']) {
        for (const text of ['', '{', '[[[', '\u0000', '[1e999]', 'null']) {
          assert.equal(cuzk('verify', ...write({ ...valid(), [name]: text })).status, 3, name);
        }
      }
    });
  });
}
