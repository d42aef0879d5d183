import type { EventKind } from '#kit/contracts/bridge/dashboard-event.ts';
import { ForgeDelivery, ForgeIssueDelivery } from '#kit/contracts/bridge/forge-webhook.ts';
import { decode } from '#kit/decode.ts';
import { sha256 } from '#kit/digest.ts';
import { InvalidInput, Unauthorized } from '#kit/errors.ts';
import type { ForgeIngressConfig } from '../configuration.ts';
import type { SecretFile } from '../secret-file.ts';
import type { KnownForge } from '../targets/known-forges.ts';
import type { RoleMap } from '../targets/role-map.ts';
import { type FoundTarget, targetAt } from '../targets/target.ts';
import { jsonOf } from './body-text.ts';
import { type IngressRequest, type IngressSource, needSignature, type ReadEvent } from './ingress-source.ts';
import { planned } from './planned.ts';
import { isSigned } from './signature.ts';

/** How a forge sends its webhooks. */
export interface ForgeDialect {
  readonly name: 'github' | 'gitea';
  /** In lower case. */
  readonly eventHeader: string;
  readonly deliveryHeader: string;
  readonly signatureHeader: string;
  /** Stands before the hex of the HMAC. */
  readonly signaturePrefix: string;
  /** Event kinds by the actions of an issue. */
  readonly kinds: Readonly<Record<string, EventKind>>;
}

/** docs.github.com/webhooks/webhook-events-and-payloads#delivery-headers */
export const githubDialect: ForgeDialect = {
  name: 'github',
  eventHeader: 'x-github-event',
  deliveryHeader: 'x-github-delivery',
  signatureHeader: 'x-hub-signature-256',
  signaturePrefix: 'sha256=',
  kinds: {
    opened: 'issue.created',
    edited: 'issue.updated',
    reopened: 'issue.status_changed',
    labeled: 'issue.updated',
    unlabeled: 'issue.updated',
    assigned: 'issue.updated',
    closed: 'issue.status_changed',
    transferred: 'issue.updated',
  },
};

/** docs.gitea.com/usage/webhooks */
export const giteaDialect: ForgeDialect = {
  name: 'gitea',
  eventHeader: 'x-gitea-event',
  deliveryHeader: 'x-gitea-delivery',
  signatureHeader: 'x-gitea-signature',
  signaturePrefix: '',
  kinds: {
    opened: 'issue.created',
    edited: 'issue.updated',
    reopened: 'issue.status_changed',
    label_updated: 'issue.updated',
    label_cleared: 'issue.updated',
    assigned: 'issue.updated',
    closed: 'issue.status_changed',
  },
};

export interface ForgeSourceParts {
  readonly dialect: ForgeDialect;
  readonly config: ForgeIngressConfig;
  readonly roleLabel: string | null;
  readonly secret: SecretFile | null;
  readonly forges: readonly KnownForge[];
  readonly roles: RoleMap;
}

/**
 * Webhooks straight from a forge. They sign no time: a replay is told by the id of its delivery, and by its bytes, since nothing
 * signs the id.
 */
export class ForgeSource implements IngressSource {
  readonly name: 'github' | 'gitea';
  readonly headers: Readonly<Record<string, string>>;
  readonly #parts: ForgeSourceParts;

