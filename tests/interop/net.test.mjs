// The gRPC server of src/net against grpc-js, curl, h2load and broken clients. Its own test server,
// net_echo, answers (tests/unit/net/echo_server.h lists the methods).
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import http2 from 'node:http2';
import net from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import grpc from '@grpc/grpc-js';

import { program, scratch } from './lib/env.mjs';

const { status } = grpc;

// A running net_echo: {addresses, command(line), stop()}.
async function echoServer(t, addresses = ['127.0.0.1:0'], env = {}) {
  const child = spawn(program('net_echo'), addresses, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (head) => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new Error('net_echo ended');
      if (value.startsWith(head)) return value.slice(head.length).trim();
    }
  };
  t.after(() => child.kill('SIGKILL'));
  const bound = [];
  for (const _ of addresses) bound.push(await next('listening '));
  await next('ready');
  const say = (line) => child.stdin.write(`${line}\n`);
  return {
    addresses: bound,
    child,
    say,
    next,
    stats: async () => (say('stats'), JSON.parse(await next('stats '))),
    stop: async () => {
      const ended = child.exitCode === null ? once(child, 'exit') : [child.exitCode];
      child.stdin.end();
      assert.equal((await ended)[0], 0);
    },
  };
}

// Waits until a condition on the figures holds.
async function until(server, condition) {
  for (let i = 0; i < 1200; i++) {
    const stats = await server.stats();
    if (condition(stats)) return stats;
    await sleep(25);
  }
  throw new Error(`never: ${condition}; ${JSON.stringify(await server.stats())}`);
}

const raw = (x) => x;
function echoClient(t, address, { credentials, ...options } = {}) {
  const target = address.startsWith('unix://') ? `unix:${address.slice(7)}` : address;
  const method = (name, requestStream, responseStream) => ({
    path: `/cuzk.test.Echo/${name}`, requestStream, responseStream, requestSerialize: raw,
    requestDeserialize: raw, responseSerialize: raw, responseDeserialize: raw,
  });
  const Client = grpc.makeGenericClientConstructor({
    Echo: method('Echo', false, false), Later: method('Later', false, false),
    Length: method('Length', false, false), Hang: method('Hang', false, false),
    Fail: method('Fail', false, false), Who: method('Who', false, false),
    NoSuch: method('NoSuch', false, false), Count: method('Count', false, true),
    Forever: method('Forever', false, true), Flood: method('Flood', false, true),
    Chat: method('Chat', true, true),
  }, 'cuzk.test.Echo');
  const client = new Client(target, credentials ?? grpc.credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1,
    'grpc.use_local_subchannel_pool': 1, ...options,
  });
  t.after(() => client.close());
  return client;
}

// Resolves to {error, reply}.
const unary = (client, name, body, meta = new grpc.Metadata(), options = {}) =>
  new Promise((resolve) => {
    client[name](Buffer.from(body), meta, options, (error, reply) => resolve({ error, reply }));
  });

// A gRPC message in its frame; a call by hand.
function frame(text, flag = 0, length = Buffer.byteLength(text)) {
  const head = Buffer.alloc(5);
  head[0] = flag;
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, Buffer.from(text)]);
}
function rawCall(session, name, headers = {}) {
  const call = session.request({
    ':method': 'POST', ':path': `/cuzk.test.Echo/${name}`, 'content-type': 'application/grpc',
    te: 'trailers', ...headers,
  });
  call.on('error', () => {});
  return call;
}
// How such a call ended: {http, code, message, data, reset}.
async function rawEnd(call) {
  const end = { data: 0 };
  const note = (h) => {
    if (h[':status']) end.http = h[':status'];
    if ('grpc-status' in h) end.code = Number(h['grpc-status']);
    if ('grpc-message' in h) end.message = decodeURIComponent(h['grpc-message']);
    if ('grpc-accept-encoding' in h) end.accept = h['grpc-accept-encoding'];
  };
  call.on('response', note);
  call.on('trailers', note);
  call.on('data', (d) => { end.data += d.length; });
  await once(call, 'close');
  end.reset = call.rstCode;
  return end;
}

