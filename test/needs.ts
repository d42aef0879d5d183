import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { environment } from '#kit/environment.ts';
import { images } from './fixtures/containers/images.ts';

interface Need {
  readonly command: readonly [string, ...string[]];
  /** What a person types to get it. */
  readonly provide: string;
}

const things = {
  git: {
    command: ['git', '--version'],
    provide: 'apt-get install git',
  },
  linux: {
    command: ['test', '-e', '/proc/self/stat'],
    provide: 'a Linux machine, or Docker',
  },
  openssl: {
    command: ['openssl', 'version'],
    provide: 'apt-get install openssl',
  },
  ssh: {
    command: ['sh', '-c', 'command -v ssh-keygen && command -v ssh-agent'],
    provide: 'apt-get install openssh-client',
  },
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
  perl: {
    command: ['perl', '-e', '1'],
    provide: 'apt-get install perl',
  },
  script: {
    command: ['script', '--version'],
    provide: 'apt-get install bsdutils',
  },
  neo4j: {
    command: ['sh', '-c', 'test -n "$NEO4J_URI" || docker image inspect "$0"', images.neo4j],
    provide: `docker pull ${images.neo4j} (or set NEO4J_URI, NEO4J_USER and NEO4J_PASSWORD)`,
  },
  iii: {
    command: ['docker', 'image', 'inspect', images.iii],
    provide: `docker pull ${images.iii}`,
  },
  gitea: {
    command: ['sh', '-c', 'test -n "$CORE_TEST_GITEA_URL"'],
    provide:
      '.ci/run builds and starts one (or set CORE_TEST_GITEA_URL, and CORE_TEST_GITEA_USER and CORE_TEST_GITEA_PASSWORD of an administrator)',
  },
  postgres: {
    command: [
      'sh',
      '-c',
      'test -n "$CORE_TEST_POSTGRES_URL" || command -v initdb || ls /usr/lib/postgresql/*/bin/initdb',
    ],
    provide: 'apt-get install postgresql (or set CORE_TEST_POSTGRES_URL)',
  },
  s3: {
    command: ['versitygw', '--version'],
    provide: 'GOBIN=a folder of PATH go install github.com/versity/versitygw/cmd/versitygw@v1.8.0',
  },
  pgbouncer: {
    command: ['pgbouncer', '--version'],
    provide: 'apt-get install pgbouncer',
  },
  agents: {
    command: ['sh', '-c', 'test -x "$CORE_TEST_AGENTS/.bin/opencode"'],
    provide:
      '.ci/run installs them (or npm install in a copy of .ci/agents, and CORE_TEST_AGENTS=its node_modules)',
  },
  docker: {
    command: ['sh', '-c', 'docker info && docker compose version && docker buildx version'],
    provide: 'install Docker with compose and buildx, and start it',
  },
  tmux: {
    command: ['tmux', '-V'],
    provide: 'apt-get install tmux',
  },
  zsh: {
    command: ['zsh', '--version'],
    provide: 'apt-get install zsh',
  },
  fish: {
    command: ['fish', '--version'],
    provide: 'apt-get install fish',
  },
  namespaces: {
    command: [
      'sh',
      '-c',
      'ip netns add core-need && ip netns exec core-need iptables -A OUTPUT -o lo -j DROP && ip netns del core-need',
    ],
    provide: 'apt-get install iproute2 iptables (and be root)',
  },
  mounts: {
    command: ['unshare', '--user', '--map-root-user', '--mount', 'mount', '-t', 'tmpfs', 'none', '/mnt'],
    provide: 'apt-get install util-linux (and allow user namespaces)',
  },
  curl: {
    command: ['curl', '--version'],
    provide: 'apt-get install curl',
  },
  prometheus: {
    command: ['sh', '-c', 'prometheus --version && promtool --version'],
    provide: 'apt-get install prometheus',
  },
  chromium: {
    command: ['chromium', '--version'],
    provide: 'apt-get install chromium',
  },
  time: {
    command: ['true'],
    provide: 'npm run test:all',
  },
  site: {
    command: ['test', '-x', fileURLToPath(new URL('../site/node_modules/.bin/vitepress', import.meta.url))],
    provide: 'npm ci --ignore-scripts --prefix site',
  },
} satisfies Record<string, Need>;

export type NeedName = keyof typeof things;

/** `npm test`: everything but what takes servers, containers or `time`, which a suite of many minutes needs. */
export const isQuick = environment.CORE_TESTS === 'quick';
const notInQuick: readonly NeedName[] = [
  'docker',
  'neo4j',
  'iii',
  'gitea',
  'postgres',
  's3',
  'pgbouncer',
  'namespaces',
  'agents',
  'jj',
  'chromium',
  'site',
  'time',
];

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
 * A suite of tests that need these things. Where the machine lacks one, the tests are skipped by name and no hook of the
 * suite runs; where `CI=true` everything is provided but what `CORE_TEST_WITHOUT` names, so that a lack is a failure.
 */
export function describeWith(
  names: readonly NeedName[],
  title: string,
  body: (this: Mocha.Suite) => void,
): void {
  const lack = lackOf(names);
  if (lack === null) describe(title, body);
  else if (isFailure(names)) describe(title, () => it('can run', () => Promise.reject(new Error(lack))));
  else describe.skip(`${title} (${lack})`, body);
}

/** One test that needs these things; skipped or failed as a suite is. */
export function itWith(names: readonly NeedName[], title: string, body: Mocha.AsyncFunc | Mocha.Func): void {
  const lack = lackOf(names);
  if (lack === null) it(title, body);
  else if (isFailure(names)) it(title, () => Promise.reject(new Error(lack)));
  else it.skip(`${title} (${lack})`, body);
}

function isFailure(names: readonly NeedName[]): boolean {
  const without = environment.CORE_TEST_WITHOUT?.split(' ') ?? [];
  const lacks = names.filter((name) => !isLeftOut(name) && !has(name));
  return environment.CI === 'true' && lacks.some((name) => !without.includes(name));
}

function isLeftOut(name: NeedName): boolean {
  return isQuick && notInQuick.includes(name);
}

/** As `skipSummary` reads it from a title. */
function lackOf(names: readonly NeedName[]): string | null {
  const name = names.find((name) => isLeftOut(name)) ?? names.find((name) => !has(name));
  if (name === undefined) return null;
  if (!isLeftOut(name)) return `needs ${name}: ${provides(name)}`;
  return `needs ${name}: npm run test:all${has(name) ? '' : `, after ${provides(name)}`}`;
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
