import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environment } from '#kit/environment.ts';
import { neo4jJars, neo4jVersion } from './support/neo4j-jars.ts';

interface Need {
  readonly command: readonly [string, ...string[]];
  /** What a person types to get it. */
  readonly provide: string;
}

const things = {
  jj: {
    command: ['jj', '--version'],
    provide: 'cargo install --locked --version 0.41.0 jj-cli',
  },
  bubblewrap: {
    command: ['bwrap', '--ro-bind', '/', '/', '--unshare-all', 'true'],
    provide: 'apt-get install bubblewrap',
  },
  unshare: {
    command: ['unshare', '--user', '--map-root-user', '--net', '--mount', '--pid', '--fork', 'true'],
    provide: 'apt-get install util-linux (and allow user namespaces)',
  },
  script: {
    command: ['script', '--version'],
    provide: 'apt-get install bsdutils',
  },
  neo4j: {
    command: [
      'sh',
      '-c',
      'test -n "$NEO4J_URI" || { java -version && ls "$0"; }',
      join(neo4jJars(environment), `neo4j-${neo4jVersion}.jar`),
    ],
    provide: '.ci/run fetches it (or set NEO4J_URI, NEO4J_USER and NEO4J_PASSWORD)',
  },
  docker: {
    command: ['sh', '-c', 'docker info && docker compose version && docker buildx version'],
    provide: 'install Docker with compose and buildx, and start it',
  },
  testcontainers: {
    command: [
      'test',
      '-f',
      fileURLToPath(new URL('containers/node_modules/testcontainers/package.json', import.meta.url)),
    ],
    provide: 'npm ci --ignore-scripts --prefix test/containers',
  },
  tmux: {
    command: ['tmux', '-V'],
    provide: 'apt-get install tmux',
  },
  mounts: {
    command: ['unshare', '--user', '--map-root-user', '--mount', 'mount', '-t', 'tmpfs', 'none', '/mnt'],
    provide: 'apt-get install util-linux (and allow user namespaces)',
  },
  curl: {
    command: ['curl', '--version'],
    provide: 'apt-get install curl',
  },
  chromium: {
    command: ['chromium', '--version'],
    provide: 'apt-get install chromium',
  },
  site: {
    command: ['test', '-x', fileURLToPath(new URL('../site/node_modules/.bin/vitepress', import.meta.url))],
    provide: 'npm ci --ignore-scripts --prefix site',
  },
} satisfies Record<string, Need>;

export type NeedName = keyof typeof things;

const found = new Map<string, boolean>();

/** Whether the machine has it, tried for real, once. */
export function has(name: NeedName): boolean {
  let answer = found.get(name);
  if (answer === undefined) {
    answer = works(things[name].command);
    found.set(name, answer);
  }
  return answer;
}

/** What a person types to get it. */
export function provides(name: NeedName): string {
  return things[name].provide;
}

/**
 * Skips the test, or the suite from its `before` hook, when the machine lacks a thing, and says how to get it. Where
 * `CI=true` everything is provided, so that a lack is a failure.
 */
export function needs(context: Mocha.Context, name: NeedName): void {
  if (has(name)) return;
  const message = `needs ${name}: ${provides(name)}`;
  if (environment.CI === 'true') throw new Error(message);
  const runnable = context.test ?? context.currentTest;
  if (runnable !== undefined) runnable.title += ` (${message})`;
  context.skip();
}

function works(command: readonly string[]): boolean {
  const [program, ...args] = command;
  try {
    execFileSync(program!, args, { stdio: 'ignore', timeout: 60_000 });
    return true;
  } catch {
    return false;
  }
}
