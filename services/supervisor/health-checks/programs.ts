import { execa } from 'execa';
import { controlGroups, howToDelegate } from '#kit/control-groups.ts';
import { TimedOut } from '#kit/errors.ts';
import type { Finding } from './finding.ts';

const oldestGit = [2, 38] as const;
const testedJj = '0.41.0';

export function checkNode(version = process.versions.node): Finding {
  const major = Number(version.split('.')[0]);
  if (major >= 24) return { name: 'Node', state: 'works', detail: version, fix: null };
  return {
    name: 'Node',
    state: 'broken',
    detail: `${version}: must be 24 or newer`,
    fix: 'npm ci brings a Node 24 of its own; or install Node 24.',
  };
}

export function checkGit(): Promise<Finding> {
  return orSlow('git', askGit);
}

async function askGit(): Promise<Finding> {
  const text = await firstLine('git', ['--version']);
  const version = /(\d+)\.(\d+)[.\d]*/.exec(text ?? '');
  if (version === null) {
    return {
      name: 'git',
      state: 'broken',
      detail: 'not found',
      fix: 'Install git 2.38 or newer, for example apt install git.',
    };
  }
  const [whole, major, minor] = version;
  const newEnough =
    Number(major) > oldestGit[0] || (Number(major) === oldestGit[0] && Number(minor) >= oldestGit[1]);
  if (newEnough) return { name: 'git', state: 'works', detail: whole, fix: null };
  return {
    name: 'git',
    state: 'broken',
    detail: `${whole}: must be 2.38 or newer`,
    fix: 'Install a newer git.',
  };
}

export function checkJj(): Promise<Finding> {
  return orSlow('jj', askJj);
}

async function askJj(): Promise<Finding> {
  const text = await firstLine('jj', ['--version']);
  const version = /\d+\.\d+\.\d+/.exec(text ?? '')?.[0];
  if (version === undefined) {
    return {
      name: 'jj',
      state: 'missing',
      detail: 'not found; git does its work, without an operation log',
      fix: `cargo install --locked --bin jj jj-cli@${testedJj}, or a release from github.com/jj-vcs/jj`,
    };
  }
  if (version === testedJj) return { name: 'jj', state: 'works', detail: version, fix: null };
  return {
    name: 'jj',
    state: 'warning',
    detail: `${version}; tested was ${testedJj}`,
    fix: `If runs fail in jj: install ${testedJj}, or set "vcs": "git" in core.json.`,
  };
}

/** Tries the tools for real: being installed says little, containers forbid namespaces. */
export async function checkSandbox(): Promise<Finding> {
  const isolated = [
    '--unshare-all',
    '--ro-bind',
    '/',
    '/',
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    '--die-with-parent',
  ];
  const bubblewrap = await problemOf('bwrap', [...isolated, 'true']);
  if (bubblewrap === null) return { name: 'sandbox', state: 'works', detail: 'bubblewrap', fix: null };
  const unshare = await problemOf('unshare', [
    '--user',
    '--map-root-user',
    '--net',
    '--pid',
    '--fork',
    '--mount',
    'true',
  ]);
  if (unshare === null) {
    return {
      name: 'sandbox',
      state: 'warning',
      detail: `unshare (weak) alone: it leaves keyrings, bpf, io_uring and sockets to the host open, and policy.json has to allow it (bubblewrap: ${bubblewrap})`,
      fix: 'Install bubblewrap, for example apt install bubblewrap; or set "allow_weak_sandbox": true in policy.json.',
    };
  }
  return {
    name: 'sandbox',
    state: 'broken',
    detail: `bubblewrap: ${bubblewrap}; unshare: ${unshare}`,
    fix: 'Install bubblewrap and allow user namespaces, or set "allow_unsandboxed": true in validation.json for repositories that you trust.',
  };
}

/** Whether the kernel itself keeps the memory limit of validations. */
export async function checkControlGroups(): Promise<Finding> {
  const name = 'memory limit';
  const groups = await controlGroups();
  if (groups.works) return { name, state: 'works', detail: 'kept by control groups', fix: null };
  return {
    name,
    state: 'missing',
    detail: `watched, so that hostile validations can pass it for a while: ${groups.reason}`,
    fix: howToDelegate,
  };
}

/** For the compose stack alone: the embedded one needs none. */
export function checkDocker(): Promise<Finding> {
  return orSlow('Docker', askDocker);
}

async function askDocker(): Promise<Finding> {
  const name = 'Docker';
  const server = await firstLine('docker', ['version', '--format', '{{.Server.Version}}']);
  if (server !== null) return { name, state: 'works', detail: server, fix: null };
  const client = await firstLine('docker', ['--version']);
  const detail = client === null ? 'not found' : 'installed, but its daemon does not answer';
  return {
    name,
    state: 'missing',
    detail: `${detail}; ./core up needs none, the compose stack does`,
    fix:
      client === null
        ? 'docs.docker.com/engine/install'
        : 'Start its daemon, for example systemctl start docker.',
  };
}

/** Generous, because a busy machine is slow to start a program; milliseconds. */
const programMs = 20_000;

/** null where there is no such program, or it fails. @throws Error where it does not end in time */
async function firstLine(program: string, args: readonly string[]): Promise<string | null> {
  const ended = await execa(program, args, { reject: false, timeout: programMs, stdin: 'ignore' });
  if (ended.timedOut)
    throw new TimedOut('program_timeout', `${program} ${args[0]} did not end within ${programMs / 1000} s`);
  return ended.failed ? null : ended.stdout.split('\n')[0]!;
}

/** A program that does not answer in time is there, as far as anybody knows. */
async function orSlow(name: string, check: () => Promise<Finding>): Promise<Finding> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof TimedOut)) throw error;
    return { name, state: 'warning', detail: error.message, fix: 'The machine may be busy: try again.' };
  }
}

async function problemOf(program: string, args: readonly string[]): Promise<string | null> {
  const result = await execa(program, args, { reject: false, timeout: programMs, stdin: 'ignore' });
  if (!result.failed) return null;
  if (result.code === 'ENOENT') return 'not found';
  if (result.timedOut) return 'did not answer in time';
  return result.stderr.split('\n')[0] || result.shortMessage || 'fails';
}
