import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Verification } from '../agent.ts';
import type { ApprovalSignatures } from '../signatures/approval-signatures.ts';
import { fold } from './log/fold.ts';
import { isRunId, notFound, runIdPrefix } from './log/run-folder.ts';
import { mirroredEvents } from './mirror/run-folder-log.ts';
import { type Run, summaryOf } from './run.ts';
import { onlyRun, runByWord } from './run-name.ts';
import type { RunChoice, RunPage, RunQuery } from './run-store.ts';
import { verifyFolder } from './verify/verify.ts';

/** This host's folders of runs, read without the database. */
export class RunFolders {
  readonly #stateDir: string;

  constructor(stateDir: string) {
    this.#stateDir = stateDir;
  }

  /** @throws NotFound (`run_not_found`), InvalidInput (`run_ambiguous`) */
  async resolve(name: string, choice?: RunChoice): Promise<string> {
    const named = await runByWord(this, name, choice);
    if (named !== null) return named;
    const prefix = runIdPrefix(name);
    return onlyRun(prefix, this.runIds(prefix));
  }

  /** Lists all runs on one page, except runs whose first event cannot be read. */
  async list({ owner, repo, number, limit }: RunQuery): Promise<RunPage> {
    const runs = this.runIds().flatMap((runId) => {
      const run = this.#fold(runId);
      if (run === null) return [];
      const of = run.request;
      const fits =
        (owner ?? of.owner) === of.owner &&
        (repo ?? of.repo) === of.repo &&
        (number ?? of.number) === of.number;
      return fits ? [summaryOf(run)] : [];
    });
    return { runs: limit === 1 ? runs.slice(0, 1) : runs, next_cursor: null, problems: [] };
  }

  async read(runId: string): Promise<Run> {
    const run = this.#fold(runId);
    if (run === null) throw notFound(runId);
    return run;
  }

  /** @throws NotFound (`run_not_found`, `run_pruned`) */
  async verify(runId: string, signatures?: ApprovalSignatures): Promise<Verification> {
    return verifyFolder(runId, join(this.#stateDir, 'runs'), signatures);
  }

  #fold(runId: string): Run | null {
    const events = mirroredEvents({ stateDir: this.#stateDir, runId });
    return events.length === 0 ? null : fold(runId, events);
  }

  /** Ids of all runs, newest first, including pruned runs. @param prefix beginning of the ids */
  runIds(prefix = ''): string[] {
    const folder = join(this.#stateDir, 'runs');
    if (!existsSync(folder)) return [];
    const ids = readdirSync(folder).filter((name) => isRunId(name) && name.startsWith(prefix));
    return ids.toSorted().reverse();
  }
}
