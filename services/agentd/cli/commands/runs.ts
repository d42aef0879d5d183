import type { Command } from 'commander';
import { plannerKinds, runStatuses } from '#kit/contracts/vocabulary.ts';
import { exitCodes, InvalidInput } from '#kit/errors.ts';
import type { PlanRequest } from '../../agent.ts';
import { actionView as actionJson, runView as runJson } from '../../http/run-view.ts';
import type { RunQuery } from '../../runs/run-store.ts';
import {
  answer,
  type Run,
  type RunOption,
  runAndActions,
  runNamed,
  watched,
  withActions,
  withRef,
  withRun,
} from '../command.ts';
import { issueNumber, listLimit, notEmpty, oneOfWords } from '../option-values.ts';
import { actionNamed } from '../selection.ts';
import { runsView } from '../views/runs-view.ts';

/** Commands that plan an issue, and that look at runs. */

interface PlanIssueOptions extends Omit<PlanRequest, 'dry_run' | 'by'> {
  readonly dryRun?: boolean;
}

export function planIssue(program: Command, run: Run): void {
  withRef(program.command('plan-issue'))
    .description('read an issue and propose actions; writes nothing to the repository')
    .requiredOption('--number <n>', 'number of the issue', issueNumber)
    .option('--role <role>', 'who plans, see config/agents.json (default: Depute)', notEmpty('--role'))
    .option('--forge <name>', 'forge, where several know the repository', notEmpty('--forge'))
    .option('--planner <name>', plannerKinds.join(' or '), oneOfWords('--planner', [...plannerKinds]))
    .option('--dry-run', 'plan a dry run: every check runs, no effect happens')
    .option('--keep', 'leave runs of the issue that still wait for a decision as they are')
    .option('--anyway', 'plan an issue that is closed or fixed too')
    .action(
      run(async (context, { dryRun = false, ...request }: PlanIssueOptions) => {
        const { services, terminal, suggestions, verbose } = context;
        const by = await services.person();
        const planned = await watched(context, (watch) =>
          services.agent.planIssue({ ...request, dry_run: dryRun, by }, watch),
        );
        const { planView, runView } = await import('../views/of-run.ts');
        if (planned.plan === null) {
          const text = () => runView(planned, terminal, suggestions, { verbose });
          return answer(context, runJson(planned), text, exitCodes.failed);
        }
        return answer(context, runJson(planned), async () =>
          planView(planned, terminal, suggestions, await services.approvalDays()),
        );
      }),
    );
}

export function runs(program: Command, run: Run): void {
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
    .action(
      run(async (context, { ...query }: RunQuery) => {
        const { terminal, suggestions, services } = context;
        const page = await services.agent.runs(query);
        const { cursor: _, ...rest } = query;
        const asked = Object.entries(rest).flatMap(([name, value]) => [`--${name}`, String(value)]);
        return answer(context, page, () => runsView(page, terminal, suggestions, asked));
      }),
    );
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
          const name = runNamed(id, options, 'show');
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
        const given = runAndActions(id, names, options, 'actions');
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

export function diff(program: Command, run: Run): void {
  withRun(program.command('diff'))
    .description('the change, exactly as it would be applied')
    .option('--raw', 'the bytes of the patch as they are, for a file or a pipe')
    .action(
      run(async (context, id: string | undefined, options: RunOption & { readonly raw?: boolean }) => {
        const { terminal, suggestions, services } = context;
        const name = runNamed(id, options, 'diff');
        if (options.raw === true && terminal.outIsTerminal) {
          throw new InvalidInput(
            'raw_on_terminal',
            '--raw writes the bytes of the patch as they are, which a terminal could obey; send them to a file or a pipe',
          );
        }
        const found = await services.agent.run(name);
        const { run_id } = found;
        const { diffView } = await import('../views/of-run.ts');
        const patch = await services.agent.diff(run_id);
        const encoding = 'base64';
        return answer(context, { run_id, patch: Buffer.from(patch).toString(encoding), encoding }, () =>
          options.raw === true ? patch : diffView(found, patch, terminal, suggestions),
        );
      }),
    );
}

export function verify(program: Command, run: Run): void {
  withRun(program.command('verify'))
    .description('check the record of a run offline: chain, digests, approvals, artifacts')
    .action(
      run(async (context, id: string | undefined, options: RunOption) => {
        const found = await context.services.agent.verify(runNamed(id, options, 'verify'));
        const { verificationView } = await import('../views/of-run.ts');
        const exitCode = found.problems.length === 0 ? exitCodes.done : exitCodes.failed;
        return answer(context, found, () => verificationView(found, context.terminal), exitCode);
      }),
    );
}
