import type { Command } from 'commander';
import { NoteText, TaskText } from '#kit/contracts/plan.ts';
import { decode } from '#kit/decode.ts';
import { exitCodes, InvalidInput } from '#kit/errors.ts';
import { repositoryOption } from '#kit/repository-name.ts';
import type { PlanRequest } from '../../agent.ts';
import { runView as runJson } from '../../http/run-view.ts';
import { answer, type CommandContext, type Run, withRef } from '../command.ts';
import { issueNumber, notEmpty } from '../option-values.ts';
import { watchedPlanning } from '../progress.ts';

/** Commands that plan an issue or a task. */

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
    .option('--note <note>', 'what this planning should know beside the issue or the task', noteText);
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
      '--task <task>',
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
