import type { PlanRecord } from '#kit/contracts/context/execution.ts';
import type { GraphRecord } from '../record/graph-record.ts';
import { nodeId } from '../record/node-id.ts';

/** Removes what an earlier plan of the run proposed and this one does not, and what followed on what then and no longer does. */
export function dropActions(record: GraphRecord, reasoning: number, plan: PlanRecord): void {
  const order = plan.actions
    .toSorted((a, b) => a.ordinal - b.ordinal)
    .map(({ action_id }) => nodeId.action(plan.run_id, action_id));
  const proposed = record
    .prepare(
      `SELECT t.node, t.id FROM edges e JOIN nodes t ON t.node = e.to_node
       WHERE e.from_node = ? AND e.type = 'PROPOSES'`,
    )
    .all(reasoning) as { node: number; id: string }[];
  for (const { node, id } of proposed) {
    if (!order.includes(id)) {
      record.deleteNode(node);
      continue;
    }
    const next = order[order.indexOf(id) + 1];
    const following = record
      .prepare(
        `SELECT e.edge, t.id FROM edges e JOIN nodes t ON t.node = e.to_node
         WHERE e.from_node = ? AND e.type = 'NEXT_ACTION'`,
      )
      .all(node) as { edge: number; id: string }[];
    for (const { edge, id: follower } of following) if (follower !== next) record.deleteEdge(edge);
  }
}
