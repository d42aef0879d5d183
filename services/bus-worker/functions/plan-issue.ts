import type { BusFunction } from '#kit/bus/bus.ts';
import { functionIds } from '#kit/contracts/bus/function-ids.ts';
import { PlanIssueRequest, PlanIssueResult } from '#kit/contracts/bus/plan-issue.ts';
import type { Planning } from '../planning/planning.ts';
import { workerFunction } from './worker-function.ts';

export function planIssue(planning: Planning): BusFunction {
  return workerFunction({
    id: functionIds.planIssue,
    description:
      'Plans an issue into a durable run and waits until the planning has ended. Writes nothing to any repository. The same event again names the same run',
    request: PlanIssueRequest,
    response: PlanIssueResult,
    work: (request, call) => planning.plan(request, call),
  });
}
