import type { Command } from 'commander';
import { fitted } from '#kit/cli/fit-text.ts';
import { jsonText } from '#kit/cli/output.ts';
import type { RunSummary } from '#kit/contracts/run.ts';
import { exitCodes, InvalidInput } from '#kit/errors.ts';
import type { CoreAgent } from '../core-agent.ts';
import type { RunNeed } from '../runs/run-store.ts';
import { notEmpty } from './option-values.ts';
import type { Services } from './services.ts';
import { commandLine, type Suggestions } from './suggestions.ts';
import type { Terminal } from './terminal.ts';

/** What every command is given. A command returns its exit code, or throws. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly services: Services;
  readonly suggestions: Suggestions;
  readonly json: boolean;
  readonly verbose: boolean;
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal;
}

/** Makes commander's action of the work of a command, which gets its arguments and its options. */
export type Run = <A extends unknown[]>(
  work: (context: CommandContext, ...given: A) => Promise<number>,
) => (...given: [...A, Command]) => Promise<void>;

/** Writes a result: as JSON where that was asked for, else as this text, wrapped where the terminal ends. */
export async function answer(
  { terminal, json }: CommandContext,
  result: unknown,
  text: () => string | Promise<string>,
  exitCode: number = exitCodes.done,
): Promise<number> {
  if (json) terminal.out(`${jsonText(result)}\n`);
  else show(terminal, await text());
  return exitCode;
}

/** Writes a text for people, wrapped where the terminal ends. */
export function show(terminal: Terminal, text: string): void {
  terminal.out(fitted(text, terminal));
}

/** Options of a command about one run. */
export interface RunOption {
  readonly runId?: string;
}

export function withRun(command: Command): Command {
  return command
    .argument(
      '[run]',
      'identifier of the run or a unique beginning of it, last, or its issue: 12 or owner/repo#12',
    )
    .option('--run-id <id>', 'the run, instead of the argument');
}

export function withActions(command: Command): Command {
  return withRun(command).argument('[action...]', 'number, act_… or kind');
}

export function withRef(command: Command): Command {
  return command
    .requiredOption('--owner <name>', 'owner of the repository', notEmpty('--owner'))
    .requiredOption('--repo <name>', 'name of the repository', notEmpty('--repo'));
}

const shownOthers = 5;

function othersText(runId: string, word: string, others: readonly RunSummary[]): string {
  const named = others.slice(0, shownOthers).map(({ run_id, status }) => `${run_id} ${status}`);
  const more = others.length > shownOthers ? [`and ${others.length - shownOthers} more`] : [];
  return `'${word}' is ${runId} here; other runs of the issue: ${[...named, ...more].join(', ')}`;
}

/** With `--run-id` every argument is an action. */
export async function runAndActions(
  context: CommandContext,
  id: string | undefined,
  names: readonly string[],
  { runId: option }: RunOption,
  command: string,
  need: RunNeed,
): Promise<{ readonly id: string; readonly actions: readonly string[] }> {
  if (option === undefined) return { id: await runNamed(context, id, {}, command, need), actions: names };
  const actions = id === undefined ? names : [id, ...names];
  return { id: await runNamed(context, option, {}, command, need), actions };
}

/** The identifier of the run that a command is about. */
export async function runNamed(
  {
    services,
    suggestions,
    terminal,
  }: Pick<CommandContext, 'suggestions' | 'terminal'> & {
    readonly services: { readonly agent: Pick<CoreAgent, 'runId'> };
  },
  id: string | undefined,
  { runId: option }: RunOption,
  command: string,
  need?: RunNeed,
): Promise<string> {
  if (id !== undefined && option !== undefined && id !== option) {
    throw new InvalidInput('run_twice', `${command} names two runs, '${id}' and '${option}'; give one`);
  }
  const found = id ?? option;
  if (found !== undefined && found.trim() !== '') {
    let others: readonly RunSummary[] = [];
    const run_id = await services.agent.runId(found, process.cwd(), {
      ...(need === undefined ? {} : { need }),
      others: (runs) => {
        others = runs;
      },
    });
    if (others.length > 0) terminal.err(`${othersText(run_id, found, others)}\n`);
    return run_id;
  }
  throw new InvalidInput(
    'run_missing',
    `${command} needs a run: its identifier or a unique beginning of it, last, or its issue as 12 or owner/repo#12`,
    { hint: `To see which there are: ${commandLine(suggestions, 'runs')}` },
  );
}