  constructor(parts: ForgeSourceParts) {
    const { dialect } = parts;
    this.#parts = parts;
    this.name = dialect.name;
    this.headers = {
      [dialect.eventHeader]: 'What is told; `issues` is planned',
      [dialect.deliveryHeader]: 'Names the delivery',
      [dialect.signatureHeader]: `${dialect.signaturePrefix === '' ? 'The' : `\`${dialect.signaturePrefix}\` and the`} HMAC-SHA256 of the body in hex`,
    };
  }

  authenticate({ body, header }: IngressRequest): void {
    const { dialect, secret } = this.#parts;
    const { signatureHeader, signaturePrefix } = dialect;
    const { given, secrets } = needSignature(header(signatureHeader), signatureHeader, secret);
    const hex = given.startsWith(signaturePrefix) ? given.slice(signaturePrefix.length) : '';
    if (isSigned(hex, secrets, null, body)) return;
    throw new Unauthorized('signature_invalid', `${signatureHeader} is not that of the body`, {
      hint: `The secret of the webhook must be the one in ${secret!.path}.`,
    });
  }

  read({ body, header }: IngressRequest, by: string): ReadEvent {
    const { dialect, config } = this.#parts;
    const about = header(dialect.eventHeader) ?? '';
    const value = jsonOf(body);
    if (about !== 'issues') {
      return about === 'ping'
        ? ignored('ping', 'the webhook works')
        : ignored('event_not_used', `${JSON.stringify(about.slice(0, 60))} is not used: only issues are`);
    }
    // The header is not signed: a delivery about a comment has an action and an issue too.
    if (typeof value === 'object' && value !== null && Object.hasOwn(value, 'comment'))
      return ignored('event_not_used', 'a comment is not used: only what happens to the issue itself is');
    const { action = '' } = decode(ForgeDelivery, value, 'the body');
    const kind = Object.hasOwn(dialect.kinds, action) ? dialect.kinds[action] : undefined;
    if (kind === undefined || !config.actions.includes(action)) {
      const used = config.actions.join(', ');
      return ignored(
        'action_not_used',
        `action ${JSON.stringify(action)} of an issue is not used: one of ${used} is`,
      );
    }
    return this.#readIssue(value, kind, { body, delivery: header(dialect.deliveryHeader) ?? '', by });
  }

  #readIssue(
    value: unknown,
    kind: EventKind,
    { body, delivery, by }: { readonly body: Buffer; readonly delivery: string; readonly by: string },
  ): ReadEvent {
    const { dialect, config, roleLabel, roles } = this.#parts;
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
        `${dialect.deliveryHeader} is ${JSON.stringify(delivery.slice(0, 120))}: must be 1 to 100 letters, digits, '-', '_' and '.'`,
      );
    }
    const labels = (issue.labels ?? []).map(({ name }) => name);
    const { label: wanted } = config;
    if (wanted !== null && !labels.includes(wanted))
      return ignored('label_missing', `the issue has no label ${JSON.stringify(wanted)}`);
    if (wanted !== null && label !== null && label.name !== wanted)
      return ignored('label_not_used', `label ${JSON.stringify(label.name)} starts nothing here`);
    const event = planned({
      event_id: `${dialect.name}:${delivery}`,
      source: dialect.name,
      body_sha256: sha256(body),
      content: {
        kind,
        occurred_at: issue.updated_at,
        issue: {
          id: `${repository.owner.login}/${repository.name}#${issue.number}`,
          title: issue.title,
          status: issue.state,
          labels,
          url: issue.html_url,
        },
        actor: sender?.login ?? null,
      },
      // Who opens an issue again wants it planned again.
      issue_sha256: action === 'reopened' ? null : sha256(saying(issue)),
      found: this.#target(issue, repository),
      choice: roles.choose(null, labels, roleLabel),
      by,
    });
    return { event, unknown_members: [] };
  }

  /** By the address of the issue, on a forge of this kind; where one is configured, it is that one. */
  #target(issue: ForgeIssueDelivery['issue'], repository: ForgeIssueDelivery['repository']): FoundTarget {
    const { dialect, config, forges } = this.#parts;
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
    const ofKind = forges.filter(({ kind }) => kind === dialect.name);
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

/** Everything that planning reads of an issue, but for its comments. */
function saying({ title, body, state, labels }: ForgeIssueDelivery['issue']): string {
  return JSON.stringify([title, body ?? '', state, (labels ?? []).map(({ name }) => name).sort()]);
}

function ignored(code: string, message: string): ReadEvent {
  return { event: null, code, message };
}
