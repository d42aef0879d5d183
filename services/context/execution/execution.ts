import type {
  OutcomeRecord,
  PlanRecord,
  RecordedReply,
  ScoreReply,
  ScoreRequest,
} from '#kit/contracts/context/execution.ts';
import type { RecordRequest } from '#kit/contracts/context/memory.ts';
import { CoreError } from '#kit/errors.ts';
import type { Readers } from '../record/readers.ts';
import type { Writer } from '../record/writer.ts';
import type { Recorded } from './execution-commands.ts';
import { memoriesOf } from './run-memories.ts';

/** The part of the memory that runs are told to. */
export interface RunMemory {
  record(request: RecordRequest): Promise<unknown>;
}

/**
 * The execution graph: what core-agentd planned, what became of it, and how well like actions went. The run's own log is the
 * authority; everything here can be told again, in any order, and changes nothing when it is not news.
 */
export class Execution {
  readonly #writer: Writer;
  readonly #readers: Readers;
  readonly #memory: RunMemory;

  constructor({
    writer,
    readers,
    memory,
  }: {
    readonly writer: Writer;
    readonly readers: Readers;
    readonly memory: RunMemory;
  }) {
    this.#writer = writer;
    this.#readers = readers;
    this.#memory = memory;
  }

  async recordPlan(plan: PlanRecord): Promise<RecordedReply> {
    return replyOf(plan.run_id, await this.#writer.run('recordPlan', plan));
  }

  /** Its memories are kept once the plan is known, because they are about nodes that the plan made. */
  async recordOutcome(outcome: OutcomeRecord): Promise<RecordedReply> {
    const recorded = await this.#writer.run('recordOutcome', outcome);
    const problems = recorded.plan === null ? [] : await this.#remember(memoriesOf(recorded.plan, outcome));
    return { ...replyOf(outcome.run_id, recorded), problems };
  }

  async scorePaths(request: ScoreRequest): Promise<ScoreReply> {
    return { actions: await this.#readers.ask('scorePaths', request), source: 'record' };
  }

  /** One that is refused, for example because it was forgotten on purpose, holds up none of the others. */
  async #remember(memories: readonly RecordRequest[]): Promise<string[]> {
    const problems: string[] = [];
    const kept = memories.map(async (memory) => {
      try {
        await this.#memory.record(memory);
      } catch (error) {
        if (!(error instanceof CoreError) || error.status >= 500) throw error;
        problems.push(`${memory.key}: ${error.message}`);
      }
    });
    await Promise.all(kept);
    return problems.sort();
  }
}

function replyOf(run_id: string, { recorded, plan }: Recorded): RecordedReply {
  return { run_id, recorded, plan_known: plan !== null, problems: [] };
}
