import type { KnownForge } from '#kit/config/known-forges.ts';
import { smokeForge } from '#kit/config/smoke-forge.ts';
import type { ForgeIssue } from '#kit/contracts/bridge/dashboard-event.ts';
import type { EventTarget } from '#kit/contracts/bridge/events.ts';
import { OwnerName, RepoName } from '#kit/contracts/bridge/text.ts';
import { cutText } from '#kit/redaction/cut-text.ts';

export type FoundTarget =
  | { readonly target: EventTarget }
  | { readonly target: null; readonly code: string; readonly message: string };

/** What an event says of its issue's place; left out is the same as null. */
export interface NamedPlaces {
  readonly forge?:
    | string
    | (Omit<ForgeIssue, 'name'> & { readonly name?: string | null | undefined })
    | null
    | undefined;
  readonly html_url?: string | null | undefined;
  readonly url?: string | null | undefined;
}

/**
 * The canonical issue of a dashboard's event: as `forge` names it, else by the first address that lies on a configured forge.
 * What contradicts itself has none.
 */
export function targetOf({ forge, html_url, url }: NamedPlaces, forges: readonly KnownForge[]): FoundTarget {
  const named = forge ?? null;
  const addresses = [typeof named === 'string' ? named : null, html_url, url].filter(
    (address): address is string => typeof address === 'string' && address !== '',
  );
  const found = addresses.map((address) => targetAt(address, forges));
  const byAddress = found.find(({ target }) => target !== null) ?? null;
  if (named === null || typeof named === 'string')
    return byAddress ?? found[0] ?? none('target_missing', 'the event names no issue of a forge');
  const { owner, repo, number, name = null } = named;
  if (name !== null && name !== smokeForge.name && !forges.some((known) => known.name === name)) {
    const known = forges.map((one) => one.name).join(', ');
    return none(
      'target_forge_unknown',
      `forge "${name}" is not in config/forges.json: must be one of ${known}`,
    );
  }
  const elsewhere = byAddress?.target ?? null;
  if (elsewhere !== null && !isSame(elsewhere, { forge: name, owner, repo, number })) {
    return none(
      'target_ambiguous',
      `the event names ${labelOf({ forge: name, owner, repo, number })} and, by its address, ${labelOf(elsewhere)}`,
    );
  }
  const only = forges.length === 1 ? forges[0]!.name : null;
  return { target: { forge: name ?? elsewhere?.forge ?? only, owner, repo, number } };
}

/** An issue by the address of its page: `<base>/<owner>/<repo>/issues/<number>`. */
export function targetAt(address: string, forges: readonly KnownForge[]): FoundTarget {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol))
    return none('target_not_an_address', `${shown(address)} is no http or https address`);
  const forge = forges.find(({ base }) => base !== null && liesOn(url, base));
  if (forge === undefined) {
    const hosts = forges.flatMap(({ base }) => (base === null ? [] : [base.host]));
    return none(
      'target_host_unknown',
      hosts.length === 0
        ? `${url.host} is the address of no configured forge: config/forges.json names none with an address`
        : `${url.host} is the address of no forge of config/forges.json: must be one of ${hosts.join(', ')}`,
    );
  }
  const rest = url.pathname.slice(basePath(forge.base!).length);
  const [, owner, repo, number] = /^\/([^/]+)\/([^/]+)\/issues\/([1-9]\d{0,9})\/?$/.exec(rest) ?? [];
  if (owner === undefined || !OwnerName.is(owner) || !RepoName.is(repo) || Number(number) > 2_147_483_647)
    return none('target_not_an_issue', `${shown(address)} is not the page of an issue`);
  return { target: { forge: forge.name, owner, repo, number: Number(number) } };
}

/** A task has no name but its repository's. */
export function labelOf({ forge, owner, repo, number }: EventTarget): string {
  return `${forge === null ? '' : `${forge}/`}${owner}/${repo}${number === null ? '' : `#${number}`}`;
}

function isSame(one: EventTarget, other: EventTarget): boolean {
  const key = ({ owner, repo, number }: EventTarget) => `${owner}/${repo}#${number}`.toLowerCase();
  return key(one) === key(other) && (other.forge === null || one.forge === other.forge);
}

/** http and https of one host are one forge: addresses are read, never opened. */
function liesOn(url: URL, base: URL): boolean {
  return url.host.toLowerCase() === base.host.toLowerCase() && url.pathname.startsWith(`${basePath(base)}/`);
}

function basePath({ pathname }: URL): string {
  return pathname.replace(/\/+$/, '');
}

function none(code: string, message: string): FoundTarget {
  return { target: null, code, message };
}

function shown(text: string): string {
  return JSON.stringify(cutText(text, 120));
}
