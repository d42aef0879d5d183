import { execa } from 'execa';
import * as t from 'io-ts';
import { readConcernPart } from '#kit/config/concern.ts';
import { controlGroups, howToDelegate } from '#kit/control-groups.ts';
import { hiddenCredentialsText } from '#kit/credential-files.ts';
import { environment } from '#kit/environment.ts';
import { TimedOut } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { allowedToolPath } from '#kit/tool-path.ts';
import { broken, type Finding, finding } from './installation.ts';

const minGit = [2, 38] as const;
const testedJj = '0.41.0';

export function checkNode(version = process.versions.node): Finding {
  if (Number(version.split('.')[0]) >= 24) return finding('Node', 'works', version);
  const fix = 'Run npm ci, which installs one, or install Node 24 or newer.';
  return finding('Node', 'broken', `${version}: must be 24 or newer`, fix);
}

export function checkGit(): Promise<Finding> {
  return orSlow('git', async () => {
    const version = /(\d+)\.(\d+)[.\d]*/.exec((await firstLine('git', ['--version'])) ?? '');
    const install = 'Install git 2.38 or newer, for example apt install git.';
    if (version === null) return finding('git', 'broken', 'not found', install);
    const [whole, major, minor] = version;
    const [oldMajor, oldMinor] = minGit;
    const newEnough = Number(major) > oldMajor || (Number(major) === oldMajor && Number(minor) >= oldMinor);
    if (newEnough) return finding('git', 'works', whole);
    return finding('git', 'broken', `${whole}: must be 2.38 or newer`, 'Install a newer git.');
  });
}

export function checkJj(): Promise<Finding> {
  return orSlow('jj', async () => {
    const version = /\d+\.\d+\.\d+/.exec((await firstLine('jj', ['--version'])) ?? '')?.[0];
    if (version === testedJj) return finding('jj', 'works', version);
    if (version === undefined) {
      const install = `cargo install --locked --bin jj jj-cli@${testedJj}, or a release from github.com/jj-vcs/jj`;
      return finding('jj', 'missing', 'not found; git is used instead, without an operation log', install);
    }
    const fix = `If runs fail in jj: install ${testedJj}, or set "vcs": "git" in core.json.`;
    return finding('jj', 'warning', `${version}; tested was ${testedJj}`, fix);
  });
}

const bubblewrapTrial = '--unshare-all --ro-bind / / --proc /proc --dev /dev --die-with-parent true'.split(
  ' ',
);
const unshareTrial = '--user --map-root-user --net --pid --fork --mount true'.split(' ');

/** Tries the tools for real: being installed says little, containers forbid namespaces. */
export async function checkSandbox(): Promise<Finding> {
  const bubblewrap = await problemOf('bwrap', bubblewrapTrial);
  if (bubblewrap === null) return finding('sandbox', 'works', 'bubblewrap');
  const unshare = await problemOf('unshare', unshareTrial);
  if (unshare === null)
    return finding(
      'sandbox',
      'warning',
      `unshare (weak) alone: it leaves keyrings, bpf, io_uring and sockets to the host open, and policy.json has to allow it (bubblewrap: ${bubblewrap})`,
      'Install bubblewrap, for example apt install bubblewrap; or set "allow_weak_sandbox": true in policy.json.',
    );
  return finding(
    'sandbox',
    'broken',
    `bubblewrap: ${bubblewrap}; unshare: ${unshare}`,
    'Install bubblewrap and allow user namespaces, or set "allow_unsandboxed": true in validation.json for repositories that you trust.',
  );
}

const ToolPaths = t.type({ tool_paths: t.array(t.string) });

/** The folders of tools that sandboxes show beside the system's. */
export async function checkToolPaths(folders: Folders): Promise<Finding> {
  try {
    const { tool_paths } = readConcernPart(ToolPaths, 'validation', folders);
    const hidden = [environment.HOME ?? folders.state, folders.state, folders.config];
    for (const path of tool_paths) allowedToolPath(path, hidden);
    const credentials = await hiddenCredentialsText(tool_paths.map((path) => allowedToolPath(path, hidden)));
    if (credentials !== null)
      return finding('tool paths', 'warning', credentials, 'Correct tool_paths in validation.json.');
    const none = 'none; sandboxes find the programs of the system, Node and npm';
    return finding('tool paths', 'works', tool_paths.join(', ') || none);
  } catch (error) {
    return broken('tool paths', error);
  }
}