async function stream(call) {
  const messages = [];
  let error = null;
  call.on('data', (m) => messages.push(m));
  call.on('error', (e) => { error = e; });
  await once(call, 'close').catch(() => {});
  await new Promise((resolve) => { setImmediate(resolve); });
  return { messages, error };
}

test('unary calls over TCP, IPv6 and a Unix socket', async (t) => {
  const path = join(scratch(t), 'echo.sock');
  const server = await echoServer(t, ['127.0.0.1:0', '[::1]:0', `unix://${path}`]);
  for (const address of server.addresses) {
    const client = echoClient(t, address);
    for (const name of ['Echo', 'Later']) {
      const { error, reply } = await unary(client, name, 'hello');
      assert.equal(error, null);
      assert.equal(reply.toString(), 'hello');
    }
    const empty = await unary(client, 'Echo', '');
    assert.equal(empty.reply.length, 0);
  }
  await server.stop();
  assert.ok(!existsSync(path), 'the socket file is removed');
});

test('many calls at a time on one connection', async (t) => {
  const server = await echoServer(t);
  const client = echoClient(t, server.addresses[0]);
  const all = await Promise.all(Array.from({ length: 1000 }, (_, i) =>
    unary(client, i % 2 ? 'Echo' : 'Later', `message ${i}`)));
  all.forEach(({ error, reply }, i) => {
    assert.equal(error, null);
    assert.equal(reply.toString(), `message ${i}`);
  });
  await until(server, (s) => s.calls === 0 && s.request_bytes === 0);
  await server.stop();
});

test('errors: codes, messages in UTF-8, retry hints, unknown methods', async (t) => {
  const server = await echoServer(t);
  const client = echoClient(t, server.addresses[0]);
  const missing = await unary(client, 'Fail', '5 nothing here: 100 % ünknown\nline two');
  assert.equal(missing.error.code, status.NOT_FOUND);
  assert.equal(missing.error.details, 'nothing here: 100 % ünknown\nline two');
  const busy = await unary(client, 'Fail', '8 busy');
  assert.equal(busy.error.code, status.RESOURCE_EXHAUSTED);
  const [details] = busy.error.metadata.get('grpc-status-details-bin');
  assert.ok(details.includes('type.googleapis.com/google.rpc.RetryInfo'));
  assert.equal(busy.error.metadata.get('grpc-retry-pushback-ms')[0], '1500');
  const unknown = await unary(client, 'NoSuch', 'x');
  assert.equal(unknown.error.code, status.UNIMPLEMENTED);
  await server.stop();
});

test('a stream of messages', async (t) => {
  const server = await echoServer(t);
  const client = echoClient(t, server.addresses[0]);
  const { messages, error } = await stream(client.Count(Buffer.from('5000')));
  assert.equal(error, null);
  assert.deepEqual(messages.map(Number), Array.from({ length: 5000 }, (_, i) => i + 1));
  const chat = client.Chat();
  const heard = stream(chat);
  for (const text of ['a', '', 'b'.repeat(100000)]) chat.write(Buffer.from(text));
  chat.end();
  assert.deepEqual((await heard).messages.map((m) => m.length), [1, 0, 100000]);
  await server.stop();
});

