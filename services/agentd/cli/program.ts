import { Command, type Option } from 'commander';
import type { SettingFlags } from '#kit/config/settings.ts';
import { gates, plannerKinds, runStatuses } from '#kit/contracts/vocabulary.ts';
import { InvalidInput } from '#kit/errors.ts';
import type { CommandContext } from './command-context.ts';
import type { DecideOptions } from './commands/decide.ts';
import type { ExecuteOptions } from './commands/execute.ts';
import type { CommentOptions, IssueNewOptions, ListState } from './commands/forge.ts';
import type { PlanIssueOptions } from './commands/plan-issue.ts';
import type { RunsOptions } from './commands/runs.ts';
import type { SyncOptions } from './commands/sync.ts';
import type { RecoverOptions, UndoOptions } from './commands/take-back.ts';
import {
  issueNumber,
  listLimit,
  notEmpty,
  oneOfWords,
  repositoryName,
  timeSpan,
  upTo,
} from './option-values.ts';
import type { Ref } from './services.ts';

export interface GlobalOptions {
  readonly home?: string;
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly color: boolean;
}

/** Runs one command; opens what it needs, and reports what it throws. */
export type RunCommand = (
  options: GlobalOptions,
  command: (context: CommandContext) => Promise<number>,
) => Promise<void>;

const associations = ['owner', 'member', 'collaborator', 'contributor', 'none'] as const;
const listStates = ['open', 'closed', 'all'] as const;

interface ProgramParts {
  readonly name: string;
  readonly version: string;
  readonly run: RunCommand;
}

/** The parser of core-agentd. */
export function createProgram(parts: ProgramParts): Command {
  const program = declareProgram(parts);
  requireTogether(program);
  return program;
}

/** Every command of core-agentd with its options. The code of a command is loaded when it is chosen. */
export function declareProgram(options: ProgramParts): Command {
  const program = new Command(options.name)
    .version(options.version)
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
    .exitOverride();
  addPlanning(program, options.run);
  addLooking(program, options.run);
  addDeciding(program, options.run);
  addExecuting(program, options.run);
  addForge(program, options.run);
  program
    .command('serve')
    .description('run the daemon in this terminal')
    .option('--host <address>', 'listen there (default: agentd.host)')
    .option('--port <number>', 'listen on this port (default: agentd.port)')
    .option('--log-level <level>', 'error, warn, info or debug')
    .option('--log-format <format>', 'json or text')
    .option('--check', 'only read the configuration, and say what is wrong with it')
    .action((flags: SettingFlags & { readonly check?: boolean }, command: Command) =>
      options.run(command.optsWithGlobals(), ({ services }) => services.serve(flags)),
    );
  return program;
}

/** Tells of all options that are missing at once, and only after what was typed is known to be right. */
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

function addPlanning(program: Command, run: RunCommand): void {
  program
    .command('plan-issue')
    .description('read an issue and propose actions; writes nothing to the repository')
    .requiredOption('--owner <name>', 'owner of the repository', notEmpty('--owner'))
    .requiredOption('--repo <name>', 'name of the repository', notEmpty('--repo'))
    .requiredOption('--number <n>', 'number of the issue', issueNumber)
    .option('--role <role>', 'who plans, see config/agents.json (default: Depute)', notEmpty('--role'))
    .option('--forge <name>', 'forge, where several know the repository', notEmpty('--forge'))
    .option('--planner <name>', plannerKinds.join(' or '), oneOfWords('--planner', [...plannerKinds]))
    .option('--dry-run', 'propose a rehearsal: every check runs, no effect happens')
    .option('--keep', 'leave runs of the issue that still wait for a decision as they are')
    .option('--anyway', 'plan an issue that is closed or fixed too')
    .action((options: PlanIssueOptions, command: Command) =>
      run(command.optsWithGlobals(), async (context) => {
        const { owner, repo, number, role, forge, planner, dryRun, keep, anyway } = options;
        const { planIssue } = await import('./commands/plan-issue.ts');
        return planIssue(
          context,
          defined({ owner, repo, number, role, forge, planner, dryRun, keep, anyway }),
        );
      }),
    );
}

