import { KeyRequest, KeysReply, MintedKey, RunKey } from '#kit/contracts/model-gateway/keys.ts';
import { type FieldError, InvalidInput } from '#kit/errors.ts';
import { type Route, route, routeWithBody } from '#kit/http/route.ts';
import type { RunKeys } from '../ledger/run-keys.ts';

/** A key of a run lives no longer; a planning takes minutes. */
const maxLifeMs = 24 * 3_600_000;

/** Keys of runs: made by core-agentd for one run, ended with it. @param models names of the configured ones, now */
export function keyRoutes(keys: RunKeys, models: () => readonly string[]): readonly Route[] {
  return [
    routeWithBody(
      {
        method: 'POST',
        path: '/v1/keys',
        summary: 'Make a key for one run, with its models, budget and end',
        scope: 'mint',
        body: KeyRequest,
        answers: { 201: { description: 'The key; it is shown this once', content: MintedKey } },
      },
      async ({ body }) => {
        const errors = [...modelErrors(body.models ?? [], models()), ...expiryErrors(body.expires_at)];
        const [first] = errors;
        if (first !== undefined)
          throw new InvalidInput('invalid_input', `the body: ${first.pointer} ${first.detail}`, { errors });
        return { status: 201, json: await keys.mint(body) };
      },
    ),
    route(
      {
        method: 'GET',
        path: '/v1/keys',
        summary: 'The keys of runs in force, newest first',
        scope: 'mint',
        answers: { 200: { description: 'Without the keys themselves', content: KeysReply } },
      },
      async () => ({ json: { keys: await keys.list() } }),
    ),
    route(
      {
        method: 'GET',
        path: '/v1/keys/{id}',
        summary: 'One key of a run, also after its end',
        scope: 'mint',
        answers: { 200: { description: 'With what it used', content: RunKey } },
      },
      async ({ params }) => ({ json: await keys.get(params.id!) }),
    ),
    route(
      {
        method: 'DELETE',
        path: '/v1/keys/{id}',
        summary: 'End a key: later calls with it are refused, those under way go on',
        scope: 'mint',
        answers: { 200: { description: 'The key that ended', content: RunKey } },
      },
      async ({ params }) => ({ json: await keys.revoke(params.id!) }),
    ),
  ];
}

function modelErrors(asked: readonly string[], known: readonly string[]): FieldError[] {
  return asked.flatMap((name, index) =>
    known.includes(name)
      ? []
      : [
          {
            pointer: `/models/${index}`,
            detail: `is ${JSON.stringify(name)}: must be one of ${known.join(', ') || 'none, because no model is configured'}`,
          },
        ],
  );
}

function expiryErrors(expires: string): FieldError[] {
  const ahead = Date.parse(expires) - Date.now();
  if (ahead > 0 && ahead <= maxLifeMs) return [];
  return [{ pointer: '/expires_at', detail: `is ${expires}: must be in the future, at most 24 hours ahead` }];
}
