import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { WebSocket } from 'ws';
import type { StatusReport } from '../../services/kit/contracts/status.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { core, ended } from '../fixtures/world/core-command.ts';
import type { ContainerStack } from './stack/container-stack.ts';

/** What stands between this machine and an engine that asks nobody for a token. */
export function guardTests(stack: ContainerStack): void {
  it('lets nobody to iii without a token, and no page of another origin even with one', async function () {
    this.timeout(900_000);
    const mine = { authorization: `Bearer ${stack.token()}` };
    const refusals: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
      [{}, '401 token_required'],
      [{ authorization: 'Bearer core_you_0' }, '401 token_required'],
      [{ ...mine, origin: 'https://pages.example' }, '403 origin_not_allowed'],
      [{ ...mine, origin: 'null' }, '403 origin_not_allowed'],
      [{ ...mine, host: 'pages.example' }, '403 host_not_allowed'],
      [{ ...mine, host: 'pages.example', origin: 'http://pages.example' }, '403 host_not_allowed'],
    ];
    for (const [headers, expected] of refusals) {
      expect(await opened(stack, 49134, headers), JSON.stringify(headers)).to.equal(expected);
      expect(await opened(stack, 3111, headers), JSON.stringify(headers)).to.equal(expected);
    }
    expect(await opened(stack, 49134, mine)).to.equal('workerregistered');
    const own = `http://127.0.0.1:${stack.port('core-bus-engine', 49134)}`;
    expect(await opened(stack, 49134, { ...mine, origin: own })).to.equal('workerregistered');
    const http = await fetch(`${stack.url('core-bus-engine', 3111)}/none`, { headers: mine });
    expect(http.status).to.equal(404);
  });

  it('lets nobody in while tokens cannot be checked', async function () {
    this.timeout(900_000);
    await stack.container('core-bridge').stop({ timeout: 60_000, remove: false });
    const mine = { authorization: `Bearer ${stack.token()}` };
    expect(await opened(stack, 49134, mine)).to.equal('503 bus_unavailable');
    await stack.up();
  });

  it('is passed by core status on the host, which shows the token of the stack', async function () {
    this.timeout(900_000);
    const home = temporaryFolder();
    const url = (service: string, port: number) => stack.url(service, port);
    const vouched = [
      url('core-bus-engine', 49134),
      url('core-bus-engine', 3111),
      url('core-agentd', 7817),
      url('core-bridge', 8093),
    ];
    const status = { manager: 'none', production_like: 'yes', vouched };
    writeFileSync(join(home, 'status.json'), JSON.stringify(status));
    const secrets = join(stack.folder, 'secrets');
    const { stdout } = await ended(core, ['status'], {
      CORE_CONFIG_DIR: home,
      CORE_STATE_DIR: temporaryFolder(),
      CORE_TOKENS_DIR: join(secrets, 'tokens'),
      CORE_REGISTRY_DIR: join(secrets, 'registry'),
      CORE_AGENTD_URL: url('core-agentd', 7817),
      CORE_BRIDGE_URL: url('core-bridge', 8093),
      CORE_MODELS_URL: url('core-model-gateway', 8092),
      CORE_CONTEXT_URL: url('core-context', 8090),
      CORE_BUS_URL: '',
      CORE_BUS_HOST: '127.0.0.1',
      CORE_BUS_PORT: String(stack.port('core-bus-engine', 49134)),
      CORE_BUS_HTTP_PORT: String(stack.port('core-bus-engine', 3111)),
    });
    const { iii } = JSON.parse(stdout.split('\n')[0]!) as StatusReport;
    expect(iii).to.include({ engine: 'iii 0.22.1', config_file_active: true });
    expect(iii.functions.missing).to.deep.equal([]);
  });
}

/** The first frame's type, or the status and code of the refusal. */
function opened(
  stack: ContainerStack,
  port: number,
  headers: Readonly<Record<string, string>>,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`ws://127.0.0.1:${stack.port('core-bus-engine', port)}`, { headers });
    socket.on('message', (data) => {
      socket.close();
      resolve(JSON.parse(String(data)).type);
    });
    socket.on('unexpected-response', (_, answer) => {
      let text = '';
      answer.on('data', (chunk) => {
        text += chunk;
      });
      answer.on('end', () => resolve(`${answer.statusCode} ${JSON.parse(text).code}`));
    });
    socket.on('error', reject);
  });
}
