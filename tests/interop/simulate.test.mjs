// cuzk simulate: reports, pictures, changes, refusals.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { cuzk, cuzkOk, scratch } from './lib/env.mjs';

const run = (...args) => JSON.parse(cuzkOk('simulate', ...args, '--json').stdout).runs;

test('every preset runs, and its printed text runs the same', (t) => {
  for (const preset of ['mix', 'daemon', 'curio']) {
    const path = join(scratch(t), 'copy.sim');
    writeFileSync(path, cuzkOk('simulate', '--preset', preset, '--print').stdout);
    assert.deepEqual(run(path), run('--preset', preset));
  }
});

test('the published history is compared', () => {
  const rows = run('--preset', 'curio').flatMap((r) => r.published);
  assert.ok(rows.length >= 32);
  assert.ok(rows.filter((r) => Math.abs(r.percent) > 10).length <= 2);
  assert.match(cuzkOk('simulate', '--preset', 'curio', '--run', 'p8-steady').stdout,
    /published +steady 37\.4, here 3[78]\.\d/);
});

test('a report for people', () => {
  const { stdout } = cuzkOk('simulate', '--preset', 'daemon', '--run', 'one-worker');
  assert.match(stdout, /^one-worker: one worker does everything/);
  assert.match(stdout, /bound by/);
  assert.match(stdout, /sector +3 +0 +0/);
});

test('--set changes a run', () => {
  const [slow] = run('--preset', 'daemon', '--run', 'two-workers', '--set', 'kind.sector.kernels=0.2');
  const [fast] = run('--preset', 'daemon', '--run', 'two-workers');
  assert.ok(slow.seconds_per_proof > 1.8 * fast.seconds_per_proof);
});

test('a timeline as lines in order and as a picture', (t) => {
  const dir = scratch(t);
  cuzkOk('simulate', '--preset', 'daemon', '--run', 'two-devices', '--timeline', join(dir, 't.csv'));
  cuzkOk('simulate', '--preset', 'daemon', '--run', 'two-devices', '--timeline', join(dir, 't.svg'));
  const lines = readFileSync(join(dir, 't.csv'), 'utf8').trimEnd().split('\n');
  assert.equal(lines.length, 6 * 60);
  const times = lines.map((line) => {
    const [, ms] = /^TIMELINE,(\d+),[A-Z_]+,job-\d+,[a-z_]+=\d+/.exec(line);
    return Number(ms);
  });
  assert.deepEqual(times, [...times].sort((a, b) => a - b));
  assert.match(readFileSync(join(dir, 't.svg'), 'utf8'), /^<svg [^]*device 1 slot 1[^]*<\/svg>\n$/);
});

function refuses(code, message, ...args) {
  const result = cuzk('simulate', ...args);
  assert.equal(result.status, code, result.stderr);
  assert.equal(result.stdout, '');
  assert.match(result.stderr, message);
}

test('what is wrong is said', (t) => {
  const dir = scratch(t);
  const path = join(dir, 'x.sim');
  writeFileSync(path, '[host]\nmemory = 10\n[kind a]\nmemory = 11\ncount = 1\n');
  refuses(3, /needs 11\.0 GiB on the host and at most 10\.0 GiB/, path);
  writeFileSync(path, '[host]\nmemori = 10\n');
  refuses(3, /x\.sim: line 2: \[host\] has no key `memori`/, path);
  refuses(4, /none\.sim/, join(dir, 'none.sim'));
  refuses(2, /no preset is called `h100`; there are curio, daemon, mix/, '--preset', 'h100');
  refuses(2, /wants one FILE or --preset/);
  refuses(2, /wants one FILE or --preset/, '--preset', 'mix', path);
  refuses(2, /--print wants --preset/, path, '--print');
  refuses(2, /there is no \[run x\]/, '--preset', 'mix', '--run', 'x');
  refuses(2, /--timeline wants --run: there are 4/, '--preset', 'daemon', '--timeline', join(dir, 't'));
  refuses(2, /unknown option --fast/, '--preset', 'mix', '--fast');
  refuses(3, /run run has no kind `b`/, '--preset', 'mix', '--set', 'kind.b.count=1');
  refuses(4, /no-such-directory/, '--preset', 'mix', '--timeline', join(dir, 'no-such-directory/t'));
  assert.deepEqual(readdirSync(dir), ['x.sim']);
});

test('cuzk timeline reads what simulate wrote', (t) => {
  const dir = scratch(t);
  const log = join(dir, 't.log');
  cuzkOk('simulate', '--preset', 'daemon', '--run', 'one-worker', '--timeline', log);
  const sum = JSON.parse(cuzkOk('timeline', log, '--json', '--svg', join(dir, 't.svg')).stdout);
  const [simulated] = run('--preset', 'daemon', '--run', 'one-worker');
  assert.equal(sum.partitions, 30);
  assert.equal(sum.unfinished, 0);
  const [device] = sum.devices;
  assert.ok(Math.abs((100 * device.busy) / device.span - simulated.gate_busy) < 0.1);
  const gaps = Object.values(device.gaps).reduce((a, b) => a + b);
  assert.ok(Math.abs(gaps - (device.span - device.busy)) < 0.01);
  assert.ok(device.gaps.queued > 0 && device.gaps.staging > 0 && device.gaps.witness === 0);
  assert.match(readFileSync(join(dir, 't.svg'), 'utf8'), /device 0 kernels/);
  assert.match(cuzkOk('timeline', log).stdout, /gaps +no work 0\.000 s, witness/);
});

test('cuzk timeline says what is wrong', (t) => {
  const dir = scratch(t);
  const log = join(dir, 'x.log');
  writeFileSync(log, 'nothing\nTIMELINE,what\n');
  const result = cuzk('timeline', log);
  assert.equal(result.status, 3);
  assert.match(result.stderr, /x\.log: there is no TIMELINE line/);
  assert.equal(cuzk('timeline').status, 2);
  assert.equal(cuzk('timeline', join(dir, 'none')).status, 4);
});
