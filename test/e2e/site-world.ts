import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StackNote } from '#kit/contracts/stack-note.ts';
import { childEnvironment } from '#kit/environment.ts';
import { messageOf } from '#kit/errors.ts';
import { tokenNameFor } from '#kit/tokens/token.ts';
import {
  issueBody,
  issueTitle,
  makeDemoRepository,
} from '../../services/supervisor/quickstart/demo-repository.ts';
import { atExit } from '../fixtures/at-exit.ts';
import { benches, speaking } from '../fixtures/model-upstream/dialects.ts';
import { speakOpenAi } from '../fixtures/model-upstream/openai-answers.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { saidUntil } from './said-until.ts';
import { blocksOf } from './site-blocks.ts';

const launcher = fileURLToPath(new URL('../../core', import.meta.url));

/** Who listens at the ports that the site names. */
const servicePorts = {
  7817: 'core-agentd',
  8090: 'core-context',
  8092: 'core-model-gateway',
  8093: 'core-bridge',
} as const;
export type SitePort = keyof typeof servicePorts;

const portFlags = ['', 'context-', 'models-', 'bridge-', 'bus-', 'bus-http-'];
const anyPort = portFlags.flatMap((name) => [`--${name}port`, '0']);

export interface Typed {
  readonly exitCode: number | null;
  readonly output: string;
}

interface PlannedAction {
  readonly action_id: string;
  readonly digest: string;
  /** Their sha256, by what each is. */
  readonly artifacts: Readonly<Record<string, string>>;
}

/** With its first action. */
export interface PlannedRun {
  readonly run_id: string;
  readonly action_id: string;
  readonly digest: string;
  /** The sha256 of an artifact of one of its actions. */
  readonly artifact: string;
}

/** The place of somebody who follows the site: a home, a project folder with `./core`, a repository, and the services. */
export interface SiteWorld {
  /** Runs a command as typed, the site's names and ports filled in by those of this place. */
  type(command: string): Promise<Typed>;
  /** Plans the demo's issue again; `RUN` means that run from then on. */
  planAgain(): Promise<PlannedRun>;
  /** Asks the service that the site names by this port; a failure shows what the services printed. */
  fetch(port: SitePort, path: string, request?: RequestInit): Promise<Response>;
  /** With every scope. */
  token(): string;
  close(): Promise<void>;
}

