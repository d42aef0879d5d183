import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Changes, Position } from '../../graph/changes.ts';
import { ProjectionFile, ProjectionSnapshot } from './projection-file.ts';

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

  /** Opens the current version and removes what killed processes left. Position null: there is none. */
  async open(): Promise<Position | null> {
    const current = this.#current();
    for (const name of readdirSync(this.#folder)) {
      if (current !== null && (name === 'current' || name.startsWith(current))) continue;
      rmSync(join(this.#folder, name), { recursive: true, force: true });
    }
    if (current === null) return null;
    this.#snapshot = new ProjectionSnapshot(join(this.#folder, current));
    return this.#snapshot.position();
  }

  async begin(fresh: boolean, until: number): Promise<void> {
    const name = `${Date.now().toString(36)}-${process.hrtime.bigint().toString(36)}.grafeo`;
    const path = join(this.#folder, name);
    const current = this.#current();
    if (fresh || current === null) {
      this.#draft = { name, file: await ProjectionFile.create(path, until) };
    } else {
      copyFileSync(join(this.#folder, current), path);
      this.#draft = { name, file: ProjectionFile.open(path) };
    }
  }

  apply(changes: Changes): Promise<void> {
    return this.#draft!.file.apply(changes);
  }

  async commit(position: Position): Promise<void> {
    const { file, name } = this.#draft!;
    this.#draft = null;
    await file.close(position);
    const before = this.#snapshot;
    this.#snapshot = new ProjectionSnapshot(join(this.#folder, name));
    writeFileSync(join(this.#folder, 'current.next'), name);
    renameSync(join(this.#folder, 'current.next'), join(this.#folder, 'current'));
    if (before !== null && !this.#users.has(before)) this.#retire(before);
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

  #current(): string | null {
    try {
      return readFileSync(join(this.#folder, 'current'), 'utf8');
    } catch {
      return null;
    }
  }
}
