import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileDurably } from '#kit/durable-file.ts';
import type { Owner } from './owner.ts';

/** Says to compose, in `.env` beside compose.yaml, as whom containers run; other lines stay. Gives the file's path. */
export function writeContainerUser(project: string, { uid, gid }: Owner): string {
  const path = join(project, '.env');
  const before = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const kept = before.split('\n').filter((line) => !/^\s*(export\s+)?CORE_[UG]ID\s*=/.test(line));
  while (kept.at(-1) === '') kept.pop();
  const after = `${[...kept, `CORE_UID=${uid}`, `CORE_GID=${gid}`].join('\n')}\n`;
  if (after !== before) writeFileDurably(path, after, 0o644);
  return path;
}
