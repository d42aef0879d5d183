import * as t from 'io-ts';
import { decodeJson } from '#kit/decode.ts';
import { Failed, Refused } from '#kit/errors.ts';

/** The actions of a run, as `core actions --json` gives them; only what is used here. */
const ShownActions = t.strict({
  actions: t.array(
    t.strict({
      action_id: t.string,
      approval: t.string,
      kind: t.string,
      gate: t.string,
      digest: t.string,
      params: t.UnknownRecord,
    }),
  ),
});

export interface ShownAction {
  readonly action_id: string;
  readonly kind: string;
  readonly gate: string;
  readonly digest: string;
  readonly params: { readonly [name: string]: unknown };
}

/** What still waits for a decision. */
export function waitingActions(json: string): ShownAction[] {
  const { actions } = decodeJson(ShownActions, json, 'core actions --json');
  return actions.filter(({ approval }) => approval === 'required');
}

/** Says yes to each action over the daemon's HTTP API, with the digest that was shown. */
export async function approveOverHttp(options: {
  readonly url: string;
  readonly token: string;
  readonly runId: string;
  readonly actions: readonly ShownAction[];
}): Promise<void> {
  for (const { action_id, digest } of options.actions) {
    const path = `/v1/runs/${options.runId}/actions/${action_id}/approval`;
    const answer = await fetch(options.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${options.token}` },
      body: JSON.stringify({ decision: 'approve', digest }),
      signal: AbortSignal.timeout(10_000),
    });
    const text = await answer.text();
    if (answer.ok) continue;
    const problem = `POST ${path} answered ${answer.status}: ${text.slice(0, 500)}`;
    throw answer.status < 500
      ? new Refused('approval_refused', problem)
      : new Failed('quickstart_step_failed', problem);
  }
}
