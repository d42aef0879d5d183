import { Failed, Refused } from '#kit/errors.ts';
import { detectSpecials, isSpecial } from '../git/tree.ts';
import type { Vcs } from '../ports/vcs.ts';
import { gitVcs } from './git/git-vcs.ts';
import { jjVersion } from './jj/jj.ts';
import { jjVcs } from './jj/jj-vcs.ts';

export const vcsAdapters = { jj: () => jjVcs(), git: gitVcs } as const;
export type VcsSetting = 'auto' | keyof typeof vcsAdapters;

/**
 * The adapter for one run. `auto`: jj where it is installed, else git; git too for what jj does not keep faithfully: LFS, filters,
 * submodules, foreign names.
 * @param gitDir a repository that holds `baseCommit`
 * @throws Failed `jj_missing`, Refused `vcs_unfit` where jj is asked for by name and cannot do it
 */
export async function chooseVcs(setting: VcsSetting, gitDir: string, baseCommit: string): Promise<Vcs> {
  if (setting === 'git') return gitVcs();
  const [installed, specials] = await Promise.all([jjVersion(), detectSpecials(gitDir, baseCommit)]);
  if (setting === 'jj' && installed === null) {
    throw new Failed(
      'jj_missing',
      "vcs is set to 'jj', and jj is not on PATH; the choices are auto, jj and git",
      {
        hint: 'cargo install --locked --version 0.41.0 jj-cli, or set vcs to git in config/core.json',
      },
    );
  }
  if (installed === null) return gitVcs();
  if (!isSpecial(specials)) return jjVcs(installed);
  if (setting === 'auto') return gitVcs();
  const found = Object.entries(specials).flatMap(([name, present]) => (present ? [name] : []));
  throw new Refused(
    'vcs_unfit',
    `vcs is 'jj' in config/core.json, which does not keep ${found.join(', ')} faithfully; the choices are auto and git`,
  );
}

/** The tool that was approved, whatever is configured by now. @throws Failed `jj_missing` */
export async function approvedVcs(kind: Vcs['kind']): Promise<Vcs> {
  if (kind === 'git') return gitVcs();
  const installed = await jjVersion();
  if (installed !== null) return jjVcs(installed);
  throw new Failed('jj_missing', 'approved was that jj builds the commit, and jj is not on PATH', {
    hint: 'cargo install --locked --version 0.41.0 jj-cli, or plan the issue again',
  });
}
