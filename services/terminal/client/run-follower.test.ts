import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { expect } from 'chai';
import { PaperTerminal, sampleDetail } from '../../../test/fixtures/terminal/sample.ts';
import type { Message } from '../state/messages.ts';
import { appliedPatch } from '../state/state.ts';
import { Connection } from './connection.ts';
import { EffectRunner } from './effect-runner.ts';

const detail = sampleDetail();

/** A daemon of which only a run's page is asked; says how often the run was read. */
class RunServer {
  readonly #server: Server;
  readonly asked: string[] = [];
  head = detail.head.seq;
  stream: ServerResponse | null = null;
  /** Sequence number of a decision; its event is sent once the run has been read after it. */
  decidedAt: number | null = null;
  streaming = () => {};

  constructor() {
    this.#server = createServer((request, response) => {
      const path = new URL(request.url!, 'http://localhost').pathname;
      this.asked.push(`${request.method} ${path.replace(/^\/v1\/runs\/[^/]+/, 'run')}`);
      if (path.endsWith('/events')) {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.flushHeaders();
        this.stream = response;
        this.streaming();
        return;
      }
      response.setHeader('content-type', 'application/json');
      if (request.method === 'POST') {
        this.head++;
        this.decidedAt = this.head;
        const action = { ...detail.actions[0]!, approval: 'approved' };
        response.end(JSON.stringify({ run_id: detail.run_id, status: detail.status, action }));
      } else if (/\/(diff|artifacts\/.*)$/.test(path)) {
        response.writeHead(path.endsWith('/diff') ? 200 : 404).end('other bytes than were planned');
      } else {
        response.end(JSON.stringify({ ...detail, head: { ...detail.head, seq: this.head } }));
        if (this.decidedAt !== null) this.event(this.decidedAt);
        this.decidedAt = null;
      }
    });
  }

  event(seq: number): void {
    const hash = '0'.repeat(64);
    const event = { seq, at: detail.created_at, type: 'noted', data: {}, prev: hash, hash };
    this.stream!.write(`id: ${seq}\nevent: noted\ndata: ${JSON.stringify(event)}\n\n`);
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  count(what: string): number {
    return this.asked.filter((one) => one === what).length;
  }
}

describe("A run's page over HTTP", () => {
  let server: RunServer;
  let connection: Connection;
  let runner: EffectRunner;
  let terminal: PaperTerminal;
  let waiting: { readonly until: () => boolean; readonly done: () => void }[];

  beforeEach(async () => {
    server = new RunServer();
    waiting = [];
    terminal = new PaperTerminal();
    const dispatch = (message: Message) => {
      terminal.send(message);
      for (const effect of terminal.taken()) runner.perform(effect);
      for (const { until, done } of waiting) if (until()) done();
    };
    connection = new Connection({
      baseUrl: await server.listen(),
      token: () => 'token',
      startCommand: './core up',
      tokens: '/tokens',
      program: './core tui',
      dispatch,
    });
    runner = new EffectRunner({
      connection,
      dispatch,
      home: undefined,
      quit: () => {},
      repaint: () => {},
      copy: () => {},
      edit: () => Promise.resolve(),
      sign: () => Promise.resolve([]),
    });
    const streaming = new Promise<void>((resolve) => {
      server.streaming = resolve;
    });
    dispatch({ kind: 'planned', run_id: detail.run_id });
    await streaming;
  });
  afterEach(async () => {
    runner.close();
    await connection.close();
    server.close();
  });

  function when(until: () => boolean): Promise<void> {
    if (until()) return Promise.resolve();
    return new Promise((done) => waiting.push({ until, done }));
  }
  const seq = () => terminal.state.open?.detail?.head.seq;

  it('is read once for ten thousand events that were there before, and soon after one that is new', async () => {
    for (let event = 1; event <= detail.head.seq; event++) server.event(event);
    for (let event = 0; event < 10_000; event++) server.event(detail.head.seq);
    server.head++;
    server.event(server.head);
    await when(() => seq() === server.head);
    expect(server.count('GET run')).to.equal(2);
    expect(server.count('GET run/events')).to.equal(1);
  });

  it('is read once after a decision', async () => {
    await when(() => seq() !== undefined);
    terminal.draw();
    terminal.keys('a');
    const [effect] = terminal.taken();
    expect(effect?.kind).to.equal('decide');
    runner.perform(effect!);
    await when(() => terminal.state.asking === null && seq() === server.head);
    expect(terminal.state.notice?.text).to.contain('Approved 1 create_branch');
    server.head++;
    server.event(server.head);
    await when(() => seq() === server.head);
    expect(server.asked.filter((one) => one === 'GET run' || one.startsWith('POST'))).to.deep.equal([
      'GET run',
      `POST run/actions/${detail.actions[0]!.action_id}/approval`,
      'GET run',
      'GET run',
    ]);
  });

  it('says for good why a patch cannot be shown, which cannot be approved then', async () => {
    await when(() => terminal.state.open?.patchTrouble != null);
    terminal.keys('j', 'j', 'k');
    expect(terminal.screen())
      .to.contain('The patch cannot be shown, and so it cannot be approved here')
      .and.to.contain(appliedPatch(detail)!.slice(0, 12));
    terminal.keys('a');
    expect(terminal.taken()).to.deep.equal([]);
  });
});
