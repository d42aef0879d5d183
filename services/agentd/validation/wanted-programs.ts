import { posix } from 'node:path';
import semver from 'semver';
import { parse } from 'smol-toml';
import { shellWord } from '#kit/shell-word.ts';
import type { ValidationPlan } from '../action.ts';
import type { Files } from './ecosystems/project.ts';

export const programNames = ['node', 'python3', 'go', 'rustc'] as const;
export type ProgramName = (typeof programNames)[number];

/** What a repository asks for. */
export interface WantedProgram {
  readonly program: ProgramName;
  /** As the file says it, for example `>=20` or `lts/iron`. */
  readonly version: string;
  readonly from: string;
}

const toolNames: Readonly<Record<string, ProgramName>> = {
  nodejs: 'node',
  node: 'node',
  python: 'python3',
  golang: 'go',
  go: 'go',
  rust: 'rustc',
};

/** For each program the first file at the root that names a version, the most exact kind of file first. */
export async function wantedPrograms(files: Files): Promise<WantedProgram[]> {
  const wanted: WantedProgram[] = [];
  const add = (program: ProgramName, version: unknown, from: string) => {
    if (typeof version !== 'string' || version.trim() === '') return;
    if (!wanted.some((one) => one.program === program))
      wanted.push({ program, version: version.trim(), from });
  };
  const line = async (path: string) =>
    (await files.text(path)).split('\n').find((one) => one.trim() !== '' && !one.startsWith('#'));
  for (const path of ['.nvmrc', '.node-version']) add('node', await line(path), path);
  add('python3', await line('.python-version'), '.python-version');
  add('rustc', toml(await files.text('rust-toolchain.toml'), 'toolchain', 'channel'), 'rust-toolchain.toml');
  const toolchain = await files.text('rust-toolchain');
  add('rustc', toml(toolchain, 'toolchain', 'channel') ?? (await line('rust-toolchain')), 'rust-toolchain');
  for (const row of (await files.text('.tool-versions')).split('\n')) {
    const [tool = '', version] = row.replace(/#.*/, '').trim().split(/\s+/);
    if (Object.hasOwn(toolNames, tool)) add(toolNames[tool]!, version, '.tool-versions');
  }
  add('node', json(await files.text('package.json'), 'engines', 'node'), 'package.json');
  const pyproject = await files.text('pyproject.toml');
  add('python3', toml(pyproject, 'project', 'requires-python'), 'pyproject.toml');
  add('python3', toml(pyproject, 'tool', 'poetry', 'dependencies', 'python'), 'pyproject.toml');
  for (const path of ['go.work', 'go.mod']) {
    const go = /^go[ \t]+([\w.]+)/m.exec(await files.text(path))?.[1];
    add('go', go === undefined ? undefined : `>=${go}`, path);
  }
  const rust = toml(await files.text('Cargo.toml'), 'package', 'rust-version');
  add('rustc', typeof rust === 'string' ? `>=${rust}` : undefined, 'Cargo.toml');
  return wanted;
}

/** True if a version is what a repository asks for; null if that cannot be told, as for `lts/iron`. */
export function fits(
  found: string,
  { program, version }: Pick<WantedProgram, 'program' | 'version'>,
): boolean | null {
  const own = semver.coerce(found)?.version;
  if (own === undefined) return null;
  if (program === 'rustc' && /^(stable|beta|nightly)\b/.test(version)) {
    const channel = /-(beta|nightly)/.exec(found)?.[1] ?? 'stable';
    return version === channel ? true : version.startsWith(`${channel}-`) ? null : false;
  }
  const range = program === 'python3' ? pythonRange(version) : version.replace(/^v/, '');
  if (range === null || semver.validRange(range) === null) return null;
  return semver.satisfies(own, range);
}

/** A range of npm's kind for version specifiers of Python; null for what it cannot say. */
function pythonRange(version: string): string | null {
  const parts = version.split(',').map((part) => part.trim());
  const ranges = parts.map((part) => {
    const [, operator = '', number = '', any = ''] =
      /^(~=|==|!=|>=|<=|<|>|\^|~)?\s*v?(\d+(?:\.\d+)*)(\.\*)?$/.exec(part) ?? [];
    if (number === '') return null;
    if (operator === '!=')
      return any === '' && number.split('.').length === 3 ? `<${number} || >${number}` : null;
    if (operator === '~=') {
      const [major, minor, patch] = number.split('.');
      return patch === undefined
        ? `>=${number} <${Number(major) + 1}`
        : `>=${number} <${major}.${Number(minor) + 1}`;
    }
    if (operator === '==' || operator === '') return `${number}`;
    return `${operator}${number}`;
  });
  if (ranges.includes(null) || ranges.filter((range) => range!.includes('||')).length > 1) return null;
  // An alternative holds with everything beside it.
  const [alternative] = ranges.filter((range) => range!.includes('||'));
  const rest = ranges.filter((range) => range !== alternative).join(' ');
  return alternative === undefined
    ? rest
    : alternative!
        .split('||')
        .map((one) => `${one} ${rest}`)
        .join('||');
}

function toml(text: string, ...path: readonly string[]): unknown {
  try {
    return member(parse(text), path);
  } catch {
    return undefined;
  }
}

function json(text: string, ...path: readonly string[]): unknown {
  try {
    return member(JSON.parse(text), path);
  } catch {
    return undefined;
  }
}

function member(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, name) => (at as Record<string, unknown> | null | undefined)?.[name],
    value,
  );
}

