// A cuzkd under test, and grpc-js clients of it made from its .proto files.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';

import { cuzkPath, program, rootDir, runProgram } from './env.mjs';

const protoDir = join(rootDir, 'src/rpc/proto');
const definition = loader.loadSync(['cuzk/v1/proving.proto', 'cuzk/v1/engine.proto'], {
  includeDirs: [protoDir],
  keepCase: true,
  longs: Number,
  enums: String,
  defaults: true,
  oneofs: true,
});
export const { cuzk: { v1 } } = grpc.loadPackageDefinition(definition);
export const { status: code } = grpc;

// The fastest that a daemon on one simulated device can be, and still have an order.
export const quick = { witness: '10ms', stage: '2ms', compute: '5ms', finish: '2ms', verify: '1ms' };

// A PoRep for the mock provider: what it is to do travels as its vanilla proof.
export const mockJob = (what) => Buffer.from(JSON.stringify(what));

// Promises instead of callbacks: client.SubmitProof({...}, {deadline}) and client.WatchJob({...}) as
// an async iterable.
function promised(client, service) {
  const calls = {};
  for (const [name, method] of Object.entries(service.service)) {
    calls[name] = method.responseStream
      ? (request, options = {}) => client[name](request, options)
      : (request = {}, options = {}) =>
          new Promise((resolve, reject) => {
            client[name](request, options.metadata ?? new grpc.Metadata(), options, (error, reply) =>
              error ? reject(error) : resolve(reply),
            );
          });
  }
  return calls;
}

export function connect(addr, credentials = grpc.credentials.createInsecure(), options = {}) {
  const settings = {
    'grpc.initial_reconnect_backoff_ms': 50,
    'grpc.max_reconnect_backoff_ms': 200,
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
    'grpc.enable_retries': 0,
    ...options,
  };
  const proving = new v1.ProvingEngine(addr, credentials, settings);
  const engine = new v1.Engine(addr, credentials, settings);
  return {
    ...promised(proving, v1.ProvingEngine),
    ...promised(engine, v1.Engine),
    // 1: SERVING, 2: NOT_SERVING (grpc.health.v1)
    health: (service) =>
      new Promise((resolve, reject) => {
        engine.makeUnaryRequest(
          '/grpc.health.v1.Health/Check',
          (name) => Buffer.from([10, name.length, ...Buffer.from(name)]),
          (reply) => reply[1],
          service,
          (error, serving) => (error ? reject(error) : resolve(serving)),
        );
      }),
    close: () => {
      proving.close();
      engine.close();
    },
  };
}

// Waits until the daemon has heard of n calls that go on: what a client has sent need not have come.
export async function hasCalls(c, n) {
  for (let i = 0; i < 1200; i++) {
    const { prometheus_text: text } = await c.GetMetrics();
    if (Number(/^cuzk_grpc_calls (\d+)$/m.exec(text)[1]) >= n + 1) return; // with this one
    await sleep(25);
  }
  throw new Error(`never: ${n} calls`);
}

// A request whose deadline is in a moment, made again while that is past before it arrives.
export async function untilInTime(request) {
  for (let i = 0; ; i++) {
    try {
      return await request();
    } catch (error) {
      if (error.code !== code.DEADLINE_EXCEEDED || i === 50) throw error;
    }
  }
}

// dir: where socket and state lie; start it again there to go on. mock: values of [mock], or null
// for real devices. set: further settings.
export class Daemon {
  constructor(dir, { mock = quick, set = {}, env = {} } = {}) {
    this.dir = dir;
    this.addr = `unix:${join(dir, 's')}`;
    this.set = {
      'daemon.listen': this.addr,
      'daemon.state_dir': join(dir, 'state'),
      'memory.total_budget': '8GiB',
      'limits.drain_grace': '500ms',
      ...set,
    };
    this.env = env;
    this.words = [];
    if (mock) {
      const file = join(dir, 'mock.toml');
      const value = (v) => (typeof v === 'number' ? v : JSON.stringify(v));
      writeFileSync(
        file,
        `[mock]\n${Object.entries(mock)
          .map(([k, v]) => `${k} = ${value(v)}\n`)
          .join('')}`,
      );
      this.words.push('--mock', file);
    }
  }

  // Resolves when it is ready: {grpc: [addresses], http: [addresses]} are in `bound`. Rejects with
  // its log when it ends instead.
  async start() {
    const sets = Object.entries(this.set).flatMap(([k, v]) => ['--set', `${k}=${v}`]);
    this.log = [];
    this.bound = { gRPC: [], HTTP: [] };
    this.child = spawn(program('cuzkd'), [...this.words, ...sets], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...this.env },
    });
    this.ended = once(this.child, 'close');
    const ready = new Promise((resolve, reject) => {
      createInterface({ input: this.child.stderr }).on('line', (line) => {
        this.log.push(line);
        const [, kind, where] = /listen: (gRPC|HTTP) on (\S+)/.exec(line) ?? [];
        if (kind) this.bound[kind].push(where);
        if (line.endsWith('daemon: ready')) resolve();
      });
      this.ended.then(() => reject(new Error(`cuzkd ended: ${this.log.join('\n')}`)));
    });
    ready.catch(() => {});
    await ready;
    return this;
  }

  client(...args) {
    return connect(this.addr, ...args);
  }

  // Sends a signal and waits for the end: {status, signal}.
  async end(signal = 'SIGTERM') {
    this.child.kill(signal);
    const [status, by] = await this.ended;
    return { status, signal: by };
  }

  // A verb of the command line client.
  cuzk(...args) {
    return runProgram(cuzkPath, args.map(String), {
      env: { ...process.env, CUZK_ADDR: this.addr },
    });
  }

  // The same without blocking this process: {status, stdout, stderr}.
  async cuzkAsync(...args) {
    const child = spawn(cuzkPath, args.map(String), {
      env: { ...process.env, CUZK_ADDR: this.addr },
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (d) => (stdout += d));
    child.stderr.on('data', (d) => (stderr += d));
    const [status] = await once(child, 'close');
    return { status, stdout, stderr };
  }
}

export async function startDaemon(t, dir, options) {
  const d = new Daemon(dir, options);
  t.after(async () => {
    if (d.child && d.child.exitCode === null && d.child.signalCode === null) {
      d.child.kill('SIGKILL');
      await d.ended;
    }
  });
  await d.start();
  return d;
}
