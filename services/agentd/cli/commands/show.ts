import type { Command } from 'commander';
import { exitCodes, InvalidInput } from '#kit/errors.ts';
import { actionView as actionJson, runView as runJson } from '../../http/run-view.ts';
import {
  answer,
  type Run,
  type RunOption,
  runAndActions,
  runNamed,
  withActions,
  withRun,
} from '../command.ts';
import { notEmpty } from '../option-values.ts';
import { page, withPager } from '../pager.ts';
import { actionNamed } from '../selection.ts';

/** Commands that look at one run. */

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
        const given = await runAndActions(context, id, names, options, 'actions', 'show');
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
      run(async (context, id: string | undefined, options: VerifyOptions) => {
        const agent =
          options.offline === true ? await context.services.agent.offline() : context.services.agent;
        const name = await runNamed({ ...context, services: { agent } }, id, options, 'verify');
        const found = await agent.verify(name, options.allowedSigners);
        const { verificationView } = await import('../views/of-run.ts');
        const exitCode = found.problems.length === 0 ? exitCodes.done : exitCodes.failed;
        const alone =
          options.offline === true ? "of this host's folder alone: a database may have more" : null;
        return answer(context, found, () => verificationView(found, context.terminal, alone), exitCode);
      }),
    );
}

export function mirror(program: Command, run: Run): void {
  withRun(program.command('mirror'))
    .description("write this host's folder of a run again, from the database that has the runs")
    .action(
      run(async (context, id: string | undefined, options: RunOption) => {
        const folder = await context.services.agent.mirror(await runNamed(context, id, options, 'mirror'));
        return answer(context, { folder }, () => `${folder}\n`);
      }),
    );
}
