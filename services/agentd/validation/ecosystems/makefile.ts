import type { Files } from './project.ts';

const makefiles = ['GNUmakefile', 'makefile', 'Makefile'];

/** The target of a Makefile that tests, `test` before `check`; null where there is none. */
export async function detectMakefile(files: Files): Promise<{ found: string; run: string } | null> {
  const found = makefiles.find(files.has);
  if (found === undefined) return null;
  const targets = new Set<string>();
  for (const line of (await files.text(found)).split('\n')) {
    const names = /^([^\s:=#][^:=#]*):(?!=)/.exec(line)?.[1] ?? '';
    for (const name of names.trim().split(/\s+/)) targets.add(name);
  }
  const target = ['test', 'check'].find((name) => targets.has(name));
  return target === undefined ? null : { found, run: `make ${target}` };
}
