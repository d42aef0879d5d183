import { type Bus, BusError } from '#kit/bus/bus.ts';
import { callWithRetry } from '#kit/bus/call-with-retry.ts';
import { functionIds } from '#kit/contracts/bus/function.ts';
import { type PlanIssueRequest, PlanIssueResult } from '#kit/contracts/bus/plan-issue.ts';
import { decode } from '#kit/decode.ts';
import { CoreError, codeOf, Interrupted, messageOf } from '#kit/errors.ts';
import { type ActorRights, type ActorTerms, actorTerms } from '../ingress/event-actor.ts';
import { planningId, type Reason, type StoredEvent } from '../queue/stored-event.ts';

/** What came of one attempt to have an event planned. */
export type Outcome =
  | { readonly kind: 'done'; readonly run_id: string }
  /** Another attempt can help. */
  | { readonly kind: 'failed'; readonly reason: Reason }
  /** It was not tried: the bus, or whoever provides the planning, was not there or cannot read its configuration. */
  | { readonly kind: 'unreached'; readonly reason: Reason }
  /** There is nothing to plan. */
  | { readonly kind: 'skipped'; readonly reason: Reason }
  /** None can. `run_id`: the run that was made and failed. */
  | { readonly kind: 'hopeless'; readonly reason: Reason; readonly run_id: string | null }
  /** This process ends. */
  | { readonly kind: 'interrupted' };

/** HTTP statuses that say that the request itself cannot be fulfilled, whenever it comes. */
const final: ReadonlySet<number> = new Set([400, 409, 413, 422]);

/** Codes of calls that reached nobody; whatever else ended one may be the event's own doing. */
const unreached: ReadonlySet<string> = new Set(['function_not_found', 'not_connected', 'bus_busy']);

/** Codes of a planning that did not begin since this installation's own files are wrong: no event can help that. */
const ownFault: ReadonlySet<string> = new Set([
  'config_invalid',
  'config_missing',
  'config_unreadable',
  'invalid_json',
]);

/** Codes of a planning that found nothing to do, or that the setting `by` refuses: no person needs to look at it. */
const needless: ReadonlySet<string> = new Set([
  'issue_closed',
  'issue_fixed',
  'task_without_change',
  'actor_lacks_right',
  'actor_right_unknown',
]);

/** Asks the bus to plan the issue or task of an event. The same event again joins the same planning. */
export async function attemptPlanning(
  bus: Pick<Bus, 'call'>,
  event: StoredEvent,
  {
    rights,
    callMs,
    missingMs,
    signal,
  }: {
    readonly rights: ActorRights;
    readonly callMs: number;
    readonly missingMs?: number | undefined;
    readonly signal: AbortSignal;
  },
): Promise<Outcome> {
  const terms = actorTerms(event, rights);
  if (terms.refusal !== null) return { kind: 'skipped', reason: terms.refusal };
  try {
    const options = { withinMs: callMs, signal, missingMs };
    const answer = await callWithRetry(bus, functionIds.planIssue, requestOf(event, terms), options);
    const result = decode(
      PlanIssueResult,
      answer,
      `the result of ${functionIds.planIssue}`,
      'result_invalid',
    );
    if (result.ok) return { kind: 'done', run_id: result.run_id };
    const { code, message, status, retryable } = result.error;
    const reason = { code, message };
    const run_id = result.run_id ?? null;
    if (run_id === null && ownFault.has(code)) return { kind: 'unreached', reason };
    if (needless.has(code)) return { kind: 'skipped', reason };
    if (!retryable && (run_id !== null || final.has(status))) return { kind: 'hopeless', reason, run_id };
    return { kind: 'failed', reason };
  } catch (error) {
    if (signal.aborted || error instanceof Interrupted) return { kind: 'interrupted' };
    const hint = error instanceof CoreError && error.hint !== undefined ? `; ${error.hint}` : '';
    const reason = { code: codeOf(error), message: `${messageOf(error)}${hint}` };
    const nobody = error instanceof BusError && unreached.has(error.code);
    return { kind: nobody ? 'unreached' : 'failed', reason };
  }
}

function requestOf(
  event: StoredEvent,
  { event_actor, keep }: Extract<ActorTerms, { refusal: null }>,
): PlanIssueRequest {
  const { target, role, content, source } = event;
  if (target === null) throw new TypeError(`event ${event.event_id} has no target and is pending`);
  const { forge, owner, repo } = target;
  return {
    event_id: planningId(event),
    owner,
    repo,
    number: target.number ?? undefined,
    task: target.number === null ? target.task : undefined,
    forge,
    role: role?.name ?? null,
    planner: undefined,
    event_actor,
    keep,
    anyway: undefined,
    trigger: {
      kind: source,
      event_id: event.event_id,
      what: oneLine(content.kind),
      actor: content.actor === null ? null : oneLine(content.actor),
    },
  };
}

/** Words of others for the record of a run; null where nothing is left of them. */
function oneLine(text: string): string | null {
  const line = text.replaceAll(/\p{Cc}/gu, '\u{fffd}').trim();
  return line === '' ? null : line.slice(0, 1_000);
}
