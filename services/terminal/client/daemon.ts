import * as t from 'io-ts';
import { ApprovalAnswer } from '#kit/contracts/action.ts';
import { Inbox } from '#kit/contracts/inbox.ts';
import { Accepted, RunDetail, RunEventLine, RunList, RunSummary } from '#kit/contracts/run.ts';
import { IssueThread, RunProgress, UndoPlan, ValidationReport } from '#kit/contracts/stored-texts.ts';
import { decodeJson } from '#kit/decode.ts';
import { textOfBytes } from '#kit/diff/text-of-bytes.ts';
import { sha256 } from '#kit/digest.ts';
import { Failed } from '#kit/errors.ts';
import { createHttpClient, type HttpClient, type HttpClientOptions } from '#kit/http/client.ts';
import type { SignedDecision } from '../state/state.ts';

const Capabilities = t.strict({ checkouts: t.array(t.string) });

export type ListNews = { readonly kind: 'listening' } | { readonly kind: 'run'; readonly run: RunSummary };
export type RunNews =
  | { readonly kind: 'recorded'; readonly event: RunEventLine }
  | { readonly kind: 'progress'; readonly progress: RunProgress };

/** What the interface asks of core-agentd, over its public HTTP API. */
export class Daemon {
  readonly #client: HttpClient;

  constructor(options: Pick<HttpClientOptions, 'baseUrl' | 'token'>) {
    this.#client = createHttpClient(options);
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  runs(cursor: string | null, signal: AbortSignal): Promise<RunList> {
    const after = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    return this.#client.get(`/v1/runs?limit=100${after}`, RunList, { signal });
  }

  /** What waits for the owner of the token. */
  inbox(signal: AbortSignal): Promise<Inbox> {
    return this.#client.get('/v1/inbox', Inbox, { signal });
  }

  async checkouts(signal: AbortSignal): Promise<readonly string[]> {
    return (await this.#client.get('/v1/capabilities', Capabilities, { signal })).checkouts;
  }

  run(runId: string, signal?: AbortSignal): Promise<RunDetail> {
    return this.#client.get(runPath(runId), RunDetail, { signal });
  }

  /**
   * The patch whose digest the plan names; other bytes are never shown as it.
   * @throws Failed (`artifact_damaged`)
   */
  async patch(runId: string, digest: string, signal?: AbortSignal): Promise<string> {
    const bytes = await this.#client.getBytes(`${runPath(runId)}/diff`, { signal });
    const actual = sha256(bytes);
    if (actual === digest) return textOfBytes(bytes);
    throw new Failed('artifact_damaged', `the patch of run ${runId} is ${actual}; the plan names ${digest}`);
  }

  async issue(runId: string, digest: string, signal?: AbortSignal): Promise<IssueThread> {
    return decodeJson(IssueThread, await this.text(runId, digest, signal), `issue ${digest}`);
  }

  async report(runId: string, digest: string, signal?: AbortSignal): Promise<ValidationReport> {
    const text = await this.text(runId, digest, signal);
    return decodeJson(ValidationReport, text, `validation report ${digest}`);
  }

  async text(runId: string, digest: string, signal?: AbortSignal): Promise<string> {
    const path = `${runPath(runId)}/artifacts/${encodeURIComponent(digest)}`;
    return Buffer.from(await this.#client.getBytes(path, { signal })).toString('utf8');
  }

  decide(
    runId: string,
    decision: 'approve' | 'reject',
    { action_id, digest, seen_approval, signature }: SignedDecision,
    { reason = null, anyway = false }: { readonly reason?: string | null; readonly anyway?: boolean },
  ): Promise<ApprovalAnswer> {
    const path = `${runPath(runId)}/actions/${encodeURIComponent(action_id)}/approval`;
    const body = {
      decision,
      digest,
      seen_approval,
      ...(reason === null ? {} : { reason }),
      ...(anyway ? { anyway } : {}),
      ...(signature === undefined ? {} : { signature }),
    };
    return this.#client.post(path, body, ApprovalAnswer);
  }

  /**
   * @param checkout null: nothing is delivered
   * @param actions action_ids: nothing else is executed, whatever is approved meanwhile
   */
  execute(runId: string, checkout: string | null, actions: readonly string[]): Promise<Accepted> {
    return this.#client.post(`${runPath(runId)}/execute`, { actions, checkout }, Accepted);
  }

  resume(runId: string): Promise<Accepted> {
    return this.#client.post(`${runPath(runId)}/resume`, {}, Accepted);
  }

  cancel(runId: string): Promise<unknown> {
    return this.#client.post(`${runPath(runId)}/cancel`, {}, t.unknown);
  }

  undoPlan(runId: string): Promise<UndoPlan> {
    return this.#client.get(`${runPath(runId)}/undo`, UndoPlan);
  }

  undo(runId: string): Promise<Accepted> {
    return this.#client.post(`${runPath(runId)}/undo`, {}, Accepted);
  }

  plan(issue: {
    readonly owner: string;
    readonly repo: string;
    readonly number: number;
    readonly keep: boolean;
    readonly anyway: boolean;
  }): Promise<Accepted> {
    return this.#client.post('/v1/runs', issue, Accepted);
  }

  async *listNews(signal: AbortSignal): AsyncIterable<ListNews> {
    for await (const { event, data } of this.#client.events('/v1/events', { signal })) {
      if (event === 'listening') yield { kind: 'listening' };
      if (event === 'run') yield { kind: 'run', run: decodeJson(RunSummary, data, 'event run') };
    }
  }

  async *runNews(runId: string, after: number, signal: AbortSignal): AsyncIterable<RunNews> {
    const options = { signal, lastEventId: String(after) };
    for await (const { event, data } of this.#client.events(`${runPath(runId)}/events`, options)) {
      if (event === 'progress') {
        yield { kind: 'progress', progress: decodeJson(RunProgress, data, 'event progress') };
      } else yield { kind: 'recorded', event: decodeJson(RunEventLine, data, `event ${event}`) };
    }
  }
}

function runPath(runId: string): string {
  return `/v1/runs/${encodeURIComponent(runId)}`;
}
