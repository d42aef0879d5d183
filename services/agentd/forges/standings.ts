import type { Author, RepositoryRef } from '../ports/forge.ts';

const keptFor_ms = 60_000;

export type Standing = Pick<Author, 'association' | 'unknown'>;

/** How people stand to repositories, each asked once a minute. */
export class Standings {
  readonly #known = new Map<string, { standing: Promise<Standing>; until: number }>();

  of(ref: RepositoryRef, login: string, ask: () => Promise<Standing>): Promise<Standing> {
    const key = `${ref.owner}/${ref.repo} ${login}`.toLowerCase();
    const known = this.#known.get(key);
    if (known !== undefined && known.until > Date.now()) return known.standing;
    const standing = ask();
    this.#known.set(key, { standing, until: Date.now() + keptFor_ms });
    standing.catch(() => this.#known.delete(key));
    return standing;
  }
}

export const outsider: Standing = { association: 'none' };

/** Nobody is trusted for what could not be learned, and the plan says why. */
export function notKnown(why: string): Standing {
  return { association: 'none', unknown: why };
}

/** Forges call the permission to write `write`, and what includes it otherwise. */
export function mayWrite(permission: string): boolean {
  return ['owner', 'admin', 'maintain', 'write'].includes(permission);
}
