import type { ForgeTraits, WebhookDialect } from './forge-traits.ts';
import { gitea } from './gitea.ts';
import { github } from './github.ts';
import { local } from './local.ts';

/** Every kind of forge. The registries of the services are `Record`s of these kinds: the compiler lists what a new one must say. */
const kinds = { local, github, gitea } satisfies Record<string, ForgeTraits>;

export type ForgeKind = keyof typeof kinds;

/** The kinds that send webhooks. */
export type WebhookForge = {
  [K in ForgeKind]: (typeof kinds)[K]['webhooks'] extends null ? never : K;
}[ForgeKind];

export const forgeKinds = Object.keys(kinds) as [ForgeKind, ...ForgeKind[]];

export const webhookForges = forgeKinds.filter(isWebhookForge) as [WebhookForge, ...WebhookForge[]];

export function isWebhookForge(kind: ForgeKind): kind is WebhookForge {
  return kinds[kind].webhooks !== null;
}

export function traitsOf(kind: ForgeKind): ForgeTraits {
  return kinds[kind];
}

export function dialectOf(kind: WebhookForge): WebhookDialect {
  return kinds[kind].webhooks;
}

/** One entry for each kind that sends webhooks. */
export function byWebhookForge<A>(make: (kind: WebhookForge) => A): Readonly<Record<WebhookForge, A>> {
  return Object.fromEntries(webhookForges.map((kind) => [kind, make(kind)])) as Record<WebhookForge, A>;
}
