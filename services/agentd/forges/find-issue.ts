import { InvalidInput } from '#kit/errors.ts';
import { withoutUrlSecrets } from '#kit/git/git-failure.ts';
import { findCheckout, remotesOf } from '../git/checkout.ts';
import type { RepositoryRef } from '../ports/forge.ts';
import type { Located } from './configured-forge.ts';
import { checkNumber, checkRepositoryRef } from './names.ts';
import type { Forges } from './registry.ts';

/** A repository, and the forge that has it where that is known. */
export interface FoundRepository extends RepositoryRef {
  readonly forge?: string;
}

export interface FoundIssue extends FoundRepository {
  readonly number: number;
}

/**
 * The issue that a person names: `12` of the repository of the checkout around `folder`, `owner/repo#12`, or the address of its page.
 * @throws InvalidInput (`invalid_issue`, `repository_unclear`)
 */
export async function findIssue(forges: Forges, text: string, folder: string): Promise<FoundIssue> {
  const name = text.trim();
  const digits = /^#?([0-9]{1,10})$/.exec(name)?.[1];
  if (digits !== undefined) {
    const number = Number(digits);
    checkNumber(number);
    return { ...(await findRepository(forges, folder, number)), number };
  }
  const [, owner, repo, number] = /^([^/\s]+)\/([^/\s#]+)#([0-9]{1,10})$/.exec(name) ?? [];
  if (owner !== undefined && repo !== undefined) {
    checkRepositoryRef({ owner, repo });
    checkNumber(Number(number));
    return { owner, repo, number: Number(number) };
  }
  if (/^https?:\/\//i.test(name)) return issueAt(forges, name, folder);
  throw new InvalidInput(
    'invalid_issue',
    `'${name}' is not an issue: it must be a number, owner/repo#number or the address of its page; for example 12, koajs/koa#12 or https://github.com/koajs/koa/issues/12`,
  );
}

function issueAt(forges: Forges, url: string, folder: string): FoundIssue {
  const found = located(forges, url, folder);
  const { owner, repo, number = null, forge } = found ?? {};
  if (owner === undefined || repo === undefined || number === null || forge === undefined) {
    throw new InvalidInput(
      'invalid_issue',
      `${withoutUrlSecrets(url)} is not the page of an issue on a configured forge; there are ${addresses(forges)}`,
      { hint: 'name the issue as OWNER/REPO#NUMBER, or add its forge to config/forges.json' },
    );
  }
  checkNumber(number);
  return { owner, repo, number, forge };
}

/**
 * The repository of the checkout around `folder`: that of its remote `core`, which `core forge init` adds, else of `origin`, else of the only
 * one.
 * @throws InvalidInput (`repository_unclear`) naming the remotes
 */
export async function findRepository(
  forges: Forges,
  folder: string,
  number?: number,
): Promise<FoundRepository & { readonly forge: string }> {
  const say =
    number === undefined
      ? 'Name the repository: --repository OWNER/REPO'
      : `Name the repository too: OWNER/REPO#${number}`;
  const checkout = await findCheckout(folder);
  if (typeof checkout === 'string') {
    const why = checkout.startsWith('fatal: not a git repository') ? '' : ` (${checkout})`;
    throw new InvalidInput(
      'repository_unclear',
      `the repository is unclear: ${folder} is in no checkout${why}`,
      {
        hint: `${say}\nor go to a checkout of it`,
      },
    );
  }
  const remotes = await remotesOf(checkout);
  const names = [...new Set(remotes.map(({ name }) => name))];
  const name = ['core', 'origin'].find((one) => names.includes(one)) ?? names[0];
  if (name === undefined) {
    throw new InvalidInput('repository_unclear', `${checkout.top} has no remote that names its repository`, {
      hint: `${say}\nor keep its issues and pull requests in a folder: ./core forge init --owner NAME --repo NAME --from .`,
    });
  }
  if (names.length > 1 && name !== 'core' && name !== 'origin') {
    throw new InvalidInput(
      'repository_unclear',
      `${checkout.top} has several remotes and none is called origin: ${shown(remotes)}`,
      { hint: say },
    );
  }
  const chosen = remotes.filter((remote) => remote.name === name);
  for (const { url } of chosen) {
    const found = located(forges, url, checkout.top);
    if (found === null) continue;
    checkRepositoryRef(found);
    return { owner: found.owner, repo: found.repo, forge: found.forge };
  }
  throw new InvalidInput(
    'repository_unclear',
    `the remote ${shown(chosen)} is on no configured forge; there are ${addresses(forges)}`,
    { hint: `${say}\nor add its forge to config/forges.json` },
  );
}

function located(forges: Forges, url: string, folder: string): (Located & { forge: string }) | null {
  for (const forge of forges.values()) {
    const found = forge.locate(url, folder);
    if (found !== null) return { ...found, forge: forge.name };
  }
  return null;
}

function addresses(forges: Forges): string {
  return [...forges.values()].map(({ name, url }) => `${name} (${url})`).join(', ');
}

function shown(remotes: readonly { readonly name: string; readonly url: string }[]): string {
  return remotes.map(({ name, url }) => `${name} (${withoutUrlSecrets(url)})`).join(', ');
}