/** A program of a folder in the PATH of a sandbox. */
export interface FoundProgram {
  readonly path: string;
  /** First line of what it says about its version. */
  readonly version: string;
}

/** A line for `sh` that prints path and version of each of these programs, in the order of PATH. */
export const listPrograms = `IFS=:
for folder in $PATH; do
  for name in node python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 python3.15 go rustc; do
    [ -x "$folder/$name" ] || continue
    case $name in go) version=$("$folder/$name" version 2>/dev/null) ;; *) version=$("$folder/$name" --version 2>/dev/null) ;; esac
    printf '%s\\t%s\\n' "$folder/$name" "$(printf '%s' "$version" | head -n 1)"
  done
done`;

export function foundPrograms(output: string): FoundProgram[] {
  return output.split('\n').flatMap((row) => {
    const [path, version] = row.split('\t');
    return path?.startsWith('/') && version ? [{ path, version }] : [];
  });
}

export type ChosenProgram = NonNullable<ValidationPlan['programs']>[number];

/** Programs that detected commands can call by another path. */
const selectable: readonly ProgramName[] = ['node', 'python3'];

/** For each wanted program the first that fits, where the commands can be changed to call it, else the one that they find. */
export function choosePrograms(
  { source }: Pick<ValidationPlan, 'source'>,
  wanted: readonly WantedProgram[],
  found: readonly FoundProgram[],
): ChosenProgram[] {
  return wanted.map((one) => {
    const all = found.filter(({ path }) => nameOf(path) === one.program);
    const first = all.find(({ path }) => posix.basename(path) === one.program);
    const free = source === 'detected' && selectable.includes(one.program);
    const candidates = [...(first ? [first] : []), ...(free ? all : [])];
    const fitting = candidates.find(({ version }) => fits(version, one) === true);
    const chosen = fitting ?? candidates[0] ?? null;
    const { program, version, from } = one;
    return {
      name: program,
      path: chosen?.path ?? null,
      version: chosen?.version ?? null,
      wanted: version,
      from,
      fits: chosen === null ? false : fits(chosen.version, one),
    };
  });
}

function nameOf(path: string): string {
  return posix.basename(path).replace(/^python3\.\d+$/, 'python3');
}

const javascript = /^(\(cd .* && )?([A-Z_]+=\S+ )*(npm|pnpm|yarn|bun) /;

/**
 * The plan with the programs that it runs by. Detected commands call the chosen one where they would find another; commands of a
 * configuration stay as they are.
 */
export function withPrograms(
  plan: ValidationPlan,
  chosen: readonly ChosenProgram[],
  found: readonly FoundProgram[],
): ValidationPlan {
  const first = (name: string) => found.find(({ path }) => posix.basename(path) === name)?.path ?? null;
  const other = (name: string) =>
    chosen.find((one) => one.name === name && one.path !== null && one.path !== first(name))?.path;
  const [node, python] = [other('node'), other('python3')];
  const call = (line: string) => {
    let called = line;
    if (node !== undefined && javascript.test(line))
      called = line.replace(/^(\(cd .* && )?/, `$1PATH=${shellWord(posix.dirname(node!))}:"$PATH" `);
    if (python !== undefined) called = called.replace(/(^|&& | )python3 -m /, `$1${shellWord(python!)} -m `);
    return called;
  };
  const programs = chosen.length === 0 ? undefined : [...chosen];
  if (plan.source !== 'detected') return { ...plan, programs };
  const called = (commands: ValidationPlan['commands']) =>
    commands.map(({ name, run }) => ({ name, run: call(run) }));
  return { ...plan, programs, prepare: called(plan.prepare), commands: called(plan.commands) };
}

/** What people are told of programs that are not what the repository asks for. */
export function programNotices(programs: ValidationPlan['programs']): string[] {
  return (programs ?? []).flatMap(({ name, path, version, wanted, from, fits: fit }) => {
    const asks = `${from} asks for ${name} ${wanted}`;
    if (path === null)
      return [
        `${asks}, and the sandbox has none: install it, or add its folder to tool_paths of validation.json`,
      ];
    if (fit === true) return [];
    if (fit === null) return [`${asks}; whether ${version} (${path}) is that cannot be told`];
    return [
      `${asks}, and the validation uses ${version} (${path}): install it, or add its folder to tool_paths of validation.json`,
    ];
  });
}
