import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { lfsPointer } from '../fixtures/forges/lfs-server.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';

describe('A repository with files of Git LFS', () => {
  let world: World;
  beforeEach(async () => {
    world = await makeWorld({ vcs: 'git' });
  });
  afterEach(() => world.close());

  /** Adds a pointer to the base branch, and its object to the repository of the forge. */
  function addFile(content: string): { oid: string; size: number; place: string } {
    const oid = createHash('sha256').update(content).digest('hex');
    const size = Buffer.byteLength(content);
    const { checkout } = world;
    writeFileSync(join(checkout.dir, '.gitattributes'), '*.bin filter=lfs\n');
    writeFileSync(join(checkout.dir, 'a.bin'), lfsPointer({ oid, size }));
    checkout.git('-c', 'filter.lfs.clean=', 'add', '.gitattributes', 'a.bin');
    checkout.git('commit', '-q', '-m', 'Add a large file');
    checkout.git('push', '-q', 'origin', 'HEAD:main');
    const remote = checkout.git('remote', 'get-url', 'origin').replace(/^file:\/\//, '');
    const place = join(remote, 'lfs/objects', oid.slice(0, 2), oid.slice(2, 4), oid);
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, content);
    return { oid, size, place };
  }

  function configure(more: object = {}): void {
    writeFileSync(
      join(world.home, 'config/validation.json'),
      JSON.stringify({
        sandbox: 'none',
        allow_unsandboxed: true,
        default: { commands: [{ name: 'test', run: 'grep large a.bin' }] },
        ...more,
      }),
    );
  }

  async function plan() {
    const number = await world.newIssue(`It should greet strangers.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`);
    const planned = await world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
    await world.approve(planned);
    return planned;
  }

  async function execute(run_id: string) {
    const request = { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false };
    const run = await world.agent.execute({ ...request, by: everybody }, quiet);
    return run.actions.find(({ definition }) => definition.kind === 'run_validation')!;
  }

  it('is validated with the approved objects, also where the mirror lost them', async () => {
    configure();
    const { oid, size } = addFile('a large file\n');
    const planned = await plan();
    rmSync(join(world.home, 'state/mirrors'), { recursive: true });
    const { definition, state, outcome } = await execute(planned.run_id);
    expect(definition.rationale).to.contain('Provides 1 object of Git LFS, 13 bytes: a.bin.');
    const { lfs } = (definition.params as { plan: { lfs: object } }).plan;
    expect(lfs).to.deep.equal({ provided: [{ path: 'a.bin', oid, size }], missing: [] });
    expect(planned.plan!.notices.filter((notice) => notice.includes('LFS'))).to.deep.equal([]);
    expect(state, outcome?.message).to.equal('succeeded');
  });

  it('is validated with pointers that have no object, and plan and log say so', async () => {
    configure();
    rmSync(addFile('a large file\n').place);
    const planned = await plan();
    const line =
      'not as in a checkout: a.bin is a pointer of Git LFS, not the file (the repository does not have its object)';
    expect(planned.plan!.notices).to.contain(line);
    const { state, outcome } = await execute(planned.run_id);
    expect(state).to.equal('failed');
    const digest = (outcome!.facts.logs as Record<string, string>)['run-test']!;
    expect(Buffer.from(await world.agent.artifact(planned.run_id, digest)).toString('utf8')).to.contain(
      `[core: ${line}]\n`,
    );
  });

  it('is validated without objects if the configuration says so', async () => {
    configure({ lfs: false });
    addFile('a large file\n');
    const planned = await plan();
    expect(planned.plan!.notices).to.contain(
      'not as in a checkout: a.bin is a pointer of Git LFS, not the file',
    );
    const shipped = readFileSync(new URL('../../config/validation.json', import.meta.url), 'utf8');
    expect(JSON.parse(shipped)).to.include({ lfs: true });
  });
});
