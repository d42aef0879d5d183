import {
  OutcomeRecord,
  PlanRecord,
  RecordedReply,
  ScoreReply,
  ScoreRequest,
} from '#kit/contracts/context/execution.ts';
import type { RecordRequest } from '#kit/contracts/context/memory.ts';
import { CoreError, type FieldError, InvalidInput } from '#kit/errors.ts';
import { type Route, routeWithBody } from '#kit/http/route.ts';
import { Redactor } from '#kit/redaction/redactor.ts';
import type { RecordReader, RecordWriter } from '../record/calls.ts';
import type { executionCommands, Recorded } from './execution-commands.ts';
import type { executionQueries } from './execution-queries.ts';
import { memoriesOf } from './run-memories.ts';

export interface ExecutionParts {
  readonly writer: RecordWriter<typeof executionCommands>;
  readonly readers: RecordReader<typeof executionQueries>;
  /** Keeps what runs teach. */
  readonly memory: { record(request: RecordRequest): Promise<unknown> };
}

/**
 * The execution graph: what core-agentd planned, what became of it, and how well like actions went. The run's own log is the
 * authority; everything here can be sent again, in any order, and changes nothing when it is not news.
 */
export class Execution {
  readonly #parts: ExecutionParts;

  constructor(parts: ExecutionParts) {
    this.#parts = parts;
  }

  /** @throws InvalidInput for two actions with one id or one place */
  async recordPlan(given: PlanRecord): Promise<RecordedReply> {
    const plan = checkedPlan(given);
    return replyOf(plan.run_id, await this.#parts.writer.run('recordPlan', plan));
  }

  /** Its memories are kept once the plan is known, because they are about nodes that the plan made. @throws InvalidInput for an action that is there twice */
  async recordOutcome(given: OutcomeRecord): Promise<RecordedReply> {
    const outcome = checkedOutcome(given);
    const recorded = await this.#parts.writer.run('recordOutcome', outcome);
    const problems = recorded.plan === null ? [] : await this.#remember(recorded.plan, outcome);
    return { ...replyOf(outcome.run_id, recorded), problems };
  }

  async scorePaths(request: ScoreRequest): Promise<ScoreReply> {
    return { actions: await this.#parts.readers.ask('scorePaths', request), source: 'record' };
  }

  /** Each once, so that what people had forgotten stays so. One that is refused holds up none of the others. */
  async #remember(plan: PlanRecord, outcome: OutcomeRecord): Promise<string[]> {
    const { run_id } = outcome;
    const known = new Set(await this.#parts.readers.ask('runMemories', run_id));
    const memories = memoriesOf(plan, outcome).filter(({ key }) => !known.has(key));
    const problems: string[] = [];
    const keys: string[] = [];
    const kept = memories.map(async (memory) => {
      try {
        await this.#parts.memory.record(memory);
        keys.push(memory.key);
      } catch (error) {
        if (!(error instanceof CoreError) || error.status >= 500) throw error;
        // The same summary again, of a later moment.
        if (error.code === 'memory_key_taken') keys.push(memory.key);
        else problems.push(`${memory.key}: ${error.message}`);
      }
    });
    await Promise.all(kept);
    if (keys.length > 0) await this.#parts.writer.run('noteRunMemories', { run_id, keys });
    return problems.sort();
  }
}

function replyOf(run_id: string, { recorded, plan }: Recorded): RecordedReply {
  return { run_id, recorded, plan_known: plan !== null, problems: [] };
}

const redactor = new Redactor();

/**
 * A plan as it is kept: secrets are masked.
 * @throws InvalidInput with a pointer to each action whose id or place another one has
 */
function checkedPlan(plan: PlanRecord): PlanRecord {
  refuse('the plan', [
    ...repeated(plan.actions, 'action_id', ({ action_id }) => action_id),
    ...repeated(plan.actions, 'ordinal', ({ ordinal }) => ordinal),
  ]);
  return redactor.redactDeep(plan);
}

/**
 * An outcome as it is kept: secrets are masked.
 * @throws InvalidInput with a pointer to each action that is there twice
 */
function checkedOutcome(outcome: OutcomeRecord): OutcomeRecord {
  refuse(
    'the outcome',
    repeated(outcome.actions, 'action_id', ({ action_id }) => action_id),
  );
  return redactor.redactDeep(outcome);
}

function repeated<A>(
  actions: readonly A[],
  member: string,
  of: (action: A) => string | number,
): FieldError[] {
  const first = new Map<string | number, number>();
  return actions.flatMap((action, index): FieldError[] => {
    const value = of(action);
    const before = first.get(value);
    if (before === undefined) {
      first.set(value, index);
      return [];
    }
    const detail = `is ${JSON.stringify(value)}, as in /actions/${before}: must be one action's alone`;
    return [{ pointer: `/actions/${index}/${member}`, detail }];
  });
}

function refuse(what: string, errors: readonly FieldError[]): void {
  const [first] = errors;
  if (first === undefined) return;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  throw new InvalidInput('invalid_input', `${what}: ${first.pointer} ${first.detail}${more}`, { errors });
}

/** What core-agentd calls before, while and after it works on a run. */
export function executionRoutes(execution: Execution): Route[] {
  return [
    routeWithBody(
      {
        method: 'POST',
        path: '/v1/execution/plan',
        summary: 'Records a run as it was planned: ReasoningRun, Task, its Actions and their edges.',
        scope: 'plan',
        body: PlanRecord,
        answers: { 200: { description: 'Recorded, or known already', content: RecordedReply } },
      },
      async ({ body }) => ({ json: await execution.recordPlan(body) }),
    ),
    routeWithBody(
      {
        method: 'POST',
        path: '/v1/execution/outcome',
        summary: 'Records what became of a run so far; older than what is known changes nothing.',
        scope: 'plan',
        body: OutcomeRecord,
        answers: { 200: { description: 'Recorded, or known already', content: RecordedReply } },
      },
      async ({ body }) => ({ json: await execution.recordOutcome(body) }),
    ),
    routeWithBody(
      {
        method: 'POST',
        path: '/v1/execution/score',
        summary: 'How well actions like these went before, with the cases.',
        scope: 'read',
        body: ScoreRequest,
        answers: { 200: { description: 'One score for each action', content: ScoreReply } },
      },
      async ({ body }) => ({ json: await execution.scorePaths(body) }),
    ),
  ];
}
