import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { makeRepository } from '../fixtures/repositories/repository.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';

describe('A repository with submodules', () => {
  let world: World;
  beforeEach(async () => {
    world = await makeWorld({ vcs: 'git' });
  });
  afterEach(() => world.close());

  /** Adds a submodule to the base branch, of a repository that the forge has beside it. */
  async function addSubmodule(url: string): Promise<string> {
    const lib = makeRepository({ 'lib.txt': 'of the library\n' });
    await world.forgeAdmin.init({ owner: 'demo', repo: 'lib', from: lib.dir });
    const commit = lib.git('rev-parse', 'HEAD');
    const { checkout } = world;
    writeFileSync(
      join(checkout.dir, '.gitmodules'),
      `[submodule "lib"]\n\tpath = vendor/lib\n\turl = ${url}\n`,
    );
    checkout.git('add', '.gitmodules');
    checkout.git('update-index', '--add', '--cacheinfo', `160000,${commit},vendor/lib`);
    checkout.git('commit', '-q', '-m', 'Add the library');
    checkout.git('push', '-q', 'origin', 'HEAD:main');
    return commit;
  }

  function configure(run: string, more: object = {}): void {
    writeFileSync(
      join(world.home, 'config/validation.json'),
      JSON.stringify({
        sandbox: 'none',
        allow_unsandboxed: true,
        default: { commands: [{ name: 'test', run }] },
        ...more,
      }),
    );
  }

  async function executed() {
    const number = await world.newIssue(`It should greet strangers.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`);
    const planned = await world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
    await world.approve(planned);
    const request = { run_id: planned.run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false };
    const run = await world.agent.execute({ ...request, by: everybody }, quiet);
    const validation = run.actions.find(({ definition }) => definition.kind === 'run_validation')!;
    return { planned, validation, log: () => logOf(planned.run_id, validation.outcome!.facts.logs) };
  }

  async function logOf(run_id: string, logs: unknown): Promise<string> {
    const digest = (logs as Record<string, string>)['run-test']!;
    return Buffer.from(await world.agent.artifact(run_id, digest)).toString('utf8');
  }

  it('is validated with the files of those that the forge has, as the plan names them', async () => {
    configure('test ! -e .git && test ! -e vendor/lib/.git && grep library vendor/lib/lib.txt');
    const commit = await addSubmodule('../../lib/repository.git');
    const { planned, validation, log } = await executed();
    expect(validation.definition.rationale).to.contain(
      `Provides vendor/lib: demo/lib at ${commit.slice(0, 12)}.`,
    );
    expect(planned.plan!.notices.filter((notice) => notice.includes('submodule'))).to.deep.equal([]);
    expect(validation.state, await log()).to.equal('succeeded');
  });

  it('is validated with those that it names by the path of a repository of the local forge', async () => {
    configure('grep library vendor/lib/lib.txt');
    const own = world.checkout.git('remote', 'get-url', 'origin').trim();
    const commit = await addSubmodule(own.replace('/hello/', '/lib/'));
    const { planned, validation, log } = await executed();
    expect(planned.plan!.notices.filter((notice) => notice.includes('submodule'))).to.deep.equal([]);
    expect(validation.definition.rationale).to.contain(
      `Provides vendor/lib: demo/lib at ${commit.slice(0, 12)}.`,
    );
    expect(validation.state, await log()).to.equal('succeeded');
  });

  it('is validated without those of other places, and plan and log say so', async () => {
    configure('cat vendor/lib/lib.txt');
    await addSubmodule('https://git.example.org/demo/lib.git');
    const { planned, validation, log } = await executed();
    const line =
      "not as in a checkout: vendor/lib is an empty folder: a submodule (its URL 'https://git.example.org/demo/lib.git' is not a repository of forge 'local', and its host is not in fetch_hosts)";
    expect(planned.plan!.notices).to.contain(line);
    expect(validation.state).to.equal('failed');
    expect(await log()).to.contain(`[core: ${line}]\n`);
  });

  it('is validated without them if the configuration says so', async () => {
    configure('cat vendor/lib/lib.txt', { submodules: false });
    await addSubmodule('../../lib/repository.git');
    const { planned, validation } = await executed();
    expect(planned.plan!.notices).to.contain(
      'not as in a checkout: vendor/lib is an empty folder: a submodule',
    );
    expect(validation.state).to.equal('failed');
    const shipped = readFileSync(new URL('../../config/validation.json', import.meta.url), 'utf8');
    expect(JSON.parse(shipped)).to.include({ submodules: true });
  });
});
