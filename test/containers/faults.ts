import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { git } from '../../services/kit/git/git.ts';
import { askCypher, cypher, newestRun, until } from './asking.ts';
import type { ContainerStack } from './stack/container-stack.ts';
import { removeContainers } from './stack/leftovers.ts';

const slow = ['--owner', 'demo', '--repo', 'slow'];
const file = 'answer.txt';
/** Its validation goes on until somebody puts `released` beside the marker. */
const marker = 'wait-for-release.txt';
const validation = { commands: [{ name: 'waits', run: 'until [ -e released ]; do sleep 0.2; done' }] };
const issue = `The answer is wrong:

\`\`\`diff
diff --git a/${file} b/${file}
--- a/${file}
+++ b/${file}
@@ -1 +1 @@
-41
+42
\`\`\`
`;

/** What containers and disks do that nobody asked for. */
export function faultTests(stack: ContainerStack): void {
  it('takes up a run in whose middle every container was restarted and its own was killed', async function () {
    this.timeout(900_000);
    await prepareSlowRepository(stack);
    await stack.toolsDone('core-agentd', 'plan-issue', ...slow, '--number', '1');
    const run = await newestRun(stack);
    await stack.toolsDone('core-agentd', 'approve', run, '--all');
    const executing = stack.tools(
      'core-agentd',
      'execute-approved',
      '--repo-dir',
      '/repository/slow',
      '--run-id',
      run,
    );
    const isValidating = async () =>
      (await stateOf(stack, run, 'run_validation').catch(() => null)) === 'running' ? true : null;
    await until(400_000, isValidating);
    await Promise.all(stack.running.map((name) => stack.container(name).restart({ timeout: 0 })));
    expect(await stateOf(stack, run, 'run_validation')).to.equal('running');

    removeContainers(stack.project, 'com.docker.compose.oneoff=True');
    expect((await executing).exitCode).to.not.equal(0);

    let ended = false;
    const resuming = resumed(stack, run).finally(() => {
      ended = true;
    });
    while (!ended) {
      await release(stack);
      await Promise.race([resuming.catch(() => null), new Promise((resolve) => setTimeout(resolve, 1_000))]);
    }
    expect(await resuming).to.contain('completed');
    await stack.toolsDone('core-agentd', 'verify', run);
    const query =
      'MATCH (run:ReasoningRun {run_id: $run}) WHERE run.status = "completed" RETURN run.run_id AS id';
    const rows = await until(400_000, async () => {
      const found = (await cypher(stack, query, { run })) as unknown[];
      return found.length > 0 ? found : null;
    });
    expect(rows).to.deep.equal([{ id: run }]);
  });

  it('plans on while Neo4j ends under it, says that Cypher is away, and catches up when it is back', async function () {
    this.timeout(900_000);
    const planning = stack.toolsDone('core-agentd', 'plan-issue', ...slow, '--number', '1');
    await stack.container('neo4j').stop({ timeout: 0, remove: false });
    expect(await planning).to.contain('Nothing was written to the repository.');
    const run = await newestRun(stack);
    const query =
      'MATCH (run:ReasoningRun {run_id: $run})-[:PROPOSES]->(action:Action) RETURN count(action) AS actions';
    const away = await askCypher(stack, query, { run });
    expect(away.status, away.text).to.equal(503);
    expect((await fetch(`${stack.url('core-context', 8090)}/healthz`)).status).to.equal(200);
    await stack.up();
    const [row] = await until(400_000, async () => {
      const rows = (await cypher(stack, query, { run })) as { actions: number }[];
      return (rows[0]?.actions ?? 0) > 0 ? rows : null;
    });
    expect(row?.actions).to.be.above(3);
  });

  it('refuses to plan on a full volume and says so, loses nothing, and plans when there is room', async function () {
    this.timeout(900_000);
    const before = await runIds(stack);
    await stack.exec('keeper', 'node', '-e', fill);
    const refused = await stack.tools('core-agentd', 'plan-issue', ...slow, '--number', '1');
    expect(refused.exitCode, refused.stdout).to.equal(1);
    expect(refused.stderr).to.contain('[disk_full]');
    expect((await fetch(`${stack.url('core-agentd', 7817)}/healthz`)).status).to.be.oneOf([200, 503]);
    expect(await runIds(stack)).to.include.members(before);
    await stack.exec('keeper', 'node', '-e', "require('node:fs').rmSync('/state/filling')");
    await stack.toolsDone('core-agentd', 'plan-issue', ...slow, '--number', '1');
    expect(await runIds(stack)).to.include.members(before);
    expect((await runIds(stack)).length).to.be.above(before.length);
    await stack.up();
  });
}

