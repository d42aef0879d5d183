import { isIP } from 'node:net';
import { Forbidden, InvalidInput, Refused, Unauthorized } from '../errors.ts';
import type { Identity, Scope, Tokens } from '../tokens/tokens.ts';

export interface Binding {
  readonly host: string;
  readonly port: number;
  readonly allowed_hosts: readonly string[];
  readonly require_token_for_reads: boolean;
  readonly behind_proxy: boolean;
  readonly tls: { readonly certificate_file: string; readonly key_file: string } | null;
}

/** Who may ask what of a server. */
export interface Access {
  /**
   * @param hosts every `Host` header of the request
   * @throws InvalidInput (`host_repeated`), Forbidden (`host_not_allowed`, `origin_not_allowed`)
   */
  checkOrigin(hosts: readonly string[], origin: string | undefined): void;
  /**
   * @param elsewhere a token that stands alone, used where there is no authorization header
   * @throws Unauthorized (`token_invalid`)
   */
  authenticate(authorization: string | undefined, elsewhere?: string): Identity | null;
  /** To be awaited before `authenticate`; null where it knows the answer. Rejects with Unavailable. */
  lookUp(authorization: string | undefined, elsewhere?: string): Promise<void> | null;
  /** @throws Unauthorized (`token_required`), Forbidden (`scope_missing`) */
  checkScope(identity: Identity | null, scope: Scope | null): void;
}

/**
 * @param settings configuration section of the binding, for error messages
 * @throws Refused (`binding_not_allowed`) where tokens would cross a network in the clear
 */
export function createAccess(binding: Binding, tokens: Tokens, settings = 'agentd'): Access {
  const loopback = isLoopback(binding.host);
  if (!loopback && binding.tls === null && !binding.behind_proxy) {
    throw new Refused(
      'binding_not_allowed',
      `${settings}.host is ${binding.host}, which others can reach: tokens would travel in the clear`,
      {
        hint: `Set ${settings}.tls, or ${settings}.behind_proxy when a proxy in front ends TLS, or bind to 127.0.0.1.`,
      },
    );
  }
  const readsNeedToken = binding.require_token_for_reads || binding.behind_proxy || !loopback;
  const allowed = allowedHosts(binding);

  return {
    checkOrigin(given, origin) {
      const [host] = given;
      if (given.length > 1) {
        throw new InvalidInput(
          'host_repeated',
          `the request has ${given.length} Host headers: must have one`,
        );
      }
      const name = host === undefined ? null : hostnameOf(host);
      if (name === null || !allowed.has(name)) {
        throw new Forbidden(
          'host_not_allowed',
          `host ${JSON.stringify(host ?? '')} is not allowed: must be one of ${[...allowed].join(', ')}`,
          { hint: `Add the name to ${settings}.allowed_hosts.` },
        );
      }
      if (origin === undefined || isSameOrigin(origin, host!)) return;
      throw new Forbidden(
        'origin_not_allowed',
        `origin ${JSON.stringify(origin)} is not allowed: must be that of the host, ${host}`,
      );
    },
    authenticate(authorization, elsewhere) {
      if (authorization === undefined && elsewhere === undefined) return null;
      const text = textOf(authorization, elsewhere);
      const identity = text === undefined ? null : tokens.authenticate(text);
      if (identity !== null) return identity;
      throw new Unauthorized(
        'token_invalid',
        text === undefined
          ? 'the authorization header has no token: must be Bearer and one word'
          : 'the token is unknown to this installation, expired or revoked',
        {
          hint: './core token list shows names and scopes.',
        },
      );
    },
    lookUp(authorization, elsewhere) {
      if (tokens.lookUp === undefined) return null;
      const text = textOf(authorization, elsewhere);
      return text === undefined ? null : tokens.lookUp(text);
    },
    checkScope(identity, scope) {
      if (scope === null || (identity === null && scope === 'read' && !readsNeedToken)) return;
      if (identity === null) {
        throw new Unauthorized('token_required', `this needs a token of scope ${scope}`, {
          hint: 'Send authorization: Bearer TOKEN; ./core token create makes one.',
        });
      }
      if (identity.scopes.includes(scope)) return;
      throw new Forbidden(
        'scope_missing',
        `${identity.providerAccount === undefined ? 'token ' : ''}${identity.name} has the scopes ${identity.scopes.join(', ')}; this needs ${scope}`,
      );
    },
  };
}

function textOf(authorization: string | undefined, elsewhere: string | undefined): string | undefined {
  return authorization === undefined ? elsewhere : /^bearer +([^\s]+) *$/i.exec(authorization)?.[1];
}

export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase();
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'));
}

function allowedHosts({ host, allowed_hosts }: Binding): Set<string> {
  const wildcard = host === '0.0.0.0' || host === '::' || host === '[::]';
  const names = ['localhost', '127.0.0.1', '::1', ...(wildcard ? [] : [host]), ...allowed_hosts];
  return new Set(names.map((name) => name.toLowerCase().replace(/^\[|\]$/g, '')));
}

/** Name in a `Host` header, without port and brackets; null where it is malformed. */
function hostnameOf(header: string): string | null {
  const match = /^(?:\[(?<v6>[0-9a-f:.]+)\]|(?<name>[a-z0-9._-]+))(?::\d{1,5})?$/i.exec(header);
  return (match?.groups?.v6 ?? match?.groups?.name)?.toLowerCase() ?? null;
}

/** Browsers say where a page came from; only pages that this server itself served may ask. */
function isSameOrigin(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false;
  const url = new URL(origin);
  return /^https?:$/.test(url.protocol) && url.host === new URL(`${url.protocol}//${host}`).host;
}
