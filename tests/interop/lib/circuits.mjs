// Circuits made from npm's circom libraries: compiled with circom2, set up by us or by snarkjs, and
// kept in the cache directory under a name that holds everything they depend on.
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { cacheDir, cuzkOk, interopDir, modulesDir, runProgram } from './env.mjs';
import { snarkjs } from './snarkjs.mjs';

const require = createRequire(import.meta.url);

const sha256Bits = (bytes) => [...bytes].flatMap((b) => [...Array(8).keys()].map((i) => (b >> (7 - i)) & 1));

function sha256Circuit(bits, flags) {
  return {
    source: `include "circomlib/circuits/sha256/sha256.circom";\ncomponent main = Sha256(${bits});`,
    flags,
    input() {
      const message = randomBytes(bits / 8);
      const digest = createHash('sha256').update(message).digest();
      return { values: { in: sha256Bits(message) }, publics: sha256Bits(digest).map(String) };
    },
  };
}

const field = {
  bn128: 21888242871839275222246405745257275088548364400416034343698204186575808495617n,
  bls12381: 52435875175126190479447740508185965837690552500527637822603658699938581184513n,
};
export const modulus = (curve) => field[curve];
export const randomScalar = (curve) => BigInt(`0x${randomBytes(48).toString('hex')}`) % field[curve];

const merkleDepth = 16;

// source: circom text after the pragma. input(curve): fresh signals, and the public signals they
// must give (from another implementation), or undefined where there is none for that curve.
const circuits = {
  poseidon: {
    source: 'include "circomlib/circuits/poseidon.circom";\ncomponent main = Poseidon(2);',
    flags: ['--O2'],
    input(curve) {
      const inputs = [randomScalar(curve), randomScalar(curve)];
      const { poseidon2 } = require('poseidon-lite');
      return {
        values: { inputs },
        publics: curve === 'bn128' ? [poseidon2(inputs).toString()] : undefined,
      };
    },
  },
  merkle: {
    source:
      'include "@zk-kit/binary-merkle-root.circom/src/binary-merkle-root.circom";\n' +
      `component main {public [leaf]} = BinaryMerkleRoot(${merkleDepth});`,
    input(curve) {
      const { poseidon2 } = require('poseidon-lite');
      const leaf = randomScalar(curve);
      const siblings = Array.from({ length: merkleDepth }, () => randomScalar(curve));
      const index = randomBytes(2).readUInt16LE();
      let node = leaf;
      siblings.forEach((sibling, i) => {
        node = poseidon2((index >> i) & 1 ? [sibling, node] : [node, sibling]);
      });
      return {
        values: { leaf, depth: merkleDepth, index, siblings },
        publics: curve === 'bn128' ? [node.toString(), leaf.toString()] : undefined,
      };
    },
  },
  eddsa: {
    source:
      'include "circomlib/circuits/eddsaposeidon.circom";\n' +
      'component main {public [Ax, Ay, M]} = EdDSAPoseidonVerifier();',
    input() {
      const { derivePublicKey, signMessage } = require('@zk-kit/eddsa-poseidon');
      const secret = randomBytes(32);
      const [Ax, Ay] = derivePublicKey(secret);
      const M = randomScalar('bn128');
      const { R8, S } = signMessage(secret, M);
      return {
        values: { enabled: 1, Ax, Ay, S, R8x: R8[0], R8y: R8[1], M },
        publics: [Ax, Ay, M].map(String),
      };
    },
  },
  sha256_512: sha256Circuit(512, ['--O2']),
  sha256_2048: sha256Circuit(2048, ['--O2']),
  sha256_16384: sha256Circuit(16384, []),
};

// circom in a process of its own: it runs as WebAssembly with its own idea of the file system.
const compilerScript = `
const fs = require('fs');
const { CircomRunner, bindings } = require('circom2');
const [modules, out, ...args] = process.argv.slice(1);
// Pointers beyond 2 GiB, which large circuits need, reach the host as negative numbers.
const unsigned = (f) => (...a) => f(...a.map((x) => (typeof x === 'number' ? x >>> 0 : x)));
const { instantiate } = WebAssembly;
WebAssembly.instantiate = (module, imports) =>
  instantiate(
    module,
    Object.fromEntries(
      Object.entries(imports).map(([space, functions]) => [
        space,
        Object.fromEntries(
          Object.entries(functions).map(([name, f]) => [
            name,
            typeof f === 'function' ? unsigned(f) : f,
          ]),
        ),
      ]),
    ),
  );
const runner = new CircomRunner({
  args,
  env: {},
  preopens: { '/lib': modules, '/out': out },
  bindings: { ...bindings, fs, exit: (code) => process.exit(code) },
});
runner.execute(fs.readFileSync(require.resolve('circom2/circom.wasm')));
`;

