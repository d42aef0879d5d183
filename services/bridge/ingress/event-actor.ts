import type { ActorRight, EventActor } from '#kit/contracts/plan.ts';
import type { WebhookForge } from '#kit/forges/registry.ts';
import { type EventContent, isOfForge, type Reason, type StoredEvent } from '../queue/stored-event.ts';

/** `by` of each forge in config/bridge.json. Dashboards and schedules are configured by the installation and need no right. */
export type ActorRights = Readonly<Record<WebhookForge, { readonly by: ActorRight }>>;

interface Account {
  readonly login: string;
  readonly id?: number | null | undefined;
  readonly type?: string | null | undefined;
}

/** Names the account behind an event, and says if it is not a person. */
export function actorOf(sender: Account | null): Pick<EventContent, 'actor' | 'actor_kind'> {
  if (sender === null) return { actor: null, actor_kind: 'unknown' };
  const { login, id, type } = sender;
  const isPerson = (type ?? 'User') === 'User' && (id ?? 1) > 0 && !login.endsWith('[bot]');
  return isPerson ? { actor: login } : { actor: login, actor_kind: 'bot' };
}

/** Why an event of a forge is not planned, by what the bridge itself knows. core-agentd asks the forge about people. */
export function refusalOfActor(
  { actor, actor_kind }: Pick<EventContent, 'actor' | 'actor_kind'>,
  source: WebhookForge,
  needs: ActorRight,
): Reason | null {
  if (needs === 'anyone' || (actor_kind === undefined && actor !== null)) return null;
  const rule = `ingress.${source}.by of config/bridge.json is "${needs}"`;
  return actor_kind === 'bot'
    ? { code: 'actor_is_bot', message: `${rule}, and ${actor} is not a person` }
    : { code: 'actor_unknown', message: `${rule}, and it is not known who caused this` };
}

/** What the account behind an event means for its planning. */
export type ActorTerms =
  | { readonly refusal: Reason }
  | { readonly refusal: null; readonly event_actor: EventActor | undefined; readonly keep: true | undefined };

/** Terms at the time of planning, since `by` may have changed while the event waited. */
export function actorTerms({ source, content }: StoredEvent, rights: ActorRights): ActorTerms {
  if (!isOfForge(source)) return { refusal: null, event_actor: undefined, keep: undefined };
  const { by: needs } = rights[source];
  const refusal = refusalOfActor(content, source, needs);
  if (refusal !== null) return { refusal };
  const { actor, actor_kind } = content;
  if (actor === null || actor_kind !== undefined)
    return { refusal: null, event_actor: undefined, keep: true };
  return { refusal: null, event_actor: { login: actor, needs }, keep: undefined };
}
