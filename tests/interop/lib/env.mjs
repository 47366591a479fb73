// Where things are, and how the programs under test are run.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const interopDir = resolve(dirname(fileURLToPath(import.meta.url)), '..');
export const rootDir = resolve(interopDir, '../..');
export const vectorsDir = join(rootDir, 'tests/vectors/circom');
export const modulesDir = join(interopDir, 'node_modules');

// CUZK_BUILD names the build directory under test, CUZK_INTEROP_CACHE where compiled circuits and
// keys stay between runs.
const buildDir = resolve(process.env.CUZK_BUILD ?? join(rootDir, 'build/release'));
export const cacheDir = resolve(
  process.env.CUZK_INTEROP_CACHE ?? join(rootDir, 'build/interop-cache'),
);
export const cuzkPath = join(buildDir, 'bin/cuzk');
export const program = (name) => join(buildDir, 'bin', name);
export const library = (name) => join(buildDir, 'lib', name);

mkdirSync(cacheDir, { recursive: true });

// Runs a program to its end: {status, signal, stdout, stderr}.
export function runProgram(path, args, options = {}) {
  const result = spawnSync(path, args, {
    encoding: 'utf8',
    timeout: 300_000,
    maxBuffer: 64 << 20,
    ...options,
  });
  if (result.error) throw result.error;
  return result;
}

export const cuzk = (...args) => runProgram(cuzkPath, args.map(String));

// Runs cuzk and throws when it does not exit 0.
export function cuzkOk(...args) {
  const result = cuzk(...args);
  if (result.status !== 0) {
    throw new Error(`cuzk ${args.join(' ')}: exit ${result.status}: ${result.stderr}`);
  }
  return result;
}

export const startProgram = (path, args, options = {}) => spawn(path, args, options);

// An empty directory that is removed when the test (or suite) t ends.
export function scratch(t) {
  const dir = mkdtempSync(join(tmpdir(), 'cuzk-interop-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));
export const hasVerb = (verb) => cuzk('--help').stdout.includes(`\n  ${verb} `);

// The circuits of tests/vectors/circom: {curve, name, zkey, wtns, r1cs, vkey, …}.
export function sharedCircuits() {
  const list = [];
  for (const curve of ['bn128', 'bls12381']) {
    for (const name of readdirSync(join(vectorsDir, curve)).sort()) {
      const dir = join(vectorsDir, curve, name);
      const proof = ['proof.json', 'proof_rapidsnark.json'].find((f) => existsSync(join(dir, f)));
      const publics = ['public.json', 'public_rapidsnark.json'].find((f) =>
        existsSync(join(dir, f)),
      );
      list.push({
        curve,
        name,
        zkey: join(dir, 'circuit_final.zkey'),
        wtns: join(dir, 'witness.wtns'),
        r1cs: join(dir, `${name}.r1cs`),
        vkey: join(dir, 'verification_key.json'),
        proof: proof && join(dir, proof),
        publics: publics && join(dir, publics),
      });
    }
  }
  return list;
}
