import { guarded } from '#kit/callbacks.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { CoreError, Failed, messageOf, type Refused } from '#kit/errors.ts';
import { oneLine } from '../../actions/published-texts.ts';
import type { AgentExit, AgentProcess, AgentRoom } from '../../planning/agent-room.ts';
import type { AgentEvent, PlanningInput } from '../../planning/planner.ts';
import type { RunKey, RunUsage } from '../../planning/run-key.ts';
import { budgetRefusal, isForSize, requestTooLarge } from '../budget-refusal.ts';
import { interruption } from '../interruption.ts';
import { type AgentProgram, acpSession, type SessionWatch } from './acp-session.ts';
import { type Agent, type AgentBounds, filledIn } from './agent.ts';
import { diedFailure, earlyStop } from './attempt-failure.ts';
import { AttemptLog } from './attempt-log.ts';
import type { BoundName } from './bounds.ts';
import { commandSession, promptFile } from './command-session.ts';

export const agentSteps = ['start', 'session', 'prompt'] as const;
/** Step that an agent has reached: its process answers, its session exists, or the prompt is sent. */
export type AgentStep = (typeof agentSteps)[number];

export interface AttemptOptions {
  readonly input: Pick<
    PlanningInput,
    'run_id' | 'secrets' | 'agent_record' | 'progress' | 'status' | 'signal'
  >;
  readonly agent: Agent;
  readonly command: readonly string[];
  readonly model: { readonly name: string; readonly tier: string } | null;
  readonly key: RunKey | null;
  readonly room: AgentRoom;
  /** Rest of the agent's bounds before this attempt. */
  readonly left: AgentBounds;
  /** Usage of the run before this attempt. */
  readonly usage: RunUsage | null;
  readonly prompt: string;
  /** Never throws. */
  readonly onStep?: (step: AgentStep, program: AgentProgram | null) => void;
}

export interface Ended {
  readonly attempt: number;
  readonly end: Extract<AgentEvent, { type: 'agent_ended' }>['data']['end'];
  readonly bound: BoundName | null;
  readonly last_message: string;
  readonly seconds: number;
  readonly usage: RunUsage | null;
  /** Error to throw if the agent did not finish. */
  readonly error: unknown;
}

/** Time for an agent to end by itself after a request to stop, in ms. */
const graceMs = 5_000;
const lookMs = 1_500;
const recordMs = 10_000;
/** Key that an agent gets. The model proxy replaces it with the real key. */
const placeholderKey = 'core-run-key';

/** One start of an agent, watched to its end and recorded. */
export class AgentAttempt {
  readonly #options: AttemptOptions;
  /** Asks the agent to stop. */
  readonly #stop = new AbortController();
  /** Kills the agent. */
  readonly #kill = new AbortController();
  readonly #log: AttemptLog;
  #bound: BoundName | null = null;
  /** A request that the budget has no room for, though most of it is left. */
  #tooLarge: Refused | null = null;
  /** Why the gateway did not answer a call of the model completely; null if it always did. */
  #gatewayLoss: string | null = null;

  constructor(options: AttemptOptions) {
    this.#options = options;
    this.#log = new AttemptLog(options);
  }

