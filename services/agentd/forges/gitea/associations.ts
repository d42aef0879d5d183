import { NotFound, Unauthorized } from '#kit/errors.ts';
import type { Author, RepositoryRef } from '../../ports/forge.ts';
import { mayWrite, notKnown, outsider, type Standing, Standings } from '../standings.ts';
import type { GiteaClient } from './gitea-client.ts';
import type { GiteaUser } from './gitea-replies.ts';

/**
 * How authors stand to a repository. Gitea's answers do not say it as GitHub's do, so it is asked: the permission, which only
 * administrators of the repository learn, else membership in the owning organisation. An author of whom the forge does not
 * say whether they may write counts as an outsider, with the reason.
 */
export class Associations {
  readonly #client: GiteaClient;
  readonly #permission: (data: unknown, what: string) => string;
  readonly #standings = new Standings();

  /** @param permission of an answer about a collaborator's permission */
  constructor(client: GiteaClient, permission: (data: unknown, what: string) => string) {
    this.#client = client;
    this.#permission = permission;
  }

  async author(ref: RepositoryRef, user: GiteaUser, signal?: AbortSignal): Promise<Author> {
    // Gitea's own accounts (ghost, actions) have numbers below one and are nobody's.
    if (user === null || user.id < 1)
      return { login: user?.login ?? 'ghost', association: 'none', bot: user !== null };
    const { login } = user;
    const standing = await this.#standings.of(ref, login, () => this.#ask(ref, login, signal));
    return { id: String(user.id), login, ...standing, bot: login.endsWith('[bot]') };
  }

  async #ask(ref: RepositoryRef, login: string, signal: AbortSignal | undefined): Promise<Standing> {
    const { owner, repo } = ref;
    if (login.toLowerCase() === owner.toLowerCase()) return { association: 'owner' };
    const what = `how ${login} stands to ${owner}/${repo}`;
    const collaborator = ['repos', owner, repo, 'collaborators', login];
    const invited = await this.#client.tried(collaborator, { what, signal });
    if (invited instanceof Unauthorized) return notLearned(what, invited);
    const isInvited = !(invited instanceof NotFound);
    const permission = await this.#client.tried([...collaborator, 'permission'], { what, signal });
    if (!(permission instanceof Error)) {
      if (!mayWrite(this.#permission(permission.data, what))) return outsider;
      return { association: isInvited ? 'collaborator' : 'member' };
    }
    const member = await this.#client.tried(['orgs', owner, 'members', login], { what, signal });
    if (!(member instanceof Error)) return { association: 'member' };
    if (isInvited) {
      return notKnown(
        `${what} could not be learned: they were invited, but only administrators of the repository may ask whether with write permission`,
      );
    }
    if (member instanceof Unauthorized) return notLearned(what, member);
    // Who is no member is sent on to the list of those members that show themselves.
    if (!String(member.facts.url).includes('/public_members/')) return outsider;
    return notKnown(
      `${what} could not be learned: our account is no member of ${owner}, which shows only its public members to it`,
    );
  }
}

function notLearned(what: string, { message }: Unauthorized): Standing {
  return notKnown(`${what} could not be learned: ${message}`);
}
