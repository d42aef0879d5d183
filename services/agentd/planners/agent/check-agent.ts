import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { KnownModel } from '#kit/config/known-models.ts';
import { counted } from '#kit/counted.ts';
import { sha256 } from '#kit/digest.ts';
import { Failed } from '#kit/errors.ts';
import { prepareFolder } from '#kit/folders.ts';
import { gitText } from '#kit/git/git.ts';
import { makeRepository } from '#kit/git/make-repository.ts';
import { MaskTally, type SecretFinder } from '#kit/redaction/secret-finder.ts';
import { shellWord } from '#kit/shell-word.ts';
import { oneLine } from '../../actions/published-texts.ts';
import type { AgentRecord, PlannerServices } from '../../planning/planner.ts';
import { planningTier } from '../../planning/roles.ts';
import { createScratchCopy } from '../../planning/scratch-copy.ts';
import { dollars } from '../amounts.ts';
import { type Agent, agentNamed } from './agent.ts';
import { type Obstacle, obstacleOf } from './agent-list.ts';
import { agentModel, dialectNames } from './agent-planner.ts';
import { AgentAttempt, type Ended } from './attempt.ts';
import { programVersion } from './find-agents.ts';
import { startOf } from './programs.ts';

/** In their order. `login` fails only; `usage` is left out without a model of ours. */
export const checkSteps = [
  'installed',
  'sandbox',
  'model',
  'gateway',
  'room',
  'login',
  'start',
  'session',
  'prompt',
  'answer',
  'usage',
] as const;
export type CheckStep = (typeof checkSteps)[number];

export interface CheckedStep {
  readonly step: CheckStep;
  readonly ok: boolean;
  /** For people. */
  readonly detail: string;
  /** Since the step before. */
  readonly seconds: number;
}

export interface AgentCheck {
  readonly agent: string;
  readonly ok: boolean;
  readonly steps: readonly CheckedStep[];
  /** What the last step failed with. */
  readonly obstacle: Obstacle | null;
  readonly exit_code: number;
}

export interface CheckParts {
  readonly services: PlannerServices;
  readonly stateDir: string;
  readonly secrets: SecretFinder;
}

const prompt = 'Answer with the one word "ready". Change no file, and run no command.';
/** Less than a planning may take. Not of money: the gateway sets aside what an answer could cost at most, which is as much here. */
const most = { seconds: 180, turns: 10 };
/** No check takes so long. */
const forgottenMs = 3_600_000;

