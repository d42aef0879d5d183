import { valueAt } from '#kit/config/merge.ts';
import type { Scope } from '#kit/tokens/tokens.ts';
import type { OidcSettings } from './configuration.ts';

/** What a provider says about a person. */
export type Claims = Readonly<Record<string, unknown>>;

const maxGroups = 1_000;
const maxShownLength = 60;

/** The groups of a person; a claim with one text is one group, and anything else none. */
export function groupsOf(
  claims: Claims,
  { groups_claim: name }: Pick<OidcSettings, 'groups_claim'>,
): string[] {
  const value = name.startsWith('/') ? valueAt(claims, name) : claims[name];
  const texts = [value].flat().filter((group): group is string => typeof group === 'string' && group !== '');
  return [...new Set(texts)].slice(0, maxGroups);
}

/** Everything that the people of any of these groups may do. */
export function scopesOf(
  groups: readonly string[],
  { groups: allowed }: Pick<OidcSettings, 'groups'>,
): Scope[] {
  return [...new Set(groups.flatMap((group) => (Object.hasOwn(allowed, group) ? allowed[group]! : [])))];
}

/** What people call this person: a text that is safe in a record, a pull request and a terminal. */
export function shownNameOf(claims: Claims, { name_claims }: Pick<OidcSettings, 'name_claims'>): string {
  const found = name_claims
    // Whoever may write any address there would be shown with it.
    .filter((name) => name !== 'email' || claims.email_verified !== false)
    .map((name) => plain(claims[name]))
    .find((text) => text !== '');
  return found ?? (plain(claims.sub) || 'somebody');
}

/** Letters, digits and what addresses and names have between them; no @ before a word, which forges take for a mention. */
function plain(value: unknown): string {
  if (typeof value !== 'string') return '';
  const spaced = value
    .normalize('NFKC')
    .replaceAll(/[^\p{L}\p{M}\p{N}.@_+'-]+|(?<![\p{L}\p{N}._+-])@/gu, ' ')
    .replaceAll(/ {2,}/g, ' ');
  const text = spaced.trim().replace(/^[+.'-]+/, '');
  return Array.from(text).slice(0, maxShownLength).join('').trim();
}

/** Whether the claims lack something that may be among what the provider says at its `userinfo_endpoint`. */
export function isIncomplete(claims: Claims, settings: OidcSettings): boolean {
  return (
    groupsOf(claims, settings).length === 0 ||
    !settings.name_claims.some((name) => plain(claims[name]) !== '')
  );
}
