import { lstatSync, readdirSync, readFileSync, rmSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '#kit/digest.ts';
import { Conflict } from '#kit/errors.ts';
import type { FoundProblem } from '../../agent.ts';
import type { RunEvent } from '../event.ts';
import { artifactReferences, isConversation } from '../log/artifacts.ts';
import { fold } from '../log/fold.ts';
import { artifactsName, logName, tombstoneName } from '../log/run-folder.ts';
import { jsonViews, validationCopies, viewsOf, writeViews } from '../views/views.ts';

export interface CheckedLog {
  readonly events: readonly RunEvent[];
  readonly lines: number;
  /** Views of a log that does not hold itself, or does not begin with a run, cannot be judged. */
  readonly sound: boolean;
}

/** Views, and copies of artifacts beside them, that are not what the events of a sound log give. */
export function alteredViews(runId: string, folder: string, events: readonly RunEvent[]): FoundProblem[] {
  return [
    ...checkFolder(folder),
    ...checkViews(runId, folder, { events, lines: events.length, sound: true }),
    ...checkCopies(folder, copiesOf(runId, events)),
  ];
}

/** Everything in a run folder beside the log and what the artifacts' names promise. */
export function checkFiles(runId: string, folder: string, log: CheckedLog): FoundProblem[] {
  const copies = log.sound ? copiesOf(runId, log.events) : null;
  const altered = [
    ...checkViews(runId, folder, log),
    ...(copies === null ? [] : checkCopies(folder, copies)),
  ];
  const named = new Set(altered.map(({ where }) => where));
  return [...altered, ...foreignEntries(folder, copies).filter(({ where }) => !named.has(where))];
}

const validation = 'validation';
const views = [...jsonViews, 'summary.md', 'trace.jsonl'];

/** Views cannot be written into what is no folder of the run. */
function checkFolder(folder: string): FoundProblem[] {
  const stats = statsOf(join(folder, validation));
  return stats === null || stats.isDirectory() ? [] : [{ where: validation, what: 'is not a folder' }];
}

/**
 * A view can be missing or older than the log, and says then what the events said at that time. It is never ahead of the
 * log: then the log lost its tail.
 */
function checkViews(runId: string, folder: string, { events, lines, sound }: CheckedLog): FoundProblem[] {
  const expected = new Map<number, Map<string, string>>();
  const viewAt = (name: string, seq: number): string | undefined => {
    const upTo = events.slice(0, seq);
    if (!expected.has(seq)) expected.set(seq, viewsOf(fold(runId, upTo), upTo));
    return expected.get(seq)!.get(name);
  };
  const problemOf = (name: string): string | null => {
    const path = join(folder, name);
    const stats = statsOf(path);
    if (stats === null) return null;
    if (!stats.isFile()) return 'is not a file';
    const content = readFileSync(path, 'utf8');
    const seq = asOfSeq(name, content);
    if (seq === null)
      return 'is no view any more: it does not say as of which event it is; delete it, it is rebuilt';
    if (seq > lines)
      return `is as of event ${seq}, but the log ends with event ${lines}: its tail was cut off`;
    if (!sound || content === viewAt(name, seq)) return null;
    return `is not what the events up to ${seq} give: it was changed, or is of another version of Core; do not follow it, delete it`;
  };
  return views.flatMap((name) => {
    const what = problemOf(name);
    return what === null ? [] : [{ where: name, what }];
  });
}

function asOfSeq(name: string, content: string): number | null {
  if (name === 'summary.md') return position(Number(/, as of event (\d+) \([^\n]*\n$/.exec(content)?.[1]));
  const text = name === 'trace.jsonl' ? content.slice(0, content.indexOf('\n')) : content;
  try {
    return position((JSON.parse(text) as { as_of_seq?: unknown }).as_of_seq);
  } catch {
    return null;
  }
}

function position(seq: unknown): number | null {
  return Number.isSafeInteger(seq) && (seq as number) >= 1 ? (seq as number) : null;
}

/** Digests that a copy in `validation/` may have, by its name: those of every validation that the run had. */
function copiesOf(runId: string, events: readonly RunEvent[]): Map<string, Set<string>> {
  const copies = new Map<string, Set<string>>();
  for (const [index, { type }] of events.entries()) {
    if (type !== 'action_result') continue;
    for (const [name, digest] of validationCopies(fold(runId, events.slice(0, index + 1))))
      copies.set(name, (copies.get(name) ?? new Set()).add(digest));
  }
  return copies;
}

function checkCopies(folder: string, copies: ReadonlyMap<string, ReadonlySet<string>>): FoundProblem[] {
  return [...copies].flatMap(([name, digests]) => {
    const path = join(folder, validation, name);
    const stats = statsOf(path);
    if (stats === null || (stats.isFile() && digests.has(sha256(readFileSync(path))))) return [];
    return [
      { where: `${validation}/${name}`, what: 'was changed: it is not the artifact that it is a copy of' },
    ];
  });
}

const inRun = new Set([logName, artifactsName, tombstoneName, validation, ...views]);

/** Entries that Core did not write. Excludes unfinished writes that a crash left. */
function foreignEntries(folder: string, copies: ReadonlyMap<string, unknown> | null): FoundProblem[] {
  const isCopy = (name: string): boolean => name === 'index.json' || copies === null || copies.has(name);
  return [
    ...foreignIn(folder, '', (name) => inRun.has(name)),
    ...foreignIn(folder, `${artifactsName}/`, (name) => /^[0-9a-f]{64}$/.test(name)),
    ...foreignIn(folder, `${validation}/`, isCopy),
  ];
}

const folders = new Set([artifactsName, validation]);
const unfinishedWrite = /^\.(?<name>.+)\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/;

function foreignIn(folder: string, prefix: string, belongs: (name: string) => boolean): FoundProblem[] {
  if (statsOf(join(folder, prefix.slice(0, -1)))?.isDirectory() !== true) return [];
  return readdirSync(join(folder, prefix), { withFileTypes: true }).flatMap((entry) => {
    const { name } = entry;
    const where = `${prefix}${JSON.stringify(name).slice(1, -1)}`;
    if (!belongs(unfinishedWrite.exec(name)?.groups?.name ?? name))
      return [{ where, what: 'does not belong to a run: nothing of Core writes it' }];
    const isFolder = prefix === '' && folders.has(name);
    if (isFolder ? entry.isDirectory() : entry.isFile()) return [];
    return [{ where, what: `is not a ${isFolder ? 'folder' : 'file'}` }];
  });
}

/** File status of a path, without following a link; null if the path does not exist. */
function statsOf(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch {
    return null;
  }
}

/**
 * The views of the run match its events. One that does not is rewritten, so that the next reader sees the right one.
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
    hint: `All of them were rebuilt from the record. Look again with ./core show ${runId}, then repeat the command.`,
  });
}

/**
 * Checks the artifacts that approvals and executions rely on. Prompts and answers of a model may be missing, because executions do not
 * use them and a person may delete them. They must not be edited.
 * @param digestOf sha256 of the content stored under a digest; null if there is none
 * @throws Conflict (`artifact_differs`)
 */
export function requireArtifacts(
  runId: string,
  digestOf: (digest: string) => string | null,
  events: readonly RunEvent[],
): void {
  for (const event of events) {
    for (const { digest, field } of artifactReferences(event)) {
      const found = digestOf(digest);
      if (found === null && isConversation(event)) continue;
      if (found !== digest)
        throw differs(runId, `${field} of event ${event.seq} (${event.type})`, digest, found);
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
