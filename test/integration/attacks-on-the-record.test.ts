import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { codeOf } from '#kit/errors.ts';
import { openServices } from '../../services/agentd/main.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { everybody, makeWorld, quiet, type World } from '../fixtures/world/world.ts';

interface Attack {
  readonly name: string;
  readonly file: string;
  make(path: string): void;
}

const views = /^(?!events\.jsonl$|artifacts\/)/;

/**
 * Every file of a run whose build is done, whose publishing was approved and whose comment was rejected, is changed between the
 * approvals and the execution.
 */
describe('attacks on the record between approval and execution', function () {
  this.timeout(600_000);
  let world: World;
  let run: Run;
  let folder: string;
  let head: string;
  let kept: string;
  const elsewhere = temporaryFolder();

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
    run = await world.plannedAndApproved();
    const build = run.actions.slice(0, 4).map(({ definition }) => definition.action_id);
    await world.agent.execute({ ...options(), actions: build }, quiet);
    const { action_id, digest } = run.actions[6]!.definition;
    await world.agent.decide({
      run_id: run.run_id,
      decision: 'reject',
      actions: [{ action_id, digest }],
      reason: 'says too much',
      claimed_approver: null,
      by: everybody,
    });
    folder = join(world.home, 'state/runs', run.run_id);
    head = join(world.home, 'state/heads', run.run_id);
    kept = join(elsewhere, 'run');
    cpSync(folder, kept, { recursive: true });
    cpSync(head, join(elsewhere, 'head'));
  });

  after(() => world?.close());

  const options = () => ({
    run_id: run.run_id,
    repo_dir: world.checkout.dir,
    actions: null,
    dry_run: false,
    by: everybody,
  });

  function putBack(): void {
    rmSync(folder, { recursive: true, force: true });
    cpSync(kept, folder, { recursive: true });
    rmSync(head, { recursive: true, force: true });
    mkdirSync(join(world.home, 'state/heads'), { recursive: true });
    cpSync(join(elsewhere, 'head'), head);
  }

  const published = (): string => world.remote.git('for-each-ref', '--format=%(refname)', 'refs/heads/core/');

  /** How a new process takes what it finds: what it answers to an execution, and whether it calls the record whole. */
  async function attacked(attack: Attack, path: string): Promise<{ whole: boolean; code: string }> {
    putBack();
    attack.make(path);
    const services = await openServices({ home: world.home });
    try {
      const agent = services.agent;
      const whole = await agent.verify(run.run_id).then(
        ({ problems }) => problems.length === 0,
        () => false,
      );
      const code = await agent.execute(options(), quiet).then(() => 'executed', codeOf);
      return { whole, code };
    } finally {
      await services.close();
    }
  }

  async function expectAllRefused(attacks: readonly Attack[], pathOf: (file: string) => string) {
    const through: string[] = [];
    for (const attack of attacks) {
      const { whole, code } = await attacked(attack, pathOf(attack.file));
      if (whole || !refusals.includes(code))
        through.push(`${attack.name} ${attack.file}: ${code}, whole ${whole}`);
    }
    expect(through).to.deep.equal([]);
    expect(published()).to.equal('');
  }

  const refusals = ['record_cut', 'run_damaged', 'artifact_differs', 'view_altered'];

  it('executes nothing and calls nothing whole, whatever was done to whichever file of the run folder', async () => {
    const files = filesBelow(kept, '');
    const attacks = files.flatMap((file) => attacksOn(file, readFileSync(join(kept, file)), elsewhere));
    expect(attacks.length).to.be.at.least(300);
    expect(new Set(attacks.map(({ name }) => name.split(' ')[0]))).to.deep.equal(
      new Set(['edit', 'cut', 'delete', 'replace']),
    );
    await expectAllRefused(attacks, (file) => join(folder, file));
  });

  it('executes nothing and calls nothing whole when the folder or what is known of its head is gone or another', async () => {
    const attacks: Attack[] = [
      { name: 'delete the folder', file: 'folder', make: () => rmSync(folder, { recursive: true }) },
      {
        name: 'delete artifacts',
        file: 'folder',
        make: () => rmSync(join(folder, 'artifacts'), { recursive: true }),
      },
      { name: 'empty the folder', file: 'folder', make: () => emptied(folder) },
      { name: 'delete the head', file: 'head', make: () => rmSync(head) },
      {
        name: 'delete all heads',
        file: 'head',
        make: () => rmSync(join(world.home, 'state/heads'), { recursive: true }),
      },
      { name: 'replace the head by a folder', file: 'head', make: () => emptied(head) },
      ...[0, 1, 100, 300].map((length) => ({
        name: `cut the head to ${length}`,
        file: 'head',
        make: () => writeFileSync(head, readFileSync(head).subarray(0, length)),
      })),
      { name: 'replace the head by NULs', file: 'head', make: () => writeFileSync(head, Buffer.alloc(512)) },
      {
        name: 'delete the head and the last line',
        file: 'head',
        make: () => {
          rmSync(head);
          const lines = readFileSync(join(folder, 'events.jsonl'), 'utf8').split(/(?<=\n)/);
          writeFileSync(join(folder, 'events.jsonl'), lines.slice(0, -1).join(''));
        },
      },
    ];
    await expectAllRefused(attacks, () => '');
  });

  it('takes deleted views for what they are, and executes then what was approved and nothing that was rejected', async () => {
    putBack();
    for (const file of filesBelow(folder, '').filter((name) => views.test(name))) rmSync(join(folder, file));
    const done = await world.agent.execute(options(), quiet);
    expect(done.actions.map(({ state }) => state)).to.deep.equal([
      ...Array.from({ length: 6 }, () => 'succeeded'),
      'refused',
    ]);
    expect(world.remote.git('rev-parse', `refs/heads/${run.plan!.target.branch}^{tree}`)).to.equal(
      run.plan!.target.tree,
    );
  });
});

