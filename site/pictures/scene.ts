import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import {
  issueBody,
  issueTitle,
  makeDemoRepository,
} from '../../services/supervisor/quickstart/demo-repository.ts';
import { freePort, startDaemon } from '../../services/supervisor/quickstart/services.ts';
import { RecordedTerminal } from './recorded-terminal.ts';
import type { Row } from './row.ts';

const launcher = fileURLToPath(new URL('../../core', import.meta.url));
const enter = '\r';
/** Down from the last choice, where the question of what others will see stands. */
const toTheFirst = '\x1b[B';

/** What a terminal showed, from its first row on: at each question, and at the end. */
export type Recording = readonly (readonly Row[])[];

/** The quickstart's issue, planned. */
export async function recordPlan(): Promise<Recording> {
  return inDemo(async (terminal) => {
    terminal.type(`core plan 1${enter}`);
    return [await terminal.ends('approvals expire')];
  });
}

/** The quickstart's issue, from the plan to the pull request and back. */
export async function recordLoop(): Promise<Recording> {
  return inDemo(async (terminal) => {
    const shots: Row[][] = [];
    const shoot = async (keys: string, until: string) => {
      terminal.type(keys);
      shots.push(await terminal.shows(until));
    };
    const finish = async (keys: string, until: string) => {
      terminal.type(keys);
      shots.push(await terminal.ends(until));
    };
    await shoot(`core run 1${enter}`, '? The gate build');
    await shoot(enter, '? The gate publish');
    await shoot(toTheFirst, '❯ approve and execute (others');
    await finish(enter, ' completed ');
    await shoot(`core undo 1${enter}`, '? Take this back?');
    await finish(`y${enter}`, 'The run is undone.');
    return shots;
  });
}

/** A terminal in the checkout of the quickstart's repository, with an installation of its own and its graph and memory beside it. */
async function inDemo(record: (terminal: RecordedTerminal) => Promise<Recording>): Promise<Recording> {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'core-'));
  const checkout = join(folder, 'hello');
  const home = join(folder, 'home');
  const config = join(home, 'config');
  const programs = join(folder, 'bin');
  for (const made of [config, programs]) mkdirSync(made, { recursive: true });
  const port = await freePort(8090);
  const settings = { core: { vcs: 'git' }, context: { port } };
  for (const [name, value] of Object.entries(settings))
    writeFileSync(join(config, `${name}.json`), JSON.stringify(value));
  symlinkSync(launcher, join(programs, 'core'));
  await makeDemoRepository(checkout);
  const repository = ['--owner', 'demo', '--repo', 'hello', '--home', home];
  await execa(launcher, ['forge', 'init', ...repository, '--from', checkout, '--connect']);
  const author = ['--author', 'mira', '--association', 'contributor'];
  const issue = ['--title', issueTitle, '--body', issueBody, ...author];
  await execa(launcher, ['forge', 'issue', 'new', ...repository, ...issue]);
  const context = await startDaemon({
    service: 'context',
    home,
    port,
    logFile: join(folder, 'core-context.log'),
  });
  const terminal = new RecordedTerminal({
    cwd: checkout,
    env: {
      CORE_HOME: home,
      HOME: folder,
      LC_ALL: 'C.UTF-8',
      PAGER: 'cat',
      PATH: `${programs}:${process.env.PATH}`,
      PS1: '\\[\\e[2m\\]$\\[\\e[22m\\] ',
      TERM: 'xterm-256color',
    },
  });
  try {
    await terminal.shows('$');
    return (await record(terminal)).map((rows) => rows.map((row) => withoutFolder(row, folder)));
  } finally {
    await terminal.close();
    await context.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function withoutFolder(row: Row, folder: string): Row {
  return row.map((run) => ({ ...run, text: run.text.replaceAll(folder, '~') }));
}
