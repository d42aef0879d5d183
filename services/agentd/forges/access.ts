import type { Access, Author, RepositoryRef, Right } from '../ports/forge.ts';
import type { PermissionReply } from './remote-replies.ts';

/** Answers about the account of our own token. */

export const mayPublish: Access = { push: true, pull_request: true, reason: '' };

export function mayNotPush(reason: string): Access {
  return { push: false, pull_request: false, reason };
}

export function accessUnknown(reason: string): Access {
  return { push: null, pull_request: null, reason };
}

export const archived = mayNotPush('the repository is archived, and takes no pushes');

export function withoutToken(forge: string, path: string | null): Access {
  const remedy =
    path === null ? 'name a token_file for it in config/forges.json' : `write an access token into ${path}`;
  return mayNotPush(`forge '${forge}' has no token; ${remedy}`);
}

export function accountMayNot(path: string | null): Access {
  return mayNotPush(`the account of the token in ${path} may not write there`);
}

export type Standing = Pick<Author, 'association' | 'unknown'>;

export const outsider: Standing = { association: 'none' };

/** An outsider, with the reason for the plan: nobody is trusted on a guess. */
export function standingUnknown(reason: string): Standing {
  return { association: 'none', unknown: reason };
}

export const rightToWrite: Right = { right: 'write', reason: '' };

export const noRight: Right = { right: 'none', reason: '' };

export function rightUnknown(reason: string): Right {
  return { right: null, reason };
}

/**
 * Right that a forge's answer about a collaborator states. GitHub's `permission` is `read` for the role triage and for custom roles
 * that include it: `role_name` and the permissions of the account tell them apart.
 */
export function rightIn({ permission, role_name, user }: PermissionReply): Right {
  if (['owner', 'admin', 'maintain', 'write'].includes(permission)) return rightToWrite;
  const triages = role_name === 'triage' || user?.permissions?.triage === true;
  return triages ? { right: 'triage', reason: '' } : noRight;
}

const standingMs = 60_000;

/** Standings of people to repositories, each asked once a minute. */
export class Standings {
  readonly #known = new Map<string, { standing: Promise<Standing>; until: number }>();

  of(ref: RepositoryRef, login: string, ask: () => Promise<Standing>): Promise<Standing> {
    const key = `${ref.owner}/${ref.repo} ${login}`.toLowerCase();
    const known = this.#known.get(key);
    if (known !== undefined && known.until > Date.now()) return known.standing;
    const standing = ask();
    this.#known.set(key, { standing, until: Date.now() + standingMs });
    standing.catch(() => this.#known.delete(key));
    return standing;
  }
}
