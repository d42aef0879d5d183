/** What can happen to an issue, as events of dashboards and webhooks of forges are read. */
export const eventKinds = ['issue.status_changed', 'issue.updated', 'issue.created'] as const;

/** What every service knows of one kind of forge: data and pure functions, one file for each kind. */
export interface ForgeTraits {
  /** Where it is when `base_url` is left out; null where there is no such place. */
  readonly default_url: string | null;
  /** Its folder when `root` is left out, relative to the state folder; null for one at an address. */
  readonly default_root: string | null;
  /** null: it sends none, and core-bridge learns of its issues by schedules alone. */
  readonly webhooks: WebhookDialect | null;
}

/** How a forge sends its webhooks. Their bodies are read by `ForgeIssueDelivery`. */
export interface WebhookDialect {
  /** In lower case. */
  readonly eventHeader: string;
  readonly deliveryHeader: string;
  readonly signatureHeader: string;
  /** Setting of a webhook on the forge that makes it send JSON. */
  readonly contentTypeSetting: string;
  /** Stands before the hex of the HMAC. */
  readonly signaturePrefix: string;
  /** What may happen to an issue, as the forge calls it. */
  readonly actions: readonly [string, ...string[]];
  /** Event kinds by those of the actions that can be planned. */
  readonly kinds: Readonly<Record<string, (typeof eventKinds)[number]>>;
  /** What it calls a change of labels. */
  labelAction(before: readonly string[], now: readonly string[]): string;
}
