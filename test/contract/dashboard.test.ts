import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { openSecretFile } from '#kit/webhooks/secret-file.ts';
import type { Message } from '#kit/webhooks/webhook.ts';
import { WebhookDashboard } from '../../services/bridge/sync/dashboard.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { type DashboardBench, dashboardContract } from './dashboard.contract.ts';

type Behaviour = Parameters<DashboardBench['behave']>[0];

const secret = 's'.repeat(32);

interface WebhookBench extends DashboardBench {
  readonly requests: readonly { readonly request: IncomingMessage; readonly body: string }[];
  readonly secretPath: string;
}

async function webhookBench(): Promise<WebhookBench> {
  const taken: Message[] = [];
  const requests: { request: IncomingMessage; body: string }[] = [];
  let behaviour: Behaviour = 'take';
  const server = createServer(async (request, response) => {
    const body = await text(request);
    requests.push({ request, body });
    if (behaviour.startsWith('take') || behaviour === 'cut_off')
      taken.push({ key: String(request.headers['idempotency-key']), body });
    answer(behaviour, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const folder = temporaryFolder();
  const secretPath = join(folder, 'board');
  writeFileSync(secretPath, `${secret}\n`);
  const dashboard = new WebhookDashboard({
    name: 'board',
    url: `http://127.0.0.1:${port}/hook?team=1`,
    secret: openSecretFile(folder, 'board', () => {}),
    timeoutMs: 5_000,
    userAgent: 'core-bridge/0',
  });
  return {
    dashboard,
    taken,
    requests,
    secretPath,
    behave(how) {
      behaviour = how;
    },
    async close() {
      await dashboard.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

function answer(behaviour: Behaviour, response: ServerResponse): void {
  switch (behaviour) {
    case 'take':
      response.writeHead(204).end();
      return;
    case 'take_wordily':
      response.writeHead(200).end('x'.repeat(1_000_000));
      return;
    case 'take_without_end':
      response.writeHead(200).write('x');
      return;
    case 'refuse':
      response.writeHead(422).end('no such board');
      return;
    case 'be_busy':
      response.writeHead(429, { 'retry-after': '17' }).end();
      return;
    case 'fail':
      response.writeHead(500).end('x'.repeat(100_000));
      return;
    case 'send_elsewhere':
      response.writeHead(307, { location: 'http://169.254.169.254/' }).end();
      return;
    case 'cut_off':
      response.destroy();
      return;
    case 'hang':
  }
}

describe('a dashboard', () => {
  describe('by a signed webhook', () => {
    dashboardContract(webhookBench);

    let bench: WebhookBench;
    beforeEach(async () => {
      bench = await webhookBench();
    });
    afterEach(() => bench.close());

    it('can see by the signature that the message is ours and new', async () => {
      await bench.dashboard.deliver({ key: 'k', body: '{"a":"ü"}' });
      const { request, body } = bench.requests[0]!;
      const { headers } = request;
      const timestamp = String(headers['x-core-timestamp']);
      const wanted = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
      expect(headers['x-core-signature']).to.equal(`sha256=${wanted}`);
      expect(Math.abs(Date.now() / 1000 - Number(timestamp))).to.be.lessThan(120);
      expect(request.url).to.equal('/hook?team=1');
      expect(headers['content-type']).to.equal('application/json');
    });

    it('is signed with the current secret, and gets nothing without it', async () => {
      writeFileSync(bench.secretPath, `${'n'.repeat(32)}\n${secret}\n`);
      await bench.dashboard.deliver({ key: 'k', body: '{}' });
      const { headers } = bench.requests[0]!.request;
      const wanted = createHmac('sha256', 'n'.repeat(32)).update(`${headers['x-core-timestamp']}.{}`);
      expect(headers['x-core-signature']).to.equal(`sha256=${wanted.digest('hex')}`);
      writeFileSync(bench.secretPath, 'short');
      const outcome = bench.dashboard.deliver({ key: 'k', body: '{}' });
      await outcome.then(
        () => expect.fail('it was sent'),
        (error) => expect(error.message).to.contain(bench.secretPath).and.not.contain('short\n'),
      );
      expect(bench.requests).to.have.length(1);
    });
  });
});