test('cancel, deadline, and a connection that goes away', async (t) => {
  const server = await echoServer(t);
  const client = echoClient(t, server.addresses[0]);
  const cancelled = new Promise((resolve) => {
    const call = client.Hang(Buffer.from('x'), (error) => resolve(error));
    until(server, (s) => s.hanging === 1).then(() => call.cancel());
  });
  assert.equal((await cancelled).code, status.CANCELLED);
  await until(server, (s) => s.cancelled === 1 && s.hanging === 0 && s.calls === 0);
  for (let heard = false; !heard;) { // a call may be over before it arrives
    const before = (await server.stats()).calls_total;
    const late = await unary(client, 'Hang', 'x', undefined, { deadline: Date.now() + 150 });
    assert.equal(late.error.code, status.DEADLINE_EXCEEDED);
    assert.equal((await unary(client, 'Echo', 'after it')).error, null);
    heard = (await server.stats()).calls_total === before + 2;
  }
  await until(server, (s) => s.cancelled === 2 && s.calls === 0);
  const other = http2.connect(`http://${server.addresses[0]}`);
  other.on('error', () => {});
  rawCall(other, 'Hang').end(frame('x'));
  await until(server, (s) => s.hanging === 1);
  other.destroy();
  await until(server, (s) => s.cancelled === 3 && s.calls === 0);
  const who = await unary(client, 'Who', '', undefined, { deadline: Date.now() + 60000 });
  const [peer, , left] = who.reply.toString().split('|');
  assert.match(peer, /^127\.0\.0\.1:\d+$/);
  assert.ok(Number(left) > 30000 && Number(left) <= 60000);
  await server.stop();
});

test('a message of the largest size; one byte more is refused', async (t) => {
  const server = await echoServer(t, ['127.0.0.1:0'], { ECHO_MAX_MESSAGE: String(16 << 20) });
  const client = echoClient(t, server.addresses[0]);
  const { error, reply } = await unary(client, 'Length', Buffer.alloc(16 << 20));
  assert.equal(error, null);
  assert.equal(reply.toString(), String(16 << 20));
  const more = await unary(client, 'Length', Buffer.alloc((16 << 20) + 1));
  assert.equal(more.error.code, status.RESOURCE_EXHAUSTED);
  await until(server, (s) => s.request_bytes === 0);
  await server.stop();
});

async function withSession(t, env, use) {
  const server = await echoServer(t, ['127.0.0.1:0'], env);
  const session = http2.connect(`http://${server.addresses[0]}`);
  session.on('error', () => {});
  await use(session, server);
  session.destroy();
  await server.stop();
}

test('what is no gRPC, and gRPC that is not spoken here', async (t) => {
  await withSession(t, {}, async (session) => {
    const refuse = async (headers, body = frame('x')) => {
      const call = rawCall(session, 'Echo', headers);
      call.end(body);
      return rawEnd(call);
    };
    assert.equal((await refuse({ 'content-type': 'application/json' })).http, 415);
    assert.equal((await refuse({ 'content-type': 'application/grpc-web' })).http, 415);
    const get = session.request({ ':method': 'GET', ':path': '/cuzk.test.Echo/Echo' });
    get.on('error', () => {});
    assert.equal((await rawEnd(get)).http, 405);
    const gzip = await refuse({ 'grpc-encoding': 'gzip' });
    assert.deepEqual([gzip.http, gzip.code, gzip.accept], [200, status.UNIMPLEMENTED, 'identity']);
    assert.equal((await refuse({ 'grpc-timeout': 'soon' })).code, status.INVALID_ARGUMENT);
    assert.equal((await refuse({ 'grpc-timeout': '0S' })).code, status.DEADLINE_EXCEEDED);
    assert.equal((await refuse({ 'grpc-encoding': 'identity' })).code, status.OK);
    assert.equal((await refuse({ 'content-type': 'application/grpc+proto' })).code, status.OK);
  });
});

test('broken messages', async (t) => {
  await withSession(t, {}, async (session, server) => {
    const send = async (name, ...pieces) => {
      const call = rawCall(session, name);
      pieces.forEach((p) => call.write(p));
      call.end();
      return (await rawEnd(call)).code;
    };
    assert.equal(await send('Echo'), status.UNIMPLEMENTED);
    assert.equal(await send('Echo', frame('a'), frame('b')), status.UNIMPLEMENTED);
    assert.equal(await send('Echo', frame('a'), frame('')), status.UNIMPLEMENTED);
    assert.equal(await send('Echo', frame('a', 1)), status.UNIMPLEMENTED);
    assert.equal(await send('Echo', frame('a', 7)), status.INTERNAL);
    assert.equal(await send('Echo', frame('short', 0, 100)), status.INTERNAL);
    assert.equal(await send('Echo', Buffer.from([0, 0])), status.INTERNAL);
    assert.equal(await send('Chat', frame('a'), Buffer.from([0, 0, 0])), status.INTERNAL);
    assert.equal(await send('Echo', frame('', 0, 0xffffffff)), status.RESOURCE_EXHAUSTED);
    assert.equal(await send('Echo', ...[...frame('byte by byte')].map((b) => Buffer.from([b]))),
      status.OK);
    await until(server, (s) => s.request_bytes === 0);
  });
});

