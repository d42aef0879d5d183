import type { Command } from 'commander';
import { choice } from '#kit/cli/choice.ts';
import { filtersOf } from '#kit/cli/filters.ts';
import { NoteText, TaskText } from '#kit/contracts/plan.ts';
import { decode } from '#kit/decode.ts';
import { exitCodes, InvalidInput } from '#kit/errors.ts';
import { repositoryOption } from '#kit/repository-name.ts';
import type { PlanRequest } from '../../agent.ts';
import { actionView as actionJson, runView as runJson } from '../../http/run-view.ts';
import { decodeRunQuery, type RunParameter, runParameters } from '../../runs/run-query.ts';
import type { RunPage, RunQuery } from '../../runs/run-store.ts';
import {
  answer,
  type CommandContext,
  type Run,
  type RunOption,
  runAndActions,
  runNamed,
  watchedPlanning,
  withActions,
  withRef,
  withRun,
} from '../command.ts';
import { issueNumber, notEmpty } from '../option-values.ts';
import { page, withPager } from '../pager.ts';
import { actionNamed } from '../selection.ts';
import { runsView } from '../views/runs-view.ts';

/** Commands that plan an issue, and that look at runs. */

interface PlanOptions extends Omit<PlanRequest, 'owner' | 'repo' | 'number' | 'dry_run' | 'by'> {
  readonly dryRun?: boolean;
}

function noteText(text: string): string {
  return decode(NoteText, text, '--note', 'invalid_option');
}

/** Whom to ask for a plan, and how. */
export function withPlanner(command: Command): Command {
  return command
    .option('--role <role>', 'who plans, see config/agents.json (default: Depute)', notEmpty('--role'))
    .option('--forge <name>', 'forge, where several know the repository', notEmpty('--forge'))
    .option(
      '--planner <name>',
      'patch, model, or an agent by its name in config/agents.json',
      notEmpty('--planner'),
    )
    .option('--note <text>', 'what this planning should know beside the issue or the task', noteText);
}

function withPlanOptions(command: Command): Command {
  return withPlanner(command)
    .option('--dry-run', 'plan a dry run: every check runs, no effect happens')
    .option('--keep', 'leave runs of the issue that still wait for a decision as they are')
    .option('--anyway', 'plan an issue that is closed or fixed too');
}

/** In place of an issue. */
export function withTask(command: Command): Command {
  return command
    .option(
      '--task <text>',
      'in place of an issue: what is to be done; nothing is read from or written to one',
    )
    .option(
      '--repository <name>',
      'owner/repo of the task (default: that of the checkout)',
      notEmpty('--repository'),
    );
}

export function plan(program: Command, run: Run): void {
  withTask(withPlanOptions(program.command('plan')))
    .description('read an issue and propose actions; writes nothing to the repository')
    .argument('[issue]', '12 in a checkout of its repository, owner/repo#12, or the address of its page')
    .action(
      run(async (context, text: string | undefined, { repository, ...options }: TaskOptions) => {
        const choice = { task: options.task, repository };
        requireOne('plan', text, choice);
        const subject =
          text === undefined
            ? await repositoryOfTask(context, choice)
            : await context.services.agent.issueNamed(text, process.cwd());
        return planned(context, { ...subject, ...options });
      }),
    );
}

interface TaskOptions extends PlanOptions {
  readonly repository?: string;
}

export interface TaskChoice {
  readonly task?: string | undefined;
  readonly repository?: string | undefined;
}

/** @throws InvalidInput (`issue_or_task`, `invalid_option`) */
export function requireOne(
  command: string,
  issue: string | undefined,
  { task, repository }: TaskChoice,
): void {
  if ((issue === undefined) === (task === undefined))
    throw new InvalidInput('issue_or_task', `${command} takes either an issue or --task`, {
      hint: `${command} 12, or ${command} --task "Greet strangers"`,
    });
  if (task !== undefined) decode(TaskText, task, '--task', 'invalid_option');
  else if (repository !== undefined)
    throw new InvalidInput(
      'invalid_option',
      '--repository goes with --task; an issue names its own: owner/repo#12',
    );
}

/** @throws InvalidInput (`repository_unclear`, `invalid_option`) */
export async function repositoryOfTask(
  { services: { agent } }: CommandContext,
  { repository }: TaskChoice,
): Promise<Pick<PlanRequest, 'owner' | 'repo'> & { readonly forge?: string }> {
  return repository === undefined
    ? agent.repositoryOf(process.cwd())
    : repositoryOption('--repository')(repository);
}

