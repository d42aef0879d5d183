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

const procedures = [
  'db.labels',
  'db.relationshipTypes',
  'db.propertyKeys',
  'db.index.fulltext.queryNodes',
  'db.index.fulltext.queryRelationships',
];

/** Why a plan is not only reading; null when it is. */
export function planProblem(plan: PlanNode): string | null {
  const operator = plan.operatorType.replace(/@.*$/, '');
  if (!reading.some((pattern) => pattern.test(operator)))
    return `the plan has the operator ${operator}, which is not known to only read the graph`;
  if (operator === 'ProcedureCall') {
    const details = String(plan.arguments.Details ?? '');
    const name = details.replaceAll('`', '').split('(')[0]!.trim();
    if (!procedures.includes(name))
      return `the procedure ${name} is not allowed; allowed are ${procedures.join(', ')}`;
  }
  for (const child of plan.children) {
    const problem = planProblem(child);
    if (problem !== null) return problem;
  }
  return null;
}
