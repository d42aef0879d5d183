import { InvalidInput } from './errors.ts';

/** A repository by its name, as people type it. */
export interface RepositoryName {
  readonly owner: string;
  readonly repo: string;
}

/** What `repositoryNamed` reads, for messages about what it does not. */
export const repositoryRule = 'owner/repo, for example koajs/koa';

/** `owner/repo`; null for any other text. */
export function repositoryNamed(text: string): RepositoryName | null {
  const [, owner, repo] = /^([^/\s]+)\/([^/\s]+)$/.exec(text) ?? [];
  return owner === undefined || repo === undefined ? null : { owner, repo };
}

/** What an issue is called, and a run of it: `demo/hello#12`; that of a task is called as its repository, whose number is null. */
export function subjectOf({
  owner,
  repo,
  number,
}: RepositoryName & { readonly number: number | null }): string {
  return number === null ? `${owner}/${repo}` : `${owner}/${repo}#${number}`;
}

/** Reads the value of an option as `owner/repo`. @throws InvalidInput (`invalid_option`) */
export function repositoryOption(option: string): (text: string) => RepositoryName {
  return (text) => {
    const found = repositoryNamed(text);
    if (found !== null) return found;
    throw new InvalidInput('invalid_option', `${option} '${text}' must be ${repositoryRule}`);
  };
}
