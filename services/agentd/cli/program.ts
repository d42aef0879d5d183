import { Command, type Option } from 'commander';
import type { CommandContext, Run } from './command.ts';
import { agent } from './commands/agents.ts';
import { attest, signatures } from './commands/attest.ts';
import { decide } from './commands/decide.ts';
import { cancel, executeApproved, recover, resume, undo } from './commands/execute.ts';
import { gateByGate } from './commands/gate-by-gate.ts';
import { config, forges, prune, serve } from './commands/installation.ts';
import { forge } from './commands/local-forge.ts';
import { mcp } from './commands/mcp.ts';
import { review } from './commands/review.ts';
import { actions, diff, plan, planIssue, runs, show, verify } from './commands/runs.ts';
import { sync } from './commands/sync.ts';
import { notEmpty } from './option-values.ts';

export interface GlobalOptions {
  readonly home?: string;
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly color: boolean;
  readonly ascii?: boolean;
}

/** Runs one command; opens what it needs, and reports what it throws. */
export type RunCommand = (
  options: GlobalOptions,
  command: (context: CommandContext) => Promise<number>,
) => Promise<void>;

interface ProgramParts {
  readonly name: string;
  readonly version: string;
  readonly run: RunCommand;
}

/** In the order in which help lists them. */
const commands: readonly ((program: Command, run: Run) => void)[] = [
  gateByGate,
  plan,
  planIssue,
  runs,
  show,
  actions,
  diff,
  verify,
  signatures,
  attest,
  config,
  decide('approve'),
  decide('reject'),
  executeApproved,
  review,
  sync,
  resume,
  undo,
  cancel,
  recover,
  prune,
  forges,
  forge,
  agent,
  mcp,
  serve,
];

/** The parser of core-agentd. */
export function createProgram(parts: ProgramParts): Command {
  const program = declareProgram(parts);
  requireTogether(program);
  return program;
}

/** Every command of core-agentd with its options. */
export function declareProgram({ name, version, run }: ProgramParts): Command {
  const program = new Command(name)
    .version(version)
    .description(
      'Turns an issue on a code forge into a pull request that a person approved action by action.',
    )
    .option(
      '--home <dir>',
      'folder with state/ and config/ (default: CORE_HOME, else the XDG folders)',
      notEmpty('--home'),
    )
    .option('--json', 'results as JSON')
    .option('--verbose', 'more of what happens, on standard error')
    .option('--no-color', 'no colours (also NO_COLOR)')
    .option('--ascii', 'no signs beyond ASCII (also a locale without UTF-8)')
    .exitOverride();
  const action: Run =
    <A extends unknown[]>(work: (context: CommandContext, ...given: A) => Promise<number>) =>
    (...given) => {
      const command = given.at(-1) as Command;
      const rest = given.slice(0, -1) as unknown as A;
      return run(command.optsWithGlobals(), (context) => work(context, ...rest));
    };
  for (const add of commands) add(program, action);
  return program;
}

/** Reports all options that are missing at once, and only after those that were typed are known to be right. */
function requireTogether(program: Command): void {
  const required = new Map<Command, readonly Option[]>();
  for (const command of allCommands(program)) {
    required.set(
      command,
      command.options.filter(({ mandatory }) => mandatory),
    );
    for (const option of command.options) option.mandatory = false;
  }
  program.hook('preAction', (_, command) => {
    const missing = (required.get(command) ?? []).filter(
      (option) => command.getOptionValue(option.attributeName()) === undefined,
    );
    if (missing.length === 0) return;
    const flags = missing.map((option) => `'${option.flags}'`).join(', ');
    command.error(`error: required option${missing.length === 1 ? '' : 's'} ${flags} not specified`);
  });
}

export function allCommands(program: Command): Command[] {
  return program.commands.flatMap((command) => [command, ...allCommands(command)]);
}
