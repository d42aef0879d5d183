import { execFileSync } from 'node:child_process';

/** Everything that a compose project made and every image of a tag: what is gone already is no mistake. */
export function removeEverything(project: string, tag: string): void {
  removeProject(project);
  const images = ['image', 'ls', '--filter', `reference=*:${tag}`, '--format', '{{.Repository}}:{{.Tag}}'];
  remove(['image', 'rm'], images);
}

/** Containers, networks and volumes of a compose project. */
export function removeProject(project: string): void {
  removeContainers(project);
  const label = `label=com.docker.compose.project=${project}`;
  const networks = ['network', 'ls', '--quiet', '--filter', label];
  // Docker can keep an endpoint whose container is gone, and then refuses to remove the network.
  for (const network of lines(networks)) {
    const endpoints = '{{range .Containers}}{{println .Name}}{{end}}';
    for (const name of lines(['network', 'inspect', '--format', endpoints, network]))
      docker(['network', 'disconnect', '--force', network, name]);
  }
  remove(['network', 'rm'], networks);
  remove(['volume', 'rm'], ['volume', 'ls', '--quiet', '--filter', label]);
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
  const found = lines(listed);
  if (found.length > 0) docker([...by, ...found]);
}

function lines(listed: readonly string[]): string[] {
  return docker(listed).split('\n').filter(Boolean);
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