test('metadata: values arrive; too much of it is refused', async (t) => {
  const server = await echoServer(t);
  const client = echoClient(t, server.addresses[0]);
  const meta = new grpc.Metadata();
  meta.set('x-test', 'some value');
  assert.match((await unary(client, 'Who', '', meta)).reply.toString(), /\|some value$/);
  meta.set('x-filler', 'f'.repeat(20000));
  assert.equal((await unary(client, 'Who', '', meta)).error.code, status.RESOURCE_EXHAUSTED);
  meta.remove('x-filler');
  assert.equal((await unary(client, 'Who', '', meta)).error, null);
  await server.stop();
});

test('an upload that is reset, and one that stalls', async (t) => {
  const half = frame('x'.repeat(100000), 0, 1000000);
  await withSession(t, {}, async (session, server) => {
    const reset = rawCall(session, 'Echo');
    reset.write(half);
    await until(server, (s) => s.request_bytes === 1000000);
    reset.close(http2.constants.NGHTTP2_CANCEL);
    await until(server, (s) => s.request_bytes === 0 && s.calls === 0);
  });
  await withSession(t, { ECHO_STALL_MS: '400' }, async (session, server) => {
    const stalled = rawCall(session, 'Echo');
    stalled.write(half);
    const end = await rawEnd(stalled);
    assert.equal(end.code, status.DEADLINE_EXCEEDED);
    assert.match(end.message, /too slowly/);
    await until(server, (s) => s.request_bytes === 0 && s.calls === 0);
    let after;
    for (let i = 0; i < 20 && after !== status.OK; i++) { // this may take its time as well
      const call = rawCall(session, 'Echo');
      call.end(frame('x'));
      after = (await rawEnd(call)).code;
    }
    assert.equal(after, status.OK);
  });
});

test('large requests wait for memory in turn', async (t) => {
  const server = await echoServer(t, ['127.0.0.1:0'],
    { ECHO_MAX_MESSAGE: String(3 << 20), ECHO_BUDGET: String(4 << 20) });
  const clients = [1, 2].map(() => echoClient(t, server.addresses[0]));
  const all = await Promise.all(Array.from({ length: 12 }, (_, i) =>
    unary(clients[i % 2], 'Length', Buffer.alloc(2 << 20))));
  for (const { error, reply } of all) {
    assert.equal(error, null);
    assert.equal(reply.toString(), String(2 << 20));
  }
  await until(server, (s) => s.request_bytes === 0);
  await server.stop();
});

test('a drain: watches end, calls finish, GOAWAY, nobody new', async (t) => {
  const server = await echoServer(t);
  const client = echoClient(t, server.addresses[0]);
  const session = http2.connect(`http://${server.addresses[0]}`);
  const goaway = once(session, 'goaway');
  session.on('error', () => {});
  const watch = stream(client.Forever(Buffer.from('')));
  const running = rawCall(session, 'Chat');
  const ended = rawEnd(running);
  running.write(frame('one'));
  await until(server, (s) => s.hanging === 1 && s.calls === 2);
  server.say('drain');
  assert.equal((await watch).error.code, status.UNAVAILABLE);
  assert.equal((await goaway)[0], 0);
  running.write(frame('two'));
  running.end();
  const { code, data } = await ended;
  assert.deepEqual([code, data], [status.OK, 2 * (5 + 3)]);
  await server.next('drained');
  const socket = net.connect({ host: '127.0.0.1', port: Number(server.addresses[0].split(':')[1]) });
  assert.equal((await once(socket, 'error'))[0].code, 'ECONNREFUSED');
  await server.stop();
});

