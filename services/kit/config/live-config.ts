import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { HealthCheck } from '../contracts/health.ts';
import { messageOf } from '../errors.ts';
import type { Folders } from '../folders.ts';
import type { Logger } from '../log.ts';

interface LiveConfigOptions<T> {
  /** Concerns that it is made of, for example `models`. */
  readonly names: readonly string[];
  readonly folders: Pick<Folders, 'config'>;
  /** Reads and checks all of it. @param before what was in force until now; null at first */
  readonly read: (before: T | null) => T;
}

/** What a look at changed files came to. */
export interface ConfigChange {
  /** For people, for example `models.json`. */
  readonly files: string;
  /** Why what the files say now is not in force; null where it is. */
  readonly problem: string | null;
}

/**
 * Configuration of a service that runs: the user's files are read again when one of them was written since, and what cannot be used
 * leaves what was in force before.
 */
export class LiveConfig<T> {
  readonly #options: LiveConfigOptions<T>;
  readonly #listeners: ((change: ConfigChange) => void)[] = [];
  #versions: readonly string[];
  #value: T;
  #problem: string | null = null;

  /** @throws what `read` throws */
  constructor(options: LiveConfigOptions<T>) {
    this.#options = options;
    this.#versions = this.#look();
    this.#value = options.read(null);
  }

  get current(): T {
    const { names, read } = this.#options;
    const versions = this.#look();
    const changed = names.filter((_, index) => versions[index] !== this.#versions[index]);
    if (changed.length === 0) return this.#value;
    this.#versions = versions;
    try {
      this.#value = read(this.#value);
      this.#problem = null;
    } catch (error) {
      this.#problem = messageOf(error);
    }
    const files = changed.map((name) => `${name}.json`).join(', ');
    for (const listener of this.#listeners) listener({ files, problem: this.#problem });
    return this.#value;
  }

  /** Reports each change of the files from now on, in the log of a service. */
  report(logger: Pick<Logger, 'info' | 'warn'>): void {
    this.#listeners.push(({ files, problem }) => {
      if (problem === null) logger.info(`${files} changed and is in force`);
      else logger.warn(`${files} changed and cannot be used, what was in force before stays: ${problem}`);
    });
  }

  health(): HealthCheck {
    void this.current;
    const files = this.#options.names.map((name) => `${name}.json`).join(', ');
    if (this.#problem === null) return { status: 'ok', detail: `as in ${files}` };
    return { status: 'degraded', detail: `what was in force before stays: ${this.#problem}` };
  }

  #look(): string[] {
    const { names, folders } = this.#options;
    return names.map((name) => versionOf(join(folders.config, `${name}.json`)));
  }
}

function versionOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stats === undefined ? '' : `${stats.ino} ${stats.size} ${stats.mtimeNs}`;
}
