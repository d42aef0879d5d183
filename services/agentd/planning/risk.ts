import { Minimatch } from 'minimatch';
import type { ActionHistory, FileChange, Risk } from '../action.ts';
import type { Policy } from './policy.ts';

export interface RiskAssessment {
  readonly risk: Risk;
  /** 0 to 100. */
  readonly score: number;
  readonly reasons: readonly string[];
}

/** What the change as a whole brings along; each action's own score is made from it. */
export interface ChangeFacts {
  readonly files: readonly FileChange[];
  readonly untrusted: readonly string[];
  /** Files of the change that decide what the validation does, for example a Makefile. */
  readonly validation_files: readonly string[];
  /** Files whose install scripts the change touches. */
  readonly install_scripts: readonly string[];
  readonly rejected_before: number;
}

function pathsMatching(paths: readonly string[], globs: readonly string[]): string[] {
  const patterns = globs.map((glob) => new Minimatch(glob, { dot: true, nocase: true }));
  return paths.filter((path) => patterns.some((pattern) => pattern.match(path)));
}

export function assessPatch(change: ChangeFacts, { risk: table }: Policy): RiskAssessment {
  const reasons: string[] = [];
  const lines = change.files.reduce((sum, file) => sum + (file.added ?? 0) + (file.removed ?? 0), 0);
  const size = change.files.length * table.per_file + Math.floor(lines / table.lines_per_point);
  let score = table.base.apply_patch + Math.min(size, table.size_at_most);
  if (size >= table.size_at_most) reasons.push(`large: ${change.files.length} files, ${lines} lines`);
  if (change.untrusted.length > 0) {
    score += table.untrusted_influence;
    reasons.push(`led by text of outsiders: ${change.untrusted.join(', ')}`);
  }
  if (change.rejected_before > 0) {
    score += table.rejected_before;
    reasons.push(`an earlier proposal for this issue was rejected`);
  }
  const touched = change.files.flatMap((file) =>
    file.old_path === null ? [file.path] : [file.path, file.old_path],
  );
  const sensitive = pathsMatching(touched, table.sensitive_paths);
  if (sensitive.length > 0) {
    score = Math.max(score, table.levels.high);
    reasons.push(`sensitive: ${sensitive.join(', ')}`);
  }
  const critical = new Set([
    ...pathsMatching(touched, table.critical_paths),
    ...change.validation_files,
    ...change.install_scripts,
  ]);
  if (critical.size > 0) {
    score = Math.max(score, table.levels.critical);
    reasons.push(`decides what runs elsewhere: ${[...critical].join(', ')}`);
  }
  const links = change.files.filter((file) => file.new_mode === '120000').map((file) => file.path);
  if (links.length > 0) {
    score = Math.max(score, table.levels.high);
    reasons.push(`symbolic links: ${links.join(', ')}`);
  }
  return assessment(score, reasons, table.levels);
}

/** Actions other than the patch: the base score and what speaks against this one. */
export function assess(
  base: number,
  extras: readonly (readonly [number, string])[],
  { risk: table }: Policy,
): RiskAssessment {
  const score = extras.reduce((sum, [points]) => sum + points, base);
  return assessment(
    score,
    extras.map(([, reason]) => reason),
    table.levels,
  );
}

/** Below one half the score of like actions adds points, the more the lower it is. A good history takes none away. */
export function withHistory(
  assessed: RiskAssessment,
  history: ActionHistory | null,
  { risk: table }: Policy,
): RiskAssessment {
  if (history === null || history.score >= 0.5) return assessed;
  const points = Math.round(table.outcome_history * (1 - 2 * history.score));
  if (points === 0) return assessed;
  return assessment(
    assessed.score + points,
    [...assessed.reasons, `like actions went badly: ${countsText(history)}`],
    table.levels,
  );
}

/** For example `2 merged, 1 rejected`. */
export function countsText({ counts }: ActionHistory): string {
  const told = Object.entries(counts).filter(([, count]) => count > 0);
  return told.map(([outcome, count]) => `${count} ${outcome}`).join(', ');
}

function assessment(
  points: number,
  reasons: readonly string[],
  levels: Policy['risk']['levels'],
): RiskAssessment {
  const score = Math.min(100, points);
  const risk =
    score >= levels.critical
      ? 'critical'
      : score >= levels.high
        ? 'high'
        : score >= levels.medium
          ? 'medium'
          : 'low';
  return { risk, score, reasons };
}
