import neo4j, { type Result, type Session, type Transaction } from 'neo4j-driver';
import { guarded } from '#kit/callbacks.ts';
import type { CypherReply } from '#kit/contracts/context/cypher.ts';
import { CoreError } from '#kit/errors.ts';
import {
  type CypherCall,
  type CypherEngine,
  type CypherLimits,
  type EngineHealth,
  maxReplyBytes,
} from '../cypher-engine.ts';
import type { MirrorLoop } from '../mirror-loop.ts';
import { checkCall, cypherQueue, refusedAt, tooLargeReply, tooSlow } from '../refusals.ts';
import { refuseMissingParameters } from '../text/parameters.ts';
import { readingProcedures, refuseWrites } from '../text/read-only.ts';
import { type Neo4jConnection, neo4jError } from './connection.ts';
import { plain, toNeo4j } from './values.ts';

/** How long a query waits for the mirror to see what was written just before. */
const settleMs = 5_000;

/** What the server gets beyond its own limit to say that it ended a query. */
const graceMs = 1_500;

type Rows = Omit<CypherReply, 'took_ms' | 'engine'>;

/**
 * Cypher on a Neo4j server: read access mode, the plan's own query type, its operators and procedures by list, and the server's time
 * limit for the transaction. Rows are fetched no further than the limit.
 */
export class Neo4jEngine implements CypherEngine {
  readonly #connection: Neo4jConnection;
  readonly #loop: MirrorLoop;
  readonly #limits: CypherLimits;
  readonly #slots = cypherQueue({ concurrency: 6, perCaller: 2 });

  constructor(connection: Neo4jConnection, loop: MirrorLoop, limits: CypherLimits) {
    this.#connection = connection;
    this.#loop = loop;
    this.#limits = limits;
  }

  async query(call: CypherCall): Promise<CypherReply> {
    const began = performance.now();
    checkCall(call.query, call.params);
    refuseMissingParameters(call.query, refuseWrites(call.query), call.params);
    await this.#loop.settle(settleMs);
    const deadline = performance.now() + this.#limits.seconds * 1_000;
    call.signal?.throwIfAborted();
    const read = await this.#slots.run(call.caller, deadline - performance.now(), () =>
      this.#bounded(call, deadline),
    );
    return { ...read, took_ms: Math.round((performance.now() - began) * 10) / 10, engine: 'neo4j' };
  }

  health(): Promise<EngineHealth> {
    return this.#loop.health();
  }

  /** The server ends a transaction at its time limit, but not one that is inside an expression: nobody waits for that. */
  async #bounded(call: CypherCall, deadline: number): Promise<Rows> {
    const { seconds } = this.#limits;
    const leftMs = Math.max(1, Math.round(deadline - performance.now()));
    call.signal?.throwIfAborted();
    const session = this.#connection.session({
      defaultAccessMode: neo4j.session.READ,
      fetchSize: Math.min(call.limit + 1, 1_000),
    });
    let end: (reason: unknown) => void = () => {};
    const ended = new Promise<never>((_resolve, reject) => {
      end = reject;
    });
    const timer = setTimeout(
      guarded('the graph copy', () => {
        this.#connection.renew();
        end(tooSlow(seconds));
      }),
      leftMs + graceMs,
    );
    const abort = guarded('the graph copy', () => end(call.signal?.reason));
    call.signal?.addEventListener('abort', abort, { once: true });
    try {
      return await Promise.race([this.#read(session, call, leftMs), ended]);
    } finally {
      clearTimeout(timer);
      call.signal?.removeEventListener('abort', abort);
      void session.close().catch(() => {});
    }
  }

  async #read(session: Session, { query, params, limit }: CypherCall, leftMs: number): Promise<Rows> {
    const { seconds } = this.#limits;
    let explaining = true;
    try {
      const transaction = await session.beginTransaction({ timeout: leftMs });
      const given = toNeo4j(params) as Record<string, unknown>;
      await refuseByPlan(transaction, query, given);
      explaining = false;
      const rows = await taken(transaction.run(query, given), limit);
      await transaction.rollback().catch(() => {});
      return rows;
    } catch (thrown) {
      if (thrown instanceof CoreError) throw thrown;
      throw neo4jError(thrown, { query, seconds, linesBefore: explaining ? 1 : 0 });
    }
  }
}

