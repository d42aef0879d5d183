import type { KnownForge } from '#kit/config/known-forges.ts';
import type { EventKind } from '#kit/contracts/bridge/dashboard-event.ts';
import type { EventTarget } from '#kit/contracts/bridge/events.ts';
import { ForgeDelivery, ForgeIssueDelivery } from '#kit/contracts/bridge/forge-webhook.ts';
import type { ChangedIssues } from '#kit/contracts/issues.ts';
import { decode } from '#kit/decode.ts';
import { sha256 } from '#kit/digest.ts';
import { InvalidInput } from '#kit/errors.ts';
import type { WebhookDialect } from '#kit/forges/forge-traits.ts';
import { dialectOf, type WebhookForge } from '#kit/forges/registry.ts';
import { maskedText } from '#kit/redaction/masked-text.ts';
import type { SecretFile } from '#kit/webhooks/secret-file.ts';
import { isSigned } from '#kit/webhooks/signature.ts';
import type { ForgeIngressConfig } from '../configuration.ts';
import { type EventContent, type NewEvent, takenUpBySync } from '../queue/stored-event.ts';
import type { RoleMap } from '../targets/role-map.ts';
import { type FoundTarget, targetAt } from '../targets/target.ts';
import { actorOf, refusalOfActor } from './event-actor.ts';
import {
  type IgnoredEvent,
  type IngressRequest,
  type IngressSource,
  invalidSignature,
  jsonOf,
  needSignature,
  planned,
  type ReadEvent,
  secretsOf,
} from './ingress-source.ts';

/** An issue that sync fetched, not one that a webhook delivered. */
export type AskedIssue = ChangedIssues['issues'][number] & {
  readonly target: EventTarget & { readonly forge: string };
};

export interface ForgeSourceParts {
  readonly kind: WebhookForge;
  readonly config: ForgeIngressConfig;
  readonly roleLabel: string | null;
  readonly secret: SecretFile | null;
  readonly forges: readonly KnownForge[];
  readonly roles: RoleMap;
}

/**
 * Webhooks of a forge. The signature covers no timestamp and not the delivery id, so a replay is recognised by that id and by the
 * hash of the body.
 */
export class ForgeWebhookSource implements IngressSource {
  readonly name: WebhookForge;
  readonly headers: Readonly<Record<string, string>>;
  readonly typeHint: string;
  readonly #parts: ForgeSourceParts;
  readonly #dialect: WebhookDialect;