function addLooking(program: Command, run: RunCommand): void {
  program
    .command('runs')
    .description('list runs, newest first')
    .option('--limit <n>', 'how many, 1 to 100', listLimit, 10)
    .option('--cursor <text>', 'continue a list')
    .option('--status <status>', runStatuses.join(', '), oneOfWords('--status', runStatuses))
    .option('--owner <name>', 'of this owner')
    .option('--repo <name>', 'of this repository')
    .option('--forge <name>', 'on this forge; core-smoke for those of status --smoke')
    .option('--number <n>', 'for this issue', issueNumber)
    .action((options: RunsOptions, command: Command) =>
      run(command.optsWithGlobals(), async (context) => {
        const { limit, cursor, status, owner, repo, forge, number } = options;
        const { runs } = await import('./commands/runs.ts');
        return runs(context, defined({ limit, cursor, status, owner, repo, forge, number }));
      }),
    );
  withRun(program.command('show'))
    .description('one run: what became of it, and what to do next')
    .option('--recovery', 'the recovery manifest')
    .option('--prompt', 'what the model was sent and what it answered')
    .action(
      (
        id: string | undefined,
        options: { runId?: string; recovery?: boolean; prompt?: boolean },
        command: Command,
      ) =>
        run(command.optsWithGlobals(), async (context) => {
          const { show } = await import('./commands/look.ts');
          return show(context, runId(id, options.runId, 'show'), options);
        }),
    );
  withRun(program.command('actions'), '[action...]')
    .description('the proposed actions with their digests; named ones in full')
    .action((id: string | undefined, names: string[], options: { runId?: string }, command: Command) =>
      run(command.optsWithGlobals(), async (context) => {
        const given = runAndActions(id, names, options.runId, 'actions');
        const { actions } = await import('./commands/look.ts');
        return actions(context, given.id, given.actions);
      }),
    );
  withRun(program.command('diff'))
    .description('the change, exactly as it would be applied')
    .option('--raw', 'the bytes of the patch as they are, for a file or a pipe')
    .action((id: string | undefined, options: { runId?: string; raw?: boolean }, command: Command) =>
      run(command.optsWithGlobals(), async (context) => {
        const { diff } = await import('./commands/look.ts');
        return diff(context, runId(id, options.runId, 'diff'), options);
      }),
    );
  withRun(program.command('verify'))
    .description('check the record of a run offline: chain, digests, approvals, artifacts')
    .action((id: string | undefined, options: { runId?: string }, command: Command) =>
      run(command.optsWithGlobals(), async (context) => {
        const { verify } = await import('./commands/look.ts');
        return verify(context, runId(id, options.runId, 'verify'));
      }),
    );
  const config = program.command('config').description('settings');
  config
    .command('show')
    .description('every setting and where its value comes from')
    .action((_: unknown, command: Command) =>
      run(command.optsWithGlobals(), async (context) => {
        const { configShow } = await import('./commands/look.ts');
        return configShow(context);
      }),
    );
}

function addDeciding(program: Command, run: RunCommand): void {
  for (const decision of ['approve', 'reject'] as const) {
    withRun(program.command(decision), '[action...]')
      .description(
        decision === 'approve'
          ? 'approve actions, by number, act_… or kind'
          : 'reject actions; the reason is shown to the next planning',
      )
      .option('--gate <gate>', gates.join(' or '), oneOfWords('--gate', gates))
      .option('--all', 'every action that still waits')
      .option('--up-to <n>', 'the actions up to this number', upTo)
      .option('--reason <text>', decision === 'reject' ? 'why (required)' : 'why')
      .action(
        (
          id: string | undefined,
          names: string[],
          options: Omit<DecideOptions, 'actions' | 'up_to'> & { runId?: string; upTo?: number },
          command: Command,
        ) =>
          run(command.optsWithGlobals(), async (context) => {
            const given = runAndActions(id, names, options.runId, decision);
            const { gate, all, upTo: up_to, reason } = options;
            const { decide } = await import('./commands/decide.ts');
            return decide(
              context,
              decision,
              given.id,
              defined({ actions: given.actions, gate, all, up_to, reason }),
            );
          }),
      );
  }
}

