import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { childEnvironment, environment } from '#kit/environment.ts';
import { makeTemporaryFolder } from '#kit/temporary-folder.ts';

/**
 * Opens a text in the person's editor, at a line from 1, and resolves when that has ended. It is a copy: what is changed there
 * changes nothing.
 * @throws where no editor starts
 */
export async function openInEditor(text: string, line: number): Promise<void> {
  const { execa } = await import('execa');
  const folder = makeTemporaryFolder('core-shown-');
  const file = join(folder, 'shown.diff');
  try {
    writeFileSync(file, text, { mode: 0o400 });
    // As git does: the variable is a command of the person, options included.
    const command = `${environment.EDITOR ?? 'vi'} "$@"`;
    await execa('sh', ['-c', command, 'sh', `+${line}`, file], {
      stdio: 'inherit',
      env: childEnvironment({}),
      extendEnv: false,
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
