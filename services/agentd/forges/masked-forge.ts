import { InvalidInput } from '#kit/errors.ts';
import { mapTexts } from '#kit/map-texts.ts';
import { type FoundSecret, withoutHidingEscapes } from '#kit/redaction/find-secrets.ts';
import type { SecretFinder } from '#kit/redaction/secret-finder.ts';
import type { ChangeFilter, Forge, HiddenSecret, IssueFilter, RepositoryRef } from '../ports/forge.ts';
import type { ForgeWriter } from '../ports/forge-writer.ts';
import type { ConfiguredForge } from './configured-forge.ts';

/**
 * Members that requests and git use byte for byte. They are never masked; an answer with a secret in one of them is refused.
 */
const exact: ReadonlySet<string> = new Set([
  'owner',
  'repo',
  'repository_id',
  'default_branch',
  'clone_url',
  'push_url',
  'id',
  'head',
  'head_commit',
  'base',
]);

/** A forge whose answers hold no secrets: every text in them is masked, whatever the member is called. */
export class MaskedForge implements ConfiguredForge {
  readonly #forge: ConfiguredForge;
  readonly #secrets: SecretFinder;
  readonly name: string;
  readonly kind: Forge['kind'];
  readonly url: string;
  readonly deadline_ms: number;

  constructor(forge: ConfiguredForge, secrets: SecretFinder) {
    this.#forge = forge;
    this.#secrets = secrets;
    this.name = forge.name;
    this.kind = forge.kind;
    this.url = forge.url;
    this.deadline_ms = forge.deadline_ms;
  }

  locate(url: string, folder: string): ReturnType<ConfiguredForge['locate']> {
    return this.#forge.locate(url, folder);
  }

  missing(): string | null {
    return this.#forge.missing();
  }

  gitCredential(): ReturnType<Forge['gitCredential']> {
    return this.#forge.gitCredential();
  }

  async examine(answerMs: number): ReturnType<ConfiguredForge['examine']> {
    return this.#masked(await this.#forge.examine(answerMs), 'itself');
  }

  async self(signal?: AbortSignal): ReturnType<Forge['self']> {
    return this.#masked(await this.#forge.self(signal), 'our own account');
  }

  async right(ref: RepositoryRef, login: string, signal?: AbortSignal): ReturnType<Forge['right']> {
    return this.#masked(await this.#forge.right(ref, login, signal), 'an account');
  }

  async repository(ref: RepositoryRef, signal?: AbortSignal): ReturnType<Forge['repository']> {
    return this.#masked(await this.#forge.repository(ref, signal), 'a repository');
  }

  async issue(ref: RepositoryRef, number: number, signal?: AbortSignal): ReturnType<Forge['issue']> {
    return this.#masked(await this.#forge.issue(ref, number, signal), 'an issue');
  }

  async comments(
    ref: RepositoryRef,
    number: number,
    options?: { since?: string },
    signal?: AbortSignal,
  ): ReturnType<Forge['comments']> {
    return this.#each(await this.#forge.comments(ref, number, options, signal), 'a comment');
  }

  async listIssues(
    ref: RepositoryRef,
    filter: IssueFilter,
    signal?: AbortSignal,
  ): ReturnType<Forge['listIssues']> {
    return this.#each(await this.#forge.listIssues(ref, filter, signal), 'an issue');
  }

  async changedIssues(
    ref: RepositoryRef,
    filter: ChangeFilter,
    signal?: AbortSignal,
  ): ReturnType<Forge['changedIssues']> {
    return this.#each(await this.#forge.changedIssues(ref, filter, signal), 'an issue');
  }

  async protection(
    ref: RepositoryRef,
    branch: string,
    signal?: AbortSignal,
  ): ReturnType<Forge['protection']> {
    return this.#masked(await this.#forge.protection(ref, branch, signal), 'a branch');
  }

  async findPullRequests(
    ref: RepositoryRef,
    branch: string,
    signal?: AbortSignal,
  ): ReturnType<Forge['findPullRequests']> {
    return this.#each(await this.#forge.findPullRequests(ref, branch, signal), 'a pull request');
  }

  async pullRequest(
    ref: RepositoryRef,
    number: number,
    signal?: AbortSignal,
  ): ReturnType<Forge['pullRequest']> {
    return this.#masked(await this.#forge.pullRequest(ref, number, signal), 'a pull request');
  }

  async openPullRequest(
    ...request: Parameters<ForgeWriter['openPullRequest']>
  ): ReturnType<ForgeWriter['openPullRequest']> {
    return this.#masked(await this.#forge.openPullRequest(...request), 'a pull request');
  }

  closePullRequest(...request: Parameters<ForgeWriter['closePullRequest']>): Promise<void> {
    return this.#forge.closePullRequest(...request);
  }

  async comment(...request: Parameters<ForgeWriter['comment']>): ReturnType<ForgeWriter['comment']> {
    return this.#masked(await this.#forge.comment(...request), 'a comment');
  }

  deleteComment(...request: Parameters<ForgeWriter['deleteComment']>): Promise<void> {
    return this.#forge.deleteComment(...request);
  }

  #masked<T extends object>(answer: T, what: string): T {
    return maskedAnswer(this.#secrets, answer, `answer of forge '${this.name}' about ${what}`);
  }

  #each<T extends object>(answers: readonly T[], what: string): T[] {
    return answers.map((answer) => this.#masked(answer, what));
  }
}

/**
 * An answer with its texts masked, and in `masked` what they held.
 * @param what names the answer in messages
 * @throws InvalidInput (`forge_reply_holds_secret`)
 */
export function maskedAnswer<T extends object>(secrets: SecretFinder, answer: T, what: string): T {
  const { prose } = secrets;
  const found = new Map<string, HiddenSecret>();
  const entries = Object.entries(answer).map(([member, value]): [string, unknown] => {
    if (!exact.has(member)) return [member, mapTexts(value, (text) => masked(text))];
    const [secret] = typeof value === 'string' ? secrets.find(value) : [];
    if (secret === undefined) return [member, value];
    throw new InvalidInput(
      'forge_reply_holds_secret',
      `${what}: ${member} holds what looks like a secret (${secret.kind}, ${secret.fingerprint}); it cannot be used without storing it`,
      { hint: 'If it is not a secret, add its fingerprint to released_secrets in policy.json.' },
    );
  });
  const whole = Object.fromEntries(entries) as T;
  return found.size === 0 ? whole : { ...whole, masked: [...found.values()] };

  function masked(text: string): string {
    const shown = withoutHidingEscapes(text, (plain) => prose.find(plain));
    for (const secret of prose.find(shown)) found.set(secret.fingerprint, hidden(secret));
    return prose.mask(shown);
  }
}

function hidden({ kind, fingerprint }: FoundSecret): HiddenSecret {
  return { kind, fingerprint };
}
