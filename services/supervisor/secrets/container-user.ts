import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileDurably } from '#kit/durable-file.ts';
import { giveFile } from './give-privately.ts';
import type { Owner } from './owner.ts';

/** As whom containers run by `.env`; null where it does not say, or says what nobody can be. */
export function readContainerUser(project: string): Owner | null {
  const path = join(project, '.env');
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const idOf = (name: string) =>
    new RegExp(`^\\s*(?:export\\s+)?${name}\\s*=\\s*["']?(\\d{1,9})["']?\\s*$`, 'm').exec(text)?.[1];
  const [uid, gid] = [Number(idOf('CORE_UID') ?? 0), Number(idOf('CORE_GID') ?? 0)];
  return uid > 0 && gid > 0 ? { uid, gid } : null;
}

/**
 * Says to compose, in `.env` beside compose.yaml, as whom containers run; other lines stay, and who may read it. Gives the file's
 * path.
 */
export function writeContainerUser(project: string, owner: Owner): string {
  const named = join(project, '.env');
  const isThere = existsSync(named);
  const path = isThere ? realpathSync(named) : named;
  const before = isThere ? readFileSync(path, 'utf8') : '';
  const kept = before.split('\n').filter((line) => !/^\s*(export\s+)?CORE_[UG]ID\s*=/.test(line));
  while (kept.at(-1) === '') kept.pop();
  const after = `${[...kept, `CORE_UID=${owner.uid}`, `CORE_GID=${owner.gid}`].join('\n')}\n`;
  if (after === before) return named;
  const stats = isThere ? statSync(path) : null;
  writeFileDurably(path, after, stats === null ? 0o600 : stats.mode & 0o777);
  giveFile(path, stats ?? owner);
  return named;
}

/** Files of the containers' configuration that their user may not read, as of a clone that was made with a narrow umask. */
export function unreadableConfig(project: string, { uid, gid }: Owner): string[] {
  const folder = join(project, 'config/compose');
  if (!existsSync(folder)) return [];
  const paths = [folder, ...readdirSync(folder).map((name) => join(folder, name))];
  return paths.filter((path) => {
    const stats = statSync(path);
    const needed = stats.isDirectory() ? 0o5 : 0o4;
    const shift = stats.uid === uid ? 6 : stats.gid === gid ? 3 : 0;
    return ((stats.mode >> shift) & needed) !== needed;
  });
}
