import { isTurn, type MemoryRow, titleOf } from '../memory-row.ts';
import { normalisedName } from '../normalise.ts';
import { contentWords, wordsOf } from './query.ts';

/** What a run noted of itself counts so much beside what people recorded. */
const eventWeight = 0.5;
const maxPerSession = 2;

/** True for one of the many lines that a run writes of itself. */
function isRunEvent({ layer, session, kind }: MemoryRow): boolean {
  return kind === 'run_event' && isTurn({ layer, session, kind });
}

export function weightOf(row: MemoryRow, sessions: readonly string[] | null): number {
  return sessions === null && isRunEvent(row) ? eventWeight : 1;
}

/**
 * Best first, but of the first results no run has more than two and runs together not more than half: those beyond it come after
 * everything else that matches.
 */
export function spread<Item extends { readonly row: MemoryRow }>(
  ranked: readonly Item[],
  limit: number,
): Item[] {
  const [first, later]: [Item[], Item[]] = [[], []];
  const ofSession = new Map<string, number>();
  let events = 0;
  for (const item of ranked) {
    if (!isRunEvent(item.row)) {
      first.push(item);
      continue;
    }
    const session = item.row.session!;
    const before = ofSession.get(session) ?? 0;
    if (before >= maxPerSession || events >= Math.max(1, Math.floor(limit / 2))) later.push(item);
    else {
      first.push(item);
      ofSession.set(session, before + 1);
      events++;
    }
  }
  return [...first, ...later];
}

/** The query as the name of something; null where it is too long for one. */
export function nameOf(query: string): string | null {
  const name = bare(normalisedName(query));
  return name === '' || name.length > 500 ? null : name;
}

/** True if a query is the subject or the title of a memory, or the same in its content words. */
export function isNamed({ subject_name, content }: MemoryRow, name: string | null): boolean {
  if (name === null) return false;
  if (subject_name === name || bare(normalisedName(titleOf(content))) === name) return true;
  return subject_name !== null && contentText(subject_name) === contentText(name);
}

function contentText(text: string): string {
  return contentWords(wordsOf(text)).join(' ') || text;
}

function bare(name: string): string {
  return name.replace(/^[\s`'"]{1,10}|[\s`'".,;:?!]{1,10}$/g, '');
}
