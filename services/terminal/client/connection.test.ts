import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect } from 'chai';
import { sampleRunId } from '../../../test/fixtures/runs/sample-run.ts';
import { PaperTerminal } from '../../../test/fixtures/terminal/sample.ts';
import { Connection } from './connection.ts';

const total = 10_000;

function summary(index: number) {
  return {
    run_id: sampleRunId.slice(0, -5) + String(index).padStart(5, '0'),
    status: 'awaiting_approval',
    forge: 'local',
    owner: 'demo',
    repo: 'hello',
    number: index,
    title: `Title ${index}`,
    role: 'Depute',
    created_at: '2026-11-21T09:00:00.000Z',
    updated_at: '2026-11-21T09:00:00.000Z',
    highest_risk: 'low',
    waiting: 1,
    waits_for: 'build' as const,
    actions: 7,
  };
}

describe('The list of runs over HTTP', () => {
  it('has all of ten thousand runs, page by page, and what changes meanwhile', async () => {
    const server = createServer((request, response) => {
      const url = new URL(request.url!, 'http://localhost');
      if (url.pathname === '/v1/events') {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const changed = { ...summary(3), title: 'Changed meanwhile', status: 'failed' };
        response.write(`event: listening\ndata: {}\n\nevent: run\ndata: ${JSON.stringify(changed)}\n\n`);
        return;
      }
      response.writeHead(200, { 'content-type': 'application/json' });
      if (url.pathname === '/v1/capabilities') {
        response.end('{"checkouts":["hello"]}');
        return;
      }
      const after = Number(url.searchParams.get('cursor') ?? total);
      const from = Math.max(0, after - 100);
      const runs = Array.from({ length: after - from }, (_, index) => summary(after - 1 - index));
      const shown = runs.map((run) => (run.number === 3 ? { ...run, title: 'Changed meanwhile' } : run));
      response.end(
        JSON.stringify({ runs: shown, next_cursor: from === 0 ? null : String(from), problems: [] }),
      );
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const terminal = new PaperTerminal({ columns: 120, rows: 30 });
    let loaded = () => {};
    const complete = new Promise<void>((resolve) => {
      loaded = resolve;
    });
    const connection = new Connection({
      baseUrl: `http://127.0.0.1:${port}`,
      token: () => 'token',
      startCommand: './core up',
      tokens: '/tokens',
      program: './core tui',
      dispatch(message) {
        terminal.send(message);
        if (message.kind === 'runs' && message.complete) loaded();
      },
    });
    try {
      const following = connection.followList();
      await complete;
      expect(terminal.state.runs.rows).to.have.length(total);
      expect(terminal.draw()[0]).to.contain('10000 runs').and.to.contain('live');
      terminal.keys('G');
      expect(terminal.screen()).to.contain('demo/hello#0').and.to.contain('Changed meanwhile');
      await connection.close();
      await following;
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
