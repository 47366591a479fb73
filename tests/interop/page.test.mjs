// The status page in a real Chromium, over an engine whose work is sleeping.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { scratch } from './lib/env.mjs';
import { base64, serveMock } from './lib/mock_server.mjs';

const chromiumPath = process.env.CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
let browser;

before(async () => {
  if (!chromiumPath) return;
  const { chromium } = await import('playwright-core');
  browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-gpu'] });
});
after(() => browser?.close());

const porep = (settings = {}) => ({
  proof_kind: 'POREP_SEAL_COMMIT',
  vanilla_proof: base64({ partitions: 4, witness_ms: 60, compute_ms: 20, stage_ms: 10, ...settings }),
});

// A page with no error of its own, that asks nobody but its engine.
async function open(t, server, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  t.after(() => context.close());
  const page = await context.newPage();
  const troubles = [];
  page.on('pageerror', (e) => troubles.push(e.message));
  page.on('console', (m) => { if (m.type() === 'error' && !/401|ERR_CONNECTION/.test(m.text())) troubles.push(m.text()); });
  page.on('request', (r) => { if (!r.url().startsWith(server.http) && !r.url().startsWith('blob:')) troubles.push(`asks ${r.url()}`); });
  page.troubles = troubles;
  page.setDefaultTimeout(60_000);
  await page.goto(`${server.http}/`);
  return page;
}

const submit = async (server, job) => (await (await server.post(job)).json()).job_id;
const rowOf = (page, id) => page.locator(`#joblist tr[data-key="${id}"]`);

async function inState(page, id, state) {
  await page.waitForFunction(([i, s]) => document.querySelector(`#joblist tr[data-key="${i}"] .st`)?.textContent === s, [id, state]);
}

// A test that needs the browser.
const inBrowser = (name, run) => test(name, (t) => (browser ? run(t) : t.skip('chromium is not installed')));

inBrowser('shows what goes on', async (t) => {
  const server = await serveMock(t);
  const page = await open(t, server);
  await page.waitForFunction(() => document.querySelector('#state').textContent === 'ready, nothing to do');
  // Something goes on until all has been looked at.
  const endless = await submit(server, porep({ partitions: 1, witness_ms: 3_600_000 }));
  await inState(page, endless, 'running');
  await page.waitForFunction(() => document.querySelector('#state').textContent === 'proving');
  await page.waitForSelector('#live .cell.s-witness');
  // A job whose last partition takes its time, and another when the page was late for that one.
  const faults = [{ stage: 'witness', fault: 'slow', partition: 11 }];
  const halfDone = (id) => {
    const cells = [...document.querySelectorAll(`#live .row[data-key="${id}"] .cell`)];
    const state = document.querySelector(`#joblist tr[data-key="${id}"] .st`)?.textContent;
    return state === 'running' && cells.some((cell) => cell.classList.contains('s-done')) && [cells.length, cells[0].title];
  };
  let jobs = 0;
  let seen;
  while (!seen && jobs < 6) {
    const slow = await submit(server, porep({ partitions: 12, witness_ms: 400, compute_ms: 200, faults }));
    jobs++;
    seen = await page.waitForFunction(halfDone, slow, { timeout: 20_000 }).then((found) => found.jsonValue(), () => undefined);
    if (seen) assert.deepEqual([seen[0], /^partition 0: /.test(seen[1])], [12, true]);
    await inState(page, slow, 'done');
  }
  assert.ok(seen);

  // The timeline has bars: something is drawn in a job's colour.
  await page.waitForFunction(() => {
    const c = document.querySelector('#timeline');
    const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
    let bright = 0;
    for (let i = 0; i < d.length; i += 4) if (Math.max(d[i], d[i + 1], d[i + 2]) - Math.min(d[i], d[i + 1], d[i + 2]) > 90 && d[i + 3] > 100) bright++;
    return bright > 50;
  });
  assert.match(await page.locator('#timeline').getAttribute('aria-label'), /witnesses/);

  await server.get(`/api/v1/jobs/${endless}`, { method: 'DELETE' });
  await inState(page, endless, 'cancelled');
  await page.waitForFunction((n) => document.querySelector('#t-done').textContent === `${n}`, jobs);
  assert.equal(await page.locator('#devices .card').count(), 2);
  assert.match(await page.locator('#devices .card').first().textContent(), /Mock device 0.*Busy.*Memory/s);
  assert.match(await page.locator('#memory').textContent(), /of 4\.0 GiB/);
  assert.equal(await page.locator('#queues tr').count(), 5);
  await page.waitForFunction((n) => document.querySelector('#queues tr').textContent.includes(`PoRep00${n}0`), jobs);
  assert.match(await page.locator('#keys tr', { hasText: 'porep-32g' }).textContent(), /loaded/);
  assert.deepEqual(page.troubles, []);
});

inBrowser('a failed job says why, and what to do', async (t) => {
  const server = await serveMock(t);
  const page = await open(t, server);
  const id = await submit(server, porep({ faults: [{ stage: 'verify', fault: 'wrong', times: 0 }] }));
  await inState(page, id, 'failed');
  const why = page.locator(`#joblist tr[data-key="${id} why"]`);
  assert.match(await why.textContent(), /Why: .*verify/);
  assert.match(await why.textContent(), /key and input belong together/);
  // the filter keeps it, and hides others
  const good = await submit(server, porep());
  await inState(page, good, 'done');
  await page.getByRole('button', { name: '1 failed' }).click();
  await page.waitForFunction((i) => !document.querySelector(`#joblist tr[data-key="${i}"]`), good);
  assert.equal(await rowOf(page, id).count(), 1);
  assert.deepEqual(page.troubles, []);
});

