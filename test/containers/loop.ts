import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import neo4j from 'neo4j-driver';
import type { StatusReport } from '../../services/kit/contracts/status.ts';
import { git } from '../../services/kit/git/git.ts';
import {
  issueBody,
  issueTitle,
  makeDemoRepository,
} from '../../services/supervisor/quickstart/demo-repository.ts';
import { asked, cypher, newestRun, until } from './asking.ts';
import type { ContainerStack } from './stack/container-stack.ts';

export const demo = ['--owner', 'demo', '--repo', 'hello'];
const execute = ['core-agentd', 'execute-approved', '--repo-dir', '/repository', '--run-id'];

/** From an issue to a pull request through the tools container. */
export function loopTests(stack: ContainerStack): void {
  let runId: string;

  it('plans an issue of a mounted repository, with context from core-context, and writes nothing there', async function () {
    this.timeout(900_000);
    await makeDemoRepository(stack.repository);
    writeFileSync(join(stack.repository, '.git/issue.md'), issueBody);
    stack.ownRepository();
    await stack.toolsDone('core-agentd', 'forge', 'init', ...demo, '--from', '/repository');
    await stack.toolsDone('git', 'remote', 'add', 'origin', '/state/forge/demo/hello/repository.git');
    const issue = ['--title', issueTitle, '--body-file', '/repository/.git/issue.md', '--author', 'mira'];
    await stack.toolsDone('core-agentd', 'forge', 'issue', 'new', ...demo, ...issue);
    const before = await refs(stack);
    const said = await stack.toolsDone('core-agentd', 'plan-issue', ...demo, '--number', '1');
    expect(said).to.contain('files of context').and.to.contain('(bubblewrap, no network');
    expect(said).to.contain('Nothing was written to the repository.');
    expect(await refs(stack)).to.equal(before);
    runId = await newestRun(stack);
  });

  it('refuses what nobody approved, and executes what was with jj and in bubblewrap', async function () {
    this.timeout(900_000);
    const refused = await stack.tools(...execute, runId);
    expect(refused.exitCode, refused.stderr).to.equal(3);
    const said: string[] = [];
    for (const gate of ['build', 'publish']) {
      await stack.toolsDone('core-agentd', 'approve', runId, '--gate', gate);
      said.push(await stack.toolsDone(...execute, runId));
    }
    const [built, published] = said;
    expect(built).to.match(/create_branch .*\(jj\)/);
    expect(built).to.match(/run_validation .*\(in bubblewrap\)/);
    expect(published).to.contain('completed');
    expect(published).to.match(/pull request +#2/);
    await stack.toolsDone('core-agentd', 'verify', runId);
  });

  it('leaves every file of the repository to its owner, and what it made in the branch that it names', async () => {
    const { uid, gid } = stack.owner;
    for (const path of ['', ...readdirSync(stack.repository, { recursive: true, encoding: 'utf8' })]) {
      const stats = statSync(join(stack.repository, path));
      expect([stats.uid, stats.gid], path).to.deep.equal([uid, gid]);
    }
    expect(await refs(stack)).to.match(/refs\/heads\/core\/1-greeting/);
    expect(readFileSync(join(stack.repository, 'src/greet.js'), 'utf8')).to.not.contain('stranger');
  });

  it('has the plan in Neo4j, where Cypher of core-context reads it', async function () {
    this.timeout(900_000);
    const query =
      'MATCH (run:ReasoningRun {run_id: $run})-[:PROPOSES]->(action:Action) RETURN count(action) AS actions';
    expect(await cypher(stack, query, { run: runId })).to.deep.equal([{ actions: 7 }]);
  });

  it('plans over HTTP with core-context, and its plan is in Neo4j', async function () {
    this.timeout(900_000);
    const issue = await newIssue(stack);
    const { run_id } = await asked<{ run_id: string }>(stack, 'core-agentd:7817/v1/runs', issue);
    await deliveredToContext(stack, run_id);
    expect(await actionsInNeo4j(stack, run_id)).to.equal(7);
  });

  it('plans the event of a dashboard through bridge, bus and worker, and its plan is in Neo4j', async function () {
    this.timeout(900_000);
    const bridge = 'core-bridge:8093';
    const issue = { id: 'T-1', title: issueTitle, status: 'ready', forge: await newIssue(stack) };
    const event = { event_id: 'board-1', kind: 'issue.status_changed', occurred_at: '2026-11-22T07:00:00Z' };
    await asked(stack, `${bridge}/v1/ingress/dashboard-issue`, { ...event, issue });
    const run = await until(400_000, async () => {
      await asked(stack, `${bridge}/v1/events/process-next`, {});
      const event = await asked<{ run_id: string | null }>(stack, `${bridge}/v1/events/board-1`);
      return event.run_id;
    });
    await deliveredToContext(stack, run);
    expect(await actionsInNeo4j(stack, run)).to.equal(7);
  });

  it('says of itself that all is well, and plans through bridge, bus and worker', async function () {
    this.timeout(900_000);
    // On a busy machine a service may take longer than the command waits.
    const stdout = await until(400_000, () => stack.toolsDone('core-status', '--smoke'));
    const [report, marker] = stdout.trim().split('\n');
    expect(marker).to.match(/^SMOKE OK run_id=run_/);
    const { ok, problems, iii, manager } = JSON.parse(report!);
    expect({ ok, problems }).to.deep.equal({ ok: true, problems: [] });
    expect(manager).to.include({ kind: 'none', production_like: true });
    expect(iii).to.include({ telemetry_disabled: true, in_memory_warning_present: false });
  });

  it('reports the same through core-agentd', async function () {
    this.timeout(900_000);
    const url = `${stack.url('core-agentd', 7817)}/v1/status`;
    const report = await until(400_000, async () => {
      const answer = await fetch(url, { headers: { authorization: `Bearer ${stack.token()}` } });
      const report = (await answer.json()) as StatusReport;
      if (report.ok) return report;
      throw new Error(JSON.stringify(report));
    });
    expect(report.storage.runs_count).to.be.above(1);
  });
}

async function refs({ repository }: ContainerStack): Promise<string> {
  const { stdout } = await git(['-c', 'safe.directory=*', '-C', repository, 'for-each-ref']);
  return stdout.toString('utf8');
}

/** One more issue of the repository, with the patch that no branch has yet. */
async function newIssue(stack: ContainerStack): Promise<{ owner: string; repo: string; number: number }> {
  const text = ['--title', issueTitle, '--body-file', '/repository/.git/issue.md', '--author', 'mira'];
  const command = ['core-agentd', 'forge', 'issue', 'new', ...demo, ...text, '--json'];
  const { number } = JSON.parse(await stack.toolsDone(...command));
  return { owner: 'demo', repo: 'hello', number };
}

/** Waits until a run is planned. @throws where it was planned without what core-context knows */
async function deliveredToContext(stack: ContainerStack, run: string): Promise<void> {
  const { plan } = await until(400_000, async () => {
    const planned = await asked<PlannedRun>(stack, `core-agentd:7817/v1/runs/${run}`);
    return planned.plan === null ? null : { plan: planned.plan };
  });
  expect(plan.notices.filter((notice) => notice.startsWith('context:'))).to.deep.equal([]);
  expect(plan.files_of_context).to.be.above(0);
}

interface PlannedRun {
  readonly plan: { readonly notices: readonly string[]; readonly files_of_context: number } | null;
}

/** Asked of Neo4j itself, not of core-context. */
async function actionsInNeo4j(stack: ContainerStack, run: string): Promise<number> {
  const password = readFileSync(join(stack.folder, 'secrets/neo4j-password'), 'utf8').trim();
  const address = `bolt://127.0.0.1:${stack.port('neo4j', 7687)}`;
  const driver = neo4j.driver(address, neo4j.auth.basic('neo4j', password));
  const query =
    'MATCH (run:ReasoningRun:AgentRun {run_id: $run})-[:PROPOSES]->(action:ProposedAction) RETURN count(action) AS actions';
  try {
    return await until(400_000, async () => {
      const { records } = await driver.executeQuery(query, { run });
      return Number(records[0]?.get('actions')) || null;
    });
  } finally {
    await driver.close();
  }
}
