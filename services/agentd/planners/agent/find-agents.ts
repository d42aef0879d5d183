import { existsSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, sep } from 'node:path';
import { environment } from '#kit/environment.ts';
import { CoreError } from '#kit/errors.ts';
import { findProgram } from '#kit/find-program.ts';
import { runProgram } from '#kit/run-program.ts';
import { readSmallFile } from '#kit/small-file.ts';
import { type AgentPresetName, agentPresets } from '../../planning/agent-settings.ts';
import { presets } from './presets.ts';

/** A program of a preset as it is installed here. None of it is run to find it: a folder may hold anybody's packages. */
export interface InstalledAgent {
  readonly preset: AgentPresetName;
  /** Absolute. */
  readonly program: string;
  /** Of its package; null for a program that is not from npm. */
  readonly version: string | null;
  readonly where: 'PATH' | 'folder' | 'global';
}

/**
 * The binary in the package for this platform, the one for every processor first. What npm links to refuses to start where
 * install scripts were not run.
 */
const platformBinaries: Readonly<Partial<Record<AgentPresetName, readonly string[]>>> = {
  opencode: ['-baseline', ''].map(
    (kind) => `opencode-${process.platform}-${process.arch}${kind}/bin/opencode`,
  ),
};

/** The first program of each preset: on PATH, in the packages of the folder and of those above it, in npm's global ones. */
export async function findAgents(folder: string): Promise<readonly InstalledAgent[]> {
  const near = agentPresets.map((preset) => [preset, onPath(preset) ?? inFolder(preset, folder)] as const);
  if (near.every(([, found]) => found !== null)) return near.map(([, found]) => found!);
  const global = await globalFolder();
  return near.flatMap(([preset, found]) => {
    const one = found ?? (global === null ? null : installed(preset, join(global, 'bin'), 'global'));
    return one === null ? [] : [one];
  });
}

function onPath(preset: AgentPresetName): InstalledAgent | null {
  const found = findProgram(presets[preset].command[0]);
  return found === null ? null : installed(preset, dirname(found), 'PATH');
}

function inFolder(preset: AgentPresetName, folder: string): InstalledAgent | null {
  const found = installed(preset, join(folder, 'node_modules/.bin'), 'folder');
  const above = dirname(folder);
  return found ?? (above === folder ? null : inFolder(preset, above));
}

function installed(
  preset: AgentPresetName,
  bin: string,
  where: InstalledAgent['where'],
): InstalledAgent | null {
  const program = join(bin, presets[preset].command[0]);
  if (!existsSync(program)) return null;
  return { preset, program, version: programVersion(program), where };
}

/** The file that is to be started for a program, with no link in its path. */
export function startable(preset: AgentPresetName | null, program: string): string {
  const real = realpathSync(program);
  const packages = packagesAround(real);
  if (preset === null || packages === null) return real;
  const binaries = (platformBinaries[preset] ?? []).map((path) => join(packages, path));
  return binaries.find(existsSync) ?? real;
}

/** The folder `node_modules` that a program lies in; null where it lies in none. */
export function packagesAround(program: string): string | null {
  const packages = `${sep}node_modules${sep}`;
  const at = program.indexOf(packages);
  return at < 0 ? null : program.slice(0, at + packages.length - 1);
}

/** As the package around a program says; null where there is none. */
export function programVersion(program: string): string | null {
  const real = realpathSync(program);
  const packages = packagesAround(real);
  for (let at = dirname(real); packages !== null && at.startsWith(packages + sep); at = dirname(at)) {
    try {
      const { version } = JSON.parse(readSmallFile(join(at, 'package.json')));
      if (typeof version === 'string') return version.slice(0, 40);
    } catch {
      // Not here, or nothing that says one; the folder above may.
    }
  }
  return null;
}

/** Where `npm install -g` puts things; null without npm. */
async function globalFolder(): Promise<string | null> {
  const { PATH, HOME } = environment;
  try {
    const { stdout, exitCode } = await runProgram('npm', ['prefix', '-g'], {
      env: { ...(PATH !== undefined && { PATH }), ...(HOME !== undefined && { HOME }) },
      signal: AbortSignal.timeout(10_000),
    });
    const prefix = stdout.toString('utf8').trim();
    return exitCode === 0 && isAbsolute(prefix) ? prefix : null;
  } catch (error) {
    if (error instanceof CoreError) return null;
    throw error;
  }
}
