import { countsText } from '#kit/contracts/action.ts';
import type { ActionHistory, Risk } from '../action.ts';
import type { Policy } from '../policy.ts';

export interface RiskAssessment {
  readonly risk: Risk;
  /** 0 to 100. */
  readonly score: number;
  readonly reasons: readonly string[];
}

/** A base score and what speaks against this action, each with its points. */
export function assess(
  base: number,
  extras: readonly (readonly [points: number, reason: string])[],
  { risk: { levels } }: Policy,
): RiskAssessment {
  const score = extras.reduce((sum, [points]) => sum + points, base);
  return riskOf(
    score,
    extras.map(([, reason]) => reason),
    levels,
  );
}

/** Below one half the score of similar actions adds points, the more the lower it is. A good history takes none away. */
export function withHistory(
  assessed: RiskAssessment,
  history: ActionHistory | null,
  { risk: table }: Policy,
): RiskAssessment {
  if (history === null || history.score >= 0.5) return assessed;
  const points = Math.round(table.outcome_history * (1 - 2 * history.score));
  if (points === 0) return assessed;
  return riskOf(
    assessed.score + points,
    [...assessed.reasons, `like actions went badly: ${countsText(history)}`],
    table.levels,
  );
}

/** For example `byte for byte what mira rejected at 2026-11-24 04:51`. */
export function sameAsRejectedText({ by, at }: { readonly by: string; readonly at: string }): string {
  return `byte for byte what ${by} rejected at ${at.slice(0, 16).replace('T', ' ')}`;
}

/** What a person rejected already is at least `high`, and above what it would be otherwise. */
export function withSameRejected(
  assessed: RiskAssessment,
  rejected: { readonly by: string; readonly at: string } | null,
  { risk: table }: Policy,
): RiskAssessment {
  if (rejected === null) return assessed;
  const points = Math.max(assessed.score + table.rejected_before, table.levels.high);
  return riskOf(points, [...assessed.reasons, sameAsRejectedText(rejected)], table.levels);
}

export function riskOf(
  points: number,
  reasons: readonly string[],
  levels: Policy['risk']['levels'],
): RiskAssessment {
  const score = Math.min(100, points);
  for (const risk of ['critical', 'high', 'medium'] as const) {
    if (score >= levels[risk]) return { risk, score, reasons };
  }
  return { risk: 'low', score, reasons };
}
