import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Display } from '#kit/cli/display.ts';
import { printText } from '#kit/cli/output.ts';
import { exitCodes } from '#kit/errors.ts';
import { shellWord } from '#kit/shell-word.ts';
import { givePrivately, ownerOf, readContainerUser, unreadableConfig, writeContainerUser } from './owner.ts';
import { makeSecretFiles } from './secret-files.ts';

export interface SecretsInitOptions {
  readonly dir?: string | undefined;
  /** `UID:GID`. */
  readonly owner?: string | undefined;
  /** Whose name the person's token gets, where none is there yet. */
  readonly person?: string | undefined;
  readonly json?: boolean;
  readonly display: Display;
  readonly stdout?: NodeJS.WritableStream;
}

const installation = fileURLToPath(new URL('../../../', import.meta.url));

/** `core secrets init`: each step leaves what it finds, so that an interrupted one is taken up by the next. */
export function secretsInit({
  dir,
  owner,
  person,
  json,
  display,
  stdout = process.stdout,
}: SecretsInitOptions): number {
  const project = resolve(dir ?? installation);
  const before = readContainerUser(project);
  const user = ownerOf(project, owner, before);
  const { folder, made, kept } = makeSecretFiles(project, person);
  givePrivately(folder, user);
  const file = writeContainerUser(project, user);
  const [unreadable] = unreadableConfig(project, user);
  if (json) {
    stdout.write(`${JSON.stringify({ folder, made, kept, owner: user, env_file: file })}\n`);
    return exitCodes.done;
  }
  printText(
    `${made.length === 0 ? 'nothing was missing' : `made ${made.join(', ')}`} in ${folder}\n` +
      `they belong to ${user.uid}:${user.gid}, and ${file} runs the containers as that user\n` +
      (before === null || before.uid === user.uid
        ? ''
        : `before they ran as ${before.uid}:${before.gid}, whom the state of a stack from then belongs to: back it up as that user, and restore it into new volumes\n`) +
      (unreadable === undefined
        ? ''
        : `${unreadable} cannot be read by that user: chmod -R a+rX ${shellWord(dirname(file))}/config\n`) +
      `add yours  ${folder}/forges/github-token for GitHub, ${folder}/models/NAME for a model, ${folder}/database/password for a database\n`,
    display,
    stdout,
  );
  return exitCodes.done;
}
