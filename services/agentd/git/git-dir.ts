import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A bare repository that is as empty as git takes one, for work of a moment: no process starts, and no setting holds but ours. */
export function writeGitDir(gitDir: string, idLength: number): void {
  for (const part of ['refs', 'objects/info', 'info'])
    mkdirSync(join(gitDir, part), { recursive: true, mode: 0o700 });
  writeFileSync(join(gitDir, 'HEAD'), 'ref: refs/heads/unborn\n');
  const sha256 = idLength === 64;
  writeFileSync(
    join(gitDir, 'config'),
    `[core]\n\trepositoryformatversion = ${sha256 ? 1 : 0}\n\tbare = true\n${sha256 ? '[extensions]\n\tobjectformat = sha256\n' : ''}`,
  );
}
