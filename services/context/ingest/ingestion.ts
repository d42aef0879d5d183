import { basename } from 'node:path';
import { RepositoryName } from '#kit/contracts/context/members.ts';
import type {
  FailedRepository,
  KnownRepository,
  RefreshedRepository,
} from '#kit/contracts/context/refresh.ts';
import { matches } from '#kit/decode.ts';
import { codeOf, InvalidInput, messageOf, NotFound } from '#kit/errors.ts';
import type { ContextConfig } from '../configuration.ts';
import type { RecordReader, RecordWriter } from '../record/calls.ts';
import { ingestInThread } from './ingest-in-thread.ts';
import type { IngestCommands, IngestQueries, Progress } from './record-access.ts';
import { commitOf, gitDirOf, nameByOrigin } from './repository/git-repository.ts';

export interface IngestionParts {
  readonly writer: RecordWriter<IngestCommands>;
  readonly readers: RecordReader<IngestQueries>;
  readonly config: Pick<ContextConfig, 'repositories' | 'ingestion'>;
  /** Where repositories are configured, for what is said about it. */
  readonly configFile: string;
  /** Fingerprints that are not masked; none without it. */
  readonly released?: () => readonly string[];
  /** What reads a repository; see ingest-in-thread.ts. */
  readonly thread?: URL;
}

export interface RefreshOptions {
  readonly signal?: AbortSignal;
  readonly progress?: (progress: Progress & { readonly repository: string }) => void;
}

/** A repository at a path, kept under a name; of `HEAD`, unless a commit is given. */
export interface RepositoryAt {
  readonly name: string;
  readonly path: string;
  readonly commit?: string | undefined;
}

export interface RefreshWish {
  /** Names, absolute paths, or both; default all that are configured or known. */
  readonly repositories?: readonly (string | RepositoryAt)[] | undefined;
  /** Read every file again, not only what changed. */
  readonly full?: boolean | undefined;
}

/**
 * Reads git repositories into the record: their files, symbols, sections and services, and how they are connected. One
 * repository is read at a time; who asks for one that is being read waits for that.
 */
export class Ingestion {
  readonly #parts: IngestionParts;
  readonly #underWay = new Map<string, Promise<RefreshedRepository>>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: IngestionParts) {
    this.#parts = parts;
  }

  /**
   * Brings the named repositories up to date, or all that are configured or known. One that fails does not keep the others from
   * being read.
   * @throws NotFound (`repository_unknown`) or InvalidInput for a name or path that leads nowhere, before anything is read
   */
  async refresh(
    { repositories, full = false }: RefreshWish,
    options: RefreshOptions = {},
  ): Promise<(RefreshedRepository | FailedRepository)[]> {
    const known = await this.#places();
    const named =
      repositories === undefined
        ? [...known].map(([name, path]): RepositoryAt => ({ name, path }))
        : await Promise.all(repositories.map((wanted) => nameOf(wanted, known, this.#parts.configFile)));
    const distinct = new Map(named.map((one) => [one.name, one]));
    return Promise.all([...distinct.values()].map((one) => this.#outcome(one, full, options)));
  }

  /** Every repository that the record holds something of. */
  async known(): Promise<KnownRepository[]> {
    const rows = await this.#parts.readers.ask('ingestedRepositories', null);
    return rows.map(({ repository, path, basis, commit_id, at, totals }) => {
      const { files } = totals === null ? { files: 0 } : (JSON.parse(totals) as { files: number });
      return { repository, path, commit: commit_id, files, at, complete: basis !== null };
    });
  }

  /** Configured paths win over those that were known before. */
  async #places(): Promise<ReadonlyMap<string, string>> {
    const known = (await this.known()).map(({ repository, path }): [string, string] => [repository, path]);
    return new Map([...known, ...Object.entries(this.#parts.config.repositories)]);
  }

  async #outcome(
    one: RepositoryAt,
    full: boolean,
    options: RefreshOptions,
  ): Promise<RefreshedRepository | FailedRepository> {
    try {
      return await this.#join(one, full, options);
    } catch (error) {
      if (options.signal?.aborted) throw error;
      return { repository: one.name, error: { code: codeOf(error), detail: messageOf(error) } };
    }
  }

  #join(one: RepositoryAt, full: boolean, options: RefreshOptions): Promise<RefreshedRepository> {
    const same = this.#underWay.get(one.name);
    if (same !== undefined) return same;
    const turn = this.#last.then(() => this.#ingest(one, full, options));
    const done = turn.finally(() => this.#underWay.delete(one.name));
    this.#underWay.set(one.name, done);
    this.#last = done.catch(() => {});
    return done;
  }

  async #ingest(
    { name, path, commit: wanted }: RepositoryAt,
    full: boolean,
    { signal, progress }: RefreshOptions,
  ): Promise<RefreshedRepository> {
    const { writer, readers, config, thread, released = () => [] } = this.#parts;
    const gitDir = await gitDirOf(path);
    const commit = await commitOf(gitDir, wanted);
    const { max_file_bytes: maxFileBytes, history_commits: historyCommits } = config.ingestion;
    const limits = { maxFileBytes, historyCommits };
    const target = { repository: name, path, gitDir, commit, full, ...limits, released: released() };
    const report = (step: Progress) => progress?.({ repository: name, ...step });
    return ingestInThread(target, { writer, readers }, { signal, progress: report, thread });
  }
}

async function nameOf(
  wanted: string | RepositoryAt,
  known: ReadonlyMap<string, string>,
  configFile: string,
): Promise<RepositoryAt> {
  if (typeof wanted !== 'string') return wanted;
  if (wanted.startsWith('/')) return nameOfPath(wanted, known);
  const path = known.get(wanted);
  if (path !== undefined) return { name: wanted, path };
  const ends = [...known].filter(([name]) => name.endsWith(`/${wanted}`));
  if (ends.length === 1) return { name: ends[0]![0], path: ends[0]![1] };
  const choices = ends.length > 1 ? ends.map(([name]) => name) : [...known.keys()];
  const says =
    ends.length > 1 ? `'${wanted}' is the end of several names` : `no repository is called '${wanted}'`;
  throw new NotFound('repository_unknown', `${says}; ${listed(choices)}`, {
    hint: `give the absolute path of a git repository, or add it to "repositories" in ${configFile}`,
  });
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return 'none is configured or known yet';
  const more = names.length > 20 ? ` and ${names.length - 20} more` : '';
  return `the choices are ${names.slice(0, 20).join(', ')}${more}`;
}

/** A path that is known keeps its name; another is called as its `origin` is, else as its folder. */
async function nameOfPath(path: string, known: ReadonlyMap<string, string>): Promise<RepositoryAt> {
  const found = [...known].find(([, place]) => place === path);
  if (found !== undefined) return { name: found[0], path };
  const gitDir = await gitDirOf(path);
  const name = (await nameByOrigin(gitDir)) ?? basename(path.replace(/\/+$/, '')).replace(/\.git$/, '');
  if (!matches(RepositoryName, name)) {
    throw new InvalidInput('invalid_repository_name', `'${path}' gives no name to keep it under: '${name}'`, {
      hint: 'give it one: {"name": "owner/repo", "path": "…"}',
    });
  }
  const taken = known.get(name);
  if (taken === undefined || taken === path) return { name, path };
  throw new InvalidInput('repository_name_taken', `'${path}' is called ${name}, and so is '${taken}'`, {
    hint: 'give it another name: {"name": "owner/repo", "path": "…"}',
  });
}
