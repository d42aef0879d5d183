import type { MemoryLayer } from '#kit/contracts/context/vocabulary.ts';
import { countWords, normalisedName } from './normalise.ts';

/** What a memory says, whoever brings it: a recording or an import. Times are ISO 8601 in UTC with milliseconds. */
export interface Remembered {
  readonly id: string;
  readonly layer: MemoryLayer;
  readonly kind: string;
  readonly content: string;
  /** Sorted, each once. */
  readonly about: readonly string[];
  readonly source: string | null;
  readonly subject: string | null;
  readonly predicate: string | null;
  readonly confidence: number | null;
  readonly session: string | null;
  readonly seq: number | null;
  readonly speaker: string | null;
  readonly at: string | null;
  readonly steps: readonly string[];
  readonly recorded_at: string;
  readonly valid_from: string;
  readonly stated_to: string | null;
}

/** The name under which facts on the same subject and predicate meet; null for what is no fact. */
export function factOf({ layer, subject, predicate }: Pick<Remembered, 'layer' | 'subject' | 'predicate'>) {
  if (layer !== 'semantic' || subject === null || predicate === null) return null;
  return `${normalisedName(subject)}\n${normalisedName(predicate)}`;
}

/** Whether it has a place in the order of a session. */
export function isTurn({ layer, session, kind }: Pick<Remembered, 'layer' | 'session' | 'kind'>): boolean {
  return layer === 'episodic' && session !== null && kind !== 'summary';
}

/** The columns that follow from what it says. */
export function derivedColumns(memory: Remembered) {
  const context = contextWords(memory);
  return {
    context,
    words: countWords(memory.content) + countWords(context),
    subject_name: memory.subject === null ? null : normalisedName(memory.subject),
    speaker_name: memory.speaker === null ? null : normalisedName(memory.speaker),
    fact: factOf(memory),
  };
}

/** Made for the first time that is told: it takes as long as half a start of the service. */
let longDate: Intl.DateTimeFormat | undefined;

function contextWords({ at, speaker, subject, predicate, kind, layer, steps }: Remembered): string {
  longDate ??= new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' });
  const date = at === null ? null : longDate.format(new Date(at));
  const words = [date, speaker, subject, predicate, kind === layer ? null : kind, ...steps];
  return words.filter((word) => word !== null).join('\n');
}
