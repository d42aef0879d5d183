import type { IncomingMessage } from 'node:http';
import { Unauthorized, Unavailable } from '#kit/errors.ts';
import { createAccess } from '#kit/http/authentication.ts';
import type { Identity, Scope, Tokens } from '#kit/tokens/tokens.ts';
import type { BusConfig } from '../configuration.ts';
import type { Workers } from '../registry/workers.ts';

/** A token as it came, with whose it is. */
export interface Presented {
  readonly identity: Identity;
  readonly text: string;
}

/** Who may connect, and who may ask what over HTTP. */
export interface BusAccess {
  /** @throws InvalidInput (`host_repeated`), Forbidden (`host_not_allowed`, `origin_not_allowed`) */
  checkOrigin(request: IncomingMessage): void;
  /** What pages of allowed origins need to read answers. */
  corsHeaders(request: IncomingMessage): Readonly<Record<string, string>>;
  /**
   * null where none came and none is needed.
   * @throws Unauthorized (`token_invalid`, `token_required`)
   */
  authenticate(request: IncomingMessage): Presented | null;
  /** @throws Unauthorized (`token_invalid`, `token_required`), Forbidden (`scope_missing`) */
  checkScope(request: IncomingMessage, scope: Scope): void;
}

/** @throws Refused (`binding_not_allowed`) where tokens would cross a network in the clear */
export function createBusAccess(config: BusConfig, tokens: Tokens): BusAccess {
  const { require_token: required } = config;
  const access = createAccess({ ...config, require_token_for_reads: required }, tokens, 'bus');

  function isAllowed(origin: string | undefined): boolean {
    return origin !== undefined && config.allowed_origins.includes(origin);
  }

  function authenticate({ headers }: IncomingMessage): Presented | null {
    const identity = access.authenticate(headers.authorization);
    if (identity !== null) return { identity, text: headers.authorization!.replace(/^bearer +/i, '').trim() };
    if (!required) return null;
    throw new Unauthorized('token_required', 'workers of this bus need a token', {
      hint: 'Send authorization: Bearer TOKEN with the upgrade; ./core token create makes one, with the scopes read and plan.',
    });
  }

  return {
    checkOrigin(request) {
      const { origin } = request.headers;
      access.checkOrigin(request.headersDistinct.host ?? [], isAllowed(origin) ? undefined : origin);
    },
    corsHeaders({ headers: { origin } }) {
      if (!isAllowed(origin)) return {};
      return {
        'Access-Control-Allow-Origin': origin!,
        'Access-Control-Allow-Headers': 'authorization, content-type',
        Vary: 'Origin',
      };
    },
    authenticate,
    checkScope(request, scope) {
      const identity = access.authenticate(request.headers.authorization);
      if (required) access.checkScope(identity, scope);
    },
  };
}

/** Of all connections: what no token but those of `owners` can take. */
const reservedShare = 0.1;
/** Of all connections: what one token can take that owns no functions. */
const shareOfOne = 0.5;

/**
 * Whoever connects and connects leaves places for the workers of the platform, and for others.
 * @param token name of what the connection came with; null without one
 * @throws Unavailable (`too_many_connections`)
 */
export function checkWorkerRoom(
  workers: Pick<Workers, 'size' | 'countOf'>,
  { limits: { connections }, owners }: Pick<BusConfig, 'limits' | 'owners'>,
  token: string | null,
): void {
  const owns = owners.some((owner) => owner.token === token);
  const reserved = owns || owners.length === 0 ? 0 : Math.floor(connections * reservedShare);
  checkRoom(workers.size, connections - reserved);
  if (owns || token === null) return;
  checkRoom(workers.countOf(token), Math.ceil(connections * shareOfOne));
}

/** @throws Unavailable (`too_many_connections`) */
export function checkRoom(open: number, most: number): void {
  if (open < most) return;
  throw new Unavailable('too_many_connections', `${most} connections of this kind are open, the limit`, {
    retryAfter: 5,
  });
}
