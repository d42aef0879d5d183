import { execFileSync } from 'node:child_process';

/** Everything that a compose project made and every image of a tag: what is gone already is no mistake. */
export function removeEverything(project: string, tag: string): void {
  removeContainers(project);
  const label = `label=com.docker.compose.project=${project}`;
  for (const kind of ['volume', 'network']) remove([kind, 'rm'], [kind, 'ls', '--quiet', '--filter', label]);
  const images = ['image', 'ls', '--filter', `reference=*:${tag}`, '--format', '{{.Repository}}:{{.Tag}}'];
  remove(['image', 'rm'], images);
}

/** @param labels further ones that a container has to have */
export function removeContainers(project: string, ...labels: readonly string[]): void {
  const filters = [`com.docker.compose.project=${project}`, ...labels].flatMap((label) => [
    '--filter',
    `label=${label}`,
  ]);
  remove(['rm', '--force', '--volumes'], ['ps', '--all', '--quiet', ...filters]);
}

function remove(by: readonly string[], listed: readonly string[]): void {
  const found = docker(listed).split('\n').filter(Boolean);
  if (found.length > 0) docker([...by, ...found]);
}

/** Synchronous, because it also runs while the process ends. What it cannot do is said and does not stop what follows. */
function docker(args: readonly string[]): string {
  try {
    return execFileSync('docker', args, {
      encoding: 'utf8',
      timeout: 120_000,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  } catch {
    return '';
  }
}
