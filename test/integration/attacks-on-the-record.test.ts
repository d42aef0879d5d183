import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { codeOf } from '#kit/errors.ts';
import { openServices } from '../../services/agentd/main.ts';
import { summaryColumns } from '../../services/agentd/runs/rows/run-rows.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import { agentdSchema } from '../../services/agentd/schema.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { everybody, makeWorld, quiet, type World } from '../fixtures/world/world.ts';

interface Attack {
  readonly name: string;
  readonly file: string;
  make(path: string): void;
}

const views = /^(?!events\.jsonl$|artifacts\/)/;

type Row = Readonly<Record<string, string | number | Uint8Array | null>>;

/** Change of rows by a plain SQLite client. */
interface RowAttack {
  readonly name: string;
  readonly make: (client: DatabaseSync) => void;
}

const tables = ['runs', 'run_events', 'run_artifacts'] as const;

/**
 * Attacks on a run with a finished build, an approved publishing and a rejected comment. Each changes a row of the run, or a file of its
 * folder, between the approvals and the execution.
 */
describe('attacks on the record between approval and execution', function () {
  this.timeout(900_000);
  let world: World;
  let run: Run;
  let folder: string;
  let kept: string;
  let rows: Readonly<Record<(typeof tables)[number], readonly Row[]>>;
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
    kept = join(elsewhere, 'run');
    cpSync(folder, kept, { recursive: true });
    rows = asClient((client) => ({
      runs: rowsOf(client, 'runs'),
      run_events: rowsOf(client, 'run_events'),
      run_artifacts: rowsOf(client, 'run_artifacts'),
    }));
  });

  after(() => world?.close());

  const options = () => ({
    run_id: run.run_id,
    repo_dir: world.checkout.dir,
    actions: null,
    dry_run: false,
    by: everybody,
  });

  function asClient<T>(work: (client: DatabaseSync) => T): T {
    const client = new DatabaseSync(join(world.home, 'state', agentdSchema.file));
    try {
      client.exec('PRAGMA busy_timeout = 5000');
      return work(client);
    } finally {
      client.close();
    }
  }

  function rowsOf(client: DatabaseSync, table: string): readonly Row[] {
    return client.prepare(`SELECT * FROM ${table} WHERE run_id = ?`).all(run.run_id) as Row[];
  }

  function putBack(): void {
    rmSync(folder, { recursive: true, force: true });
    cpSync(kept, folder, { recursive: true });
    asClient((client) => {
      client.exec('BEGIN');
      for (const table of tables) {
        client.prepare(`DELETE FROM ${table} WHERE run_id = ? OR run_id = ?`).run(run.run_id, otherRun);
        for (const row of rows[table]) {
          const names = Object.keys(row);
          client
            .prepare(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`)
            .run(...Object.values(row));
        }
      }
      client.exec('COMMIT');
    });
  }

  const published = (): string => world.remote.git('for-each-ref', '--format=%(refname)', 'refs/heads/core/');

  /** How a new process takes what it finds: what it answers to an execution, and whether it calls the record whole. */
  async function asked(dryRun: boolean): Promise<{ whole: boolean; code: string }> {
    const services = await openServices({ home: world.home });
    try {
      const agent = services.agent;
      const whole = await agent.verify(run.run_id).then(
        ({ problems }) => problems.length === 0,
        () => false,
      );
      const code = await agent
        .execute({ ...options(), dry_run: dryRun }, quiet)
        .then(() => 'executed', codeOf);
      return { whole, code };
    } finally {
      await services.close();
    }
  }

  it('executes nothing and finds the record damaged after any change of any row', async () => {
    const refusals = [
      ...[
        'record_cut',
        'run_damaged',
        'artifact_differs',
        'database_behind',
        'run_not_found',
        'run_not_planned',
      ],
    ];
    const attacks = [
      ...rows.run_events.flatMap((row, index) => attacksOnEvent(row, rows.run_events[index + 1])),
      ...rows.run_artifacts.flatMap((row, index) => attacksOnArtifact(row, rows.run_artifacts[index - 1])),
      ...attacksOnHead(rows.runs[0]!),
    ];
    expect(attacks.length).to.be.at.least(500);
    const through: string[] = [];
    for (const { name, make } of attacks) {
      putBack();
      asClient(make);
      const { whole, code } = await asked(false);
      if (whole || !refusals.includes(code)) through.push(`${name}: ${code}, whole ${whole}`);
    }
    expect(through).to.deep.equal([]);
    expect(published()).to.equal('');
  });

  it('names each column of a list that differs from the events', async () => {
    const [row] = rows.runs;
    const names = Object.keys(row!).filter((name) => (summaryColumns as readonly string[]).includes(name));
    expect(names).to.have.length(summaryColumns.length);
    for (const name of names) {
      putBack();
      asClient((client) =>
        client.prepare(`UPDATE runs SET ${name} = ? WHERE run_id = ?`).run('77', run.run_id),
      );
      const { problems } = await world.agent.verify(run.run_id);
      expect(problems.map(({ where }) => where)).to.deep.equal([`runs ${name}`]);
    }
    putBack();
  });

  it('reports every changed folder, and executes from the rows', async () => {
    const files = filesBelow(kept, '');
    const attacks = files.flatMap((file) => attacksOn(file, readFileSync(join(kept, file)), elsewhere));
    attacks.push(
      {
        name: 'delete artifacts of',
        file: '',
        make: () => rmSync(join(folder, 'artifacts'), { recursive: true }),
      },
      { name: 'empty', file: '', make: () => emptied(folder) },
    );
    expect(attacks.length).to.be.at.least(300);
    const through: string[] = [];
    for (const attack of attacks) {
      putBack();
      attack.make(join(folder, attack.file));
      const { whole, code } = await asked(true);
      if (whole || !['executed', 'view_altered'].includes(code))
        through.push(`${attack.name} ${attack.file}: ${code}, whole ${whole}`);
    }
    expect(through).to.deep.equal([]);
    expect(published()).to.equal('');
  });

  it('executes approved actions and no rejected action without the folder, and writes the folder again', async () => {
    putBack();
    rmSync(folder, { recursive: true });
    const done = await world.agent.execute(options(), quiet);
    expect(done.actions.map(({ state }) => state)).to.deep.equal([
      ...Array.from({ length: 6 }, () => 'succeeded'),
      'refused',
    ]);
    expect(world.remote.git('rev-parse', `refs/heads/${run.plan!.target.branch}^{tree}`)).to.equal(
      run.plan!.target.tree,
    );
    expect((await world.agent.verify(run.run_id)).problems).to.deep.equal([]);
    expect(existsSync(join(folder, 'events.jsonl'))).to.equal(true);
  });
});

const otherRun = 'run_0199f3c2-0000-7000-8000-000000000009';
const flips = [0x01, 0x02, 0x04, 0x20, 0x40];

function flipped(bytes: Uint8Array, position: number, index: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[position] = copy[position]! ^ flips[index]!;
  return copy;
}

function attacksOnEvent(row: Row, next: Row | undefined): RowAttack[] {
  const where = [String(row.run_id), Number(row.seq)] as const;
  const set = (column: string, value: string | number) => (client: DatabaseSync) => {
    client.prepare(`UPDATE run_events SET ${column} = ? WHERE run_id = ? AND seq = ?`).run(value, ...where);
  };
  const line = Buffer.from(String(row.line));
  const positions = [0, 0.2, 0.4, 0.6, 0.8].map((part) => Math.floor(part * line.length));
  const attacks: [string, (client: DatabaseSync) => void][] = [
    ...positions.map((position, index): [string, (client: DatabaseSync) => void] => [
      `edit byte ${position}`,
      set('line', flipped(line, position, index).toString('latin1')),
    ]),
    ['cut to half', set('line', line.subarray(0, line.length / 2).toString())],
    ['empty', set('line', '')],
    ['add a space to', set('line', `${line} `)],
    [
      'delete',
      (client) => client.prepare('DELETE FROM run_events WHERE run_id = ? AND seq = ?').run(...where),
    ],
    ['move far behind', set('seq', 1_000_000)],
    ['change the column prev of', set('prev', 'f'.repeat(64))],
    ['change the column hash of', set('hash', 'f'.repeat(64))],
    [
      'give to another run',
      (client) =>
        client
          .prepare('UPDATE run_events SET run_id = ? WHERE run_id = ? AND seq = ?')
          .run(otherRun, ...where),
    ],
    [
      'cut from',
      (client) => client.prepare('DELETE FROM run_events WHERE run_id = ? AND seq >= ?').run(...where),
    ],
    [
      'cut from, with the head,',
      (client) => {
        client.prepare('DELETE FROM run_events WHERE run_id = ? AND seq >= ?').run(...where);
        client
          .prepare('UPDATE runs SET seq = ?, hash = ? WHERE run_id = ?')
          .run(where[1] - 1, String(row.prev), where[0]);
      },
    ],
  ];
  if (next !== undefined)
    attacks.push(
      ['replace by the next', set('line', String(next.line))],
      [
        'swap with the next',
        (client) => {
          set('line', String(next.line))(client);
          client
            .prepare('UPDATE run_events SET line = ? WHERE run_id = ? AND seq = ?')
            .run(String(row.line), String(next.run_id), Number(next.seq));
        },
      ],
    );
  return attacks.map(([name, make]) => ({ name: `${name} event ${row.seq}`, make }));
}

function attacksOnArtifact(row: Row, other: Row | undefined): RowAttack[] {
  const where = [String(row.run_id), String(row.digest)] as const;
  const content = row.content as Uint8Array;
  const put = (bytes: Uint8Array) => (client: DatabaseSync) => {
    client
      .prepare('UPDATE run_artifacts SET content = ? WHERE run_id = ? AND digest = ?')
      .run(bytes, ...where);
  };
  const attacks: [string, (client: DatabaseSync) => void][] = [
    [
      'delete',
      (client) => client.prepare('DELETE FROM run_artifacts WHERE run_id = ? AND digest = ?').run(...where),
    ],
    ['replace by other text', put(Buffer.from('other'))],
    ['add a line feed to', put(Buffer.concat([content, Buffer.from('\n')]))],
    [
      'rename',
      (client) =>
        client
          .prepare('UPDATE run_artifacts SET digest = ? WHERE run_id = ? AND digest = ?')
          .run('0'.repeat(64), ...where),
    ],
  ];
  if (content.length > 0)
    attacks.push(['edit', put(flipped(content, 0, 0))], ['cut', put(content.subarray(0, -1))]);
  if (other !== undefined) attacks.push(['replace by another', put(other.content as Uint8Array)]);
  return attacks.map(([name, make]) => ({ name: `${name} artifact ${row.digest}`, make }));
}

function attacksOnHead(row: Row): RowAttack[] {
  const set = (column: string, value: string | number | null): RowAttack => ({
    name: `set ${column} of the run to ${value}`,
    make: (client) => {
      client.prepare(`UPDATE runs SET ${column} = ? WHERE run_id = ?`).run(value, String(row.run_id));
    },
  });
  return [
    ...[-1, 0, 1, Number(row.seq) - 1, Number(row.seq) + 1].map((seq) => set('seq', seq)),
    ...['', '0'.repeat(64), String(row.hash).slice(1)].map((hash) => set('hash', hash)),
    {
      name: 'delete the run',
      make: (client) => client.prepare('DELETE FROM runs WHERE run_id = ?').run(String(row.run_id)),
    },
  ];
}

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
