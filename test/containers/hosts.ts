import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { PostgresSettings } from '#kit/config/storage.ts';
import {
  issueBody,
  issueTitle,
  makeDemoRepository,
} from '../../services/supervisor/quickstart/demo-repository.ts';
import type { ForgeServer } from '../fixtures/forges/forge-server.ts';
import type { ServedRepository } from '../fixtures/forges/forge-state.ts';
import { startGiteaServer } from '../fixtures/forges/gitea-server.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { until } from './asking.ts';
import { chownAll, startThreeHosts, type ThreeHosts } from './hosts/three-hosts.ts';

/** As whom containers run where root owns the project. */
const ordinary = { uid: 1000, gid: 1000 };
const replicas = [
  'https://one.example.org:7817',
  'https://two.example.org:7817',
  'https://one.example.org:8092',
  'https://two.example.org:8092',
  'https://one.example.org:8093',
  'https://three.example.org:8093',
];
const patience = 120_000;
const memory = 'The harbour closes at dusk';

/** What the guide of three hosts promises, on three hosts that are built for it. */
export function hostTests(): void {
  let server: PostgresServer;
  let database: PostgresSettings;
  let forge: ForgeServer;
  let served: ServedRepository;
  let stack: ThreeHosts;
  let run: string;

  before(async function () {
    this.timeout(2_400_000);
    server = await startPostgres(['listen_addresses=*']);
    database = await server.database();
    forge = await startGiteaServer('0.0.0.0');
    const { bare, copy } = await makeRepositories();
    served = forge.state.addRepository({
      owner: 'demo',
      repo: 'hello',
      bare,
      collaborators: ['mira', forge.state.account],
    });
    stack = await startThreeHosts({
      database,
      forgePort: Number(new URL(forge.url).port),
      forgeToken: forge.state.token,
      bare,
      workingCopy: { host: 'two', folder: copy },
    });
  });

  after(async function () {
    this.timeout(600_000);
    stack?.remove();
    await stack?.s3.kill();
    await forge?.close();
    await server?.stop();
  });

  it('asks the database, by the password file, for the health of both replicas of each service', async () => {
    for (const url of replicas) await answersHealth(url, 200);
    await server.crash();
    for (const url of replicas) await answersHealth(url, 503);
    await server.restart();
    for (const url of replicas) await answersHealth(url, 200);
  });

  it('says of itself that all is well, and plans through proxy, bridge, bus and worker', async () => {
    const stdout = await until(patience, () => stack.hosts.two.tools('core-status', '--smoke'));
    const [report, marker] = stdout.trim().split('\n');
    expect(marker).to.match(/^SMOKE OK run_id=run_/);
    expect(JSON.parse(report!)).to.include({ ok: true });
  });

  it('has one active core-context, and a standby that takes over when that is stopped in order', async () => {
    const { three } = stack.hosts;
    await three.compose(['stop', 'core-context']);
    await answersHealth('https://one.example.org:8090', 200);
    await three.up();
    const { status, json } = await stack.ask('https://three.example.org:8090/healthz');
    expect([status, (json as { status: string }).status]).to.deep.equal([503, 'standby']);
    await answersHealth('https://context.example.org', 200);
  });

  it('records a memory on one host, which is then in the bucket alone', async () => {
    const { one } = stack.hosts;
    await one.tools('core-context', 'remember', memory);
    await until(patience, async () => {
      const journal = await server.ask(database, 'SELECT input FROM context_journal');
      return JSON.stringify(journal).includes(memory) ? null : true;
    });
  });

  it('plans and approves on one host', async () => {
    const { number } = newIssue();
    const { one } = stack.hosts;
    await one.tools(
      'core-agentd',
      'plan-issue',
      '--owner',
      'demo',
      '--repo',
      'hello',
      '--number',
      `${number}`,
    );
    run = JSON.parse(await one.tools('core-agentd', 'runs', '--json')).runs[0].run_id;
    await one.tools('core-agentd', 'approve', run, '--gate', 'build');
  });

  it('plans an event with one of two workers', async () => {
    await stack.hosts.three.kill('core-bus-worker');
    await plansEvent('board-1');
  });

  it('goes on without that host: what it approved is executed on another, the rest approved and planned there', async () => {
    await stack.hosts.three.up();
    await stack.kill('one');
    const { two } = stack.hosts;
    const execute = ['core-agentd', 'execute-approved', '--repo-dir', '/repository', '--run-id', run];
    expect(await two.tools(...execute)).to.match(/run_validation .*\(in bubblewrap\)/);
    const { actions } = (await asked(`https://core.example.org/v1/runs/${run}`)) as Planned;
    for (const { action_id, digest } of actions.filter(({ decision }) => decision === null))
      await asked(`https://core.example.org/v1/runs/${run}/actions/${action_id}/approval`, {
        decision: 'approve',
        digest,
      });
    expect(await two.tools(...execute)).to.contain('completed');
    await two.tools('core-agentd', 'verify', run);
    expect(served.pulls).to.have.length(1);
    expect(forge.state.violations).to.deep.equal([]);
    await plansEvent('board-2');
  });

  it('finds the memory at the same address, where the standby took over with what the bucket has', async () => {
    await answersHealth('https://context.example.org', 200);
    const found = await asked('https://context.example.org/v1/memory/lookup', { query: 'harbour' });
    expect(JSON.stringify(found)).to.contain(memory);
    expect(await stack.hosts.two.tools('core-context', 'lookup', 'harbour')).to.contain(memory);
    await answersHealth('https://three.example.org:8090', 200);
  });

  function newIssue() {
    return forge.state.addIssue(served, { title: issueTitle, body: issueBody, author: 'mira' });
  }

  async function plansEvent(event_id: string): Promise<void> {
    const { number } = newIssue();
    const issue = {
      id: event_id,
      title: issueTitle,
      status: 'ready',
      forge: { forge: 'git', owner: 'demo', repo: 'hello', number },
    };
    const event = { event_id, kind: 'issue.status_changed', occurred_at: '2026-11-22T07:00:00Z', issue };
    const bridge = 'https://bridge.example.org';
    await until(patience, () => asked(`${bridge}/v1/ingress/dashboard-issue`, event));
    const { run_id } = await until(patience, async () => {
      await asked(`${bridge}/v1/events/process-next`, {});
      const found = (await asked(`${bridge}/v1/events/${event_id}`)) as { run_id: string | null };
      return found.run_id === null ? null : { run_id: found.run_id };
    });
    await until(patience, async () => {
      const { status } = (await asked(`https://core.example.org/v1/runs/${run_id}`)) as Planned;
      return status === 'awaiting_approval' ? true : null;
    });
  }

  async function answersHealth(url: string, expected: number): Promise<void> {
    await until(patience, async () => {
      const { status, json } = await stack.ask(`${url}/healthz`);
      if (status === expected) return true;
      throw new Error(`${url}/healthz: ${status} ${JSON.stringify(json)}`);
    });
  }

  async function asked(url: string, body?: unknown): Promise<unknown> {
    const { status, json } = await stack.ask(url, body);
    if (status < 300) return json;
    throw new Error(`${url}: ${status} ${JSON.stringify(json)}`);
  }
}

interface Planned {
  readonly status: string;
  readonly actions: readonly {
    readonly action_id: string;
    readonly digest: string;
    readonly decision: unknown;
  }[];
}

/** The demo repository as a forge has it, bare, and a working copy of it, which belong to whom containers run as. */
async function makeRepositories(): Promise<{ bare: string; copy: string }> {
  const folder = temporaryFolder();
  const [work, bare, copy] = [join(folder, 'work'), join(folder, 'repository.git'), join(folder, 'copy')];
  mkdirSync(work);
  await makeDemoRepository(work);
  execFileSync('git', ['clone', '--quiet', '--bare', work, bare]);
  execFileSync('git', ['clone', '--quiet', bare, copy]);
  for (const repository of [bare, copy]) chownAll(repository, ordinary);
  return { bare, copy };
}