function addExecuting(program: Command, run: RunCommand): void {
  withRun(program.command('execute-approved'))
    .description('run the approved actions, exactly as previewed')
    .option('--repo-dir <dir>', 'your checkout, which gets the branch', notEmpty('--repo-dir'))
    .option('--action <id...>', 'only these, by number, act_… or kind')
    .option('--dry-run', 'rehearse: every check runs, no effect happens')
    .action((id: string | undefined, options: ExecuteOptions & { runId?: string }, command: Command) =>
      run(command.optsWithGlobals(), async (context) => {
        const { executeApproved } = await import('./commands/execute.ts');
        return executeApproved(context, runId(id, options.runId, 'execute-approved'), options);
      }),
    );
  program
    .command('sync')
    .description('learn what became of pull requests, and tell the context service what it does not know yet')
    .option('--repository <owner/repo>', 'of this repository alone', repositoryName('--repository'))
    .option('--full', 'tell the context service everything again')
    .action((options: SyncOptions, command: Command) =>
      run(command.optsWithGlobals(), async (context) => {
        const { repository, full } = options;
        const { sync } = await import('./commands/sync.ts');
        return sync(context, defined({ repository, full }));
      }),
    );
  withRun(program.command('resume'))
    .description('continue a run that a crash interrupted')
    .action((id: string | undefined, options: { runId?: string }, command: Command) =>
      run(command.optsWithGlobals(), async (context) => {
        const { resume } = await import('./commands/execute.ts');
        return resume(context, runId(id, options.runId, 'resume'));
      }),
    );
  withRun(program.command('undo'))
    .description('take back what a run did: pull request, remote branch, delivered branch')
    .option('--dry-run', 'only show what would be taken back')
    .option('--yes', 'without asking')
    .action((id: string | undefined, options: UndoOptions & { runId?: string }, command: Command) =>
      run(command.optsWithGlobals(), async (context) => {
        const { undo } = await import('./commands/take-back.ts');
        return undo(context, runId(id, options.runId, 'undo'), options);
      }),
    );
  withRun(program.command('cancel'))
    .description('stop a run; an effect that has started finishes')
    .option('--reason <text>', 'why')
    .action((id: string | undefined, options: { runId?: string; reason?: string }, command: Command) =>
      run(command.optsWithGlobals(), async (context) => {
        const { cancel } = await import('./commands/take-back.ts');
        return cancel(context, runId(id, options.runId, 'cancel'), options);
      }),
    );
  withRun(program.command('recover'))
    .description('show what the record of a run lost, and let the run go on without it')
    .option('--accept-loss', 'go on from the last sound event; needs a token with the scope admin')
    .option('--reason <text>', 'why; recorded')
    .action((id: string | undefined, options: RecoverOptions & { runId?: string }, command: Command) =>
      run(command.optsWithGlobals(), async (context) => {
        const { recover } = await import('./commands/take-back.ts');
        return recover(context, runId(id, options.runId, 'recover'), options);
      }),
    );
  program
    .command('prune')
    .description('remove working copies of old runs; with --runs their records too')
    .requiredOption('--older-than <span>', 'since their last event, for example 30d', timeSpan)
    .option('--runs', 'records as well; a tombstone keeps the head of each')
    .option('--dry-run', 'only say what would go')
    .action((options: { olderThan: number; runs?: boolean; dryRun?: boolean }, command: Command) =>
      run(command.optsWithGlobals(), async (context) => {
        const { prune } = await import('./commands/take-back.ts');
        return prune(context, options);
      }),
    );
}