/** The kernel itself can keep the memory limit of validations. */
export async function checkControlGroups(): Promise<Finding> {
  const groups = await controlGroups();
  if (groups.works) return finding('memory limit', 'works', 'kept by control groups');
  const detail = `watched, so that hostile validations can pass it for a while: ${groups.reason}`;
  return finding('memory limit', 'missing', detail, howToDelegate);
}

/** For the compose stack alone: the embedded one needs none. */
export function checkDocker(): Promise<Finding> {
  return orSlow('Docker', async () => {
    const server = await firstLine('docker', ['version', '--format', '{{.Server.Version}}']);
    if (server !== null) return (await checkNetworks(server)) ?? finding('Docker', 'works', server);
    const client = await firstLine('docker', ['--version']);
    const [problem, fix] =
      client === null
        ? ['not found', 'docs.docker.com/engine/install']
        : [
            'installed, but its daemon does not answer',
            'Start its daemon, for example systemctl start docker.',
          ];
    return finding('Docker', 'missing', `${problem}; ./core up needs none, the compose stack does`, fix);
  });
}

/** Number of networks that Docker has addresses for where nobody configured its pools, and of those that compose.yaml has. */
const networks = { docker: 31, stack: 4 };
/** Subnets of Docker's own pools. */
const isOfPools = /^(172\.(1[7-9]|2\d|3[01])|192\.168)\./;

/** A warning where the compose stack would get no addresses; null where it would, or has them. */
async function checkNetworks(server: string): Promise<Finding | null> {
  const pools = await firstLine('docker', ['info', '--format', '{{json .DefaultAddressPools}}']);
  if (pools !== 'null') return null;
  const ids = (await run('docker', ['network', 'ls', '--quiet'])).stdout.split('\n').filter(Boolean);
  const format = '{{index .Labels "com.docker.compose.project"}} {{range .IPAM.Config}}{{.Subnet}}{{end}}';
  const { stdout } = await run('docker', ['network', 'inspect', '--format', format, ...ids]);
  const used = stdout.split('\n').filter((line) => {
    const [project, subnet] = line.split(' ') as [string, string?];
    return project !== 'core' && isOfPools.test(subnet ?? '');
  }).length;
  if (used <= networks.docker - networks.stack) return null;
  const left = Math.max(0, networks.docker - used);
  return finding(
    'Docker',
    'warning',
    `${server}; it has addresses for ${left} more networks, and the compose stack takes ${networks.stack}`,
    'docker network prune removes networks that no container uses; site/docker.md says how to get more.',
  );
}

/** Generous, because a busy machine is slow to start a program; milliseconds. */
const programMs = 20_000;

function run(program: string, args: readonly string[]) {
  return execa(program, args, { reject: false, timeout: programMs, stdin: 'ignore' });
}

/** null where there is no such program, or it fails. @throws TimedOut where it does not end in time */
async function firstLine(program: string, args: readonly string[]): Promise<string | null> {
  const ended = await run(program, args);
  if (ended.timedOut)
    throw new TimedOut('program_timeout', `${program} ${args[0]} did not end within ${programMs / 1000} s`);
  return ended.failed ? null : ended.stdout.split('\n')[0]!;
}

/** A program that does not answer in time counts as installed. */
async function orSlow(name: string, check: () => Promise<Finding>): Promise<Finding> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof TimedOut)) throw error;
    return finding(name, 'warning', error.message, 'The machine may be busy: try again.');
  }
}

async function problemOf(program: string, args: readonly string[]): Promise<string | null> {
  const result = await run(program, args);
  if (!result.failed) return null;
  if (result.code === 'ENOENT') return 'not found';
  if (result.timedOut) return 'did not answer in time';
  return result.stderr.split('\n')[0] || result.shortMessage || 'fails';
}
