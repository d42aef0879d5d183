import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as t from 'io-ts';
import { createColors } from 'picocolors';
import { guarded, inBackground } from '#kit/callbacks.ts';
import { confirm } from '#kit/cli/confirm.ts';
import { wrapCommand } from '#kit/cli/fit-text.ts';
import { printText } from '#kit/cli/output.ts';
import type { CommandContext } from '#kit/cli/program.ts';
import { ActionList, ApprovalAnswer } from '#kit/contracts/action.ts';
import { gateEffects, gates } from '#kit/contracts/vocabulary.ts';
import { decodeJson } from '#kit/decode.ts';
import { makePrivateFolder } from '#kit/durable-file.ts';
import { environment } from '#kit/environment.ts';
import { exitCodes, Failed, Interrupted, InvalidInput } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import { createHttpClient, type HttpClient } from '#kit/http/client.ts';
import { nodeFlags } from '#kit/node-flags.ts';
import { shellWord } from '#kit/shell-word.ts';
import { ownToken } from '#kit/tokens/tokens.ts';
import { connect, issueBody, issueTitle, makeDemoRepository } from './demo-repository.ts';
import { type Daemon, freePort, runOpenly, runQuietly, startDaemon } from './services.ts';

export interface QuickstartOptions
  extends Pick<CommandContext, 'program' | 'home' | 'color' | 'paints' | 'display'> {
  /** Approve without asking. */
  readonly yes: boolean;
}

type Gate = (typeof gates)[number];

const root = fileURLToPath(new URL('../../../', import.meta.url));
const dispatcher = fileURLToPath(new URL('../start.js', import.meta.url));
const Planned = t.strict({ run_id: t.string });
const Made = t.strict({ clone_url: t.string });
const Issue = t.strict({ number: t.number });
const Pulls = t.strict({ pull_requests: t.array(t.strict({ number: t.number })) });

/** From an issue to a pull request and back, on a repository of its own. Writes below one folder only. */
export async function quickstart(options: QuickstartOptions): Promise<number> {
  if (!options.yes && !(process.stdin.isTTY && process.stdout.isTTY)) {
    throw new InvalidInput(
      'no_terminal',
      'quickstart asks before each gate, and there is no terminal to ask on',
      { hint: 'npm run quickstart -- --yes   approves by itself' },
    );
  }
  const home = resolve(options.home ?? join(root, '.core', 'quickstart'));
  const tour = new Tour(options, home);
  const stop = endOnSignals(tour);
  try {
    return await tour.walk();
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    tour.reportStopped();
    return exitCodes.interrupted;
  } finally {
    stop();
    await tour.end();
  }
}

class Tour {
  readonly #options: QuickstartOptions;
  readonly #home: string;
  /** `home` as a person types it from here. */
  readonly #homeWord: string;
  readonly #paint: ReturnType<typeof createColors>;
  #daemon: Daemon | null = null;
  #context: Daemon | null = null;
  #client: HttpClient | null = null;
  #stopped = false;

  constructor(options: QuickstartOptions, home: string) {
    this.#options = options;
    this.#home = home;
    const near = relative(process.cwd(), home);
    this.#homeWord = near.startsWith('..') || isAbsolute(near) ? home : near;
    this.#paint = createColors(options.paints);
  }