  constructor(parts: ForgeSourceParts) {
    const dialect = dialectOf(parts.kind);
    this.#parts = parts;
    this.#dialect = dialect;
    this.name = parts.kind;
    this.typeHint = `In the settings of the webhook on the forge, choose ${dialect.contentTypeSetting}.`;
    this.headers = {
      [dialect.eventHeader]: 'Event type; only `issues` can start a planning',
      [dialect.deliveryHeader]: 'Names the delivery',
      [dialect.signatureHeader]: `${dialect.signaturePrefix === '' ? 'The' : `\`${dialect.signaturePrefix}\` and the`} HMAC-SHA256 of the body in hex`,
    };
  }

  ignoredBy(headers: Readonly<Record<string, unknown>>): IgnoredEvent | null {
    const about = headers[this.#dialect.eventHeader];
    return typeof about !== 'string' || about === 'issues' ? null : unusedEvent(about);
  }

  authenticate({ body, header }: IngressRequest): void {
    const { secret } = this.#parts;
    const { signatureHeader, signaturePrefix } = this.#dialect;
    const given = needSignature(header(signatureHeader), signatureHeader);
    const hex = given.startsWith(signaturePrefix) ? given.slice(signaturePrefix.length) : '';
    if (isSigned(hex, secretsOf(secret, signatureHeader), null, body)) return;
    throw invalidSignature(signatureHeader);
  }

  read({ body, header }: IngressRequest, by: string): ReadEvent {
    const { config } = this.#parts;
    const { eventHeader, deliveryHeader } = this.#dialect;
    const about = header(eventHeader) ?? '';
    const value = jsonOf(body);
    if (about === 'ping') return ignored('ping', 'the webhook works');
    if (about !== 'issues') return unusedEvent(about);
    // The header is not signed: a delivery about a comment has an action and an issue too.
    if (typeof value === 'object' && value !== null && Object.hasOwn(value, 'comment'))
      return ignored('event_not_used', 'a comment is not used: only what happens to the issue itself is');
    const { action = '' } = decode(ForgeDelivery, value, 'the body');
    const kind = this.#kindOf(action);
    if (kind === null) return notUsed(action, config);
    return this.#readIssue(value, kind, { body, delivery: header(deliveryHeader) ?? '', by });
  }

  /**
   * The event that a delivery about an issue would have made, by the same rules.
   * @param actions what may have happened to it; the first that is planned counts
   */
  asked(issue: AskedIssue, actions: readonly [string, ...string[]]): ReadEvent {
    const { config } = this.#parts;
    const action = actions.find((one) => this.#kindOf(one) !== null);
    if (action === undefined) return notUsed(actions[0], config);
    const kind = this.#kindOf(action)!;
    const { target, title, body_sha256, state, labels, html_url, updated_at, author } = issue;
    const { forge, owner, repo, number } = target;
    const event_id = `${this.name}:sync/${forge}/${owner}/${repo}#${number}:${updated_at}`;
    return this.#eventOf({
      ...{ event_id, body_sha256: sha256(event_id), by: takenUpBySync },
      ...{ action, kind, label: null },
      // A forge says who wrote an issue, and not who changed it.
      by_account:
        kind === 'issue.created' ? actorOf({ login: author }) : { actor: author, actor_kind: 'unknown' },
      issue: {
        id: `${owner}/${repo}#${number}`,
        title,
        body_sha256,
        state,
        labels,
        url: html_url,
        updated_at,
      },
      found: { target },
    });
  }

  #kindOf(action: string): EventKind | null {
    const { kinds } = this.#dialect;
    if (!Object.hasOwn(kinds, action) || !this.#parts.config.actions.includes(action)) return null;
    return kinds[action]!;
  }

  #readIssue(
    value: unknown,
    kind: EventKind,
    { body, delivery, by }: { readonly body: Buffer; readonly delivery: string; readonly by: string },
  ): ReadEvent {
    const {
      action,
      issue,
      repository,
      sender = null,
      label = null,
    } = decode(ForgeIssueDelivery, value, 'the body');
    if (issue.pull_request != null) return ignored('issue_is_pull_request', 'pull requests are not planned');
    if (!/^[A-Za-z0-9._-]{1,100}$/.test(delivery)) {
      throw new InvalidInput(
        'delivery_id_invalid',
        `${this.#dialect.deliveryHeader} is ${JSON.stringify(delivery.slice(0, 120))}: must be 1 to 100 letters, digits, '-', '_' and '.'`,
      );
    }
    const { number, title, body: text, state, html_url: url, updated_at } = issue;
    const id = `${repository.owner.login}/${repository.name}#${number}`;
    const labels = (issue.labels ?? []).map(({ name }) => name);
    return this.#eventOf({
      ...{ event_id: `${this.name}:${delivery}`, body_sha256: sha256(body), by },
      ...{ action, kind, label: label?.name ?? null, by_account: actorOf(sender) },
      issue: { id, title, body_sha256: sha256(maskedText(text ?? '')), state, labels, url, updated_at },
      found: this.#target(issue, repository),
    });
  }

  #eventOf({ action, kind, label, by_account, issue, found, ...of }: IssueNews): ReadEvent {
    const { config, roleLabel, roles } = this.#parts;
    const { labels, updated_at: occurred_at } = issue;
    const { label: wanted } = config;
    if (wanted !== null && !labels.includes(wanted))
      return ignored('label_missing', `the issue has no label ${JSON.stringify(wanted)}`);
    if (wanted !== null && label !== null && label !== wanted)
      return ignored('label_not_used', `label ${JSON.stringify(label)} starts nothing here`);
    const { id, title, state: status, url } = issue;
    const event = planned({
      ...of,
      source: this.name,
      content: { kind, occurred_at, issue: { id, title, status, labels: [...labels], url }, ...by_account },
      issue_sha256: sha256(plannedFieldsText(issue)),
      // Who opens an issue again wants it planned again.
      replan: action === 'reopened',
      found,
      choice: roles.choose(null, [...labels], roleLabel),
      skip: refusalOfActor(by_account, this.name, config.by),
    });
    return { event, unknown_members: [] };
  }

  /** By the address of the issue, on a forge of this kind; where one is configured, it is that one. */
  #target(issue: ForgeIssueDelivery['issue'], repository: ForgeIssueDelivery['repository']): FoundTarget {
    const { config, forges } = this.#parts;
    const owner = repository.owner.login;
    const { name: repo } = repository;
    const { number } = issue;
    if (config.forge !== null) {
      const known = forges.some(({ name }) => name === config.forge);
      if (known) return { target: { forge: config.forge, owner, repo, number } };
      return {
        target: null,
        code: 'target_forge_unknown',
        message: `forge "${config.forge}" of config/bridge.json is not in config/forges.json`,
      };
    }
    const ofKind = forges.filter(({ kind }) => kind === this.name);
    const found = targetAt(issue.html_url, ofKind);
    if (found.target === null) return found;
    const named = `${owner}/${repo}#${number}`.toLowerCase();
    const { target } = found;
    if (`${target.owner}/${target.repo}#${target.number}`.toLowerCase() === named) return found;
    return {
      target: null,
      code: 'target_ambiguous',
      message: `the delivery is of ${named}, and its address is that of another issue`,
    };
  }
}

/** Something that happened to an issue. */
interface IssueNews extends Pick<NewEvent, 'event_id' | 'body_sha256' | 'by'> {
  readonly action: string;
  readonly kind: EventKind;
  /** The one that was added. */
  readonly label: string | null;
  readonly by_account: Pick<EventContent, 'actor' | 'actor_kind'>;
  readonly issue: PlannedFields & {
    readonly id: string;
    readonly url: string | null;
    readonly updated_at: string;
  };
  readonly found: FoundTarget;
}

interface PlannedFields {
  readonly title: string;
  /** Of the text with its secrets masked. */
  readonly body_sha256: string;
  readonly state: string;
  readonly labels: readonly string[];
}

/** Everything that planning reads of an issue, except its comments, with secrets masked: webhooks have them, core-agentd does not. */
export function plannedFieldsText({ title, body_sha256, state, labels }: PlannedFields): string {
  return JSON.stringify([maskedText(title), body_sha256, state, labels.map(maskedText).sort()]);
}

function notUsed(action: string, { actions }: ForgeIngressConfig): ReadEvent {
  const message = `action ${JSON.stringify(action)} of an issue is not used: one of ${actions.join(', ')} is`;
  return ignored('action_not_used', message);
}

function unusedEvent(name: string): IgnoredEvent {
  return ignored('event_not_used', `${JSON.stringify(name.slice(0, 60))} is not used: only issues are`);
}

function ignored(code: string, message: string): IgnoredEvent {
  return { event: null, code, message };
}
