import type { OutcomeRecord } from '#kit/contracts/context/execution.ts';
import { sha256 } from '#kit/digest.ts';
import type { GraphRecord } from '../record/graph-record.ts';

/**
 * The outcome without the words that people had forgotten: its reasons, messages and summary.
 * @returns also the texts that were left out
 */
export function withoutWords(
  outcome: OutcomeRecord,
  isForgotten: (text: string) => boolean,
): { readonly outcome: OutcomeRecord; readonly left_out: readonly string[] } {
  const gone = new Set<string>();
  const kept = <T extends string | null>(text: T, instead: T): T => {
    if (text === null || text === '' || !isForgotten(text)) return text;
    gone.add(text);
    return instead;
  };
  const actions = outcome.actions.map((action) => ({
    ...action,
    reason: kept(action.reason, null),
    message: kept(action.message, null),
    earlier_rejections: action.earlier_rejections.map((one) => ({ ...one, reason: kept(one.reason, '') })),
  }));
  const tells = (text: string) => [...gone].some((word) => text.includes(`: ${word}`));
  const errors = outcome.errors.map((error) =>
    tells(`: ${error.message}`) ? { ...error, message: '' } : error,
  );
  const whole = kept(outcome.summary, '');
  const summary = whole !== null && tells(whole) ? '' : whole;
  return { outcome: { ...outcome, actions, errors, summary }, left_out: [...gone] };
}

/** Whether a text of the run was forgotten; only digests of those are kept, beside the keys of the run's memories. */
export function forgottenIn(record: GraphRecord, runId: string): (text: string) => boolean {
  const find = record.prepare('SELECT 1 FROM run_memories WHERE run_id = ? AND key = ?');
  return (text) => find.get(runId, wordKey(runId, text)) !== undefined;
}

export function noteForgotten(record: GraphRecord, runId: string, texts: readonly string[]): void {
  const note = record.prepare('INSERT OR IGNORE INTO run_memories (run_id, key) VALUES (?, ?)');
  for (const text of texts) note.run(runId, wordKey(runId, text));
}

function wordKey(runId: string, text: string): string {
  return `${runId}/forgotten/${sha256(`${runId} ${text}`)}`;
}
