import * as t from 'io-ts';
import { HttpUrl } from '#kit/config/address.ts';
import { readConcern } from '#kit/config/concern.ts';
import { integerBetween, NonEmptyString, nullable, oneOf } from '#kit/decode.ts';
import { InvalidInput, messageOf } from '#kit/errors.ts';
import { type Folders, secretPath } from '#kit/folders.ts';
import { isLoopback } from '#kit/http/authentication.ts';
import { readSmallFile } from '#kit/small-file.ts';
import type { Scope } from '#kit/tokens/tokens.ts';

/** What the page has a use for; `model` and `mint` are for programs. */
export const personScopes = ['read', 'plan', 'approve', 'execute', 'admin'] as const satisfies Scope[];

/** config/oidc.json: signing in to the review page by an identity provider. */
export const OidcConfig = t.strict({
  /** The provider, exactly as its discovery document names it; null: nobody signs in by one. */
  issuer: nullable(HttpUrl),
  /** What people call it; stands on the button. */
  name: NonEmptyString,
  /** As which Core is registered there. */
  client_id: nullable(NonEmptyString),
  /** With the secret of the client; relative to the secrets folder. null: a public client. */
  client_secret_file: nullable(NonEmptyString),
  /** Where browsers reach the review page, for example https://core.example.org; `/sign-in/callback` below it is the redirect URI. */
  address: nullable(HttpUrl),
  /** What the provider is asked for; `openid` is one of it. */
  scopes: t.array(NonEmptyString),
  /** The claim with the groups of a person: a name, or a JSON pointer such as `/realm_access/roles`. */
  groups_claim: NonEmptyString,
  /** What the people of each group may do; who is in several may do all of it. */
  groups: t.record(t.string, t.array(oneOf(personScopes))),
  /** Claims that may name a person, the first that is there; for people to read, never to tell them apart. */
  name_claims: t.array(NonEmptyString),
  /** How long a session lasts. Then the provider is asked again who the person is and which groups they have. */
  session_minutes: integerBetween(5, 720),
  /** How far its clock and ours may differ. */
  clock_tolerance_seconds: integerBetween(0, 300),
});
export type OidcConfig = t.TypeOf<typeof OidcConfig>;

/** Where the review page listens, as far as it decides who reaches it. */
export interface PageBinding {
  readonly host: string;
  readonly allowed_hosts: readonly string[];
  readonly behind_proxy: boolean;
  readonly tls: object | null;
}

/** A provider that is configured, checked. */
export interface OidcSettings extends Omit<OidcConfig, 'issuer' | 'client_id' | 'address'> {
  readonly issuer: string;
  readonly client_id: string;
  /** An origin. */
  readonly address: string;
}

/** As oidc.json says now; null where no provider is configured. @throws InvalidInput (`config_invalid`) */
export function readOidc(folders: Pick<Folders, 'config'>, binding: PageBinding): OidcSettings | null {
  return checkOidc(readConcern(OidcConfig, 'oidc', folders), binding);
}

/** What the codec cannot say. @throws InvalidInput (`config_invalid`) */
export function checkOidc(config: OidcConfig, binding: PageBinding): OidcSettings | null {
  const { issuer, client_id, address, scopes, groups, name_claims } = config;
  if (issuer === null) return null;
  if (!isPlain(issuer) || !isSafe(issuer))
    throw invalid(
      '/issuer',
      `is ${issuer}: must be an https address without user, query and fragment (http only on this machine), for example https://id.example.org/realms/team`,
    );
  if (client_id === null) throw invalid('/client_id', 'is null: must name the client that Core is there');
  checkAddress(address, binding);
  if (!scopes.includes('openid'))
    throw invalid('/scopes', `is ${JSON.stringify(scopes)}: must have openid, and may have others`);
  if (Object.keys(groups).length === 0)
    throw invalid('/groups', 'is empty, so that nobody could sign in: must name a group and its scopes');
  for (const [group, allowed] of Object.entries(groups))
    if (!allowed.includes('read'))
      throw invalid(
        `/groups/${group.replaceAll('~', '~0').replaceAll('/', '~1')}`,
        `is ${JSON.stringify(allowed)}: must have read, without which the page shows nothing; others are ${personScopes.slice(1).join(', ')}`,
      );
  if (name_claims.length === 0)
    throw invalid('/name_claims', 'is empty: must name a claim, for example email');
  return { ...config, issuer, client_id, address: new URL(address!).origin };
}

function checkAddress(address: string | null, binding: PageBinding): void {
  if (address === null)
    throw invalid(
      '/address',
      'is null: must be where browsers reach the review page, for example https://core.example.org',
    );
  const { protocol, pathname, hostname } = new URL(address);
  if (!isPlain(address) || pathname !== '/' || !isSafe(address))
    throw invalid(
      '/address',
      `is ${address}: must be an https address without path, user, query and fragment (http only on this machine), for example https://core.example.org`,
    );
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const allowed = [...new Set(['localhost', '127.0.0.1', '::1', binding.host, ...binding.allowed_hosts])];
  if (!allowed.map((name) => name.replace(/^\[|\]$/g, '').toLowerCase()).includes(host))
    throw invalid(
      '/address',
      `is ${address}, whose host the daemon would refuse: must be one of ${allowed.join(', ')}; agentd.allowed_hosts of core.json adds names`,
    );
  if (protocol === 'https:' && binding.tls === null && !binding.behind_proxy)
    throw invalid(
      '/address',
      `is ${address}, and the daemon serves plain HTTP: agentd.tls of core.json must be set, or agentd.behind_proxy where a proxy ends TLS`,
    );
}

/** The secret of the client, read each time so that a new one needs no restart; null of a public client. @throws InvalidInput (`config_invalid`) */
export function readClientSecret(
  { client_secret_file: file }: Pick<OidcSettings, 'client_secret_file'>,
  folders: Pick<Folders, 'secrets'>,
): string | null {
  if (file === null) return null;
  const path = secretPath(folders, file);
  let text: string;
  try {
    text = readSmallFile(path).trim();
  } catch (cause) {
    throw invalid(
      '/client_secret_file',
      `is ${file}, and ${path} cannot be read: ${messageOf(cause)}; must be a file with the secret, or null for a public client`,
    );
  }
  if (/^[\x21-\x7e]{1,4096}$/.test(text)) return text;
  throw invalid(
    '/client_secret_file',
    `is ${file}: ${path} must hold one secret and nothing else; it is empty or has spaces or line breaks inside`,
  );
}

function isPlain(address: string): boolean {
  const { username, password, search, hash } = new URL(address);
  return [username, password, search, hash].every((part) => part === '');
}

function isSafe(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === 'https:' || isLoopback(hostname);
}

function invalid(pointer: string, detail: string): InvalidInput {
  return new InvalidInput('config_invalid', `config/oidc.json: ${pointer} ${detail}`, {
    errors: [{ pointer, detail }],
    hint: 'Correct config/oidc.json; ./core config show lists what is in force.',
  });
}
