import { randomBytes } from 'node:crypto';
import * as t from 'io-ts';
import { nullable, oneOf, optional, Sha256, stringThat, Timestamp } from '../decode.ts';

/** `model` asks models through the gateway; `mint` makes keys of runs for it, and ends them. */
export const scopes = ['read', 'plan', 'approve', 'execute', 'admin', 'model', 'mint'] as const;
export const Scope = oneOf(scopes);
export type Scope = t.TypeOf<typeof Scope>;

export const TokenName = stringThat(
  'TokenName',
  'lower-case letters, digits and hyphens, at most 40, starting with a letter or digit; for example ci-bot',
  (text) => /^[a-z0-9][a-z0-9-]{0,39}$/.test(text),
);

/** An earlier token of a name, and how it ended. `rotated`: the next one continues it, so that its approvals still count. */
export const FormerToken = t.strict({
  sha256: Sha256,
  created: Timestamp,
  ended: oneOf(['rotated', 'revoked', 'expired']),
  /** When it ended. */
  at: Timestamp,
});
export type FormerToken = t.TypeOf<typeof FormerToken>;

/** A registered token: everything but its text, of which only the hash is kept. */
export const TokenRecord = t.strict({
  name: TokenName,
  /** `person` made for the one who owns the folder, `service` for a part of Core, `named` by a command. */
  kind: oneOf(['person', 'service', 'named']),
  scopes: t.array(Scope),
  sha256: Sha256,
  created: Timestamp,
  expires: nullable(Timestamp),
  revoked: nullable(Timestamp),
  /** Tokens that had the name before, oldest first; left out if there were none. */
  former: optional(t.array(FormerToken)),
});
export type TokenRecord = t.TypeOf<typeof TokenRecord> & {
  /** Where it was made, where several hosts share a registry. */
  readonly host?: string;
};

export const RegistryFile = t.strict({ tokens: t.array(TokenRecord) });

/** `core_<name>_<random>`, 192 random bits in hex. */
export function newTokenText(name: string): string {
  return `core_${name}_${randomBytes(24).toString('hex')}`;
}

export function isTokenText(text: string, name: string): boolean {
  return text.startsWith(`core_${name}_`) && /^[0-9a-f]{48}$/.test(text.slice(`core_${name}_`.length));
}

export function inForce(record: TokenRecord, now: number): boolean {
  return record.revoked === null && (record.expires === null || Date.parse(record.expires) > now);
}

/** A token name made of any other name, for example of a user of the operating system. */
export function tokenNameFor(name: string): string {
  const slug = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, 40)
    .replace(/-$/, '');
  return slug === '' ? 'person' : slug;
}

/** `GET /v1/token` of every service: whose token was shown, and what it may do. */
export const ShownToken = t.strict({ name: t.string, scopes: t.array(Scope) });