/** Runs one small prompt as a planning would run it, in a repository of one file, and says how far that came. */
export async function checkAgent(
  { services, stateDir, secrets }: CheckParts,
  name: string,
  onStep: (step: CheckedStep) => void,
  signal: AbortSignal,
): Promise<AgentCheck> {
  const steps = new Steps(onStep);
  const agent = bounded(agentNamed(services.agents, name));
  const folder = await ownFolder(stateDir);
  try {
    await walk({ services, agent, folder, secrets: new MaskTally(secrets), steps, signal });
    return { agent: name, ok: true, steps: steps.done, obstacle: null, exit_code: 0 };
  } catch (error) {
    signal.throwIfAborted();
    const obstacle = obstacleOf(error);
    steps.failed(obstacle);
    const exit_code = (error as Failed).exitCode;
    return { agent: name, ok: false, steps: steps.done, obstacle, exit_code };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Takes away what killed checks left of theirs. */
async function ownFolder(stateDir: string): Promise<string> {
  prepareFolder(stateDir, 'state');
  const scratch = join(stateDir, 'scratch');
  await mkdir(scratch, { recursive: true, mode: 0o700 });
  for (const name of await readdir(scratch)) {
    const path = join(scratch, name);
    const seen = name.startsWith('check-') ? await stat(path).catch(() => null) : null;
    if (seen !== null && Date.now() - seen.mtimeMs > forgottenMs)
      await rm(path, { recursive: true, force: true });
  }
  const folder = join(scratch, `check-${crypto.randomUUID()}`);
  await mkdir(folder, { mode: 0o700 });
  return folder;
}

function bounded(agent: Agent): Agent {
  const { money, seconds, turns } = agent.bounds;
  const bounds = {
    money,
    seconds: Math.min(seconds, most.seconds),
    turns: Math.min(turns, most.turns),
  };
  return { ...agent, bounds };
}

interface Walk {
  readonly services: PlannerServices;
  readonly agent: Agent;
  readonly folder: string;
  readonly secrets: MaskTally;
  readonly steps: Steps;
  readonly signal: AbortSignal;
}

async function walk(parts: Walk): Promise<void> {
  const { services, agent, folder, steps, signal } = parts;
  const start = startOf(agent);
  const version = programVersion(start.program);
  steps.passed('installed', version === null ? start.program : `${start.program} (${version})`, 'sandbox');
  await services.rooms.sweep();
  steps.passed('sandbox', await services.rooms.sandbox(), 'model');
  const tier = planningTier(services.agents);
  const model = agentModel(agent, services.models(), tier);
  const spoken = agent.dialect === null ? '' : ` by ${dialectNames[agent.dialect]}`;
  steps.passed('model', model === null ? 'none of core-model-gateway' : `${model.name}${spoken}`, 'gateway');
  const run_id = `check-${crypto.randomUUID()}`;
  const { money, seconds } = agent.bounds;
  const key =
    model === null ? null : await services.openRunKey({ run_id, model: model.name, money, seconds });
  try {
    if (key === null) steps.next('room');
    else steps.passed('gateway', `${key.url}, a key for ${dollars(money)}`, 'room');
    const repository = join(folder, 'repository');
    const files = { 'README.md': '# hello\n' };
    await makeRepository(repository, files, { author: 'Core', message: 'Say hello', signal });
    const base_commit = await gitText(['rev-parse', 'HEAD'], { gitDir: join(repository, '.git') });
    let attempt: AgentAttempt | null = null;
    const room = await services.rooms.open({
      run_id,
      repository: 'core/check',
      scratch: await createScratchCopy({
        gitDir: join(repository, '.git'),
        base_commit,
        folder: join(folder, 'scratch'),
      }),
      base_commit,
      mounts: [],
      programs: start.programs,
      hosts: agent.hosts,
      credentials: agent.credentials,
      model:
        key === null
          ? null
          : {
              gateway_url: key.url,
              key: key.key,
              onRefused: () => {},
              onLost: (message) => attempt?.lostGateway(message),
            },
      signal,
    });
    try {
      const doors = [
        ...(room.model_address === null ? [] : ['model']),
        ...(room.context_address === null ? [] : ['context']),
        ...(agent.hosts.length === 0 ? [] : [`egress to ${agent.hosts.join(', ')}`]),
      ];
      steps.passed('room', doors.length === 0 ? 'no door' : `doors: ${doors.join(', ')}`, firstOf(agent));
      attempt = new AgentAttempt({
        input: { ...parts, run_id, agent_record: forgetful(), progress: () => {}, status: () => {} },
        agent,
        command: start.command,
        model: model === null ? null : { name: model.name, tier },
        key,
        room,
        left: agent.bounds,
        usage: null,
        prompt,
        onStep: (step, program) => passStep(steps, step, program),
      });
      finish(parts, await attempt.run(), model);
    } finally {
      await room.close();
    }
  } finally {
    await key?.close();
  }
}

/** A command has neither a first answer nor a session. */
function firstOf({ protocol }: Agent): CheckStep {
  return protocol === 'acp' ? 'start' : 'prompt';
}

type OnStep = NonNullable<ConstructorParameters<typeof AgentAttempt>[0]['onStep']>;

function passStep(steps: Steps, step: Parameters<OnStep>[0], program: Parameters<OnStep>[1]): void {
  const shown = program === null ? '' : [program.name, program.version].filter(Boolean).join(' ');
  if (step === 'start') steps.passed('start', 'it speaks the Agent Client Protocol', 'session');
  if (step === 'session') steps.passed('session', shown, 'prompt');
  if (step === 'prompt') steps.passed('prompt', 'sent', 'answer');
}

/** @throws Failed (`agent_failed`), and what the attempt ended with */
function finish({ agent, secrets, steps }: Walk, ended: Ended, model: KnownModel | null): void {
  const said = oneLine(secrets.mask(ended.last_message, 'the answer of the agent'), 200);
  if (ended.end === 'bound') {
    throw new Failed(
      'agent_failed',
      `agent ${agent.name} did not answer a prompt of one line within ${agent.bounds.seconds} s, ${agent.bounds.turns} model calls and ${dollars(agent.bounds.money)}`,
      { hint: `raise agents.${agent.name}.bounds in agents.json, or look at what its model answers` },
    );
  }
  if (ended.end !== 'finished') throw withoutCheck(agent, ended.error);
  const { usage } = ended;
  // Some agents end well with the error of their model as their answer.
  if (model !== null && (usage === null || usage.output_tokens === 0)) {
    throw new Failed(
      'agent_failed',
      `agent ${agent.name} ended without an answer of model ${model.name}${said === '' ? '' : `; it says: ${said}`}`,
      { hint: './core model check asks the model; environment of the agent must lead to {address}' },
    );
  }
  steps.passed('answer', said === '' ? 'no text' : said, 'usage');
  if (usage === null) return;
  const { calls, input_tokens, output_tokens, cached_tokens, cost } = usage;
  const cached = cached_tokens === 0 ? '' : ` (${cached_tokens} cached)`;
  steps.passed(
    'usage',
    `${counted(calls, 'model call')}, ${input_tokens} tokens in${cached}, ${output_tokens} out, ${dollars(cost)}`,
    'usage',
  );
}

/** The error of a planning says to check the agent and to look at the run's record, which here is done, and not there. */
function withoutCheck({ command }: Agent, error: unknown): unknown {
  if (!(error instanceof Failed) || error.code !== 'agent_failed') return error;
  const line = command.map(shellWord).join(' ');
  return new Failed(error.code, error.message, { cause: error, hint: `see what it prints by hand: ${line}` });
}

/** A check leaves no record. */
function forgetful(): AgentRecord {
  return {
    earlier: null,
    append: async () => {},
    keep: async (text) => sha256(text),
    read: async () => new Uint8Array(),
    keepPatch: async () => null,
  };
}

/** Passed one by one; what fails is the step that was under way. */
class Steps {
  readonly done: CheckedStep[] = [];
  readonly #onStep: (step: CheckedStep) => void;
  #under: CheckStep = 'installed';
  #since = performance.now();

  constructor(onStep: (step: CheckedStep) => void) {
    this.#onStep = onStep;
  }

  passed(step: CheckStep, detail: string, next: CheckStep): void {
    this.#add({ step, ok: true, detail });
    this.next(next);
  }

  next(step: CheckStep): void {
    this.#under = step;
  }

  failed({ code, message }: Obstacle): void {
    this.#add({ step: stepsOfCodes[code] ?? this.#under, ok: false, detail: message });
  }

  #add(step: Omit<CheckedStep, 'seconds'>): void {
    const now = performance.now();
    const seconds = Math.round((now - this.#since) / 10) / 100;
    this.#since = now;
    const whole = { ...step, detail: oneLine(step.detail, 2_000), seconds };
    this.done.push(whole);
    this.#onStep(whole);
  }
}

/** An agent asks for its login wherever it likes. */
const stepsOfCodes: Readonly<Record<string, CheckStep>> = { agent_login_missing: 'login' };
