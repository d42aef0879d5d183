import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, messageOf } from '#kit/errors.ts';
import { headsName } from '#kit/folders.ts';
import type { Verification } from '../agent.ts';
import { artifactReferences, readArtifact } from './artifacts.ts';
import type { RunEvent } from './event.ts';
import type { Heads } from './heads.ts';
import { notFound, withoutLog } from './open-runs.ts';
import { readRecord } from './recover.ts';
import { artifactsName, logName, requireLogFile } from './run-folder.ts';
import { checkChain, type FoundProblem } from './verify-chain.ts';
import { checkFiles } from './verify-files.ts';
import { checkStory } from './verify-story.ts';

/**
 * Checks a run from its folder and its head: every line and the chain, sealed definitions, approvals and starts, artifacts, that
 * the views say what the events say, and that nothing else lies there. A cut-off tail leaves no trace in the log itself: the head outside the folder shows it, and so
 * does the one in the pull request.
 * @throws NotFound (`run_not_found`, `run_pruned`)
 */
export function verifyRun(runId: string, runsDir: string, heads: Heads): Verification {
  const folder = join(runsDir, runId);
  const { problem, acknowledged } = readRecord(runId, runsDir, heads);
  const cut = problem === null ? [] : [{ where: `${headsName}/${runId}`, what: problem }];
  if (!existsSync(join(folder, logName))) {
    if (cut.length === 0) throw withoutLog(runsDir, runId, null, notFound(runId));
    return { run_id: runId, events: 0, head: acknowledged?.hash ?? '', artifacts: 0, problems: cut };
  }
  requireLogFile(runId, folder);
  const { events, lines, head, problems } = checkChain(readFileSync(join(folder, logName)));
  const artifacts = checkArtifacts(folder, events);
  return {
    run_id: runId,
    events: lines,
    head: head.hash,
    artifacts: artifacts.sound,
    problems: [
      ...(problems.length > 0 && lines >= (acknowledged?.seq ?? 0) ? [] : cut),
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
