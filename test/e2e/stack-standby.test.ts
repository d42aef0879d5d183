import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { StatusReport } from '#kit/contracts/status.ts';
import { decodeJson } from '#kit/decode.ts';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import { nodeFlags } from '#kit/node-flags.ts';
import { ownToken } from '#kit/tokens/tokens.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { type S3Server, startS3 } from '../fixtures/s3.ts';
import { until } from '../fixtures/until.ts';
import { core, ended } from '../fixtures/world/core-command.ts';
import { describeWith } from '../needs.ts';
import { freePort } from '../support/free-port.ts';
import { type Stack, startStack } from './stack-process.ts';

const proxyProgram = fileURLToPath(new URL('../hosts/context-proxy.ts', import.meta.url));

describeWith(['s3', 'postgres'], 'core up on two hosts that share the record of core-context', function () {
  this.timeout(300_000);
  let server: PostgresServer;
  let s3: S3Server;
  let proxy: ChildProcess | null = null;
  let url: string;
  const stacks: Stack[] = [];
  const hosts: { readonly home: string; readonly stack: Stack }[] = [];

  before(async () => {
    server = await startPostgres();
    s3 = await startS3();
    url = `http://127.0.0.1:${await freePort()}`;
  });

  after(async () => {
    await Promise.all(stacks.map((stack) => stack.end()));
    proxy?.kill();
    await s3?.kill();
    await server?.stop();
  });

  it('is active on one and a standby on the other, which both ask the active one and say so', async () => {
    const { ca_file: _, ...database } = await server.database();
    const { min_bytes: __, ...bucket } = s3.settings;
    for (const _host of ['one', 'other']) {
      const home = temporaryFolder();
      mkdirSync(join(home, 'config'));
      const storage = { kind: 'postgres', ...database, s3: bucket };
      writeFileSync(join(home, 'config/core.json'), JSON.stringify({ context: { url }, storage }));
      writeFileSync(join(home, 'config/context.json'), JSON.stringify({ backup: { seconds: 1, keep: 1 } }));
      const stack = startStack(home, '--only', 'context,agentd');
      stacks.push(stack);
      await stack.ready();
      hosts.push({ home, stack });
    }
    const [one, other] = hosts as [(typeof hosts)[0], (typeof hosts)[0]];
    expect(one.stack.said()).to.match(/^core-context +http:\/\/127\.0\.0\.1:\d+ +ok$/m);
    expect(other.stack.said()).to.match(
      /^core-context +http:\/\/127\.0\.0\.1:\d+ +standby: core-context is active on \S+ \(process \d+\)/m,
    );
    for (const { stack } of hosts) expect(stack.said()).to.contain(`core-context is asked at ${url} (`);

    const upstreams = hosts.map(({ stack }) => stack.url('core-context'));
    proxy = spawn(process.execPath, [...nodeFlags, proxyProgram, new URL(url).port, ...upstreams]);
    await until('the proxy', () =>
      fetch(`${url}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    const content = 'the harbour closes at dusk';
    await asked(one.home, '/v1/memory/record', { layer: 'semantic', content });
    const seen = await statusOf(other.home);
    expect(seen.http['core-context']).to.include({ ok: true, url: `${url}/healthz`, status: 200 });
    expect(seen.here['core-context']).to.include({ ok: true, status: 503 });
    expect(seen.here['core-context']!.health!.status).to.equal('standby');
    expect(seen.services['core-context']).to.include({ ok: true, state: 'running' });
    await until('core-agentd of the other host to reach the active one', async () => {
      const { arrows } = await statusOf(other.home);
      return arrows.some(({ from, to, ok }) => from === 'core-agentd' && to === 'core-context' && ok);
    });
    const { stdout: doctor } = await ended(core, ['doctor', '--home', other.home]);
    expect(doctor).to.match(/^ok +core-context +core-context \S+ \((ok|degraded)\) answers clients at/m);
    expect(doctor).to.match(/^ok +port \d+ +core-context \S+ \(standby\) answers on 127\.0\.0\.1/m);

    one.stack.child.kill('SIGKILL');
    await until('the standby to take over', async () => {
      const { here } = await statusOf(other.home);
      return (
        here['core-context']?.health?.status === 'ok' || here['core-context']?.health?.status === 'degraded'
      );
    });
    const found = await asked(one.home, '/v1/memory/lookup', {
      query: 'harbour',
      layer: 'semantic',
    });
    expect(JSON.stringify(found)).to.contain(content);
  });

  it('starts core-context again for as long as the bucket is away that it begins with, and keeps the rest', async () => {
    const home = hosts[1]!.home;
    await Promise.all(stacks.splice(0).map((stack) => stack.end()));
    await s3.kill();
    const record = join(home, 'state/context/record.sqlite');
    for (const suffix of ['', '-wal', '-shm']) rmSync(record + suffix, { force: true });
    const stack = startStack(home, '--only', 'context,agentd');
    stacks.push(stack);
    try {
      await until(stack.said, () => stack.said().split('core-context ended').length > 6);
    } finally {
      await s3.restart();
    }
    expect(stack.note().services['core-agentd']).to.include({ state: 'running', restarts: 0 });
    await until(stack.said, () =>
      fetch(`${stack.url('core-context')}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
  });

  async function statusOf(home: string): Promise<StatusReport> {
    const { stdout } = await ended(core, ['status', '--json', '--home', home]);
    return decodeJson(StatusReport, stdout, 'report');
  }

  async function asked(home: string, path: string, body: unknown): Promise<Record<string, unknown>> {
    const { text } = ownToken(resolveFolders({ home }, environment));
    const answer = await fetch(url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${text}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const json = (await answer.json()) as Record<string, unknown>;
    expect(answer.ok, JSON.stringify(json)).to.equal(true);
    return json;
  }
});