function emptied(path: string): void {
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path);
}

function filesBelow(path: string, prefix: string): string[] {
  return readdirSync(path, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) =>
      entry.isDirectory()
        ? filesBelow(join(path, entry.name), `${prefix}${entry.name}/`)
        : [`${prefix}${entry.name}`],
    );
}

/** Views can be deleted: nothing reads them back. All else is edited, cut, deleted and replaced. */
function attacksOn(file: string, bytes: Buffer, elsewhere: string): Attack[] {
  const changed = (name: string, content: () => Uint8Array): Attack => ({
    name,
    file,
    make: (path) => writeFileSync(path, content()),
  });
  const positions = [0, 0.2, 0.4, 0.6, 0.8].map((part) => Math.floor(part * bytes.length));
  const edits = positions.map((position, index) =>
    changed(`edit byte ${position}`, () => {
      const copy = Buffer.from(bytes);
      copy[position] = copy[position]! ^ [0x01, 0x02, 0x04, 0x20, 0x40][index]!;
      return copy;
    }),
  );
  const cuts = [
    ...positions.map((length) => changed(`cut to ${length}`, () => bytes.subarray(0, length))),
    changed('cut its end to NULs', () => Buffer.concat([bytes.subarray(0, -20), Buffer.alloc(20)])),
    changed('cut out its middle', () =>
      Buffer.concat([bytes.subarray(0, positions[2]), bytes.subarray(positions[3])]),
    ),
  ];
  const replacements: Attack[] = [
    changed('replace by other text', () => Buffer.from('{"as_of_seq":1}\n')),
    {
      name: 'replace by a folder',
      file,
      make: (path) => emptied(path),
    },
    {
      name: 'replace by a link to a copy of itself',
      file,
      make: (path) => {
        const copy = join(elsewhere, 'linked');
        writeFileSync(copy, bytes);
        rmSync(path);
        symlinkSync(copy, path);
      },
    },
  ];
  const deletion: Attack[] = views.test(file) ? [] : [{ name: 'delete', file, make: (path) => rmSync(path) }];
  const lines = file === 'events.jsonl' ? bytes.toString().split(/(?<=\n)/) : [];
  const lineCuts = lines.flatMap((_, index) => [
    changed(`cut line ${index + 1}`, () => Buffer.from(lines.toSpliced(index, 1).join(''))),
    changed(`cut from line ${index + 1}`, () => Buffer.from(lines.slice(0, index).join(''))),
    changed(`replace line ${index + 1} by the one before`, () =>
      Buffer.from(lines.with(index, lines[index - 1] ?? '{}\n').join('')),
    ),
  ]);
  // Cutting nothing out of an empty log of a validation changes nothing.
  const some = bytes.length > 0 ? [...edits, ...cuts] : [];
  return [...some, ...replacements, ...deletion, ...lineCuts];
}
