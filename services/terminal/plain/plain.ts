import type { Readable, Writable } from 'node:stream';
import { age } from '#kit/cli/moments.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { RunList, RunSummary } from '#kit/contracts/run.ts';
import { exitCodes, Unavailable } from '#kit/errors.ts';
import { subjectOf } from '#kit/repository-name.ts';
import { Daemon } from '../client/daemon.ts';
import { riskWord, statusWord } from '../layout/marks.ts';
import type { ShellOptions } from '../shell.ts';
import { type Dialogue, openDialogue } from './dialogue.ts';
import { PlainRun } from './plain-run.ts';

export interface PlainOptions
  extends Omit<ShellOptions, 'stdin' | 'stdout' | 'color' | 'theme' | 'tokens' | 'program' | 'approver'> {
  /** A command of Core, as it can be pasted. */
  readonly command: (words: string) => string;
  readonly stdin: Readable;
  readonly stdout: Writable;
}

/** The whole interface as questions and answers, for screen readers; gives the exit code. */
export async function runPlain(options: PlainOptions): Promise<number> {
  const daemon = new Daemon(options);
  const dialogue = openDialogue(options.stdin, options.stdout);
  const ending = new AbortController();
  try {
    if (options.run !== null) {
      const page = new PlainRun({ ...options, daemon, dialogue });
      if ((await page.show(options.run)) === 'quit') return exitCodes.done;
    }
    await listLoop(options, daemon, dialogue, ending.signal);
    return exitCodes.done;
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    throw new Unavailable('http_unavailable', `core-agentd does not answer at ${options.baseUrl}`, {
      cause: error,
      hint: `Start it in another terminal: ${options.startCommand}`,
    });
  } finally {
    ending.abort();
    dialogue.close();
    await daemon.close();
  }
}

async function listLoop(
  options: PlainOptions,
  daemon: Daemon,
  dialogue: Dialogue,
  signal: AbortSignal,
): Promise<void> {
  let cursor: string | null = null;
  for (;;) {
    const page: RunList = await daemon.runs(cursor, signal);
    if (page.runs.length === 0) dialogue.say('No runs here yet.');
    for (const [index, run] of page.runs.entries()) dialogue.say(`${index + 1}. ${lineOf(run)}`);
    const more = page.next_cursor === null ? '' : ', m for more';
    const answer = await dialogue.ask(`Number of a run${more}, enter to read the list again, q to quit:`);
    if (answer === null || answer === 'q') return;
    cursor = answer === 'm' ? page.next_cursor : null;
    if (answer === '' || answer === 'm') continue;
    const run = page.runs[Number(answer) - 1];
    if (run === undefined) {
      dialogue.say(`'${visibleLine(answer)}' is none of the numbers 1 to ${page.runs.length}.`);
      continue;
    }
    const ended = await new PlainRun({ ...options, daemon, dialogue }).show(run.run_id);
    if (ended === 'quit') return;
  }
}

function lineOf(run: RunSummary): string {
  const name = visibleLine(subjectOf(run));
  const waits =
    run.waits_for === null
      ? 'nothing waits'
      : `the gate ${run.waits_for} waits, ${run.waiting} of ${run.actions} actions undecided`;
  const title = visibleLine(run.title ?? 'no title yet');
  return `${name}, ${statusWord(run.status)}, ${waits}, risk ${riskWord(run.highest_risk)}, ${age(run.updated_at, new Date())}: ${title}`;
}