  async run(): Promise<Ended> {
    const { input, agent, model, room, left } = this.#options;
    const { name, protocol, hosts, credentials } = agent;
    await input.agent_record.append({
      type: 'agent_started',
      data: {
        attempt: this.#log.attempt,
        agent: name,
        protocol,
        sandbox: room.kind,
        model: model?.name ?? null,
        bounds: left,
        hosts: [...hosts],
        credentials: [...credentials],
      },
    });
    const cancelled = guarded('a coding agent', () => this.#askToStop());
    input.signal.addEventListener('abort', cancelled, { once: true });
    if (input.signal.aborted) cancelled();
    const deadline = setTimeout(
      guarded('a coding agent', () => this.#reached('seconds')),
      Math.min(left.seconds * 1000, 2 ** 31 - 1),
    );
    const looking = setInterval(
      guarded('a coding agent', () => this.#look()),
      lookMs,
    );
    const recording = setInterval(
      guarded('a coding agent', () => this.#log.record()),
      recordMs,
    );
    let outcome: Outcome;
    try {
      outcome = await this.#session();
    } finally {
      input.signal.removeEventListener('abort', cancelled);
      clearTimeout(deadline);
      clearInterval(looking);
      clearInterval(recording);
    }
    return this.#ended(outcome);
  }

  /** From the start of the process to its end. */
  async #session(): Promise<Outcome> {
    const { agent, command, room, left, prompt } = this.#options;
    const answer = Promise.withResolvers<Outcome>();
    const home = filledIn(agent.home, this.#place());
    const promptPath = `${room.home}/${promptFile}`;
    const exited = room
      .run({
        command: command.map((word) => word.replaceAll('{prompt_file}', promptPath)),
        environment: {
          ...room.environment,
          CORE_PROMPT_FILE: promptPath,
          ...filledIn(agent.environment, this.#place()),
        },
        home: { ...home, [promptFile]: prompt },
        seconds: left.seconds + (2 * graceMs) / 1000,
        signal: this.#kill.signal,
        onStandardError: (chunk) => this.#log.onStandardError(chunk),
        streams: (streams) => {
          if (agent.protocol === 'acp') return void this.#speak(streams).then(answer.resolve, answer.reject);
          commandSession(streams, prompt, (text) => this.#log.onOutput(text));
          this.#prompted();
        },
      })
      .then(
        (exit) => this.#outcomeOf(exit),
        (error): Outcome => ({ stop_reason: null, error }),
      );
    if (agent.protocol === 'command') return exited;
    const first = await Promise.race([answer.promise, exited.then(() => null)]);
    if (first === null) {
      // The last messages of the agent may still arrive.
      const late = await Promise.race([answer.promise, after(graceMs / 5)]);
      return late?.stop_reason != null ? late : exited;
    }
    const timer = setTimeout(() => this.#kill.abort(), graceMs / 5);
    const exit = await exited;
    clearTimeout(timer);
    // The exit status of a dead agent tells more than the end of its messages.
    const closed = first.error instanceof CoreError && first.error.facts.closed === true;
    const died = closed && !this.#kill.signal.aborted;
    return died && exit.error !== null ? exit : first;
  }

  async #speak(streams: AgentStreams): Promise<Outcome> {
    const { agent, room, prompt } = this.#options;
    const { mode, files, authenticate } = agent;
    const [watch, signal] = [this.#watch(), this.#stop.signal];
    try {
      const { stop_reason } = await acpSession({
        streams,
        room,
        prompt,
        mode,
        files,
        authenticate,
        watch,
        signal,
      });
      return { stop_reason, error: null };
    } catch (error) {
      return { stop_reason: null, error };
    }
  }

  #place() {
    const { model, room } = this.#options;
    if (model === null || room.model_address === null) return null;
    return { address: room.model_address, model: model.name, key: placeholderKey };
  }

  #watch(): SessionWatch {
    return {
      started: () => this.#options.onStep?.('start', null),
      ready: async (program) => {
        crashPoint('agent.started');
        this.#log.program = program;
        this.#options.onStep?.('session', program);
        const { input, room, agent } = this.#options;
        const shown =
          program === null ? agent.name : [program.name, program.version].filter(Boolean).join(' ');
        input.progress(`${oneLine(shown)} started (${room.kind})`);
        await this.#log.record();
      },
      prompted: () => this.#prompted(),
      updated: (update) => this.#log.updated(update),
      asked: (tool, answer) => this.#log.asked(tool, answer),
      file: (action, path, bytes) => this.#log.file(action, path, bytes),
      note: (text) => this.#log.note(text),
    };
  }

  #prompted(): void {
    this.#options.onStep?.('prompt', this.#log.program);
    this.#log.show('at work');
    crashPoint('agent.prompted');
  }

  /** Called when the gateway refuses a call because of a limit. Acts only if the budget of the run is the limit. */
  refused(message: string): void {
    this.#log.note(`core-model-gateway: ${message}`);
    const { input, agent, model } = this.#options;
    const refusal = budgetRefusal(input.run_id, message);
    if (refusal === null) return;
    if (!isForSize(refusal)) {
      this.#reached('money');
      return;
    }
    const setting = `agents.${agent.name}.bounds.money`;
    this.#tooLarge ??= requestTooLarge(`agent ${agent.name}`, model?.name ?? 'its model', refusal, setting);
    this.#askToStop();
  }

  /** Called when the gateway does not answer a call of the agent, or breaks off its answer. */
  lostGateway(message: string): void {
    this.#log.note(message);
    this.#gatewayLoss = message;
  }

  /** Adds the gateway's failure to an error, because the agent's message about a lost connection does not name the gateway. */
  #withGatewayLoss(error: unknown): unknown {
    const loss = this.#gatewayLoss;
    if (loss === null || !(error instanceof Failed) || error.message.includes(loss)) return error;
    const { code, message, facts, hint } = error;
    return new Failed(code, `${message}; ${loss}`, {
      cause: error,
      facts,
      ...(hint !== undefined && { hint }),
    });
  }

  async #look(): Promise<void> {
    const { agent, key } = this.#options;
    if (key === null) return;
    const usage = await key.usage();
    if (usage === null) return;
    this.#log.used(usage);
    const { money, turns } = agent.bounds;
    if (usage.cost >= money) this.#reached('money');
    else if (usage.calls > turns) this.#reached('turns');
  }

  #reached(bound: BoundName): void {
    this.#bound ??= bound;
    this.#askToStop();
  }

  #askToStop(): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort();
    this.#log.show('stopping');
    // A command cannot be asked to stop.
    const patience = this.#options.agent.protocol === 'acp' ? graceMs : 0;
    setTimeout(() => this.#kill.abort(), patience).unref();
  }

  #outcomeOf(exit: AgentExit): Outcome {
    const { agent } = this.#options;
    if (exit.exit_code === 0 && agent.protocol === 'command')
      return { stop_reason: 'exit status 0', error: null };
    return { stop_reason: null, error: diedFailure(agent, exit, this.#log.standardError) };
  }

  async #ended({ stop_reason, error: thrown }: Outcome): Promise<Ended> {
    const { input, agent, key, room } = this.#options;
    this.#log.usage = (await key?.usage()) ?? this.#log.usage;
    const cancelled = input.signal.aborted;
    const bound = cancelled ? null : this.#bound;
    const failure = bound === null ? this.#tooLarge : null;
    const finished =
      bound === null && failure === null && (stop_reason === 'end_turn' || stop_reason === 'exit status 0');
    const end = cancelled ? 'cancelled' : bound !== null ? 'bound' : finished ? 'finished' : 'failed';
    const error = cancelled
      ? interruption(input.signal)
      : (failure ??
        this.#withGatewayLoss(
          thrown ??
            (finished || bound !== null ? null : earlyStop(agent, stop_reason, this.#log.lastMessage)),
        ));
    const message = input.secrets.mask(
      end === 'bound' ? `reached its bound of ${bound}` : error === null ? 'finished' : messageOf(error),
      'the transcript of the agent',
    );
    await input.agent_record.append({
      type: 'agent_ended',
      data: {
        ...(await this.#log.use(true)),
        end,
        bound,
        stop_reason,
        message,
        connections: room.connections().map((connection) => ({ ...connection })),
      },
    });
    crashPoint('agent.ended');
    return {
      attempt: this.#log.attempt,
      end,
      bound,
      last_message: this.#log.lastMessage,
      seconds: this.#log.seconds,
      usage: this.#log.usage,
      error,
    };
  }
}

interface Outcome {
  /** null if the agent did not end by itself. */
  readonly stop_reason: string | null;
  readonly error: unknown;
}

type AgentStreams = Parameters<AgentProcess['streams']>[0];

function after(ms: number): Promise<null> {
  return new Promise((resolve) => void setTimeout(() => resolve(null), ms));
}