function addForge(program: Command, run: RunCommand): void {
  program
    .command('forges')
    .description(
      'each configured forge: whether it answers, whose token it is shown, which scopes that lacks',
    )
    .action((_: unknown, command: Command) =>
      run(command.optsWithGlobals(), async (context) => {
        const { forges } = await import('./commands/forges.ts');
        return forges(context);
      }),
    );
  const forge = program
    .command('forge')
    .description('the local forge: repositories, issues and pull requests in a folder');
  const issue = forge.command('issue').description('issues of the local forge');
  const pr = forge.command('pr').description('pull requests of the local forge');

  withRef(forge.command('init'))
    .description('make a repository, empty or with the branches of one that you have')
    .option('--from <dir>', 'a git repository to take the branches from', notEmpty('--from'))
    .action((options: Ref & { from?: string }, command: Command) =>
      run(command.optsWithGlobals(), async (context) => {
        const { forgeInit } = await import('./commands/forge.ts');
        return forgeInit(context, refOf(options), options.from ?? null);
      }),
    );
  withText(withRef(issue.command('new')))
    .description('write an issue')
    .requiredOption('--title <text>', 'its title', notEmpty('--title'))
    .action((options: Ref & IssueNewOptions, command: Command) =>
      run(command.optsWithGlobals(), async (context) => {
        const { issueNew } = await import('./commands/forge.ts');
        return issueNew(context, refOf(options), options);
      }),
    );
  withRef(issue.command('list'))
    .description('list issues')
    .option('--state <state>', listStates.join(', '), oneOfWords('--state', listStates), 'open')
    .action((options: Ref & { state: ListState }, command: Command) =>
      run(command.optsWithGlobals(), async (context) => {
        const { issueList } = await import('./commands/forge.ts');
        return issueList(context, refOf(options), options.state);
      }),
    );
  withText(withRef(forge.command('comment')))
    .description('comment on an issue or pull request')
    .requiredOption('--number <n>', 'its number', issueNumber)
    .action((options: Ref & CommentOptions, command: Command) =>
      run(command.optsWithGlobals(), async (context) => {
        const { comment } = await import('./commands/forge.ts');
        return comment(context, refOf(options), options);
      }),
    );
  withRef(pr.command('list'))
    .description('list pull requests')
    .option('--state <state>', listStates.join(', '), oneOfWords('--state', listStates), 'open')
    .action((options: Ref & { state: ListState }, command: Command) =>
      run(command.optsWithGlobals(), async (context) => {
        const { pullList } = await import('./commands/forge.ts');
        return pullList(context, refOf(options), options.state);
      }),
    );
  withRef(pr.command('show'))
    .description('show a pull request with its change')
    .requiredOption('--number <n>', 'its number', issueNumber)
    .option('--no-patch', 'without the change')
    .action((options: Ref & { number: number; patch: boolean }, command: Command) =>
      run(command.optsWithGlobals(), async (context) => {
        const { pullShow } = await import('./commands/forge.ts');
        return pullShow(context, refOf(options), options.number, options.patch);
      }),
    );
  withRef(pr.command('merge'))
    .description('merge a pull request')
    .requiredOption('--number <n>', 'its number', issueNumber)
    .action((options: Ref & { number: number }, command: Command) =>
      run(command.optsWithGlobals(), async (context) => {
        const { pullMerge } = await import('./commands/forge.ts');
        return pullMerge(context, refOf(options), options.number);
      }),
    );
}

function withRun(command: Command, more?: string): Command {
  command.argument('[run]', 'identifier of the run, or a unique beginning of it');
  if (more !== undefined) command.argument(more, 'number, act_… or kind');
  return command.option('--run-id <id>', 'the run, instead of the argument');
}

function withRef(command: Command): Command {
  return command
    .requiredOption('--owner <name>', 'owner of the repository', notEmpty('--owner'))
    .requiredOption('--repo <name>', 'name of the repository', notEmpty('--repo'));
}

function withText(command: Command): Command {
  return command
    .option('--body <text>', 'its text, Markdown')
    .option('--body-file <file>', 'its text from a file; - is standard input')
    .option('--author <name>', 'who writes (default: you)', notEmpty('--author'))
    .option(
      '--association <word>',
      associations.join(', '),
      oneOfWords('--association', associations),
      'owner',
    );
}

function refOf({ owner, repo }: Ref): Ref {
  return { owner, repo };
}

/** With `--run-id` every argument is an action. */
function runAndActions(
  id: string | undefined,
  names: readonly string[],
  option: string | undefined,
  command: string,
): { readonly id: string; readonly actions: readonly string[] } {
  if (option !== undefined) return { id: option, actions: id === undefined ? names : [id, ...names] };
  return { id: runId(id, option, command), actions: names };
}

function runId(id: string | undefined, option: string | undefined, command: string): string {
  if (id !== undefined && option !== undefined && id !== option) {
    throw new InvalidInput('run_twice', `${command} names two runs, '${id}' and '${option}'; give one`);
  }
  const found = id ?? option;
  if (found !== undefined && found.trim() !== '') return found;
  throw new InvalidInput(
    'run_missing',
    `${command} needs a run: its identifier or a unique beginning of it, as shown by the command runs`,
  );
}

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** The object without the members that are undefined. */
function defined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Defined<T>;
}
