import { expect } from 'chai';
import { until } from '../fixtures/until.ts';
import {
  askWeb,
  type BusUnderTest,
  closeClients,
  type Frame,
  freshName,
  type RawPeer,
  rawPeer,
  triggerRefusal,
  webFunction,
} from './bus-scene.ts';

/** A difference between the embedded engine and iii, and how to observe it. */
interface Difference {
  /** First cell of its row on the page of the engine. */
  readonly row: string;
  readonly iii: unknown;
  readonly here: unknown;
  see(engine: BusUnderTest): Promise<unknown>;
}

/** Each is a row of the table in site/bus-engine.md; a row there without one here fails a test. */
export const differences: readonly Difference[] = [
  {
    row: 'who may connect',
    iii: 'workerregistered',
    here: 'AUTH_ERROR',
    async see({ url }) {
      const { WebSocket } = await import('ws');
      const ws = new WebSocket(url);
      const first: Frame = await new Promise((resolve) =>
        ws.once('message', (data) => resolve(JSON.parse(String(data)))),
      );
      ws.terminate();
      return first.error?.code ?? first.type;
    },
  },
  {
    row: 'a connection from a web page',
    iii: 101,
    here: 403,
    async see({ url, headers }) {
      const { WebSocket } = await import('ws');
      const ws = new WebSocket(url, { headers, origin: 'http://evil.example' });
      ws.on('error', () => {});
      const status = await new Promise((resolve) => {
        ws.once('unexpected-response', (_request, { statusCode }) => resolve(statusCode));
        ws.once('open', () => resolve(101));
      });
      ws.terminate();
      return status;
    },
  },
  {
    row: 'who may register a function',
    iii: [],
    here: ['function_owned', 'function_id_reserved', 'http_invocation_refused'],
    async see(engine) {
      const peer = await rawPeer(engine);
      peer.send({ type: 'registerfunction', id: 'core.schedules.tick' });
      peer.send({ type: 'registerfunction', id: `engine::${freshName('own')}` });
      peer.send({
        type: 'registerfunction',
        id: freshName('address'),
        invocation: { url: 'http://127.0.0.1:1' },
      });
      await peer.settled();
      return peer.frames.filter(({ type }) => type === 'registrationrejected').map(({ code }) => code);
    },
  },
  {
    row: 'a call without `data`',
    iii: undefined,
    here: 'invalid_frame',
    see: (engine) => answerTo(engine, { invocation_id: crypto.randomUUID() }),
  },
  {
    row: 'a call whose id is not a UUID',
    iii: undefined,
    here: 'function_not_found',
    see: (engine) => answerTo(engine, { invocation_id: 'seven', data: {} }),
  },
  {
    row: 'a trigger without `config`',
    iii: null,
    here: 'trigger_registration_failed',
    see: async (engine) => codeOf(await triggerRefusal(await rawPeer(engine), 'http', undefined)),
  },
  {
    row: '`baggage` of a call',
    iii: ['a=b', 'iii.function.id=ID'],
    here: ['a=b'],
    async see(engine) {
      const [worker, caller] = [await rawPeer(engine), await rawPeer(engine)];
      const id = await offer(worker);
      void caller.call(id, {}, { baggage: 'a=b' });
      const { baggage } = await worker.next({ type: 'invokefunction' });
      return baggage.replace(id, 'ID').split(',').toSorted();
    },
  },
  {
    row: 'two workers registered the same id, and the later one leaves',
    iii: 'function_not_found',
    here: 'the earlier one answers',
    async see(engine) {
      const [first, later, caller] = await Promise.all([1, 2, 3].map(() => rawPeer(engine)));
      const id = await offer(first!);
      await offer(later!, id);
      later!.ws.terminate();
      void first!.next({ type: 'invokefunction' }).then(({ invocation_id, function_id }) =>
        first!.send({
          type: 'invocationresult',
          invocation_id,
          function_id,
          result: 'the earlier one answers',
        }),
      );
      let answer: Frame;
      await until('the end of the later one', async () => {
        const asked = later!.frames.length;
        answer = await caller!.call(id, {});
        return asked === later!.frames.length && answer.error?.code !== 'invocation_stopped';
      });
      return answer.error?.code ?? answer.result;
    },
  },
  {
    row: 'two routes that differ only in parameter names, and the first is removed',
    iii: 404,
    here: 200,
    async see(engine) {
      const [path, first, second] = [`/${freshName('path')}`, await rawPeer(engine), await rawPeer(engine)];
      await route(engine, first, `${path}/:a`);
      const { refusal } = await route(engine, second, `${path}/:b`);
      expect(refusal).not.to.equal(null);
      answerAll(second, {});
      first.ws.terminate();
      let status: number | undefined;
      await until('the end of the first', async () => {
        status = (await askWeb(engine, `${path}/x`))?.status;
        return status !== 500;
      });
      return status;
    },
  },
  {
    row: 'two workers that define the same route',
    iii: 'the later answers',
    here: 'the first answers',
    async see(engine) {
      const [path, first, later] = [`/${freshName('path')}`, await rawPeer(engine), await rawPeer(engine)];
      await route(engine, first, path);
      await route(engine, later, path);
      answerAll(first, { body: 'the first answers' });
      answerAll(later, { body: 'the later answers' });
      return JSON.parse((await askWeb(engine, path))!.text);
    },
  },
  {
    row: '`state::`, `stream::`, queues, traces and logs',
    iii: 'there',
    here: 'not_on_this_engine',
    async see(engine) {
      const peer = await rawPeer(engine);
      const codes: unknown[] = [];
      for (const [id, data] of [
        ['state::get', { scope: 'contract', key: 'none' }],
        ['stream::list_all', {}],
        ['iii::durable::publish', { topic: freshName('topic'), data: {} }],
        ['engine::traces::list', { limit: 1 }],
        ['engine::logs::list', { limit: 1 }],
      ] as const)
        codes.push((await peer.call(id, data)).error?.code ?? 'there');
      expect(new Set(codes).size, codes.join()).to.equal(1);
      return codes[0];
    },
  },
  {
    row: 'triggers of the types `state`, `stream`, `durable:subscriber`, `log`, `trace`',
    iii: 'taken',
    here: 'trigger_registration_failed',
    async see(engine) {
      const peer = await rawPeer(engine);
      const config = { scope: 'contract', stream_name: 'contract', topic: freshName('topic') };
      const codes: unknown[] = [];
      for (const type of ['state', 'stream', 'durable:subscriber', 'log', 'trace'])
        codes.push((await triggerRefusal(peer, type, config))?.code ?? 'taken');
      expect(new Set(codes).size, codes.join()).to.equal(1);
      return codes[0];
    },
  },
  {
    row: 'an invalid `http_method`',
    iii: null,
    here: 'trigger_registration_failed',
    see: (engine) => codeOfTrigger(engine, 'http', { api_path: freshName('p'), http_method: 'DANCE' }),
  },
  {
    row: '`middleware_function_ids`',
    iii: null,
    here: 'trigger_registration_failed',
    see: (engine) =>
      codeOfTrigger(engine, 'http', { api_path: freshName('p'), middleware_function_ids: ['f'] }),
  },
  {
    row: 'a cron expression that never matches',
    iii: null,
    here: 'trigger_registration_failed',
    see: (engine) => codeOfTrigger(engine, 'cron', { expression: '0 0 0 31 2 *' }),
  },
  {
    row: '`timezone` of a cron trigger',
    iii: null,
    here: 'trigger_registration_failed',
    see: (engine) => codeOfTrigger(engine, 'cron', { expression: '@daily', timezone: 'Mars/Base' }),
  },
  {
    row: '`L`, the last day of a month, in a cron expression',
    iii: 'trigger_registration_failed',
    here: null,
    see: (engine) => codeOfTrigger(engine, 'cron', { expression: '0 0 12 L * *' }),
  },
  {
    row: 'an extra slash in the path of a request',
    iii: 404,
    here: 200,
    async see(engine) {
      const path = await webFunction(engine, async () => ({}));
      return (await askWeb(engine, `${path}/`))?.status;
    },
  },
  {
    row: '`HEAD` of a route for `GET`',
    iii: 404,
    here: 405,
    async see(engine) {
      const path = await webFunction(engine, async () => ({}));
      return (await askWeb(engine, path, { method: 'HEAD' }))?.status;
    },
  },
  {
    row: '`OPTIONS` of a route',
    iii: 200,
    here: 204,
    async see(engine) {
      const path = await webFunction(engine, async () => ({}));
      return (await askWeb(engine, path, { method: 'OPTIONS' }))?.status;
    },
  },
  {
    row: '`GET /healthz`',
    iii: 404,
    here: 200,
    see: async (engine) => (await askWeb(engine, '/healthz'))?.status,
  },
  {
    row: 'token and cookies of a request',
    iii: ['authorization', 'cookie'],
    here: [],
    async see(engine) {
      const path = await webFunction(engine, async ({ headers }) => ({ body: Object.keys(headers) }));
      const secrets = { authorization: 'Bearer of somebody', cookie: 'a=b' };
      const answer = await askWeb(engine, path, { headers: secrets });
      return Object.keys(secrets).filter((name) => JSON.parse(answer!.text).includes(name));
    },
  },
  {
    row: 'a repeated header of a request',
    iii: '2',
    here: '1, 2',
    async see(engine) {
      const path = await webFunction(engine, async ({ headers }) => ({ body: headers['x-twice'] }));
      return JSON.parse((await askWeb(engine, path, { headers: { 'x-twice': ['1', '2'] } }))!.text);
    },
  },
  {
    row: 'a `content-length` set by the function',
    iii: null,
    here: '"whole"',
    async see(engine) {
      const path = await webFunction(engine, async () => ({
        headers: { 'content-length': '3' },
        body: 'whole',
      }));
      return (await askWeb(engine, path))?.text ?? null;
    },
  },
  {
    row: 'response headers that are numbers or lists',
    iii: [undefined, undefined],
    here: [['7'], ['a=1', 'b=2']],
    async see(engine) {
      const headers = { 'x-number': 7, 'set-cookie': ['a=1', 'b=2'] };
      const path = await webFunction(engine, async () => ({ headers }));
      const answer = await askWeb(engine, path);
      return [answer?.headers['x-number'], answer?.headers['set-cookie']];
    },
  },
  {
    row: 'an invalid `status_code`',
    iii: 200,
    here: 500,
    async see(engine) {
      const path = await webFunction(engine, async () => ({ status_code: 99 }));
      return (await askWeb(engine, path))?.status;
    },
  },
];

