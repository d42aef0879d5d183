import { messageOf } from '#kit/errors.ts';
import { type ActionHistory, actionKinds } from '../action.ts';
import type { Context } from './context.ts';

export interface KnownHistory {
  /** By kind of action; kinds that nobody tried before are missing. */
  readonly byKind: ReadonlyMap<string, ActionHistory>;
  readonly notices: readonly string[];
}

export const noHistory: KnownHistory = { byKind: new Map(), notices: [] };

/** How actions like those of this change went before. */
export async function actionHistory(
  context: Context | null,
  question: { readonly repository: string; readonly role: string; readonly files: readonly string[] },
  signal: AbortSignal,
): Promise<KnownHistory> {
  if (context === null) return noHistory;
  const { repository, role, files } = question;
  try {
    const actions = actionKinds.map((kind) => ({ kind, files: [...files] }));
    const scores = await context.scorePaths({ repository, role, actions }, signal);
    const known = scores.filter(({ cases }) => cases.length > 0);
    return {
      byKind: new Map(
        known.map(({ kind, score, expected, counts, cases }) => [
          kind,
          { score, expected, counts, cases: cases.map(withShortReason) },
        ]),
      ),
      notices: [],
    };
  } catch (error) {
    signal.throwIfAborted();
    return { byKind: new Map(), notices: [`context: ${messageOf(error)}; scored without prior outcomes`] };
  }
}

/** Events hold small facts; the whole reason is in the run that it belongs to. */
function withShortReason<C extends { readonly reason: string | null }>(one: C): C {
  const { reason } = one;
  if (reason === null || reason.length <= 300) return one;
  return { ...one, reason: `${reason.slice(0, 299).toWellFormed()}…` };
}
