import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { Verification } from '../agent.ts';
import { readArtifact } from './artifact-folder.ts';
import { artifactReferences } from './artifact-references.ts';
import type { RunEvent } from './event.ts';
import { artifactsName, logName, requireLogFile } from './run-folder.ts';
import { checkChain, type FoundProblem } from './verify-chain.ts';
import { checkFiles } from './verify-files.ts';
import { checkStory } from './verify-story.ts';

/**
 * Checks a run from its folder alone: every line and the chain, sealed definitions, approvals and starts, artifacts, that
 * the views say what the events say, and that nothing else lies there. A cut-off tail leaves no trace in the log itself: compare `head` with the one in the
 * pull request.
 */
export function verifyRun(runId: string, folder: string): Verification {
  requireLogFile(runId, folder);
  const { events, lines, head, problems } = checkChain(readFileSync(join(folder, logName)));
  const artifacts = checkArtifacts(folder, events);
  return {
    run_id: runId,
    events: lines,
    head: head.hash,
    artifacts: artifacts.sound,
    problems: [
      ...problems,
      ...checkStory(runId, events),
      ...artifacts.problems,
      ...checkFiles(runId, folder, { events, lines, sound: problems.length === 0 }),
    ],
  };
}

function checkArtifacts(
  folder: string,
  events: readonly RunEvent[],
): { readonly sound: number; readonly problems: FoundProblem[] } {
  const problems: FoundProblem[] = [];
  const named = new Map<string, string>();
  for (const event of events) {
    for (const { digest, field } of artifactReferences(event)) {
      if (!named.has(digest)) named.set(digest, `named by ${field} of event ${event.seq}`);
    }
  }
  for (const digest of storedArtifacts(folder))
    if (!named.has(digest)) named.set(digest, 'named by no event');
  let sound = 0;
  for (const [digest, by] of named) {
    const what = artifactProblem(folder, digest);
    if (what === null) sound++;
    else problems.push({ where: `${artifactsName}/${digest}`, what: `${what} (${by})` });
  }
  return { sound, problems };
}

function artifactProblem(folder: string, digest: string): string | null {
  try {
    readArtifact(folder, digest);
    return null;
  } catch (error) {
    if (codeOf(error) === 'artifact_not_found') return 'removed';
    if (codeOf(error) === 'artifact_damaged') return `damaged: ${messageOf(error)}`;
    return `cannot be read: ${messageOf(error)}`;
  }
}

function storedArtifacts(folder: string): string[] {
  const path = join(folder, artifactsName);
  return existsSync(path) ? readdirSync(path).filter((name) => /^[0-9a-f]{64}$/.test(name)) : [];
}
