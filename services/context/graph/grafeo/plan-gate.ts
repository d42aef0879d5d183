/** Operators of Grafeo 0.6.0 that only read; derived again at each upgrade. 51 is the argument of a subquery. */
const reading = new Set([
  'Return',
  'NodeScan',
  'EdgeScan',
  'Filter',
  'Expand',
  'Project',
  'Aggregate',
  'Sort',
  'Limit',
  'Skip',
  'Distinct',
  'Union',
  'Unwind',
  'Apply',
  'Empty',
  'SingleRow',
  'LeftJoin',
  'Join',
  'AntiJoin',
  'SemiJoin',
  'MultiWayJoin',
  'ShortestPath',
  'Discriminant(51)',
  'CallProcedure',
]);

const procedures = new Set(['db.labels', 'db.relationshipTypes', 'db.propertyKeys']);

/** Operators inside an expression are printed as Rust writes them. */
const writingInside = /\b(Create|Merge|Delete|Set|Add|Remove|Load|Insert|Detach|Clear|Drop|Copy|Move)\w*Op\b/;

/**
 * Why a plan is not only reading; null when it is. A plan is one operator a line; what a caller wrote can only add lines, not take
 * one away.
 */
export function planProblem(plan: string): string | null {
  for (const line of plan.split('\n')) {
    const operator = /^\s*(Discriminant\(\d+\)|\w+)/.exec(line)?.[1];
    if (operator === undefined) {
      if (line.trim() === '') continue;
      return `the plan has a line that is no operator: ${line.trim().slice(0, 80)}`;
    }
    if (!reading.has(operator))
      return `the plan has the operator ${operator}, which is not known to only read`;
    const procedure = operator === 'CallProcedure' ? (/\(([^)]*)\)/.exec(line)?.[1] ?? '') : null;
    if (procedure !== null && !procedures.has(procedure))
      return `the procedure ${procedure} is not allowed; allowed are ${[...procedures].join(', ')}`;
  }
  return writingInside.test(withoutText(plan)) ? 'the plan writes inside an expression' : null;
}

function withoutText(plan: string): string {
  return plan.replaceAll(/"(?:\\.|[^"\\])*"/g, '""');
}
