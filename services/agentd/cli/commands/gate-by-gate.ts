import type { Command } from 'commander';
import { confirm } from '#kit/cli/confirm.ts';
import { promptTheme, selectTheme } from '#kit/cli/prompt-theme.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { approvalWord, criticalOf, isApprovalWord } from '#kit/contracts/approval-word.ts';
import { gateEffects, type gates } from '#kit/contracts/vocabulary.ts';
import { Conflict, codeOf, exitCodes, Interrupted, InvalidInput } from '#kit/errors.ts';
import { maskedText } from '#kit/redaction/masked-text.ts';
import { subjectOf } from '#kit/repository-name.ts';
import type { PlanRequest, Watch } from '../../agent.ts';
import type { ActionState, Run as StoredRun } from '../../runs/run.ts';
import { canBePlanned } from '../../runs/run.ts';
import { whatIsOpen } from '../../runs/what-is-open.ts';
import { type CommandContext, type Run, show } from '../command.ts';
import { notEmpty } from '../option-values.ts';
import { showPaged, withPager } from '../pager.ts';
import { watched } from '../progress.ts';
import { commandLine, shortRunId } from '../suggestions.ts';
import { signed, withSigning } from './decide.ts';
import { answerExecution, executionExitCode } from './execute.ts';
import { repositoryOfTask, requireOne, type TaskChoice, withPlanner, withTask } from './plan.ts';

interface Options extends Pick<PlanRequest, 'role' | 'forge' | 'planner' | 'note'>, TaskChoice {
  /** false: none, by `--no-repo-dir`. */
  readonly repoDir?: string | false;
  readonly anyway?: boolean;
  readonly sign?: boolean;
  readonly key?: string;
  readonly pager: boolean;
}

/** An issue, with its forge if that is known. */
type NamedIssue = Pick<PlanRequest, 'owner' | 'repo' | 'forge'> & { readonly number: number };

/** From an issue to its pull request in one command, which asks before each gate. */
export function gateByGate(program: Command, run: Run): void {
  withSigning(withPager(withTask(withPlanner(program.command('run')))))
    .description(
      'take an issue or a task from plan to pull request, asking at each gate; goes on where it was',
    )
    .argument('[issue]', 'as for plan; or a run, which goes on')
    .option(
      '--repo-dir <dir>',
      'your checkout, which gets the branch (default: the one that you are in)',
      notEmpty('--repo-dir'),
    )
    .option('--no-repo-dir', 'without a checkout: the branch reaches the forge alone')
    .option('--anyway', 'plan an issue that is closed or fixed too')
    .action(
      run(async (context, text: string | undefined, options: Options) => {
        requireOne('run', text, options);
        requireTerminal(context, options);
        return new Walk(context, text ?? null, options).toTheEnd();
      }),
    );
}

/** Whoever has no terminal says each decision in a command of its own. */
function requireTerminal({ terminal, suggestions, json }: CommandContext, { task }: Options): void {
  if (!json && process.stdin.isTTY === true && terminal.outIsTerminal && terminal.errIsTerminal) return;
  const line = (...words: string[]) => commandLine(suggestions, ...words);
  throw new InvalidInput(
    'no_terminal',
    json
      ? 'run asks before each gate, and has no JSON to give'
      : 'run asks before each gate, and there is no terminal to ask on',
    {
      hint: [
        task === undefined
          ? line('plan-issue', '--owner', 'OWNER', '--repo', 'REPO', '--number', 'N')
          : line('plan', '--task', task),
        line('approve', '--run-id', 'RUN', '--gate', 'build'),
        line('execute-approved', '--run-id', 'RUN', '--repo-dir', 'DIR'),
        'and the last two again with --gate publish',
      ].join('\n'),
    },
  );
}

type Answer = 'go' | 'diff' | 'details' | 'reject' | 'stop';

class Walk {
  readonly #context: CommandContext;
  readonly #options: Options;
  /** As the person named it: what goes on with it. A task is named by its run, once there is one. */
  #name: string | null;
  #shown = false;

  constructor(context: CommandContext, name: string | null, options: Options) {
    this.#context = context;
    this.#name = name;
    this.#options = options;
  }

