import * as t from 'io-ts';
import { RunList, type RunSummary } from '#kit/contracts/run.ts';
import { decodeJson } from '#kit/decode.ts';
import { messageOf } from '#kit/errors.ts';
import { type HttpQuestion, httpAnswer, problemIn } from './http-answer.ts';
import { type TokenShower, unprovenFix } from './token-shower.ts';

/** Runs as core-agentd has them. */
export interface StoredRuns {
  /** null where it does not tell. */
  readonly count: number | null;
  readonly latest: readonly RunSummary[];
  readonly detail: string;
  /** What to do where it does not tell; null where that is not known. */
  readonly fix: string | null;
}

const latestRuns = 5;
export const Storage = t.strict({ runs_count: t.number });

/** Asks nothing of a program that nothing shows to be ours, not even without a token: its answer is no fact. Never throws. */
export async function readRuns(
  agentd: string,
  { shower, ...limits }: Pick<HttpQuestion, 'timeoutMs' | 'signal'> & { readonly shower: TokenShower },
): Promise<StoredRuns> {
  const why = shower.why('core-agentd', agentd);
  if (why !== null) return { count: null, latest: [], detail: `not asked: ${why}`, fix: unprovenFix };
  try {
    const question = { ...limits, token: shower.text('core-agentd', agentd) };
    const [list, storage] = await Promise.all([
      get(`${agentd}/v1/runs?limit=${latestRuns}`, question, RunList),
      get(`${agentd}/v1/storage`, question, Storage),
    ]);
    const problems =
      list.problems.length === 0 ? '' : `; ${list.problems.length} things among them are no runs`;
    return { count: storage.runs_count, latest: list.runs, detail: `readable${problems}`, fix: null };
  } catch (error) {
    return { count: null, latest: [], detail: messageOf(error), fix: null };
  }
}

async function get<A>(url: string, question: HttpQuestion, codec: t.Type<A, unknown, unknown>): Promise<A> {
  const answer = await httpAnswer(url, question);
  if (answer.status === null) throw new Error(answer.message);
  if (answer.status !== 200) throw new Error(`${url} answers ${answer.status}: ${problemIn(answer.text)}`);
  return decodeJson(codec, answer.text, url);
}
