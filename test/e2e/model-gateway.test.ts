import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { tokenNameFor } from '#kit/tokens/token.ts';
import { oneModel } from '../fixtures/model-upstream/gateway.ts';
import { chunk, eventOf } from '../fixtures/model-upstream/openai-answers.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { until } from '../fixtures/until.ts';
import { freePort } from '../support/free-port.ts';

const program = fileURLToPath(new URL('../../bin/core-model-gateway', import.meta.url));
const hello = { model: 'small', messages: [{ role: 'user', content: 'Hello' }] };

interface Started {
  readonly child: ChildProcess;
  readonly url: string;
  said(): string;
  ask(body: object): Promise<Response>;
  usage(): Promise<{ total: { calls: number; aborted: number; input_tokens: number } }>;
}

describe('core-model-gateway as a process', () => {
  let upstream: ModelUpstream;
  let home: string;
  const children: ChildProcess[] = [];

  beforeEach(async () => {
    upstream = await startModelUpstream();
    home = temporaryFolder();
    configure(oneModel(upstream.url));
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    await upstream.close();
  });

  function configure(models: object): void {
    mkdirSync(join(home, 'config'), { recursive: true });
    writeFileSync(join(home, 'config/models.json'), JSON.stringify(models));
  }

  function run(port: number): { child: ChildProcess; said: () => string } {
    const child = spawn(program, ['serve', '--home', home, '--port', String(port)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    let said = '';
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.on('data', (piece) => {
        said += piece;
      });
    }
    return { child, said: () => said };
  }

  async function start(): Promise<Started> {
    const port = await freePort();
    const { child, said } = run(port);
    const url = `http://127.0.0.1:${port}`;
    await until(said, async () => {
      if (child.exitCode !== null) throw new Error(said());
      const answer = await fetch(`${url}/healthz`).catch(() => null);
      await answer?.arrayBuffer();
      return answer !== null;
    });
    const name = tokenNameFor(userInfo().username);
    const token = readFileSync(join(home, 'config/tokens', `${name}.token`), 'utf8').trim();
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return {
      child,
      url,
      said,
      ask: (body) =>
        fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) }),
      async usage() {
        return (await fetch(`${url}/v1/usage?by=model`, { headers })).json() as never;
      },
    };
  }

  it('ends in order at SIGTERM: streams break visibly and are accounted for', async () => {
    upstream.next((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(eventOf(chunk('tiny-1', { content: 'Hel' })));
    });
    const gateway = await start();
    const answer = await gateway.ask({ ...hello, stream: true });
    const reader = answer.body!.getReader();
    expect(Buffer.from((await reader.read()).value!).toString()).to.contain('Hel');
    gateway.child.kill('SIGTERM');
    const broken = await (async () => {
      while (!(await reader.read()).done);
    })().then(
      () => false,
      () => true,
    );
    expect(broken).to.equal(true);
    const [code] = await once(gateway.child, 'close');
    expect(code).to.equal(0);
    await upstream.requests[0]!.left;

    const again = await start();
    const { total } = await again.usage();
    expect(total).to.include({ calls: 1, aborted: 1 });
    expect(total.input_tokens).to.be.greaterThan(0);
  });

  it('goes on after being killed in the middle of calls, which stay accounted for', async () => {
    upstream.next(() => {});
    const gateway = await start();
    const lost = gateway.ask(hello).catch(() => null);
    await until('a request', () => upstream.requests.length > 0);
    gateway.child.kill('SIGKILL');
    await once(gateway.child, 'close');
    expect(await lost).to.equal(null);

    const again = await start();
    expect((await again.ask(hello)).status).to.equal(200);
    await until('both calls to be counted', async () => (await again.usage()).total.calls === 2);
  });

  it('does not start with a configuration that is wrong, and says where it is wrong', async () => {
    configure(oneModel('http://user:secret-word@127.0.0.1/v1', { concurrency: 0 }));
    const { child, said } = run(await freePort());
    const [code] = await once(child, 'close');
    expect(code).to.equal(2);
    expect(said()).to.match(/models\.json: \/models\/small\/upstreams\/0\/(base_url|concurrency) /);
    expect(said()).to.not.contain('secret-word');
  });

  it('says so when its port is taken', async () => {
    const gateway = await start();
    const other = temporaryFolder();
    home = other;
    configure({});
    const { child, said } = run(Number(new URL(gateway.url).port));
    const [code] = await once(child, 'close');
    expect(code).to.equal(1);
    expect(said()).to.match(/port \d+ on 127\.0\.0\.1 is used already/);
  });
});
