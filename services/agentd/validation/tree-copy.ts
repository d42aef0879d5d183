import { join } from 'node:path';
import { removeTree } from './remove-tree.ts';
import { makeWorkFolder } from './work-folder.ts';

export interface TreeSource {
  readonly mirror_dir: string;
  readonly tree: string;
}

/** Writes the files of a tree into a folder that does not exist yet, without anything of git's. */
export type ExportTree = (gitDir: string, treeOrCommit: string, into: string) => Promise<void>;

/** The files of a tree for commands to work on, in a work folder of this process. Begins to write them when it is made. */
export class TreeCopy {
  readonly source: TreeSource;
  readonly #folder: Promise<string>;
  readonly #written: Promise<void>;
  #removed: Promise<void> | null = null;

  constructor(source: TreeSource, parent: string, prefix: string, exportTree: ExportTree) {
    this.source = source;
    this.#folder = makeWorkFolder(parent, prefix);
    this.#written = this.#folder.then((folder) =>
      exportTree(source.mirror_dir, source.tree, join(folder, 'workspace')),
    );
    // Told to whoever asks for the files.
    this.#written.catch(() => undefined);
  }

  /** The folder of the files, once all of them are there. */
  async workspace(): Promise<string> {
    await this.#written;
    return join(await this.#folder, 'workspace');
  }

  /** Removes it, however far it has come. */
  remove(): Promise<void> {
    this.#removed ??= this.#written
      .catch(() => undefined)
      .then(() => this.#folder)
      .then(removeTree, () => undefined);
    return this.#removed;
  }
}