/** @param which what of each difference this engine does */
export function differencesContract(engine: () => BusUnderTest, which: 'iii' | 'here'): void {
  afterEach(closeClients);

  for (const difference of differences)
    it(difference.row, async () => {
      expect(await difference.see(engine())).to.deep.equal(difference[which]);
    });
}

async function offer(peer: RawPeer, id = freshName('offered')): Promise<string> {
  peer.send({ type: 'registerfunction', id });
  await peer.settled();
  return id;
}

function answerAll(peer: RawPeer, result: unknown): void {
  void peer.next({ type: 'invokefunction' }).then(({ invocation_id, function_id }) => {
    peer.send({ type: 'invocationresult', invocation_id, function_id, result });
    answerAll(peer, result);
  });
}

/** A function of this peer for a path. */
async function route(engine: BusUnderTest, peer: RawPeer, api_path: string) {
  const function_id = await offer(peer);
  const [id, after] = [crypto.randomUUID(), crypto.randomUUID()];
  const trigger = { type: 'registertrigger', trigger_type: 'http', function_id };
  peer.send({ ...trigger, id, config: { api_path } });
  peer.send({ ...trigger, id: after, config: {} });
  await peer.next({ type: 'triggerregistrationresult', id: after });
  const path = api_path.replace(/:\w+/, 'x');
  await until(
    () => `the route ${path}`,
    async () => (await askWeb(engine, path, { method: 'OPTIONS' }))?.headers.allow !== undefined,
  );
  return { refusal: peer.frames.find((frame) => frame.id === id) ?? null };
}

/** The code of what comes for a call of a function that is not there; undefined where nothing comes. */
async function answerTo(engine: BusUnderTest, members: Frame): Promise<unknown> {
  const peer = await rawPeer(engine);
  peer.send({ type: 'invokefunction', function_id: freshName('none'), ...members });
  // The answer to a later call comes after it.
  await peer.call(freshName('none'), {});
  return peer.frames.find(({ invocation_id }) => invocation_id === members.invocation_id)?.error.code;
}

async function codeOfTrigger(engine: BusUnderTest, type: string, config: unknown): Promise<unknown> {
  return codeOf(await triggerRefusal(await rawPeer(engine), type, config));
}

function codeOf(error: Frame | null): unknown {
  return error?.code ?? null;
}
