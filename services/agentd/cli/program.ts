import type { Command, Option } from 'commander';
import { commandIndex } from '#kit/cli/command-word.ts';
import { CoreCommand } from '#kit/cli/core-command.ts';
import type { CommandContext, Run } from './command.ts';
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

type Declare = (program: Command, run: Run) => void;

/**
 * The commands by name, in the order in which help lists them. Only what a command line names is loaded: loading them all takes
 * longer than most commands run.
 */
const commands: Readonly<Record<string, () => Promise<Declare>>> = {
  run: async () => (await import('./commands/gate-by-gate.ts')).gateByGate,
  plan: async () => (await import('./commands/plan.ts')).plan,
  'plan-issue': async () => (await import('./commands/plan.ts')).planIssue,
  runs: async () => (await import('./commands/runs.ts')).runs,
  inbox: async () => (await import('./commands/inbox.ts')).inbox,
  show: async () => (await import('./commands/show.ts')).show,
  actions: async () => (await import('./commands/show.ts')).actions,
  diff: async () => (await import('./commands/show.ts')).diff,
  verify: async () => (await import('./commands/show.ts')).verify,
  mirror: async () => (await import('./commands/show.ts')).mirror,
  signatures: async () => (await import('./commands/attest.ts')).signatures,
  attest: async () => (await import('./commands/attest.ts')).attest,
  config: async () => (await import('./commands/installation.ts')).config,
  approve: async () => (await import('./commands/decide.ts')).decide('approve'),
  reject: async () => (await import('./commands/decide.ts')).decide('reject'),
  'execute-approved': async () => (await import('./commands/execute.ts')).executeApproved,
  review: async () => (await import('./commands/review.ts')).review,
  session: async () => (await import('./commands/session.ts')).session,
  sync: async () => (await import('./commands/sync.ts')).sync,
  resume: async () => (await import('./commands/execute.ts')).resume,
  undo: async () => (await import('./commands/execute.ts')).undo,
  cancel: async () => (await import('./commands/execute.ts')).cancel,
  recover: async () => (await import('./commands/execute.ts')).recover,
  'forget-prompts': async () => (await import('./commands/installation.ts')).forgetPrompts,
  prune: async () => (await import('./commands/installation.ts')).prune,
  forges: async () => (await import('./commands/installation.ts')).forges,
  forge: async () => (await import('./commands/local-forge.ts')).forge,
  agent: async () => (await import('./commands/agents.ts')).agent,
  notify: async () => (await import('./commands/notify.ts')).notify,
  mcp: async () => (await import('./commands/mcp.ts')).mcp,
  serve: async () => (await import('./commands/serve.ts')).serve,
};

/** The parser of core-agentd for this command line. */
export async function createProgram(parts: ProgramParts, args: readonly string[]): Promise<Command> {
  const program = await declareProgram(parts, args[commandIndex(args)]);
  requireTogether(program);
  return program;
}

/** The command of this name with its options; every command where the name is unknown. */
export async function declareProgram({ name, version, run }: ProgramParts, command = ''): Promise<Command> {
  const program = new CoreCommand(name)
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
  const named = Object.hasOwn(commands, command) ? commands[command] : undefined;
  const declarations = await Promise.all(
    (named === undefined ? Object.values(commands) : [named]).map((load) => load()),
  );
  for (const declare of declarations) declare(program, action);
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
