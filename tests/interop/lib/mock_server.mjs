// rpc_serve_mock, the interfaces over an engine whose work is sleeping, for one test.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

import { program, scratch } from './env.mjs';

export const base64 = (o) => Buffer.from(JSON.stringify(o)).toString('base64');

// {http, grpc, get(path, init), post(job), ended(id), until(condition), stop()}. options.tokens: a
// file of bearer tokens.
export async function serveMock(t, options = {}) {
  const args = [join(scratch(t), 'state'), ...(options.tokens ? [options.tokens] : [])];
  const child = spawn(program('rpc_serve_mock'), args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  t.after(() => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const address = async (head) => {
    const { value, done } = await lines.next();
    if (done || !value.startsWith(head)) throw new Error(`rpc_serve_mock: ${value ?? 'ended'}`);
    return value.slice(head.length);
  };
  const server = { grpc: await address('grpc '), http: `http://${await address('http ')}` };
  server.get = (path, init) => fetch(`${server.http}${path}`, init);
  server.post = (job) => server.get('/api/v1/jobs', {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(job) });
  server.until = async (condition, seconds = 30) => {
    for (const end = Date.now() + 1000 * seconds; Date.now() < end; await sleep(30))
      if (await condition()) return;
    throw new Error(`not within ${seconds} s: ${condition}`);
  };
  server.ended = async (id) => {
    let job;
    await server.until(async () => {
      job = await (await server.get(`/api/v1/jobs/${id}`)).json();
      return !['queued', 'running'].includes(job.state);
    });
    return job;
  };
  server.stop = async () => {
    child.stdin.end();
    return (await ended)[0];
  };
  return server;
}
