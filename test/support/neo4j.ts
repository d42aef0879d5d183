import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import neo4j from 'neo4j-driver';
import { environment } from '#kit/environment.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { until } from '../fixtures/until.ts';
import { freePort } from './free-port.ts';
import { neo4jJars } from './neo4j-jars.ts';

const jars = neo4jJars(environment);

const password = 'core-test-password';

export interface Neo4jServer {
  readonly account: {
    readonly url: string;
    readonly user: string;
    readonly password: string;
    readonly database: string;
  };
  /** null for a server that somebody else runs. */
  readonly control: ServerControl | null;
  stop(): Promise<void>;
}

export interface ServerControl {
  /** Ends the server by SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again on the same ports and data. */
  start(): Promise<void>;
  /** Makes it stand still, connections open, until `resume`. */
  pause(): void;
  resume(): void;
}

/** The server that `NEO4J_URI` names, or a real one of our own on free ports with data in a temporary folder. */
export async function startNeo4j(): Promise<Neo4jServer> {
  if (environment.NEO4J_URI !== undefined) {
    const account = {
      url: environment.NEO4J_URI,
      user: environment.NEO4J_USER ?? 'neo4j',
      password: environment.NEO4J_PASSWORD ?? password,
      database: 'neo4j',
    };
    return { account, control: null, stop: async () => {} };
  }
  const home = temporaryFolder();
  const port = await freePort();
  const account = { url: `bolt://127.0.0.1:${port}`, user: 'neo4j', password, database: 'neo4j' };
  configure(home, port);
  let child: ChildProcess | null = null;
  const kill = async () => {
    const ending = child;
    child = null;
    if (ending === null || ending.exitCode !== null) return;
    ending.kill('SIGCONT');
    ending.kill('SIGKILL');
    await new Promise((resolve) => ending.once('exit', resolve));
  };
  const start = async () => {
    child = run(home);
    await answering(account, child);
  };
  await start();
  const control = {
    kill,
    start,
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
  };
  return { account, control, stop: kill };
}

function configure(home: string, port: number): void {
  mkdirSync(join(home, 'conf'), { recursive: true });
  const settings = [
    `server.bolt.listen_address=127.0.0.1:${port}`,
    `server.bolt.advertised_address=127.0.0.1:${port}`,
    'server.http.enabled=false',
    'server.https.enabled=false',
    'dbms.usage_report.enabled=false',
    'server.memory.pagecache.size=64m',
    'db.memory.transaction.max=128m',
    'dbms.memory.transaction.total.max=256m',
  ];
  writeFileSync(join(home, 'conf', 'neo4j.conf'), `${settings.join('\n')}\n`);
}

function run(home: string): ChildProcess {
  const java = [
    '-Xms256m',
    '-Xmx768m',
    '-XX:+UseSerialGC',
    '-XX:TieredStopAtLevel=1',
    '-cp',
    join(jars, '*'),
  ];
  const server = [
    'org.neo4j.server.CommunityEntryPoint',
    `--home-dir=${home}`,
    `--config-dir=${join(home, 'conf')}`,
  ];
  const child = spawn('java', [...java, ...server, '--console-mode'], { stdio: ['ignore', 'pipe', 'pipe'] });
  process.once('exit', () => child.kill('SIGKILL'));
  return child;
}

/** Waits until the server takes the password, setting it the first time. */
async function answering(account: Neo4jServer['account'], child: ChildProcess): Promise<void> {
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (data) => {
      said = `${said}${data}`.slice(-2_000);
    });
  }
  await until(
    () => `Neo4j to answer: ${said}`,
    async () => {
      if (child.exitCode !== null) throw new Error(`Neo4j ended with ${child.exitCode}: ${said}`);
      return /Started\./.test(said) && accepts(account);
    },
  );
}

async function accepts({ url, user }: Neo4jServer['account']): Promise<boolean> {
  if (await works(url, user, password, 'RETURN 1', 'neo4j')) return true;
  const change = `ALTER CURRENT USER SET PASSWORD FROM 'neo4j' TO '${password}'`;
  return works(url, user, 'neo4j', change, 'system');
}

async function works(
  url: string,
  user: string,
  secret: string,
  query: string,
  database: string,
): Promise<boolean> {
  const driver = neo4j.driver(url, neo4j.auth.basic(user, secret), { maxTransactionRetryTime: 0 });
  const session = driver.session({ database });
  try {
    await session.run(query);
    return true;
  } catch {
    return false;
  } finally {
    await session.close();
    await driver.close();
  }
}
