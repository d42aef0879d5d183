import {
  closeSync,
  copyFileSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { syncFolder } from '#kit/durable-file.ts';
import { codeOf } from '#kit/errors.ts';

/**
 * A file or folder to its place. Where a folder is there already, which may be a disk of its own as containers have them, its
 * content goes into that one. Not one step: what is cut off is taken away by `removeFromPlace`.
 */
export function moveIntoPlace(from: string, to: string): void {
  if (isFolder(from) && isFolder(to)) {
    for (const name of readdirSync(from)) moveIntoPlace(join(from, name), join(to, name));
    syncFolder(to);
    return;
  }
  try {
    renameSync(from, to);
  } catch (error) {
    if (codeOf(error) !== 'EXDEV') throw error;
    copyDurably(from, to);
  }
}

/** Of who holds a folder, and of a restore; they stay where all else is removed. */
const ofHolder = /^(holder\.json|holder\.lock(-journal)?|restore\.unfinished)$/;

/** Leaves an empty folder where it may not be removed, as where a disk is mounted, or somebody holds it. */
export function removeFromPlace(path: string): void {
  if (!isFolder(path)) {
    rmSync(path, { force: true });
    return;
  }
  for (const name of readdirSync(path))
    if (!ofHolder.test(name)) rmSync(join(path, name), { recursive: true, force: true });
  try {
    rmdirSync(path);
  } catch (error) {
    if (!['EBUSY', 'EPERM', 'EACCES', 'ENOTEMPTY'].includes(codeOf(error))) throw error;
    syncFolder(path);
  }
}

/** But for what says who holds it. */
export function isEmptyFolder(path: string): boolean {
  return isFolder(path) && readdirSync(path).every((name) => ofHolder.test(name));
}

function copyDurably(from: string, to: string): void {
  if (isFolder(from)) {
    mkdirSync(to, { mode: lstatSync(from).mode & 0o777 });
    for (const name of readdirSync(from)) copyDurably(join(from, name), join(to, name));
    syncFolder(to);
    return;
  }
  copyFileSync(from, to);
  const written = openSync(to, 'r+');
  try {
    fsyncSync(written);
  } finally {
    closeSync(written);
  }
}

export function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
