import type * as t from 'io-ts';
import { ApprovalAnswer, ApprovalBody } from '#kit/contracts/action.ts';
import { PlanBody } from '#kit/contracts/plan.ts';
import { Accepted, CancelBody, EmptyBody, ExecuteBody, RecoverBody, RunDetail } from '#kit/contracts/run.ts';
import { InvalidInput, NotFound } from '#kit/errors.ts';
import { type Reply, type Route, type RouteRequest, routeWithBody } from '#kit/http/route.ts';
import { findSecrets } from '#kit/redaction/redactor.ts';
import type { Scope } from '#kit/tokens/tokens.ts';
import type { Person, PlanRequest, RunChanges } from '../agent.ts';
import type { CoreAgent } from '../core-agent.ts';
import type { JudgedRun, Run } from '../runs/run.ts';
import { actionView, runView } from './run-view.ts';

const accepted = { 202: { description: 'The work goes on; its events report it', content: Accepted } };

/** Everything that changes something; each needs a token of the scope that it names. */
export function writeRoutes(agent: CoreAgent, changes: RunChanges): Route[] {
  return [
    routeWithBody(
      {
        method: 'POST',
        path: '/v1/runs',
        summary: 'Plan an issue. Writes nothing to a repository',
        scope: 'plan',
        body: PlanBody,
        requestHeaders: {
          'Idempotency-Key': {
            description: 'The same key for the same issue names the same run',
            schema: { type: 'string', minLength: 1, maxLength: 255 },
          },
        },
        answers: accepted,
      },
      async (request) => {
        const { run, created } = await changes.plan(planRequest(request));
        return acceptedReply(run, created);
      },
    ),
    routeWithBody(
      {
        method: 'POST',
        path: '/v1/runs/{run_id}/actions/{action_id}/approval',
        summary: 'Approve or reject one action, naming the digest that was seen',
        scope: 'approve',
        body: ApprovalBody,
        answers: { 200: { description: 'The action after the decision', content: ApprovalAnswer } },
      },
      async ({ params, body, identity }) => {
        const { run_id } = await agent.run(params.run_id!);
        const run = await changes.decide({
          run_id,
          decision: body.decision,
          actions: [
            {
              action_id: params.action_id!,
              digest: body.digest,
              ...(body.seen_approval == null ? {} : { seen_approval: body.seen_approval }),
              ...(body.signature == null ? {} : { signature: body.signature }),
            },
          ],
          reason: body.reason ?? null,
          claimed_approver: body.approver ?? null,
          anyway: body.anyway === true,
          by: person(identity),
        });
        const action = run.actions.find(({ definition }) => definition.action_id === params.action_id);
        if (action === undefined)
          throw new NotFound('action_not_found', `run ${run_id} has no action ${params.action_id}`);
        return { json: { run_id, status: run.status, action: actionView(action) } satisfies ApprovalAnswer };
      },
    ),
    aboutRun(
      'execute',
      'Execute approved actions, delivering to a configured working copy where one is named',
      {
        scope: 'execute',
        body: ExecuteBody,
        handle: (run, { checkout, actions = null, dry_run = false }, by) =>
          changes.execute(run, { checkout, actions, dry_run, by }),
      },
    ),
    aboutRun('resume', 'Go on where a crash or a stop left the run', {
      // Resuming an execution or an undo needs `execute` besides; the use case checks it.
      scope: 'plan',
      body: EmptyBody,
      handle: ({ run_id }, _, by) => changes.resume(run_id, by),
    }),
    aboutRun('undo', 'Take back what can be taken back', {
      scope: 'execute',
      body: EmptyBody,
      handle: ({ run_id }, _, by) => changes.undo(run_id, by),
    }),
    aboutRun('cancel', 'Stop a run: model and sandbox at once, a started effect finishes', {
      scope: 'plan',
      body: CancelBody,
      handle: ({ run_id }, { reason = null }, by) => changes.cancel(run_id, reason, by),
    }),
    routeWithBody(
      {
        method: 'POST',
        path: '/v1/runs/{run_id}/recover',
        summary: 'Go on with a run whose record was cut; what has not started is decided again',
        scope: 'admin',
        body: RecoverBody,
        answers: { 200: { description: 'The run as it is now', content: RunDetail } },
      },
      async ({ params, body, identity }) => {
        const { reason } = body;
        const by = person(identity);
        return { json: runView(await changes.recover({ run_id: params.run_id!, reason, by })) };
      },
    ),
  ];

  /** POST of work on one run, answered when it has started; its body may be left out. */
  function aboutRun<B>(verb: string, summary: string, { scope, body, handle }: RunWork<B>): Route {
    const path = `/v1/runs/{run_id}/${verb}`;
    return routeWithBody(
      { method: 'POST', path, summary, scope, body, bodyOptional: true, answers: accepted },
      async (request) => {
        const run = await agent.run(request.params.run_id!);
        await handle(run, request.body, person(request.identity));
        return acceptedReply(await agent.run(run.run_id));
      },
    );
  }
}

interface RunWork<B> {
  readonly scope: Scope;
  readonly body: t.Type<B, unknown, unknown>;
  readonly handle: (run: JudgedRun, body: B, by: Person) => Promise<void>;
}

function planRequest({ body, header, identity }: RouteRequest<PlanBody>): PlanRequest {
  const key = header('idempotency-key');
  if (key !== undefined) requireUsableKey(key);
  return { ...body, ...(key === undefined ? {} : { idempotency_key: key }), by: person(identity) };
}

/** @throws InvalidInput (`invalid_idempotency_key`, `idempotency_key_holds_secret`) */
export function requireUsableKey(key: string): void {
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw new InvalidInput(
      'invalid_idempotency_key',
      'Idempotency-Key must be 1 to 255 visible ASCII characters without spaces',
    );
  }
  const [secret] = findSecrets(key);
  if (secret !== undefined) {
    throw new InvalidInput(
      'idempotency_key_holds_secret',
      `Idempotency-Key holds what looks like a secret (${secret.kind}); keys are stored as they are: use one without`,
    );
  }
}

function acceptedReply({ run_id, status }: Run, created?: boolean): Reply {
  const path = `/v1/runs/${run_id}`;
  const json: Accepted = { run_id, status, events: `${path}/events`, created };
  return { status: 202, headers: { Location: path }, json };
}

/** Routes with a scope always have somebody who asks. */
export function person(identity: RouteRequest['identity']): Person {
  if (identity === null) throw new TypeError('a route that changes something was reached without a token');
  return identity;
}