const hasTool = (name) => spawnSync(name, ['--version']).error === undefined;

test('curl over HTTP/1.1 is told where it is', { skip: !hasTool('curl') }, async (t) => {
  const server = await echoServer(t);
  const { stdout } = spawnSync('curl', ['-s', '-i', `http://${server.addresses[0]}/`],
    { encoding: 'utf8', timeout: 60_000 });
  assert.match(stdout, /^HTTP\/1.1 505 [^]*gRPC/);
  await server.stop();
});

test('h2load', { skip: !hasTool('h2load') }, async (t) => {
  const server = await echoServer(t);
  const body = join(scratch(t), 'body');
  writeFileSync(body, frame('hello'));
  const { stdout } = spawnSync('h2load', ['-n', '5000', '-c', '20', '-m', '50', '-d', body,
    '-H', 'content-type: application/grpc', '-H', 'te: trailers',
    `http://${server.addresses[0]}/cuzk.test.Echo/Later`], { encoding: 'utf8', timeout: 120_000 });
  assert.match(stdout, /5000 succeeded, 0 failed/);
  const stats = await until(server, (s) => s.connections === 0);
  assert.equal(stats.calls_total, 5000);
  assert.equal(stats.calls_failed, 0);
  await server.stop();
});

// An authority and two pairs signed by it, by the openssl command.
function certificates(dir) {
  const openssl = (...args) => {
    const run = spawnSync('openssl', args, { encoding: 'utf8', cwd: dir });
    assert.equal(run.status, 0, run.stderr);
  };
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  openssl('req', '-x509', ...key, '-subj', '/CN=Test Authority', '-keyout', 'ca.key', '-out', 'ca.pem');
  writeFileSync(join(dir, 'names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
  for (const name of ['server', 'miner']) {
    openssl('req', '-new', ...key.slice(0, 5), '-subj', `/CN=${name}`, '-keyout', `${name}.key`,
      '-out', `${name}.csr`);
    openssl('x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.pem', '-CAkey', 'ca.key',
      '-CAcreateserial', '-days', '2', '-extfile', 'names', '-out', `${name}.pem`);
  }
  return (name) => readFileSync(join(dir, name));
}

test('TLS, client certificates and tokens', { skip: !hasTool('openssl') }, async (t) => {
  const dir = scratch(t);
  const read = certificates(dir);
  writeFileSync(join(dir, 'tokens'), 'a-token-of-the-miner\n', { mode: 0o600 });
  const server = await echoServer(t, ['127.0.0.1:0'], {
    ECHO_CERT: join(dir, 'server.pem'), ECHO_KEY: join(dir, 'server.key'),
    ECHO_CA: join(dir, 'ca.pem'), ECHO_TOKENS: join(dir, 'tokens'),
  });
  const options = { deadline: Date.now() + 60000 };
  const meta = new grpc.Metadata();
  const known = echoClient(t, server.addresses[0], {
    credentials: grpc.credentials.createSsl(read('ca.pem'), read('miner.key'), read('miner.pem')),
  });
  assert.equal((await unary(known, 'Who', '', meta, options)).error.code, status.UNAUTHENTICATED);
  meta.set('authorization', 'Bearer a-token-of-the-miner');
  const who = await unary(known, 'Who', '', meta, options);
  assert.equal(who.error, null);
  assert.match(who.reply.toString(), /\|CN=miner\|/);
  const large = await unary(known, 'Length', Buffer.alloc(3 << 20), meta, options);
  assert.equal(large.reply.toString(), String(3 << 20));
  const unknown = echoClient(t, server.addresses[0], {
    credentials: grpc.credentials.createSsl(read('ca.pem')),
  });
  assert.equal((await unary(unknown, 'Who', '', meta, options)).error.code, status.UNAVAILABLE);
  await server.stop();
});
