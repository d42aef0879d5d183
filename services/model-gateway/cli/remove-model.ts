import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandContext } from '#kit/cli/program.ts';
import { exitCodes } from '#kit/errors.ts';
import { isOwnSecret } from './key-file.ts';
import { modelFolders } from './model-folders.ts';
import { changeModels, secretsOnlyIn, withoutModel } from './models-file.ts';
import { printJson } from './table.ts';
import { whenItCounts } from './when-it-counts.ts';

/** Takes a model out, then the copies of keys that `model add` made for it alone; other secrets are told and stay. */
export function remove({ home, json }: CommandContext, name: string, keepSecret: boolean): number {
  const folders = modelFolders(home);
  let unused: readonly string[] = [];
  const path = changeModels(folders, (config) => {
    const changed = withoutModel(config, name);
    unused = secretsOnlyIn(config, changed);
    return changed;
  });
  const removed = keepSecret ? [] : unused.filter(isOwnSecret);
  for (const secret of removed) rmSync(join(folders.secrets, secret), { force: true });
  const kept = unused.filter((secret) => !removed.includes(secret));
  if (json) {
    printJson({ name, path, secrets: { removed, kept } });
    return exitCodes.done;
  }
  const paths = (names: readonly string[]) => names.map((one) => join(folders.secrets, one)).join(', ');
  process.stdout.write(`${name} is no longer in ${path}\n`);
  if (removed.length > 0) process.stdout.write(`removed with it: ${paths(removed)}\n`);
  if (kept.length > 0) process.stdout.write(`kept, and used by no model: ${paths(kept)}\n`);
  process.stdout.write(`${whenItCounts(folders)}\n`);
  return exitCodes.done;
}
