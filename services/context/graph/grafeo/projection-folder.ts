import { copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Changes, Position } from '../changes.ts';
import { readCurrent, writeCurrent } from './current-version.ts';
import { type Counts, ProjectionFile, ProjectionSnapshot } from './projection-file.ts';

/**
 * The projection's versions, one file each; `current` names the one to read. A new version is written beside it, so that
 * queries go on meanwhile and a process that is killed leaves the old one.
 */
export class ProjectionFolder {
  readonly #folder: string;
  #snapshot: ProjectionSnapshot | null = null;
  #users = new Map<ProjectionSnapshot, number>();
  #draft: { readonly file: ProjectionFile; readonly name: string } | null = null;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /**
   * Opens the current version. Position null: there is none.
   * @param beside the process that keeps the folder; that one removes what killed processes left
   */
  async open(beside: boolean): Promise<Position | null> {
    const current = readCurrent(this.#folder);
    if (!beside) this.#removeAllBut(current?.name ?? null);
    if (current === null) return null;
    this.#snapshot = await this.#opened(current.name, current.counts);
    return current.position;
  }

  async begin(fresh: boolean, until: number): Promise<void> {
    const name = `${Date.now().toString(36)}-${process.hrtime.bigint().toString(36)}.grafeo`;
    const path = join(this.#folder, name);
    const current = readCurrent(this.#folder);
    try {
      if (fresh || current === null) {
        this.#draft = { name, file: await ProjectionFile.create(path, until) };
      } else {
        copyFileSync(join(this.#folder, current.name), path);
        this.#draft = { name, file: ProjectionFile.open(path) };
      }
    } catch (error) {
      this.#removeAllBut(current?.name ?? null);
      throw error;
    }
  }

  apply(changes: Changes): Promise<void> {
    return this.#draft!.file.apply(changes);
  }

  /** The version before stays the current one until the new one was read from the disk and found whole. */
  async commit(position: Position): Promise<void> {
    const { file, name } = this.#draft!;
    const counts = await file.close();
    const snapshot = await this.#opened(name, counts);
    writeCurrent(this.#folder, { name, position, counts });
    this.#draft = null;
    const before = this.#snapshot;
    this.#snapshot = snapshot;
    if (before !== null && !this.#users.has(before)) this.#retire(before);
  }

  /** Makes room again after a new version that could not be written. */
  async drop(): Promise<void> {
    try {
      this.#draft?.file.abandon();
    } catch {}
    this.#draft = null;
    this.#removeAllBut(readCurrent(this.#folder)?.name ?? null);
  }

  /** Lends the current version; one that was replaced meanwhile is closed when its last user is done. */
  async use<T>(work: (snapshot: ProjectionSnapshot) => Promise<T>): Promise<T> {
    const snapshot = this.#snapshot!;
    this.#users.set(snapshot, (this.#users.get(snapshot) ?? 0) + 1);
    try {
      return await work(snapshot);
    } finally {
      const left = this.#users.get(snapshot)! - 1;
      if (left > 0) this.#users.set(snapshot, left);
      else this.#users.delete(snapshot);
      if (left === 0 && snapshot !== this.#snapshot) this.#retire(snapshot);
    }
  }

  #retire(snapshot: ProjectionSnapshot): void {
    snapshot.db.close();
    rmSync(snapshot.path, { recursive: true, force: true });
  }

  async #opened(name: string, counts: Counts): Promise<ProjectionSnapshot> {
    const snapshot = new ProjectionSnapshot(join(this.#folder, name));
    const found = await snapshot.counts();
    if (found.nodes === counts.nodes && found.edges === counts.edges) return snapshot;
    snapshot.db.close();
    throw new Error(
      `${found.nodes} nodes and ${found.edges} relationships are on the disk of ${counts.nodes} and ${counts.edges}`,
    );
  }

  #removeAllBut(current: string | null): void {
    for (const name of readdirSync(this.#folder)) {
      const isOurs = name === 'current' || (current !== null && name.startsWith(current));
      const isLent = [...this.#users.keys()].some(({ path }) => path.endsWith(name));
      if (!(current !== null && isOurs) && !isLent)
        rmSync(join(this.#folder, name), { recursive: true, force: true });
    }
  }
}
