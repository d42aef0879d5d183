import { lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { StatusReport } from '#kit/contracts/status.ts';
import { decode } from '#kit/decode.ts';
import { makeDemoRepository } from '../../services/supervisor/quickstart/demo-repository.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';
import { until } from '../fixtures/until.ts';
import { describeWith } from '../needs.ts';
import { makePlace, type Place } from './core-process.ts';
import { type Stack, startStack } from './stack-process.ts';

const demo = ['--owner', 'demo', '--repo', 'hello'];
/** As the demo's patch has it, with what the validation finds in its workspace said in its output. */
const validation = {
  allow_unsandboxed: true,
  default: {
    commands: [
      { name: 'modes', run: 'umask; stat -c "%a %n" README.md run.sh src; touch made; stat -c %a made' },
    ],
  },
};

describeWith(['linux'], 'Files of Core, with a umask that lets others read', () => {
  const before022 = process.umask();
  let place: Place;
  let stack: Stack;
  let upstream: ModelUpstream;
  let checkout: string;
  let runId: string;

  before(async () => {
    process.umask(0o022);
    place = makePlace();
    checkout = join(place.folder, 'hello');
    await makeDemoRepository(checkout);
    writeFileSync(join(checkout, 'run.sh'), 'echo\n', { mode: 0o755 });
    await place.git('-C', checkout, 'add', 'run.sh');
    await place.git('-C', checkout, ...person, 'commit', '-qm', 'A program');
    upstream = await startModelUpstream();
    configure({ 'validation.json': validation, 'models.json': models(upstream.url) });
    await place.core('forge', 'init', ...demo, '--from', checkout);
    const remote = join(place.home, 'state/forge/demo/hello/repository.git');
    await place.git('-C', checkout, 'remote', 'add', 'origin', remote);
    writeFileSync(join(place.folder, 'issue.md'), issue);
    const issueOptions = [
      '--title',
      'Two',
      '--body-file',
      join(place.folder, 'issue.md'),
      '--author',
      'mira',
    ];
    await done('forge', 'issue', 'new', ...demo, ...issueOptions);
    stack = startStack(place.home);
    await stack.ready();
    await smoke();
    await ask();
    await done('plan-issue', ...demo, '--number', '1', '--planner', 'patch');
    runId = JSON.parse(await done('runs', '--json', ...demo)).runs[0].run_id;
    await done('approve', runId, '--all');
    await done('execute-approved', runId, '--repo-dir', checkout);
    await done('context', 'refresh', '--wait');
    await done('backup', join(place.folder, 'all.tar'));
  });
  after(async () => {
    if (stack?.child.exitCode === null) await stack.end();
    await upstream?.close();
    place?.remove();
    process.umask(before022);
  });

  const person = ['-c', 'user.name=mira', '-c', 'user.email=mira@example.org'];

  function configure(files: Readonly<Record<string, object>>): void {
    for (const [name, content] of Object.entries(files))
      writeFileSync(join(place.home, 'config', name), JSON.stringify(content));
  }

  async function done(...args: readonly string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await place.core(...args);
    expect(exitCode, `core ${args.join(' ')}: ${stdout}${stderr}`).to.equal(0);
    return stdout;
  }

  /** From an event of the bridge over the bus to a plan. */
  async function smoke(): Promise<void> {
    await until('the smoke run', async () => {
      const { stdout } = await place.core('status', '--smoke');
      const [json = ''] = stdout.split(/^SMOKE /m);
      return json !== '' && decode(StatusReport, JSON.parse(json), 'report').smoke?.ok === true;
    });
  }

  async function ask(): Promise<void> {
    const folder = join(place.home, 'config/tokens');
    const name = readdirSync(folder).find((one) => /^(?!bridge|worker|agentd).*\.token$/.test(one))!;
    const answer = await fetch(`${stack.url('core-model-gateway')}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${readFileSync(join(folder, name), 'utf8').trim()}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ model: 'coder', messages: [{ role: 'user', content: 'hello' }] }),
    });
    expect(answer.status, await answer.text()).to.equal(200);
  }

  /** Paths with the modes of those that somebody else may do anything with; links have no modes of their own. */
  function open(folder: string): string[] {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => ({ path, stats: lstatSync(path) }))
      .filter(({ stats }) => !stats.isSymbolicLink() && (stats.mode & 0o077) !== 0)
      .map(({ path, stats }) => `${(stats.mode & 0o777).toString(8)} ${path.slice(folder.length + 1)}`);
  }

  it('can be read by their owner alone: state, databases, logs, notes, mirrors, backups and tokens', async () => {
    const state = join(place.home, 'state');
    const names = readdirSync(state, { recursive: true }).map(String);
    for (const part of [
      /\.sqlite-wal$/,
      /^runs\/run_[^/]*\/events.jsonl/,
      /^mirrors\/.*\.pack$/,
      /^runs\/run_[^/]+\/artifacts\/./,
      /^clones\/./,
      /^supervisor\/stack\.json$/,
      /^model-gateway\/./,
      /^bridge\/./,
      /^bus\/./,
      /^context\/./,
    ]) {
      expect(
        names.some((name) => part.test(name)),
        `${part} in\n${names.join('\n')}`,
      ).to.equal(true);
    }
    expect(open(state)).to.deep.equal([]);
    expect(lstatSync(state).mode & 0o777).to.equal(0o700);
    expect(open(join(place.home, 'config/tokens'))).to.deep.equal([]);
  });

  it('leave a validation the modes that a checkout has, and a patch those of git', async () => {
    const log = readFileSync(join(place.home, 'state/runs', runId, 'validation/run-modes.log'), 'utf8');
    expect(log).to.contain('0022\n644 README.md\n755 run.sh\n755 src\n644\n');
    const ref = (await place.git('-C', checkout, 'for-each-ref', '--format=%(refname)', 'refs/heads/core'))!;
    const tree = await place.git('-C', checkout, 'ls-tree', '-r', ref);
    expect(tree)
      .to.match(/^100644 .*\tREADME.md$/m)
      .and.match(/^100755 .*\trun.sh$/m);
  });

  it('are not all: a checkout stays as readable as it was', () => {
    const objects = readdirSync(join(checkout, '.git'), { recursive: true, withFileTypes: true });
    const closed = objects
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => (lstatSync(path).mode & 0o044) !== 0o044);
    expect(closed).to.deep.equal([]);
  });
});

const issue = `Greet twice.

\`\`\`diff
--- a/README.md
+++ b/README.md
@@ -1,3 +1,3 @@
 # hello
 
-Greets people: \`greet('Ada')\` is \`Hello, Ada!\`.
+Greets all people: \`greet('Ada')\` is \`Hello, Ada!\`.
\`\`\`
`;

function models(url: string): object {
  const price = { input: 1, output: 2, cached: 0.1 };
  return {
    models: { coder: { tier: 'large', upstreams: [{ kind: 'openai', base_url: url, model: 'one', price }] } },
  };
}
