import { codeOf, Interrupted, messageOf, TimedOut, Unauthorized } from '#kit/errors.ts';
import { traitsOf } from '#kit/forges/registry.ts';
import type { ForgeFacts, ForgeReport } from '../ports/forge-report.ts';
import type { ConfiguredForge } from './configured-forge.ts';
import { forgeTime } from './filters.ts';

/** Clocks that are further apart make `since` questions miss, in seconds. */
const maxSkew_s = 60;

export async function examineForge(forge: ConfiguredForge, answerMs: number): Promise<ForgeReport> {
  const common = { forge: forge.name, kind: forge.kind, url: forge.url };
  const missing = forge.missing();
  if (missing !== null) {
    const fix = `To use it, put a token into ${missing.replace(/^token file /, '')} (chmod 600).`;
    return { ...common, state: 'unused', detail: 'not in use: it has no token', fix, facts: null };
  }
  try {
    const facts = await forge.examine(answerMs);
    return { ...common, ...judged(forge, facts, answerMs), facts };
  } catch (error) {
    return { ...common, ...failed(forge, error, answerMs), facts: null };
  }
}

function judged(
  { kind, url }: ConfiguredForge,
  { account, scopes, lacking, unanswered, clock_ahead_s }: ForgeFacts,
  answerMs: number,
): Pick<ForgeReport, 'state' | 'detail' | 'fix'> {
  if (traitsOf(kind).default_root !== null) return { state: 'works', detail: `folder ${url}`, fix: null };
  const problems = [
    ...lacking.map(({ scope, needed_by }) => `the token lacks ${scope}, for ${needed_by}`),
    ...unanswered.map((what) => `${what} was not answered within ${answerMs / 1000} s`),
    ...skew(clock_ahead_s),
  ];
  const held = scopes === null ? '' : `, scopes ${scopes.join(', ') || 'none'}`;
  const whose = account === null ? '' : `, token of ${account}${held}`;
  const detail = [`${url} answers${whose}`, ...problems].join('; ');
  if (problems.length === 0) return { state: 'works', detail, fix: null };
  const fix = lacking.length > 0 ? 'Make a token with these scopes too.' : null;
  return { state: 'limited', detail, fix };
}

function skew(ahead: number | null): string[] {
  if (ahead === null || Math.abs(ahead) <= maxSkew_s) return [];
  return [`its clock is ${Math.abs(ahead)} s ${ahead > 0 ? 'ahead of' : 'behind'} this machine's`];
}

function failed(
  { url }: ConfiguredForge,
  error: unknown,
  answerMs: number,
): Pick<ForgeReport, 'state' | 'detail' | 'fix'> {
  if (isSilence(error)) {
    const detail = `${url} did not answer within ${answerMs / 1000} s; it may be busy`;
    return { state: 'silent', detail, fix: 'Try again; answers.seconds in core.json gives it longer.' };
  }
  if (error instanceof Unauthorized || /^forge_(account|token)/.test(codeOf(error)))
    return { state: 'refused', detail: messageOf(error), fix: 'Put a new token into that file.' };
  return { state: 'unreachable', detail: messageOf(error), fix: 'Check network, proxy and base_url.' };
}

export function isSilence(error: unknown): boolean {
  return error instanceof Interrupted || error instanceof TimedOut;
}

/** Whole seconds that a forge is ahead, by the `Date` of an answer that came between the two times. */
export function clockAhead(date: string | null, sent: number, received: number): number | null {
  if (date === null) return null;
  return Math.round((Date.parse(forgeTime(date)) - (sent + received) / 2) / 1000);
}