export function planIssue(program: Command, run: Run): void {
  const command = withRef(program.command('plan-issue'))
    .description('the same as plan, with the issue in options')
    .requiredOption('--number <n>', 'number of the issue', issueNumber);
  withPlanOptions(command).action(run(planned));
}

async function planned(
  context: CommandContext,
  { dryRun = false, ...request }: PlanOptions & Pick<PlanRequest, 'owner' | 'repo' | 'number' | 'task'>,
): Promise<number> {
  const { services, terminal, suggestions, verbose } = context;
  const by = await services.person();
  const { agent } = services;
  const { run: made } = await agent.createRun({ ...request, dry_run: dryRun, by }, context.signal);
  const run = await watchedPlanning(context, made.run_id, (watch) => agent.plan(made.run_id, watch));
  const { planView, runView } = await import('../views/of-run.ts');
  if (run.plan === null) {
    const text = () => runView(run, terminal, suggestions, { verbose });
    return answer(context, runJson(run), text, exitCodes.failed);
  }
  return answer(context, runJson(run), async () =>
    planView(run, terminal, suggestions, await services.approvalDays()),
  );
}

/** Its options are the query of `GET /v1/runs`. */
export function runs(program: Command, run: Run): void {
  const command = program.command('runs').description('list runs, newest first');
  for (const [name, { description, schema }] of Object.entries(runParameters)) {
    const values: readonly string[] | undefined = 'enum' in schema ? schema.enum : undefined;
    const text = description.replaceAll('`', '');
    const range =
      'default' in schema ? `, ${schema.minimum} to ${schema.maximum} (default: ${schema.default})` : '';
    const about = `${text[0]!.toLowerCase()}${text.slice(1)}${range}`;
    if (values === undefined) command.option(`--${name} <value>`, about);
    else command.addOption(choice(`--${name} <${name}>`, about, values));
  }
  command.option('--all', 'every run on one page, also plannings that failed before there was a plan');
  command.action(
    run(async (context, { all = false, ...given }: RunsOptions) => {
      const { terminal, suggestions, services } = context;
      const query = runQueryOf(given, terminal.now());
      const without_failed_plannings = !all && query.status === undefined;
      const page = await (all ? wholeList : onePage)(services.agent, { ...query, without_failed_plannings });
      const runs_count = await services.agent.countRuns();
      const { cursor: _, ...rest } = given;
      const asked = Object.entries(rest).flatMap(([name, value]) => [`--${name}`, value]);
      return answer(context, { ...page, runs_count }, () =>
        runsView({ ...page, runs_count }, terminal, suggestions, asked, filtersOf(given)),
      );
    }),
  );
}

interface RunsOptions extends Readonly<Partial<Record<RunParameter, string>>> {
  readonly all?: boolean;
}

type RunLister = Pick<CommandContext['services']['agent'], 'runs'>;

function onePage(agent: RunLister, query: RunQuery): Promise<RunPage> {
  return agent.runs(query);
}

async function wholeList(agent: RunLister, query: RunQuery): Promise<RunPage> {
  let page = await agent.runs({ ...query, limit: 100 });
  const runs = [...page.runs];
  while (page.next_cursor !== null) {
    page = await agent.runs({ ...query, limit: 100, cursor: page.next_cursor });
    runs.push(...page.runs);
  }
  return { ...page, runs };
}

function runQueryOf(given: Readonly<Partial<Record<RunParameter, string>>>, now: Date): RunQuery {
  try {
    return decodeRunQuery(given, now);
  } catch (error) {
    const [wrong] = error instanceof InvalidInput && error.code === 'invalid_query' ? error.errors : [];
    if (wrong === undefined) throw error;
    throw new InvalidInput('invalid_option', `--${wrong.pointer.slice(1)} ${wrong.detail}`, { cause: error });
  }
}