export async function openSiteWorld(): Promise<SiteWorld> {
  const home = temporaryFolder();
  const folder = join(home, 'project');
  mkdirSync(join(home, '.config/core'), { recursive: true });
  mkdirSync(join(home, 'Downloads'));
  mkdirSync(join(folder, 'path/to'), { recursive: true });
  symlinkSync(launcher, join(folder, 'core'));
  writeFileSync(join(home, 'Downloads/token.txt'), 'no-token-of-anybody\n');
  writeFileSync(join(folder, 'issue.md'), issueBody);
  writeFileSync(join(folder, 'event.json'), eventOfThePage());
  for (const name of ['thing', 'hello']) await makeDemoRepository(join(folder, 'path/to', name));
  const upstream = await startModelUpstream();
  upstream.always((request, response) => speakerAt(request.path)(request, response));
  // Some machines that run these tests have no sandbox; the demo is our own code.
  writeFileSync(join(home, '.config/core/validation.json'), '{"allow_unsandboxed": true}');
  writeFileSync(join(home, '.config/core/models.json'), JSON.stringify(modelsConfig(upstream)));
  // No test speaks with a forge of others, whatever token a page has people store.
  writeFileSync(join(home, '.config/core/forges.json'), '{"forges": [{"name": "local", "kind": "local"}]}');
  writeFileSync(join(home, '.config/core/agents.json'), '{"planner": {"default": "patch"}}');

  const env = childEnvironment({
    HOME: home,
    XDG_STATE_HOME: '',
    XDG_CONFIG_HOME: '',
    CORE_HOME: '',
    NO_COLOR: '1',
  });
  const person = tokenNameFor(userInfo().username);
  const up = spawn('./core', ['up', ...anyPort], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  atExit(() => up.kill('SIGKILL'));
  await saidUntil(up, /^next /m);
  const note = JSON.parse(
    readFileSync(join(home, '.local/state/core/supervisor/stack.json'), 'utf8'),
  ) as StackNote;
  const url = (port: SitePort) => note.services[servicePorts[port]]!.url!;
  const said = lastSaid(up);

  let run: string | null = null;
  let actions: readonly PlannedAction[] = [];

  async function type(command: string): Promise<Typed> {
    if (/\b(RUN|ACTION|DIGEST)\b/.test(command)) await lookUp();
    return shell(filledIn(command));
  }

  /** The newest run and its first action, as the page before left them. */
  async function lookUp(): Promise<void> {
    const { runs } = (await json(`/v1/runs?limit=1`)) as { runs: { run_id: string }[] };
    run = runs[0]?.run_id ?? null;
    if (run === null) return;
    ({ actions } = (await json(`/v1/runs/${run}/actions`)) as { actions: PlannedAction[] });
  }

  async function json(path: string): Promise<unknown> {
    return (await ask(7817, path)).json();
  }

  async function ask(port: SitePort, path: string, request: RequestInit = {}): Promise<Response> {
    try {
      return await fetch(`${url(port)}${path}`, request);
    } catch (cause) {
      throw new Error(`${messageOf(cause)}\nThe services said:\n${said()}`, { cause });
    }
  }

  function filledIn(command: string): string {
    const bare = join(home, '.local/state/core/forge/you/thing/repository.git');
    return command
      .replaceAll(/http:\/\/127\.0\.0\.1:(7817|8090|8092|8093)/g, (_, port) => url(Number(port) as SitePort))
      .replaceAll(/\bRUN\b/g, run ?? 'RUN')
      .replaceAll(/\bACTION\b/g, actions[0]?.action_id ?? 'ACTION')
      .replaceAll(/\bDIGEST\b/g, actions[0]?.digest ?? 'DIGEST')
      .replaceAll(/\bNAME\.token\b/g, `${person}.token`)
      .replaceAll(/ PATH\b/g, ` ${bare}`);
  }

  /** A refusal over HTTP is a failure, as people see it. */
  function shell(command: string): Promise<Typed> {
    const script = `PATH="$PWD/bin:$PATH"; curl() { command curl --fail-with-body "$@"; }\n${command}`;
    return ended(spawn('sh', ['-e', '-c', script], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] }));
  }

  async function must(command: string): Promise<void> {
    const { exitCode, output } = await shell(command);
    if (exitCode !== 0) throw new Error(`${command}: ${exitCode}\n${output}`);
  }

  const demo = '--owner demo --repo hello';
  await must('./core install --dir bin');
  await must(`./core forge init ${demo} --from path/to/hello`);
  await must(
    `./core forge issue new ${demo} --title '${issueTitle}' --body-file issue.md --author mira --association contributor`,
  );

  return {
    type,
    async planAgain() {
      await must(`./core plan-issue ${demo} --number 1`);
      await lookUp();
      const [action] = actions;
      const [artifact] = actions.flatMap(({ artifacts }) => Object.values(artifacts));
      if (run === null || action === undefined || artifact === undefined)
        throw new Error('the plan has no action with an artifact');
      return { run_id: run, action_id: action.action_id, digest: action.digest, artifact };
    },
    fetch: ask,
    token: () => readFileSync(join(home, '.config/core/tokens', `${person}.token`), 'utf8').trim(),
    async close() {
      const gone = once(up, 'close');
      up.kill('SIGTERM');
      await gone;
      await upstream.close();
    },
  };
}

/** The event that the page about dashboards shows. */
function eventOfThePage(): string {
  const event = blocksOf('bridge.md').find(({ language }) => language === 'json');
  if (event === undefined) throw new Error('bridge.md shows no event');
  return event.text;
}

/** One server for upstreams of every kind, by the paths that each is asked at. */
function speakerAt(path: string) {
  const name = path.startsWith('/v1beta/') ? 'Google' : path.startsWith('/v1/messages') ? 'Messages' : null;
  return name === null ? speakOpenAi : speaking(benches.find((bench) => bench.name === name)!);
}

function modelsConfig(upstream: ModelUpstream): object {
  const entry = { base_url: upstream.url, model: 'fake' };
  const beta = upstream.url.replace(/v1$/, 'v1beta');
  return {
    models: {
      coder: { tier: 'large', upstreams: [{ kind: 'openai', base_url: upstream.url, model: 'fake' }] },
      claude: { upstreams: [{ ...entry, kind: 'anthropic' }] },
      gemini: { upstreams: [{ ...entry, kind: 'google', base_url: beta }] },
      vectors: { kind: 'embeddings', upstreams: [{ kind: 'openai', base_url: upstream.url, model: 'fake' }] },
    },
  };
}

/** The end of what a process writes to its stderr from now on. */
function lastSaid(child: ChildProcess): () => string {
  let text = '';
  child.stderr!.on('data', (chunk) => {
    text = `${text}${chunk}`.slice(-4000);
  });
  return () => text;
}

function ended(child: ChildProcess): Promise<Typed> {
  return new Promise((resolve, reject) => {
    let output = '';
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.on('data', (chunk) => {
        output += chunk;
      });
    }
    child.once('error', reject);
    child.once('close', (exitCode) => resolve({ exitCode, output }));
  });
}
