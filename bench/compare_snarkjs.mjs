#!/usr/bin/env node
// Times `cuzk prove` against `snarkjs groth16 prove`, whole processes, in turn, on the same keys and
// witnesses. Prints JSON. See usage.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir, totalmem } from 'node:os';
import { basename, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';

import { circuit, circuitNames, freshWitness } from '../tests/interop/lib/circuits.mjs';
import { cuzkPath, modulesDir, rootDir, vectorsDir } from '../tests/interop/lib/env.mjs';
import { endWorkers, snarkjs } from '../tests/interop/lib/snarkjs.mjs';

const usage = `usage: node bench/compare_snarkjs.mjs [OPTIONS] [CIRCUIT...]
       node bench/compare_snarkjs.mjs [OPTIONS] --zkey FILE --wtns FILE

Circuits: ${circuitNames.join(' ')}, and semaphore20, whose key and witness are among the tests' vectors
(default: sha256_512 sha256_2048). They are compiled from npm and set up on first use, which takes
minutes for the large ones, and kept in build/interop-cache.

  --curve bn128|bls12381  (bn128)
  --rounds N              proofs by cuzk per circuit (5)
  --snarkjs-rounds N      proofs by snarkjs per circuit, spread over the rounds (2)
  --threads N             for cuzk (0: one per core)
  --out FILE              write the JSON there instead of stdout

CUZK_BUILD names the build directory (build/release). Every proof is checked with snarkjs. memory:
the largest RssAnon and RSS seen in /proc/PID/status during an extra proof, every millisecond.
`;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    curve: { type: 'string', default: 'bn128' },
    rounds: { type: 'string', default: '5' },
    'snarkjs-rounds': { type: 'string', default: '2' },
    threads: { type: 'string', default: '0' },
    zkey: { type: 'string' },
    wtns: { type: 'string' },
    out: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (options.help) {
  process.stdout.write(usage);
  process.exit(0);
}

const snarkjsCli = join(modulesDir, 'snarkjs/build/cli.cjs');

// Runs a program to its end; onTick(pid) is called about every millisecond when given.
function timed(path, args, onTick) {
  return new Promise((resolve, reject) => {
    const begin = performance.now();
    const child = spawn(path, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let stderr = '';
    child.stderr.on('data', (chunk) => (stderr += chunk));
    const timer = onTick && setInterval(() => onTick(child.pid), 1);
    child.on('error', reject);
    child.on('exit', (code) => {
      const ms = performance.now() - begin;
      clearInterval(timer);
      if (code === 0) resolve(ms);
      else reject(new Error(`${path} ${args.join(' ')}: exit ${code}: ${stderr}`));
    });
  });
}

async function peakMemory(path, args) {
  const peak = { rss_anon_mb: 0, rss_mb: 0 };
  await timed(path, args, (pid) => {
    let status;
    try {
      status = readFileSync(`/proc/${pid}/status`, 'utf8');
    } catch {
      return; // it has ended
    }
    const field = (name) => Number(status.match(`${name}:\\s+(\\d+) kB`)?.[1] ?? 0) / 1024;
    peak.rss_anon_mb = Math.max(peak.rss_anon_mb, field('RssAnon'));
    peak.rss_mb = Math.max(peak.rss_mb, field('VmHWM'));
  });
  for (const name of Object.keys(peak)) peak[name] = Math.round(peak[name] * 10) / 10;
  return peak;
}

function summary(times) {
  const sorted = [...times].sort((a, b) => a - b);
  const round = (ms) => Math.round(ms * 10) / 10;
  return {
    min: round(sorted[0]),
    median: round((sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2),
    max: round(sorted.at(-1)),
    rounds: sorted.length,
  };
}

async function compare(name, zkey, wtns, dir) {
  const out = [join(dir, 'proof.json'), join(dir, 'public.json')];
  const ours = ['prove', '--threads', options.threads, zkey, wtns, ...out];
  const theirs = [snarkjsCli, 'groth16', 'prove', zkey, wtns, ...out];
  const vkey = await snarkjs.zKey.exportVerificationKey(zkey);
  const check = async () => {
    const [proof, publics] = out.map((path) => JSON.parse(readFileSync(path, 'utf8')));
    if (!(await snarkjs.groth16.verify(vkey, publics, proof))) throw new Error('invalid proof');
  };
  const times = { cuzk: [], snarkjs: [] };
  const rounds = Number(options.rounds);
  const every = Math.max(1, Math.floor(rounds / Number(options['snarkjs-rounds'])));
  await timed(cuzkPath, ours); // fills the page cache for both
  for (let round = 0; round < rounds; round++) {
    if (round % every === 0 && times.snarkjs.length < Number(options['snarkjs-rounds'])) {
      times.snarkjs.push(await timed(process.execPath, theirs));
      await check();
    }
    times.cuzk.push(await timed(cuzkPath, ours));
    await check();
  }
  const memory = await peakMemory(cuzkPath, ours);
  const [cuzkMs, snarkjsMs] = [summary(times.cuzk), summary(times.snarkjs)];
  const ratio = (what) => Math.round((snarkjsMs[what] / cuzkMs[what]) * 100) / 100;
  return {
    op: 'prove',
    circuit: name,
    curve: vkey.curve,
    public: vkey.nPublic,
    zkey_bytes: statSync(zkey).size,
    device: 'cpu',
    variant: 'cold',
    verified: true,
    cuzk: { ms: cuzkMs, memory },
    snarkjs: { ms: snarkjsMs },
    ratio: { min: ratio('min'), median: ratio('median') },
  };
}

// Of a circuit that is compiled, or of one among the tests' vectors.
async function keyAndWitness(name, dir) {
  const vectors = join(vectorsDir, options.curve, name);
  if (!circuitNames.includes(name) && existsSync(vectors))
    return [join(vectors, 'circuit_final.zkey'), join(vectors, 'witness.wtns')];
  const made = await circuit(name, options.curve);
  const wtns = join(dir, 'witness.wtns');
  await freshWitness(made, wtns);
  return [made.zkey, wtns];
}

const dir = mkdtempSync(join(tmpdir(), 'cuzk-compare-'));
const results = [];
try {
  if (options.zkey) {
    results.push(await compare(basename(options.zkey), options.zkey, options.wtns, dir));
  } else {
    for (const name of positionals.length ? positionals : ['sha256_512', 'sha256_2048']) {
      results.push(await compare(name, ...(await keyAndWitness(name, dir)), dir));
      process.stderr.write(`${name}: ${results.at(-1).ratio.median} times snarkjs\n`);
    }
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
  await endWorkers();
}

const report = {
  machine: {
    cpu: cpus()[0].model,
    cores: cpus().length,
    memory_gb: Math.round(totalmem() / 2 ** 30),
    node: process.version,
  },
  commit: execFileSync('git', ['-C', rootDir, 'describe', '--always', '--dirty'], { encoding: 'utf8' }).trim(),
  command: ['node', 'bench/compare_snarkjs.mjs', ...process.argv.slice(2)].join(' '),
  results,
};
const text = `${JSON.stringify(report, null, 1)}\n`;
if (options.out) writeFileSync(options.out, text);
else process.stdout.write(text);
