import { NotFound, Unauthorized } from '#kit/errors.ts';
import { type Route, route } from '#kit/http/route.ts';
import type { Agent } from '../agent.ts';
import { artifactReferences } from '../runs/artifacts.ts';

/** The content behind the digests of a run: issue as read, explanation, patch, validation report and logs. */
export function artifactRoutes(agent: Agent): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/v1/runs/{run_id}/artifacts/{digest}',
        summary:
          'One artifact that the record of the run names, by its sha256: its bytes as stored. Needs a token always',
        scope: 'read',
        answers: { 200: { description: 'The bytes', content: 'application/octet-stream' } },
      },
      async ({ params, identity }) => {
        // Conversations and logs can hold more than the actions show.
        if (identity === null) {
          throw new Unauthorized('token_required', 'this needs a token of scope read', {
            hint: 'Send authorization: Bearer TOKEN; ./core token create makes one.',
          });
        }
        const { run_id } = await agent.run(params.run_id!);
        const digest = params.digest!;
        const bytes = await agent.artifact(run_id, digest);
        if (!(await isNamed(agent, run_id, digest))) {
          throw new NotFound('artifact_not_found', `the record of run ${run_id} names no artifact ${digest}`);
        }
        return { content: { type: 'application/octet-stream', bytes } };
      },
    ),
  ];
}

/** What a crash left behind unnamed is no part of the run. */
async function isNamed(agent: Agent, runId: string, digest: string): Promise<boolean> {
  const events = await agent.events(runId, 0);
  return events.some((event) => artifactReferences(event).some((named) => named.digest === digest));
}
