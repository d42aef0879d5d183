import type { KnownForge } from '#kit/config/known-forges.ts';
import { smokeForge } from '#kit/config/smoke-forge.ts';
import { unknownKeys } from '#kit/config/unknown-keys.ts';
import { DashboardEvent } from '#kit/contracts/bridge/dashboard-event.ts';
import { decode } from '#kit/decode.ts';
import { sha256 } from '#kit/digest.ts';
import { Unauthorized } from '#kit/errors.ts';
import type { SecretFile } from '#kit/webhooks/secret-file.ts';
import { isSigned, signatureHeader, timestampHeader } from '#kit/webhooks/signature.ts';
import type { BridgeConfig } from '../configuration.ts';
import type { RoleMap } from '../targets/role-map.ts';
import { targetOf } from '../targets/target.ts';
import {
  type IngressRequest,
  type IngressSource,
  invalidSignature,
  jsonOf,
  needSignature,
  planned,
  type ReadEvent,
  secretsOf,
} from './ingress-source.ts';

export interface DashboardSourceParts {
  readonly config: Pick<BridgeConfig['ingress'], 'dashboard' | 'role_label' | 'signature_seconds'>;
  readonly secret: SecretFile | null;
  readonly forges: readonly KnownForge[];
  readonly roles: RoleMap;
  readonly now: () => number;
}

/** Events in Core's own form, from any dashboard that can send a webhook. */
export class DashboardSource implements IngressSource {
  readonly name = 'dashboard';
  readonly headers = {
    [timestampHeader]: 'Seconds since 1970, for a signed event',
    [signatureHeader]: '`sha256=` and the HMAC-SHA256 of `timestamp.body` in hex, for a signed event',
  };
  readonly typeHint = 'Send the event as JSON.';
  readonly #parts: DashboardSourceParts;

  constructor(parts: DashboardSourceParts) {
    this.#parts = parts;
  }

  ignoredBy(): null {
    return null;
  }

  authenticate({ body, header }: IngressRequest): void {
    const { secret, config, now } = this.#parts;
    const given = needSignature(header(signatureHeader), 'X-Core-Signature');
    const timestamp = header(timestampHeader) ?? '';
    if (!/^\d{1,12}$/.test(timestamp)) {
      throw new Unauthorized(
        'signature_missing',
        `X-Core-Timestamp is ${JSON.stringify(timestamp.slice(0, 40))}: must be the seconds since 1970 when it was signed`,
      );
    }
    const [, hex = ''] = /^sha256=(.*)$/.exec(given) ?? [];
    if (!isSigned(hex, secretsOf(secret, 'X-Core-Signature'), timestamp, body))
      throw invalidSignature('X-Core-Signature');
    const seconds = Math.round(now() / 1000) - Number(timestamp);
    if (Math.abs(seconds) <= config.signature_seconds) return;
    throw new Unauthorized(
      'signature_expired',
      `X-Core-Timestamp is ${Math.abs(seconds)} s ${seconds > 0 ? 'ago' : 'ahead'}: must be within ${config.signature_seconds} s`,
    );
  }

  read({ body }: IngressRequest, by: string): ReadEvent {
    const { config, forges, roles } = this.#parts;
    const value = jsonOf(body);
    const { event_id, kind, occurred_at, issue, actor = null } = decode(DashboardEvent, value, 'the body');
    const labels = issue.labels ?? [];
    const { statuses } = config.dashboard;
    const found = targetOf(issue, forges);
    const isSmoke = found.target?.forge === smokeForge.name;
    const event = planned({
      event_id,
      source: 'dashboard',
      body_sha256: sha256(body),
      content: {
        kind,
        occurred_at,
        issue: {
          id: String(issue.id),
          title: issue.title,
          status: issue.status,
          labels,
          url: issue.url ?? issue.html_url ?? null,
        },
        actor: typeof actor === 'string' ? actor : (actor?.name ?? null),
      },
      found,
      choice: roles.choose(issue.role ?? null, labels, config.role_label),
      skip:
        statuses === null || statuses.some((one) => plain(one) === plain(issue.status)) || isSmoke
          ? null
          : {
              code: 'status_not_planned',
              message: `status ${JSON.stringify(issue.status)} is not planned; ingress.dashboard.statuses of config/bridge.json has ${statuses.join(', ')}`,
            },
      by,
    });
    return { event, unknown_members: unknownMembers(value) };
  }
}

/** Boards write their columns as they like. */
function plain(status: string): string {
  return status.trim().toLowerCase();
}

/**
 * Members of an event that nobody reads, as JSON pointers.
 * @param event what `DashboardEvent` accepts, as it came
 */
export function unknownMembers(event: unknown): string[] {
  return unknownKeys(DashboardEvent, event).map(({ pointer }) => pointer);
}