export function show(program: Command, run: Run): void {
  withRun(program.command('show'))
    .description('one run: what became of it, and what to do next')
    .option('--recovery', 'the recovery manifest')
    .option('--prompt', 'what the model was sent and what it answered')
    .action(
      run(
        async (
          context,
          id: string | undefined,
          options: RunOption & { readonly recovery?: boolean; readonly prompt?: boolean },
        ) => {
          const { terminal, suggestions, verbose } = context;
          const { agent } = context.services;
          const { conversationOf, conversationView, deletedContents, failedStep, recoveryView, runView } =
            await import('../views/of-run.ts');
          const name = await runNamed(context, id, options, 'show');
          if (options.recovery === true) {
            const { run_id } = await agent.run(name);
            const manifest = await agent.recovery(run_id);
            return answer(context, manifest, () => recoveryView(manifest, terminal));
          }
          if (options.prompt === true) {
            const shown = await agent.run(name);
            const conversation = await conversationOf(agent, shown);
            return answer(context, { run_id: shown.run_id, conversation }, () =>
              conversationView(conversation, terminal),
            );
          }
          const shown = await agent.runWithBase(name);
          return answer(context, runJson(shown), async () =>
            runView(shown, terminal, suggestions, {
              verbose,
              context: true,
              failed: await failedStep(context, shown),
              deleted: await deletedContents(agent, shown),
            }),
          );
        },
      ),
    );
}

export function actions(program: Command, run: Run): void {
  withActions(program.command('actions'))
    .description('the proposed actions with their digests; named ones in full')
    .action(
      run(async (context, id: string | undefined, names: string[], options: RunOption) => {
        const { terminal, suggestions, services } = context;
        const given = await runAndActions(context, id, names, options, 'actions');
        const found = await services.agent.run(given.id);
        const all = given.actions.length === 0;
        const chosen = all ? found.actions : given.actions.map((name) => actionNamed(found, name));
        const { run_id, status } = found;
        const { actionDetails, actionsView, failedStep } = await import('../views/of-run.ts');
        return answer(context, { run_id, status, actions: chosen.map(actionJson) }, async () =>
          all
            ? actionsView(found, terminal, suggestions)
            : actionDetails(chosen, terminal, await failedStep(context, found)),
        );
      }),
    );
}

interface DiffOptions extends RunOption {
  readonly raw?: boolean;
  readonly draft?: boolean;
  readonly pager: boolean;
}

export function diff(program: Command, run: Run): void {
  withPager(withRun(program.command('diff')))
    .description('the change, exactly as it would be applied')
    .option('--draft', 'what a coding agent left that was stopped before it was done')
    .option('--raw', 'the bytes of the patch as they are, for a file or a pipe')
    .action(
      run(async (context, id: string | undefined, options: DiffOptions) => {
        const { terminal, suggestions, services } = context;
        const name = await runNamed(context, id, options, 'diff');
        if (options.raw === true && terminal.outIsTerminal) {
          throw new InvalidInput(
            'raw_on_terminal',
            '--raw writes the bytes of the patch as they are, which a terminal could obey; send them to a file or a pipe',
          );
        }
        const found = await services.agent.run(name);
        const { run_id } = found;
        const { diffView } = await import('../views/of-run.ts');
        const patch = await (options.draft === true
          ? services.agent.draft(run_id)
          : services.agent.diff(run_id));
        const encoding = 'base64';
        const json = { run_id, patch: Buffer.from(patch).toString(encoding), encoding };
        return page(context, json, options.pager, () =>
          options.raw === true ? patch : diffView(found, patch, terminal, suggestions),
        );
      }),
    );
}

interface VerifyOptions extends RunOption {
  readonly allowedSigners?: string;
  readonly offline?: boolean;
}

export function verify(program: Command, run: Run): void {
  withRun(program.command('verify'))
    .description(
      'check the record of a run offline: chain, digests, approvals and their signatures, artifacts',
    )
    .option(
      '--allowed-signers <file>',
      'the keys as they were when the run was approved (default: as they are now)',
      notEmpty('--allowed-signers'),
    )
    .option('--offline', "this host's folder of the run alone, where a database has the runs and is away")
    .action(
      run(async (given, id: string | undefined, options: VerifyOptions) => {
        const context = options.offline === true ? onMirrors(given) : given;
        const name = await runNamed(context, id, options, 'verify');
        const found = await context.services.agent.verify(name, options.allowedSigners);
        const { verificationView } = await import('../views/of-run.ts');
        const exitCode = found.problems.length === 0 ? exitCodes.done : exitCodes.failed;
        return answer(context, found, () => verificationView(found, context.terminal), exitCode);
      }),
    );
}

function onMirrors(context: CommandContext): CommandContext {
  return { ...context, services: { ...context.services, agent: context.services.mirrors() } };
}

export function mirror(program: Command, run: Run): void {
  withRun(program.command('mirror'))
    .description("write this host's folder of a run anew, from the database that has the runs")
    .action(
      run(async (context, id: string | undefined, options: RunOption) => {
        const folder = await context.services.agent.mirror(await runNamed(context, id, options, 'mirror'));
        return answer(context, { folder }, () => `${folder}\n`);
      }),
    );
}