  async toTheEnd(): Promise<number> {
    try {
      let next = await this.#begin();
      while (typeof next !== 'number') next = await this.#step(next);
      return next;
    } catch (error) {
      if (!isStop(error) && !this.#context.signal.aborted) throw error;
      throw new Interrupted('interrupted', 'stopped by you; nothing runs that you did not approve', {
        cause: error,
        hint: `go on where it was:\n${this.#goOn()}`,
      });
    }
  }

  /** The run that goes on, else a new plan; the exit code where it failed before and is not planned again. */
  async #begin(): Promise<StoredRun | number> {
    const { agent } = this.#context.services;
    if (this.#name === null) {
      const repository = await repositoryOfTask(this.#context, this.#options);
      return this.#plan({ ...repository, task: this.#options.task!, ...this.#chosen() });
    }
    if (!/^#?[0-9]+$|#[0-9]+$|^https?:/i.test(this.#name))
      return this.#orAgain(await agent.run(await agent.runId(this.#name, process.cwd())));
    const issue = await agent.issueNamed(this.#name, process.cwd());
    const found = await this.#runOf(issue);
    const ended = ['rejected', 'undone', 'cancelled', 'superseded'];
    if (found === null || (ended.includes(found.status) && !canBePlanned(found)))
      return this.#plan({ ...issue, ...this.#chosen() });
    return this.#orAgain(found);
  }

  /** A run that failed and in which nothing can be done any more is shown, and its issue planned again if wanted. */
  async #orAgain(run: StoredRun): Promise<StoredRun | number> {
    const { forge, owner, repo, number } = run.request;
    const failed = run.status === 'failed' || run.actions.some(({ state }) => state === 'failed');
    const { ready, waiting } = whatIsOpen(run, this.#context.terminal.now());
    const goesOn = canBePlanned(run) || !isSettled(run) || ready.length + waiting.length > 0;
    if (!failed || goesOn || number === null) return run;
    const exitCode = await this.#ends(run);
    if (!(await this.#confirm('Plan the issue again?'))) return exitCode;
    this.#name = subjectOf({ owner, repo, number });
    return this.#plan({ forge, owner, repo, number, ...this.#chosen() });
  }

  async #runOf({ forge = this.#options.forge, ...issue }: NamedIssue): Promise<StoredRun | null> {
    const { agent } = this.#context.services;
    const choice = forge === undefined ? {} : { forge };
    try {
      return await agent.run(await agent.runId(subjectOf(issue), process.cwd(), choice));
    } catch (error) {
      if (codeOf(error) === 'run_not_found') return null;
      throw error;
    }
  }

  #chosen(): Pick<PlanRequest, 'role' | 'forge' | 'planner' | 'note' | 'anyway'> {
    const { role, forge, planner, note, anyway } = this.#options;
    return Object.fromEntries(
      Object.entries({ role, forge, planner, note, anyway }).filter(([, value]) => value !== undefined),
    );
  }

  async #plan(request: Omit<PlanRequest, 'by'>): Promise<StoredRun> {
    const { agent, person } = this.#context.services;
    const { run } = await agent.createRun({ ...request, by: await person() }, this.#context.signal);
    this.#name ??= shortRunId(run.run_id);
    return this.#work((watch) => agent.plan(run.run_id, watch));
  }

  /** One step of the run: what it is after it, or the exit code where the walk ends. */
  async #step(run: StoredRun): Promise<StoredRun | number> {
    const { agent, person } = this.#context.services;
    const { run_id, status, plan } = run;
    switch (status) {
      case 'planning':
      case 'executing':
        throw new Conflict('lease_held', `run ${run_id} is ${status} in another process`);
      case 'interrupted': {
        this.#say(`Run ${shortRunId(run_id)} was interrupted.`);
        if (plan !== null && !(await this.#confirm('Go on with what you approved?'))) return this.#stopped();
        const by = await person();
        return this.#after(run, await this.#work((watch) => agent.resume({ run_id, by }, watch)));
      }
      case 'completed':
      case 'rejected':
      case 'undone':
      case 'cancelled':
      case 'superseded':
        return this.#ends(run);
      case 'awaiting_approval':
      case 'partially_completed':
      case 'failed':
        if (plan === null && canBePlanned(run) && !this.#shown) {
          this.#shown = true;
          return this.#work((watch) => agent.plan(run_id, watch));
        }
        return plan === null ? this.#ends(run) : this.#gate(run);
    }
  }

  /** Asks for the first gate that something can be done in, and does it. */
  async #gate(run: StoredRun): Promise<StoredRun | number> {
    const { terminal } = this.#context;
    const { ready, waiting } = whatIsOpen(run, terminal.now());
    const [first] = [...ready, ...waiting].toSorted((a, b) => a.definition.ordinal - b.definition.ordinal);
    if (first === undefined) return this.#ends(run);
    const { gate } = first.definition;
    const inGate = (actions: readonly ActionState[]) =>
      actions.filter(({ definition }) => definition.gate === gate);
    const undecided = inGate(waiting);
    const repoDir = await this.#checkout(run);
    if (!this.#shown) await this.#showPlan(run);
    this.#shown = true;
    const kinds = [...inGate(ready), ...undecided].map(({ definition }) => definition.kind).join(', ');
    const { patchAuthorLines } = await import('../views/of-run.ts');
    this.#say(['', `Gate ${gate}: ${kinds}`, ...patchAuthorLines(run, terminal)].join('\n'));
    if (undecided.length === 0) {
      if (!(await this.#confirm(`Execute what you approved of the gate ${gate}?`))) return this.#stopped();
      return this.#execute(run, inGate(ready), repoDir);
    }
    const critical = criticalOf(undecided.map(({ definition }) => definition));
    const answer = await this.#ask(gate, { hasPatch: run.plan?.patch !== null, critical });
    switch (answer) {
      case 'diff':
        await this.#showDiff(run);
        return run;
      case 'details': {
        const { actionDetails } = await import('../views/of-run.ts');
        await this.#show(actionDetails(undecided, terminal));
        return run;
      }
      case 'reject':
        await this.#decide(run, undecided, 'reject', await this.#reason());
        return this.#context.services.agent.run(run.run_id);
      case 'stop':
        return this.#stopped();
      case 'go': {
        if (critical.length > 0 && !(await this.#saysWord(critical))) return run;
        const approved = await this.#decide(run, undecided, 'approve', null);
        if (await this.#waitsForOthers(approved, undecided)) return exitCodes.done;
        return this.#execute(approved, [...inGate(ready), ...undecided], repoDir);
      }
    }
  }

  /** Where rules ask for more people than the one who sits here, the walk ends until they have agreed. */
  async #waitsForOthers({ run_id, actions }: StoredRun, decided: readonly ActionState[]): Promise<boolean> {
    const { terminal, suggestions } = this.#context;
    const ids = decided.map(({ definition }) => definition.action_id);
    const open = actions.filter(
      ({ definition, approval }) => ids.includes(definition.action_id) && approval === 'required',
    );
    if (open.length === 0) return false;
    const { progressLines } = await import('../views/of-run.ts');
    const { gate } = open[0]!.definition;
    this.#say(
      ['Your approval is recorded, and others must agree:', ...progressLines(open, terminal)].join('\n'),
    );
    const theirs = commandLine(suggestions, 'approve', shortRunId(run_id), '--gate', gate);
    this.#say(`They approve with their own token: ${visibleLine(theirs)}\nThen go on where it was:`);
    this.#say(`  ${this.#goOn()}`);
    return true;
  }

  /** Before anything is asked, so that nobody approves what cannot be delivered. */
  async #checkout(run: StoredRun): Promise<string | null> {
    const { repoDir } = this.#options;
    if (repoDir !== undefined) return repoDir === false ? null : repoDir;
    const here = await this.#context.services.agent.checkoutFor(run, process.cwd());
    const delivers = run.actions.some(
      ({ definition, state }) => definition.kind === 'commit' && state !== 'succeeded',
    );
    if (here !== null || !delivers) return here;
    const { owner, repo } = run.request;
    throw new InvalidInput(
      'repo_dir_required',
      `the branch is delivered into your checkout of ${owner}/${repo}, and you are in none`,
      {
        hint: `go to one, or name it; without one the branch reaches the forge alone:\n${this.#goOn('--repo-dir', 'DIR')}\n${this.#goOn('--no-repo-dir')}`,
      },
    );
  }

  async #showPlan(run: StoredRun): Promise<void> {
    const { terminal, suggestions, services } = this.#context;
    const { planView, runView } = await import('../views/of-run.ts');
    const begun = run.actions.some(({ state }) => state !== 'pending');
    show(
      terminal,
      begun
        ? runView(run, terminal, suggestions, { steps: false })
        : planView(run, terminal, null, await services.approvalDays()),
    );
    if (!begun && run.plan?.patch !== null) await this.#showDiff(run);
  }

  async #showDiff(run: StoredRun): Promise<void> {
    const { diffView } = await import('../views/of-run.ts');
    const { terminal, services } = this.#context;
    await this.#show(diffView(run, await services.agent.diff(run.run_id), terminal, null));
  }

  async #show(text: string): Promise<void> {
    const { terminal } = this.#context;
    if (this.#options.pager) await showPaged(terminal, text);
    else terminal.out(text);
  }

  async #decide(
    run: StoredRun,
    actions: readonly ActionState[],
    decision: 'approve' | 'reject',
    reason: string | null,
  ): Promise<StoredRun> {
    const { agent, person } = this.#context.services;
    const { sign = false, key } = this.#options;
    const { run_id } = run;
    const by = await person();
    const seen = actions.map(({ definition: { action_id, digest }, approval }) => ({
      action_id,
      digest,
      seen_approval: approval,
    }));
    const request = { run_id, decision, actions: seen, approver: by.name };
    return agent.decide({
      run_id,
      decision,
      actions: sign ? await signed(this.#context, request, key) : seen,
      reason,
      claimed_approver: null,
      by,
    });
  }

  async #execute(
    run: StoredRun,
    actions: readonly ActionState[],
    repo_dir: string | null,
  ): Promise<StoredRun | number> {
    const { agent, person } = this.#context.services;
    const ids = actions.map(({ definition }) => definition.action_id);
    const request = { run_id: run.run_id, repo_dir, actions: ids, dry_run: false, by: await person() };
    return this.#after(run, await this.#work((watch) => agent.execute(request, watch)));
  }

  /** Goes on where all went well; else shows what did not. */
  async #after(before: StoredRun, run: StoredRun): Promise<StoredRun | number> {
    if (before.plan === null) return run.plan === null ? this.#ends(run) : run;
    const exitCode = executionExitCode(run, []);
    return exitCode === exitCodes.done ? run : answerExecution(this.#context, run, exitCode);
  }

  async #ends(run: StoredRun): Promise<number> {
    const exitCode =
      run.plan === null ? exitCodes.failed : run.status === 'completed' ? exitCodes.done : exitCodes.refused;
    return answerExecution(this.#context, run, exitCode);
  }

  #stopped(): number {
    this.#say('Stopped; nothing of this gate ran. Go on where it was:');
    this.#say(`  ${this.#goOn()}`);
    return exitCodes.done;
  }

  #goOn(...words: string[]): string {
    return visibleLine(commandLine(this.#context.suggestions, 'run', this.#name ?? 'RUN', ...words));
  }

  #work<T>(work: (watch: Watch) => Promise<T>): Promise<T> {
    return watched(this.#context, work);
  }

  #say(text: string): void {
    this.#context.terminal.err(`${text}\n`);
  }

  #theme() {
    return promptTheme(this.#context.terminal.symbols);
  }

  async #confirm(message: string): Promise<boolean> {
    const { symbols } = this.#context.terminal;
    return confirm({ message, default: true, symbols, output: process.stderr });
  }

  async #ask(
    gate: (typeof gates)[number],
    {
      hasPatch,
      critical,
    }: { readonly hasPatch: boolean; readonly critical: readonly ActionState['definition'][] },
  ): Promise<Answer> {
    const { select } = await import('@inquirer/prompts');
    return select<Answer>(
      {
        message: `The gate ${gate}`,
        choices: [
          { name: `approve and execute (${gateEffects[gate]})`, value: 'go' },
          ...(hasPatch ? [{ name: 'show the diff', value: 'diff' as const }] : []),
          { name: 'show the actions in full', value: 'details' },
          { name: 'reject, with a reason', value: 'reject' },
          { name: 'stop here; it waits', value: 'stop' },
        ],
        // What others will see, or what is critical, needs more than Enter.
        default: gate === 'publish' || critical.length > 0 ? 'stop' : 'go',
        theme: selectTheme(this.#context.terminal.symbols),
      },
      { output: process.stderr },
    );
  }

  /** Empty goes back to the question. */
  async #saysWord(critical: readonly ActionState['definition'][]): Promise<boolean> {
    const { input } = await import('@inquirer/prompts');
    const names = critical.map(({ ordinal, kind }) => `${ordinal} ${kind}`).join(', ');
    const message = `Critical risk: ${names}. Type ${approvalWord} to approve:`;
    const validate = (text: string) =>
      text.trim() === '' || isApprovalWord(text) || `type the word '${approvalWord}', or nothing to go back`;
    return isApprovalWord(
      await input({ message, validate, theme: this.#theme() }, { output: process.stderr }),
    );
  }

  async #reason(): Promise<string> {
    const { input } = await import('@inquirer/prompts');
    const message = 'Why? The next planning of this issue learns from it:';
    const validate = (text: string) => text.trim() !== '' || 'a rejection needs a reason';
    return maskedText(await input({ message, validate, theme: this.#theme() }, { output: process.stderr }));
  }
}

function isSettled({ status }: StoredRun): boolean {
  return status === 'failed' || status === 'partially_completed';
}

/** Ctrl-C at a prompt. */
function isStop(error: unknown): boolean {
  return error instanceof Error && error.name === 'ExitPromptError';
}