const fill = `const fs = require('node:fs');
const file = fs.openSync('/state/filling', 'w');
let size = 1 << 20;
while (size >= 1) {
  try { fs.writeSync(file, Buffer.alloc(size)); } catch (error) {
    if (error.code !== 'ENOSPC') throw error;
    size >>= 1;
  }
}`;

const releases = `const fs = require('node:fs'), path = require('node:path');
for (const found of fs.globSync('/state/validation/**/${marker}')) {
  try { fs.writeFileSync(path.join(path.dirname(found), 'released'), ''); } catch {}
}`;

async function release(stack: ContainerStack): Promise<void> {
  await stack.exec('keeper', 'node', '-e', releases);
}

async function prepareSlowRepository(stack: ContainerStack): Promise<void> {
  const folder = join(stack.repository, 'slow');
  mkdirSync(folder);
  writeFileSync(join(folder, file), '41\n');
  writeFileSync(join(folder, marker), '');
  writeFileSync(join(folder, '.core.json'), JSON.stringify({ validation }));
  const author = [
    '-c',
    'user.name=t',
    '-c',
    'user.email=t@localhost',
    '-c',
    'safe.directory=*',
    '-C',
    folder,
  ];
  await git([...author, 'init', '--quiet', '--initial-branch=main']);
  await git([...author, 'add', '--all']);
  await git([...author, 'commit', '--quiet', '--message', 'Answer']);
  writeFileSync(join(folder, '.git/issue.md'), issue);
  stack.ownRepository();
  await stack.toolsDone('core-agentd', 'forge', 'init', ...slow, '--from', '/repository/slow');
  const origin = '/state/forge/demo/slow/repository.git';
  await stack.toolsDone('git', '-C', '/repository/slow', 'remote', 'add', 'origin', origin);
  const said = [
    '--title',
    'The answer is wrong',
    '--body-file',
    '/repository/slow/.git/issue.md',
    '--author',
    'mira',
  ];
  await stack.toolsDone('core-agentd', 'forge', 'issue', 'new', ...slow, ...said);
}

/** The lease of who was killed in another container ends by time alone: until then to resume is refused. */
function resumed(stack: ContainerStack, run: string): Promise<string> {
  return until(400_000, async () => {
    const { exitCode, stdout, stderr } = await stack.tools('core-agentd', 'resume', run);
    if (exitCode === 0) return stdout;
    throw new Error(stderr + stdout);
  });
}

async function stateOf(stack: ContainerStack, run: string, kind: string): Promise<string | undefined> {
  const { actions } = (await fromDaemon(stack, `/v1/runs/${run}/actions`)) as {
    actions: { kind: string; state: string }[];
  };
  return actions.find((action) => action.kind === kind)?.state;
}

async function runIds(stack: ContainerStack): Promise<string[]> {
  const { runs } = (await fromDaemon(stack, '/v1/runs?limit=100')) as { runs: { run_id: string }[] };
  return runs.map(({ run_id }) => run_id);
}

async function fromDaemon(stack: ContainerStack, path: string): Promise<unknown> {
  const answer = await fetch(`${stack.url('core-agentd', 7817)}${path}`, {
    headers: { authorization: `Bearer ${stack.token()}` },
  });
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}
