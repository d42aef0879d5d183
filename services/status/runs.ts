import * as t from 'io-ts';
import { RunList, type RunSummary } from '#kit/contracts/run.ts';
import { decodeJson } from '#kit/decode.ts';
import { messageOf } from '#kit/errors.ts';
import { type HttpQuestion, httpAnswer } from './http-answer.ts';

/** Runs as core-agentd has them. */
export interface StoredRuns {
  /** null where it does not tell. */
  readonly count: number | null;
  readonly latest: readonly RunSummary[];
  readonly detail: string;
}

const latestRuns = 5;
export const Storage = t.strict({ runs_count: t.number });

/** Never throws. */
export async function readRuns(agentd: string, question: HttpQuestion): Promise<StoredRuns> {
  try {
    const [list, storage] = await Promise.all([
      get(`${agentd}/v1/runs?limit=${latestRuns}`, question, RunList),
      get(`${agentd}/v1/storage`, question, Storage),
    ]);
    const problems =
      list.problems.length === 0 ? '' : `; ${list.problems.length} things among them are no runs`;
    return { count: storage.runs_count, latest: list.runs, detail: `readable${problems}` };
  } catch (error) {
    return { count: null, latest: [], detail: messageOf(error) };
  }
}

async function get<A>(url: string, question: HttpQuestion, codec: t.Type<A, unknown, unknown>): Promise<A> {
  const answer = await httpAnswer(url, question);
  if (answer.status === null) throw new Error(answer.message);
  if (answer.status !== 200) throw new Error(`${url} answers ${answer.status}: ${problemIn(answer.text)}`);
  return decodeJson(codec, answer.text, url);
}

function problemIn(text: string): string {
  try {
    return String((JSON.parse(text) as { readonly detail?: unknown }).detail ?? '');
  } catch {
    return '';
  }
}
