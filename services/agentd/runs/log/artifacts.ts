import { existsSync, lstatSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '#kit/digest.ts';
import { syncFolder, writeFileDurably } from '#kit/durable-file.ts';
import { codeOf, Failed, InvalidInput, NotFound } from '#kit/errors.ts';
import { requireRegularFile } from '#kit/small-file.ts';
import type { RunEvent } from '../event.ts';
import { artifactsName } from './run-folder.ts';

/** Stores content under its own sha256; durable when it returns. An undamaged copy that is there already stays. */
export function putArtifact(runFolder: string, content: string | Uint8Array): string {
  const folder = join(runFolder, artifactsName);
  if (!existsSync(folder)) {
    mkdirSync(folder, { mode: 0o700 });
    syncFolder(runFolder);
  }
  const digest = sha256(content);
  if (digestOfArtifact(runFolder, digest) !== digest) writeFileDurably(join(folder, digest), content);
  return digest;
}

/** @throws NotFound (`artifact_not_found`), Failed (`artifact_damaged`) */
export function readArtifact(runFolder: string, digest: string): Uint8Array {
  checkDigest(digest);
  let content: Uint8Array;
  try {
    const path = join(runFolder, artifactsName, digest);
    requireRegularFile(path);
    content = readFileSync(path);
  } catch (cause) {
    if (codeOf(cause) !== 'ENOENT') throw cause;
    throw missingArtifact(digest, cause);
  }
  requireDigest(content, digest);
  return content;
}

/** Guards every path that is made from a digest. */
export function checkDigest(digest: string): void {
  if (/^[0-9a-f]{64}$/.test(digest)) return;
  throw new InvalidInput(
    'invalid_digest',
    `artifact ${JSON.stringify(digest.slice(0, 80))} is no sha256 in lower-case hex`,
  );
}

export function missingArtifact(digest: string, cause?: unknown): NotFound {
  return new NotFound(
    'artifact_not_found',
    `artifact ${digest} is not there; it was removed or belongs to another run`,
    { cause },
  );
}

/** @throws Failed (`artifact_damaged`) */
export function requireDigest(content: Uint8Array, digest: string): void {
  const actual = sha256(content);
  if (actual === digest) return;
  throw new Failed('artifact_damaged', `artifact ${digest} was changed: its sha256 is now ${actual}`);
}

/** sha256 of the content stored under this digest; null if the file cannot be read. */
export function digestOfArtifact(runFolder: string, digest: string): string | null {
  const path = join(runFolder, artifactsName, digest);
  try {
    return lstatSync(path).isFile() ? sha256(readFileSync(path)) : null;
  } catch {
    return null;
  }
}

/** True for events about messages and activity of a model or an agent. They are shown, but not used after planning. */
export function isConversation({ type }: RunEvent): boolean {
  return ['planner_prompt', 'planner_turn', 'agent_progressed', 'agent_ended'].includes(type);
}

/** Every artifact that an event names, with the place that names it. */
export function artifactReferences(event: RunEvent): { readonly digest: string; readonly field: string }[] {
  switch (event.type) {
    case 'run_created': {
      const { task } = event.data.request;
      return task === undefined ? [] : [{ digest: task.content, field: 'request.task.content' }];
    }
    case 'source_read':
      return [{ digest: event.data.issue.content, field: 'issue.content' }];
    case 'planner_prompt':
    case 'planner_turn':
      return [{ digest: event.data.content, field: 'content' }];
    case 'agent_progressed':
    case 'agent_ended': {
      const { transcript } = event.data;
      return transcript === null ? [] : [{ digest: transcript, field: 'transcript' }];
    }
    case 'agent_read_back': {
      const { explanation, patch } = event.data;
      const references = [{ digest: explanation, field: 'explanation' }];
      return patch === null ? references : [...references, { digest: patch, field: 'patch' }];
    }
    case 'action_proposed': {
      const { action } = event.data;
      return Object.entries(action.artifacts).map(([name, digest]) => ({
        digest,
        field: `action.artifacts.${name}`,
      }));
    }
    case 'plan_sealed': {
      const { explanation, patch } = event.data.plan;
      const references = [{ digest: explanation, field: 'plan.explanation' }];
      return patch === null ? references : [...references, { digest: patch, field: 'plan.patch' }];
    }
    case 'action_result': {
      const { report, logs } = event.data.outcome.facts;
      const named: [string, unknown][] = [['report', report], ...Object.entries(logs ?? {})];
      return named.flatMap(([name, digest]) =>
        typeof digest === 'string' && /^[0-9a-f]{64}$/.test(digest)
          ? [{ digest, field: `outcome.facts.${name}` }]
          : [],
      );
    }
    case 'record_recovered': {
      const { set_aside } = event.data;
      return set_aside === null ? [] : [{ digest: set_aside.artifact, field: 'set_aside.artifact' }];
    }
    default:
      return [];
  }
}