async function refuseByPlan(
  transaction: Transaction,
  query: string,
  params: Record<string, unknown>,
): Promise<void> {
  const { summary } = await transaction.run(`EXPLAIN\n${query}`, params);
  if (summary.queryType !== 'r')
    throw refusedAt('cypher_read_only', null, 'the query writes; queries here only read');
  if (!summary.plan)
    throw refusedAt('cypher_read_only', null, 'the query has no plan that could be looked at');
  const problem = planProblem(summary.plan as PlanNode);
  if (problem !== null) throw refusedAt('cypher_read_only', null, problem);
}

/** Rows up to the limit and no further: what the server still has is discarded there. */
async function taken(result: Result, limit: number): Promise<Rows> {
  const rows: Record<string, unknown>[] = [];
  const columns = (await result.keys()) as string[];
  let bytes = 0;
  for await (const record of result) {
    if (rows.length === limit) return { columns, rows, truncated: true };
    const entries = columns.map((column) => [column, record.get(column)] as const);
    const row = plain(Object.fromEntries(entries)) as Record<string, unknown>;
    bytes += JSON.stringify(row).length;
    if (bytes > maxReplyBytes) throw tooLargeReply(`row ${rows.length + 1} of the result`);
    rows.push(row);
  }
  return { columns, rows, truncated: false };
}

/** Neo4j's plan, as the driver gives it. */
export interface PlanNode {
  readonly operatorType: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly children: readonly PlanNode[];
}

/** Operators of Neo4j 5 that read the graph, by the names that its manual lists. `LOAD CSV` and `SHOW` read too, and are none of them. */
const reading = [
  /^(Async)?(All|Directed|Undirected|Partitioned|Union|Intersection|Subtraction|Multi|Unique|Node|Relationship)\w*(Scan|Seek|SeekByRange|Lookup|Contains\w*|EndsWith\w*)$/,
  /^(Directed|Undirected|NodeBy|RelationshipBy)\w*Seek\w*$/,
  /^(Node|Relationship)CountFromCountStore$/,
  /^(Optional)?(VarLength)?(Pruning|BFSPruning)?Expand(\w*|\(.*\))$/,
  /^(VarLengthExpand|VarLengthExpandPruning|OptionalExpand|Expand|StatefulShortestPath|Projection)\(.*\)$/,
  /^(VarLengthExpand|OptionalExpand)\w*(\(.*\))?$/,
  /^(Apply|SemiApply|AntiSemiApply|TraversalApply|RollUpApply|ConditionalApply|AntiConditionalApply|AssertSameNode|AssertSameRelationship)$/,
  /^(Let|SelectOr|Argument)\w*(Apply|Tracker)$/,
  /^(Node|Value|Argument|Optional)?\w*(HashJoin|OuterHashJoin)$/,
  /^(Cartesian|Optional)\w*$/,
  /^(Eager|Ordered|Partial)?(Aggregation|Distinct|Sort|Top|Union|Eager)\w*$/,
  /^(Argument|Filter|Limit|Skip|Sort|Top|Unwind|Union|Projection|ProjectEndpoints|ProduceResults|CacheProperties|RemoteBatchProperties)$/,
  /^(EmptyRow|EmptyResult|ExhaustiveLimit|NonFuseable|NullifyMetadata|Prober|ProcedureCall|Repeat|RepeatTrail|RepeatWalk|BidirectionalRepeat\w*)$/,
  /^(Repeat|Trail|BidirectionalRepeat)\w*(\(.*\))?$/,
  /^(ShortestPath|StatefulShortestPath|PathPropagatingBFS|TriadicSelection|TriadicBuild|TriadicFilter|UnwindCollection|Input|ErrorPlan)(\(.*\))?$/,
  /^(ValueHashJoin|PartialTop|PartialSort|OrderedUnion|OrderedDistinct|OrderedAggregation|EagerAggregation)$/,
];

/** Why a plan is not only reading; null when it is. */
export function planProblem(plan: PlanNode): string | null {
  const operator = plan.operatorType.replace(/@.*$/, '');
  if (!reading.some((pattern) => pattern.test(operator)))
    return `the plan has the operator ${operator}, which is not known to only read the graph`;
  if (operator === 'ProcedureCall') {
    const details = String(plan.arguments.Details ?? '');
    const name = details.replaceAll('`', '').split('(')[0]!.trim();
    if (!readingProcedures.includes(name))
      return `the procedure ${name} is not allowed; allowed are ${readingProcedures.join(', ')}`;
  }
  for (const child of plan.children) {
    const problem = planProblem(child);
    if (problem !== null) return problem;
  }
  return null;
}