  async walk(): Promise<number> {
    this.#say('An issue becomes a pull request, and every step of it waits for an approval.');
    this.#say(`All that this makes is in ${this.#homeWord}; remove that folder and it is gone.`);
    const { name, folder, number } = await this.#makeDemo();
    await this.#startServices();
    const issue = ['--owner', 'demo', '--repo', name, '--number', String(number)];

    this.#step('Plan: reads the issue, writes nothing to the repository');
    const runId = await this.#plan(issue);

    this.#step('Look: the change, exactly as it would be applied');
    await this.#show('diff', shortId(runId), '--no-pager');

    for (const gate of gates) {
      this.#step(`Approve and execute the gate ${gate}: ${gateEffects[gate]}`);
      const checkout = relative(process.cwd(), folder);
      if (!(await this.#approve(runId, gate))) return this.#leave(runId, gate, checkout);
      await this.#show('execute-approved', '--run-id', shortId(runId), '--repo-dir', checkout);
    }
    await this.#results(runId, name);
    return exitCodes.done;
  }

  /** Ctrl-C reaches this process and its child: reported once. */
  reportStopped(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    process.stderr.write('\nStopped. What was made so far is in the folder named above.\n');
  }

  async end(): Promise<void> {
    await Promise.all([this.#client?.close(), this.#daemon?.stop(), this.#context?.stop()]);
    this.#daemon = null;
    this.#context = null;
  }

  async #makeDemo(): Promise<{ name: string; folder: string; number: number }> {
    this.#step('A small repository with a failing test, and an issue about it');
    makePrivateFolder(this.#home);
    const name = freeName(this.#home);
    const folder = join(this.#home, 'checkouts', name);
    mkdirSync(folder, { recursive: true });
    this.#configure(name, folder);
    await makeDemoRepository(folder);
    const ref = ['--owner', 'demo', '--repo', name];
    const made = await this.#core('forge', 'init', ...ref, '--from', folder);
    await connect(folder, decodeJson(Made, made, 'core forge init').clone_url);
    const issue = ['--title', issueTitle, '--body', issueBody, '--author', 'mira'];
    const written = await this.#core(
      ...['forge', 'issue', 'new', ...ref, ...issue, '--association', 'contributor'],
    );
    const { number } = decodeJson(Issue, written, 'core forge issue new');
    const tests = await runQuietly(process.execPath, ['--test', join(folder, 'test/greet.test.js')], [1]);
    const failing = /^\S* ?fail (\d+)$/m.exec(tests)?.[1] ?? '1';
    this.#say(`checkout  ${relative(process.cwd(), folder)}  (node --test: ${failing} fails)`);
    this.#say(`issue     demo/${name}#${number}  ${issueTitle}, by mira, with a patch`);
    return { name, folder, number };
  }

  /** The demo is our own code: where no sandbox works its test may run without one. */
  #configure(name: string, folder: string): void {
    const config = join(this.#home, 'config');
    makePrivateFolder(config);
    writeFileSync(
      join(config, 'validation.json'),
      `${JSON.stringify({ allow_unsandboxed: true }, null, 2)}\n`,
    );
    const core = { agentd: { checkouts: { [name]: folder } } };
    writeFileSync(join(config, 'core.json'), `${JSON.stringify(core, null, 2)}\n`);
  }

  async #startServices(): Promise<void> {
    this.#step('The services: graph and memory, and the daemon');
    this.#context = await this.#start('context', 8090);
    writeFileSync(
      join(this.#home, 'config/context.json'),
      `${JSON.stringify({ port: this.#context.port }, null, 2)}\n`,
    );
    this.#daemon = await this.#start('agentd', 7817);
    const token = ownToken(resolveFolders({ home: this.#home }, environment)).text;
    this.#client = createHttpClient({ baseUrl: this.#daemon.url, token });
  }

  async #start(service: 'agentd' | 'context', wished: number): Promise<Daemon> {
    const port = await freePort(wished);
    const logFile = join(this.#home, `core-${service}.log`);
    const daemon = await startDaemon({ service, home: this.#home, port, logFile });
    const taken = port === wished ? '' : ` (${wished} is taken)`;
    this.#say(`core-${service} answers on ${daemon.url}${taken}; it ends with this quickstart`);
    return daemon;
  }

  async #plan(issue: readonly string[]): Promise<string> {
    await this.#show('plan-issue', ...issue);
    const list = await this.#core('runs', '--limit', '1', ...issue);
    const run = decodeJson(t.strict({ runs: t.array(Planned) }), list, 'core runs').runs[0];
    if (run === undefined) throw new Failed('quickstart_step_failed', 'the run is not in the list of runs');
    return run.run_id;
  }

  async #approve(runId: string, gate: Gate): Promise<boolean> {
    const daemon = this.#client!;
    const path = `/v1/runs/${runId}/actions`;
    const actions = (await daemon.get(path, ActionList)).actions.filter(
      (action) => action.gate === gate && action.approval === 'required',
    );
    if (actions.some(({ params }) => params.sandbox === 'none')) {
      this.#say('No sandbox works on this machine (./core doctor says why), so the test runs as you.');
      this.#say(
        `The repository is our own, and ${join(this.#homeWord, 'config/validation.json')} allows it.`,
      );
    }
    const kinds = actions.map(({ kind }) => kind).join(', ');
    if (this.#options.yes) this.#say(`--yes: approves ${kinds}`);
    else if (!(await this.#askForGate(gate, kinds))) return false;
    for (const { action_id, digest } of actions)
      await daemon.post(`${path}/${action_id}/approval`, { decision: 'approve', digest }, ApprovalAnswer);
    this.#say(`approved over ${this.#daemon!.url}, each with its digest; the same as`);
    this.#command('approve', shortId(runId), '--gate', gate);
    return true;
  }

  async #results(runId: string, name: string): Promise<void> {
    const id = shortId(runId);
    const ref = ['--owner', 'demo', '--repo', name];
    const pulls = await this.#core('forge', 'pr', 'list', ...ref, '--state', 'all');
    const pull = decodeJson(Pulls, pulls, 'core forge pr list').pull_requests[0];
    this.#step('The pull request');
    if (pull !== undefined) {
      const shown = ['--number', String(pull.number), '--no-patch', '--no-pager'];
      await this.#show('forge', 'pr', 'show', ...ref, ...shown);
    }
    this.#step('The record, checked offline');
    await this.#show('verify', id);
    this.#step('What next');
    this.#say('Take it all back: pull request, remote branch, branch in the checkout');
    this.#command('undo', id);
    this.#onOneScreen();
    this.#ownRepository();
  }

  /** As README has it. */
  #ownRepository(): void {
    const { program } = this.#options;
    const onPath = program === 'core';
    this.#say('Your own repository, with issues in a folder; patches in an issue need no model');
    if (!onPath) this.#typed(`${program} install`);
    this.#typed('core forge init --owner you --repo thing --from path/to/thing');
    const issue = '--title "Crash on empty input" --body-file issue.md';
    this.#typed(`core forge issue new --owner you --repo thing ${issue}`);
    this.#typed('cd path/to/thing && core run 1');
    this.#say('GitHub, Gitea or Forgejo: site/forges.md. A model that writes the change: site/planners.md');
  }

  /** Ctrl-C at the question ends the quickstart. */
  async #askForGate(gate: Gate, kinds: string): Promise<boolean> {
    this.#say(kinds);
    const message = `Approve the gate ${gate}?`;
    const { symbols } = this.#options.display;
    try {
      // What others will see needs an explicit yes; Enter alone is enough for what stays on this machine.
      return await confirm({ message, default: gate === 'build', symbols });
    } catch (cause) {
      throw new Interrupted('interrupted', 'stopped by you', { cause });
    }
  }

  #leave(runId: string, gate: string, checkout: string): number {
    this.#say('Not approved, so nothing of this gate ran. The run waits; decide later with');
    this.#command('approve', shortId(runId), '--gate', gate);
    this.#command('execute-approved', '--run-id', shortId(runId), '--repo-dir', checkout);
    this.#say('or say no for good, and plan again');
    this.#command('reject', shortId(runId), '--gate', gate, '--reason', 'TEXT');
    this.#onOneScreen();
    return exitCodes.done;
  }

  #onOneScreen(): void {
    this.#say('Or on one screen, while the first of these runs in another terminal');
    this.#command('up');
    this.#command('tui');
  }

  /** Runs a command of ours for its result. */
  async #core(...words: readonly string[]): Promise<string> {
    return runQuietly(process.execPath, [...this.#args(words), '--json']);
  }

  /** Runs a command of ours in sight of the person, as they would type it. */
  async #show(...words: readonly string[]): Promise<void> {
    this.#command(...words);
    const exitCode = await runOpenly(process.execPath, this.#args(words));
    if (exitCode === exitCodes.done) return;
    throw new Failed('quickstart_step_failed', `core ${words[0]} ended with ${exitCode}`, {
      hint: `Its output is above; the logs are ${join(this.#homeWord, 'core-agentd.log')} and core-context.log.`,
    });
  }

  #args(words: readonly string[]): string[] {
    const color = this.#options.color ? [] : ['--no-color'];
    return [...nodeFlags, dispatcher, ...words, '--home', this.#homeWord, ...color];
  }

  #command(...words: readonly string[]): void {
    this.#typed([this.#options.program, ...words, '--home', this.#homeWord].map(shellWord).join(' '));
  }

  /** A command as it is typed. */
  #typed(command: string): void {
    const { width } = this.#options.display;
    for (const [index, line] of wrapCommand(command, width - 5).entries()) {
      const prompt = index === 0 ? this.#paint.dim('$') : ' ';
      process.stdout.write(`   ${prompt} ${this.#paint.cyan(line)}\n`);
    }
  }

  #step(title: string): void {
    printText(`\n${this.#paint.bold(title)}\n`, this.#options.display);
  }

  #say(text: string): void {
    printText(`   ${text}\n`, this.#options.display);
  }
}

/** A second quickstart makes a second repository: what the first one made stays and can still be undone. */
function freeName(home: string): string {
  for (let n = 1; ; n += 1) {
    const name = n === 1 ? 'hello' : `hello-${n}`;
    if (!existsSync(join(home, 'checkouts', name))) return name;
  }
}

function shortId(runId: string): string {
  return runId.slice(0, 'run_'.length + 13);
}

/** Ctrl-C between prompts: the children get it too, so only the daemon is left to end. */
function endOnSignals(tour: Tour): () => void {
  const end = guarded('the quickstart', () => {
    tour.reportStopped();
    inBackground('the end of the tour', () => tour.end().then(() => process.exit(exitCodes.interrupted)));
  });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, end);
  return () => {
    for (const signal of signals) process.off(signal, end);
  };
}