function compile(dir, name, circuit, curve) {
  writeFileSync(join(dir, `${name}.circom`), `pragma circom 2.1.0;\n${circuit.source}\n`);
  const args = [`/out/${name}.circom`, '--r1cs', '--wasm', '--sym', '--prime', curve];
  args.push(...(circuit.flags ?? []), '-l', '/lib', '-l', '/lib/circomlib/circuits', '-o', '/out');
  const result = runProgram(process.execPath, ['-e', compilerScript, realpathSync(modulesDir), dir, ...args], {
    cwd: interopDir,
    timeout: 0,
  });
  if (result.status !== 0 || !existsSync(join(dir, `${name}.r1cs`))) {
    throw new Error(`circom ${name}: ${result.stdout}${result.stderr}`);
  }
}

// Makes a cache entry in a directory of its own and moves it into place when it is whole, so that
// a run that is cut short, or two at once, leave nothing half made.
async function cached(entry, make) {
  const dir = join(cacheDir, entry);
  if (!existsSync(dir)) {
    const building = `${dir}.${process.pid}`;
    mkdirSync(building, { recursive: true });
    try {
      await make(building);
      renameSync(building, dir);
    } catch (problem) {
      rmSync(building, { recursive: true, force: true });
      if (!existsSync(dir)) throw problem;
    }
  }
  return dir;
}

const locked = createHash('sha256').update(readFileSync(join(interopDir, 'package-lock.json')));
const lockHash = locked.digest('hex').slice(0, 8);

export const circuitNames = Object.keys(circuits);

// {name, curve, r1cs, sym, wasm, zkey, input()}. zkey: by `cuzk setup` with a fixed seed.
export async function circuit(name, curve) {
  const definition = circuits[name];
  const hash = createHash('sha256').update(JSON.stringify([definition, merkleDepth, lockHash]));
  const dir = await cached(`${name}-${curve}-${hash.digest('hex').slice(0, 12)}`, async (tmp) =>
    compile(tmp, name, definition, curve),
  );
  const zkey = join(dir, 'cuzk.zkey');
  if (!existsSync(zkey)) {
    cuzkOk('setup', join(dir, `${name}.r1cs`), zkey, '--insecure-seed', '00c0ffee');
  }
  return {
    name,
    curve,
    zkey,
    r1cs: join(dir, `${name}.r1cs`),
    sym: join(dir, `${name}.sym`),
    wasm: join(dir, `${name}_js/${name}.wasm`),
    input: () => definition.input(curve),
  };
}

// Development keys of Filecoin's 2 KiB circuits, all of them in one directory: 2 GB and 45
// core-seconds, once.
export const sectorKinds = ['wpost', 'winning', 'snap', 'porep'];

export function filecoinKeys() {
  const circuits = sectorKinds.map((kind) => `${kind}-2k`);
  const shapes = circuits.map((name) => cuzkOk('circuit', 'info', name).stdout);
  const hash = createHash('sha256').update(JSON.stringify(shapes)).digest('hex').slice(0, 12);
  return cached(`params-2k-${hash}`, (tmp) => {
    for (const name of circuits) cuzkOk('setup', '--circuit', name, '--insecure-seed', '00', tmp);
  });
}

// Writes a witness for fresh input to path; returns the public signals expected, if known.
export async function freshWitness(circuitInfo, path) {
  const { values, publics } = circuitInfo.input();
  await snarkjs.wtns.calculate(values, circuitInfo.wasm, path);
  return publics;
}

// A key by snarkjs: a small phase 1 with one contribution and beacon, `groth16 setup`, and one
// phase 2 contribution, so that delta is not 1 and section 10 is not empty.
export async function snarkjsKey(circuitInfo, power) {
  const { curve } = circuitInfo;
  const ptauDir = await cached(`ptau-${curve}-${power}-${lockHash}`, async (tmp) => {
    const [start, contributed, final] = ['0', '1', 'final'].map((s) => join(tmp, `${s}.ptau`));
    const field = await snarkjs.curves.getCurveFromName(curve);
    await snarkjs.powersOfTau.newAccumulator(field, power, start);
    await snarkjs.powersOfTau.contribute(start, contributed, 'tests', 'entropy for a test');
    await snarkjs.powersOfTau.preparePhase2(contributed, final);
    rmSync(start);
    rmSync(contributed);
  });
  const zkey = join(circuitInfo.r1cs, '..', 'snarkjs.zkey');
  if (!existsSync(zkey)) {
    const initial = `${zkey}.${process.pid}.0`;
    const unfinished = `${zkey}.${process.pid}.1`;
    await snarkjs.zKey.newZKey(circuitInfo.r1cs, join(ptauDir, 'final.ptau'), initial);
    await snarkjs.zKey.contribute(initial, unfinished, 'tests', 'more entropy');
    rmSync(initial);
    renameSync(unfinished, zkey);
  }
  return zkey;
}
