import type { Association, Author, RepositoryRef } from '../../../planning/forge.ts';
import type { GiteaClient } from './gitea-client.ts';
import type { GiteaUser } from './gitea-replies.ts';

const keptFor_ms = 60_000;

/**
 * How authors stand to a repository. Gitea's answers do not say it as GitHub's do, so it is asked: owner, then
 * collaborator, then member of the owning organisation. Where the forge does not tell us, the author counts as an
 * outsider.
 */
export class Associations {
  readonly #client: GiteaClient;
  readonly #known = new Map<string, { association: Promise<Association>; until: number }>();

  constructor(client: GiteaClient) {
    this.#client = client;
  }

  async author(ref: RepositoryRef, user: GiteaUser, signal?: AbortSignal): Promise<Author> {
    // Gitea's own accounts (ghost, actions) have numbers below one and are nobody's.
    if (user === null || user.id < 1)
      return { login: user?.login ?? 'ghost', association: 'none', bot: user !== null };
    const association = await this.#association(ref, user.login, signal);
    return { login: user.login, association, bot: user.login.endsWith('[bot]') };
  }

  #association(ref: RepositoryRef, login: string, signal: AbortSignal | undefined): Promise<Association> {
    const key = `${ref.owner}/${ref.repo} ${login}`.toLowerCase();
    const known = this.#known.get(key);
    if (known !== undefined && known.until > Date.now()) return known.association;
    const association = this.#ask(ref, login, signal);
    this.#known.set(key, { association, until: Date.now() + keptFor_ms });
    association.catch(() => this.#known.delete(key));
    return association;
  }

  async #ask(ref: RepositoryRef, login: string, signal: AbortSignal | undefined): Promise<Association> {
    if (login.toLowerCase() === ref.owner.toLowerCase()) return 'owner';
    const what = `how ${login} stands to ${ref.owner}/${ref.repo}`;
    const collaborator = ['repos', ref.owner, ref.repo, 'collaborators', login];
    if (await this.#client.holds(collaborator, what, signal)) return 'collaborator';
    if (await this.#client.holds(['orgs', ref.owner, 'members', login], what, signal)) return 'member';
    return 'none';
  }
}
