import { createHash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makePrivateFolder } from '#kit/durable-file.ts';
import { environment } from '#kit/environment.ts';
import { Refused } from '#kit/errors.ts';
import { makeWorkFolder, removeTree, sweepWorkFolders } from '../../../validation/work-folder.ts';

/** What a Unix socket's path may be long, in bytes; the kernel's limit of 108 has a NUL at its end. */
const maxSocketPath = 107;
const prefix = 'd-';
/** The name of the longest socket, and what mkdtemp adds to the prefix. */
const spareBytes = Buffer.byteLength(`/${prefix}XXXXXX/context.sock`);

/** A folder for the sockets of one run's doors, which this user alone can enter. */
export interface DoorFolder {
  socket(name: 'model' | 'context' | 'egress'): string;
  /** Removes it with its sockets. */
  remove(): Promise<void>;
}

/**
 * Makes one below the state folder, or where that path is too long for sockets, in the system's folder for such; and removes those
 * of processes that are gone.
 * @throws Refused (`door_folder_unsafe`) where another user could put sockets there
 */
export async function openDoorFolder(state: string): Promise<DoorFolder> {
  await sweepDoors(state);
  const parent = join(shortFolder(state), 'doors');
  const folder = await makeWorkFolder(parent, prefix);
  return { socket: (name) => join(folder, `${name}.sock`), remove: () => removeTree(folder) };
}

/** Removes those of processes that are gone. */
export async function sweepDoors(state: string): Promise<void> {
  await sweepWorkFolders(join(shortFolder(state), 'doors'), prefix);
}

function shortFolder(state: string): string {
  if (Buffer.byteLength(join(state, 'doors')) + spareBytes <= maxSocketPath) return state;
  const name = `core-${createHash('sha256').update(state).digest('hex').slice(0, 8)}`;
  const runtime = environment.XDG_RUNTIME_DIR;
  const folder = join(runtime && lstatSync(runtime, { throwIfNoEntry: false }) ? runtime : tmpdir(), name);
  makePrivateFolder(folder);
  const facts = lstatSync(folder);
  if (!facts.isDirectory() || facts.uid !== process.getuid?.() || (facts.mode & 0o077) !== 0) {
    throw new Refused('door_folder_unsafe', `${folder} is not a folder that this user alone can enter`, {
      hint: 'Remove it, or choose a state folder with a shorter path by CORE_HOME.',
    });
  }
  return folder;
}
