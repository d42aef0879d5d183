import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import * as t from 'io-ts';
import { smokeForge } from '#kit/config/smoke-forge.ts';
import { decodeJson } from '#kit/decode.ts';
import { makePrivateFolder, writeFileDurably } from '#kit/durable-file.ts';
import { childEnvironment } from '#kit/environment.ts';
import { Failed } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { makeRepository } from '#kit/git/make-repository.ts';
import { nodeFlags } from '#kit/node-flags.ts';
import { readSmallFile } from '#kit/small-file.ts';

export interface DemoIssue {
  readonly number: number;
  readonly repository: string;
}

const Made = t.strict({ number: t.number });
const agentd = fileURLToPath(new URL('../../agentd/main.ts', import.meta.url));

const files: Readonly<Record<string, string>> = {
  'greeting.txt': 'Hello, world!\n',
  '.core.json':
    '{ "validation": { "commands": [{ "name": "greets", "run": "grep -q Hello greeting.txt" }] } }\n',
};

/** With a patch, so that planning it needs no model and costs nothing. */
const issueBody = `The greeting is too short. This makes it longer:

\`\`\`diff
diff --git a/greeting.txt b/greeting.txt
--- a/greeting.txt
+++ b/greeting.txt
@@ -1 +1 @@
-Hello, world!
+Hello, world, and everybody in it!
\`\`\`
`;
export const issueTitle = 'core-status --smoke: the greeting is too short';

/** Makes repository and issue once for a state folder; what a crash left half done is completed. */
export async function demoIssue({ state }: Pick<Folders, 'state'>, signal: AbortSignal): Promise<DemoIssue> {
  const home = join(state, smokeForge.home);
  const { owner, repo } = smokeForge;
  const repository = join(state, smokeForge.root, owner, repo, 'repository.git');
  const note = join(home, 'issue.json');
  const known = readNumber(note);
  if (known !== null && existsSync(repository)) return { number: known, repository };
  makePrivateFolder(home);
  const ref = ['--owner', owner, '--repo', repo];
  if (!existsSync(repository)) {
    const source = join(home, 'source');
    rmSync(source, { recursive: true, force: true });
    await makeRepository(source, files, { author: 'core-status', message: 'Greet the world', signal });
    await core(home, ['forge', 'init', ...ref, '--from', source], signal);
    rmSync(source, { recursive: true });
  }
  const written = await core(
    home,
    [
      ...['forge', 'issue', 'new', ...ref, '--title', issueTitle, '--body', issueBody],
      ...['--author', 'core-status', '--association', 'owner'],
    ],
    signal,
  );
  const { number } = decodeJson(Made, written, 'core-agentd forge issue new');
  writeFileDurably(note, `${JSON.stringify({ number })}\n`);
  return { number, repository };
}

function readNumber(note: string): number | null {
  try {
    return decodeJson(Made, readSmallFile(note), note).number;
  } catch {
    return null;
  }
}

/** The forge's own commands, with a state folder in which this forge is the only one. */
async function core(home: string, args: readonly string[], signal: AbortSignal): Promise<string> {
  const ended = await execa(process.execPath, [...nodeFlags, agentd, ...args, '--json'], {
    reject: false,
    stdin: 'ignore',
    cancelSignal: signal,
    extendEnv: false,
    env: childEnvironment({ CORE_STATE_DIR: home, CORE_CONFIG_DIR: join(home, 'config') }),
  });
  // Another smoke run may have made it meanwhile.
  if (!ended.failed || ended.stderr.includes('repository_exists')) return ended.stdout;
  const why = ended.stderr.trim().split('\n')[0] || ended.shortMessage;
  throw new Failed('smoke_demo_failed', `the demo issue cannot be made: ${why}`);
}
