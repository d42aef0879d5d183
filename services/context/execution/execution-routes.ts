import {
  OutcomeRecord,
  PlanRecord,
  RecordedReply,
  ScoreReply,
  ScoreRequest,
} from '#kit/contracts/context/execution.ts';
import { type Route, routeWithBody } from '#kit/http/route.ts';
import type { Execution } from './execution.ts';

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
