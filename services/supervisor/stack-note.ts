import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type StackNote, stackNoteName } from '#kit/contracts/stack-note.ts';
import { replaceNote } from '#kit/durable-file.ts';
import { messageOf } from '#kit/errors.ts';
import { thisProcess } from '#kit/storage/process-identity.ts';
import type { SupervisedService } from './supervised-service.ts';

/** What the supervisor says of its children, rewritten soon after each change, for `core-status`. */
export class StackNoteFile {
  readonly #path: string;
  readonly #services: readonly Pick<SupervisedService, 'name' | 'note'>[];
  readonly #fixed: Pick<StackNote, 'holder' | 'since' | 'left'>;
  readonly #warn: (text: string) => void;
  #planned: NodeJS.Immediate | null = null;

  constructor(options: {
    readonly folder: string;
    readonly services: readonly Pick<SupervisedService, 'name' | 'note'>[];
    readonly left: readonly { readonly name: string; readonly why: string }[];
    readonly warn: (text: string) => void;
  }) {
    const { folder, services, left, warn } = options;
    this.#path = join(folder, stackNoteName);
    this.#services = services;
    this.#warn = warn;
    this.#fixed = {
      holder: thisProcess(),
      since: new Date().toISOString(),
      left: Object.fromEntries(left.map(({ name, why }) => [name, why])),
    };
  }

  /** Changes of one turn are written together. */
  changed(): void {
    this.#planned ??= setImmediate(() => {
      this.#planned = null;
      this.#write();
    });
  }

  withdraw(): void {
    if (this.#planned !== null) clearImmediate(this.#planned);
    rmSync(this.#path, { force: true });
  }

  #write(): void {
    const services = Object.fromEntries(this.#services.map(({ name, note }) => [name, note]));
    const note: StackNote = { ...this.#fixed, services };
    try {
      replaceNote(this.#path, `${JSON.stringify(note)}\n`);
    } catch (error) {
      this.#warn(`${this.#path} cannot be written, so that core-status knows less: ${messageOf(error)}`);
    }
  }
}
