import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Conflict } from '#kit/errors.ts';
import { artifactReferences, digestOfArtifact, isConversation } from './artifacts.ts';
import type { RunEvent } from './event.ts';
import { alteredViews } from './verify-files.ts';
import { writeViews } from './views.ts';

/**
 * What other programs and people read of the run says what its events say. A view that does not is written anew, so that
 * whoever looks again sees the right one.
 * @throws Conflict (`view_altered`)
 */
export function requireViews(runId: string, folder: string, events: readonly RunEvent[]): void {
  const altered = alteredViews(runId, folder, events);
  const [first] = altered;
  if (first === undefined) return;
  for (const { where } of altered) rmSync(join(folder, where), { recursive: true, force: true });
  writeViews(runId, folder, events);
  const others = altered.length === 1 ? '' : ` (and ${altered.length - 1} more)`;
  throw new Conflict('view_altered', `${first.where} of run ${runId} ${first.what}${others}`, {
    facts: { run_id: runId, altered: altered.map(({ where }) => where) },
    hint: `All of them were written anew from the record. Look again with ./core show ${runId}, then repeat the command.`,
  });
}

/**
 * What a person approves, and what runs, is what these hold. What a model was sent and answered may be missing, because nothing
 * runs of it and a person may delete it; edited it may not be.
 * @throws Conflict (`artifact_differs`)
 */
export function requireArtifacts(runId: string, folder: string, events: readonly RunEvent[]): void {
  const sound = new Set<string>();
  for (const event of events) {
    for (const { digest, field } of artifactReferences(event)) {
      if (sound.has(digest)) continue;
      const found = digestOfArtifact(folder, digest);
      if (found === null && isConversation(event)) continue;
      if (found !== digest)
        throw differs(runId, `${field} of event ${event.seq} (${event.type})`, digest, found);
      sound.add(digest);
    }
  }
}

function differs(runId: string, what: string, expected: string, found: string | null): Conflict {
  const change = found === null ? 'it is missing' : `found ${found}`;
  return new Conflict(
    'artifact_differs',
    `the artifact of run ${runId} that is ${what} is not as it was stored: expected sha256 ${expected}, ${change}`,
    {
      facts: { run_id: runId, artifact: expected, found },
      hint: `./core verify ${runId} names all of them. Put artifacts/${expected} back from a backup, or plan the issue again.`,
    },
  );
}