inBrowser('cancels, after asking, with the keyboard alone', async (t) => {
  const server = await serveMock(t);
  const page = await open(t, server);
  const id = await submit(server, porep({ partitions: 20, witness_ms: 60000 }));
  await inState(page, id, 'running');
  const button = rowOf(page, id).getByRole('button', { name: `Cancel job ${id}` });
  for (let i = 0; i < 60 && !(await button.evaluate((b) => b === document.activeElement)); i++) await page.keyboard.press('Tab');
  assert.ok(await button.evaluate((b) => b === document.activeElement), 'Tab reaches the button');
  await page.waitForTimeout(1500); // the page is brought up to date in between
  assert.ok(await button.evaluate((b) => b === document.activeElement), 'it keeps the focus');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#ask[open]');
  assert.match(await page.locator('#ask').textContent(), new RegExp(id));
  await page.keyboard.press('Escape');
  await page.waitForSelector('#ask:not([open])', { state: 'attached' });
  assert.match((await (await server.get(`/api/v1/jobs/${id}`)).json()).state, /running/);
  await button.press('Enter');
  await page.waitForSelector('#ask[open]');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await inState(page, id, 'cancelled');
  assert.equal((await server.ended(id)).state, 'cancelled');
  assert.deepEqual(page.troubles, []);
});

inBrowser('drains, loads keys, takes them out', async (t) => {
  const server = await serveMock(t);
  const page = await open(t, server);
  await page.locator('#drain').click();
  await page.locator('#ask-yes').click();
  await page.waitForFunction(() => /drained/.test(document.querySelector('#state').textContent));
  assert.equal((await server.post(porep())).status, 503);
  await page.locator('#resume').click();
  await page.waitForFunction(() => /ready/.test(document.querySelector('#state').textContent));
  const row = page.locator('#keys tr[data-key="mock-b"]');
  await row.getByRole('button', { name: 'Load key mock-b' }).click();
  await page.waitForFunction(() => document.querySelector('#keys tr[data-key="mock-b"] .st').textContent === 'loaded');
  await row.getByRole('button', { name: 'Take key mock-b out of memory' }).click();
  await page.locator('#ask-yes').click();
  await page.waitForFunction(() => document.querySelector('#keys tr[data-key="mock-b"] .st').textContent === 'on disk');
  assert.deepEqual(page.troubles, []);
});

inBrowser('asks for a token where there is one', async (t) => {
  const file = join(scratch(t), 'tokens');
  writeFileSync(file, 'sesame-open-the-door\n', { mode: 0o600 });
  const server = await serveMock(t, { tokens: file });
  const page = await open(t, server);
  await page.waitForSelector('#token-form:not([hidden])');
  await page.fill('#token', 'wrong');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => /not accepted/.test(document.querySelector('#trouble').textContent));
  await page.fill('#token', 'sesame-open-the-door');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => /ready/.test(document.querySelector('#state').textContent));
  assert.ok(await page.locator('#token-form').isHidden());
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Metrics' }).click()]);
  assert.equal(download.suggestedFilename(), 'metrics.txt');
  assert.deepEqual(page.troubles, []);
});

inBrowser('says so when the engine is gone', async (t) => {
  const server = await serveMock(t);
  const page = await open(t, server);
  await page.waitForFunction(() => /ready/.test(document.querySelector('#state').textContent));
  assert.equal(await server.stop(), 0);
  await page.waitForFunction(() => document.querySelector('#state').textContent === 'unreachable');
  assert.match(await page.locator('#trouble').textContent(), /Is the daemon running/);
});

inBrowser('fits narrow and dark screens', async (t) => {
  const server = await serveMock(t);
  const id = await submit(server, porep({ partitions: 16 }));
  for (const options of [{ viewport: { width: 360, height: 740 } }, { colorScheme: 'dark' }]) {
    const page = await open(t, server, options);
    await inState(page, id, 'done');
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(over <= 0, `${over} pixels too wide`);
    // Text can be read: its contrast with what is behind it is at least 4.5 to 1.
    const poor = await page.evaluate(() => {
      const light = (c) => {
        const [r, g, b] = c.match(/[\d.]+/g).map((x) => x / 255).map((x) => (x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const behind = (e) => {
        for (let at = e; at; at = at.parentElement) {
          const c = getComputedStyle(at).backgroundColor;
          if (!/, 0\)$|transparent/.test(c)) return c;
        }
        return 'rgb(255, 255, 255)';
      };
      const bad = [];
      for (const e of document.querySelectorAll('h1, h2, h3, p, td, th, span, button, a, li, .cell')) {
        if (!e.textContent.trim() || !e.checkVisibility() || e.classList.contains('hide') || e.classList.contains('skip') || e.disabled) continue;
        const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
        if ((a + 0.05) / (b + 0.05) < (e.classList.contains('cell') ? 3 : 4.5)) bad.push(`${e.className || e.tagName} '${e.textContent.trim().slice(0, 30)}' ${((a + 0.05) / (b + 0.05)).toFixed(2)}`);
      }
      return bad;
    });
    assert.deepEqual(poor, []);
    assert.deepEqual(page.troubles, []);
  }
});
