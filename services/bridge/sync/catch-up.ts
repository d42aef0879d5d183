import type { KnownForge } from '#kit/config/known-forges.ts';
import type { CatchUpBody, CatchUpReply, SyncRepositories } from '#kit/contracts/bridge/sync.ts';
import type { ChangedIssues } from '#kit/contracts/issues.ts';
import { crashPoint } from '#kit/crash-point.ts';
import { sha256 } from '#kit/digest.ts';
import { InvalidInput, Refused } from '#kit/errors.ts';
import { dialectOf, isWebhookForge, type WebhookForge, webhookForges } from '#kit/forges/registry.ts';
import type { Daemon } from '../daemon.ts';
import { type ForgeWebhookSource, plannedFieldsText } from '../ingress/forge-webhook-source.ts';
import type { AcceptedEvent } from '../queue/accept-event.ts';
import type { EventQueue } from '../queue/event-queue.ts';
import type { StoredEvent } from '../queue/stored-event.ts';
import type { CatchUpRows, KnownRepository } from './catch-up-rows.ts';

export interface CatchUpParts {
  readonly rows: CatchUpRows;
  readonly daemon: Pick<Daemon, 'changedIssues'>;
  readonly queue: Pick<EventQueue, 'accept' | 'lastOfIssue'>;
  readonly forges: readonly KnownForge[];
  /** By the kind of their forge. */
  readonly sources: Readonly<Record<WebhookForge, ForgeWebhookSource>>;
  /** Called for every event that is stored. */
  readonly stored: (accepted: AcceptedEvent) => void;
}

type Changed = ChangedIssues['issues'][number];

/** Lists of a forge may lag behind its clock. What comes twice is known the second time. */
const overlapMs = 300_000;

/** Of 500 issues each, as a rule. */
const maxRounds = 1_000;

/**
 * Forges repeat no delivery. What they did not deliver is asked for, issue by issue, and handled as a delivery of it: an issue that
 * says what its last event or its newest run says is known.
 */
export class CatchUp {
  readonly #parts: CatchUpParts;

  constructor(parts: CatchUpParts) {
    this.#parts = parts;
  }

  /** Repositories of which deliveries came, of forges that are configured still. */
  async repositories(): Promise<SyncRepositories> {
    const names = this.#parts.forges.map(({ name }) => name);
    const known = (await this.#parts.rows.known()).filter(({ forge }) => names.includes(forge));
    return {
      repositories: known.map((one) => ({ ...one, since: new Date(one.since - overlapMs).toISOString() })),
    };
  }

  /** @throws InvalidInput (`since_missing`), Refused (`forge_without_webhooks`, `forge_reply_endless`), and what the daemon throws */
  async catchUp(body: CatchUpBody, signal: AbortSignal): Promise<CatchUpReply> {
    const { rows, daemon } = this.#parts;
    const { owner, repo, forge = null } = body;
    const begin = body.since ?? (await this.#since(body));
    const counts = { asked: 0, new: 0, known: 0, refused: [] as CatchUpReply['refused'] };
    let since = begin;
    for (let round = 1; ; round++) {
      const page = await daemon.changedIssues({ forge, owner, repo, since }, signal);
      const kind = this.#kindOf(page.forge);
      for (const issue of page.issues) {
        counts.asked++;
        const outcome = await this.#takeUp(kind, page, issue, begin);
        if (outcome === 'new' || outcome === 'known') counts[outcome]++;
        else counts.refused.push({ number: issue.number, ...outcome });
      }
      crashPoint('bridge.caught_up');
      if (!page.more) {
        await rows.passed({ forge: page.forge, owner, repo }, Date.parse(page.until));
        return { forge: page.forge, owner, repo, since: begin, until: page.until, ...counts };
      }
      if (round >= maxRounds || Date.parse(page.until) <= Date.parse(since)) throw endless(page, round);
      since = page.until;
    }
  }

  async #since({ forge, owner, repo }: CatchUpBody): Promise<string> {
    const isIt = (one: Omit<KnownRepository, 'since'>) =>
      `${one.owner}/${one.repo}`.toLowerCase() === `${owner}/${repo}`.toLowerCase() &&
      (forge == null || one.forge === forge);
    const known = (await this.repositories()).repositories.find(isIt);
    if (known !== undefined) return known.since;
    throw new InvalidInput(
      'since_missing',
      `nothing ever came of ${owner}/${repo}, so that it is not known since when to ask: since must say it`,
      { hint: `core-bridge sync --repository ${owner}/${repo} --since 7d` },
    );
  }

  #kindOf(name: string): WebhookForge {
    const kind = this.#parts.forges.find((forge) => forge.name === name)?.kind;
    if (kind !== undefined && isWebhookForge(kind)) return kind;
    throw new Refused(
      'forge_without_webhooks',
      `forge '${name}' sends no webhooks: only ${webhookForges.join(' and ')} do`,
      {
        hint: 'Let a schedule look for issues there.',
      },
    );
  }

  async #takeUp(
    kind: WebhookForge,
    { forge, owner, repo }: ChangedIssues,
    issue: Changed,
    since: string,
  ): Promise<'new' | 'known' | { readonly code: string; readonly message: string }> {
    const { queue, sources, stored } = this.#parts;
    const { number } = issue;
    const target = { forge, owner, repo, number };
    const last = await queue.lastOfIssue(target);
    const reopened = isReopened(issue, last);
    if (!reopened && (issue.planned_at !== null || last?.issue_sha256 === sha256(plannedFieldsText(issue))))
      return 'known';
    const actions = actionsOf(kind, issue, { last, reopened, since });
    const read = sources[kind].asked({ ...issue, target }, actions);
    if (read.event === null) return { code: read.code, message: read.message };
    const accepted = await queue.accept(read.event);
    stored(accepted);
    const { duplicate, event } = accepted;
    if (duplicate || event.reason?.code === 'same_content') return 'known';
    return event.state === 'skipped' && event.reason !== null ? event.reason : 'new';
  }
}

function endless({ forge, owner, repo, until }: ChangedIssues, round: number): Refused {
  const what = `what changed in ${owner}/${repo} on forge '${forge}'`;
  return new Refused(
    'forge_reply_endless',
    round >= maxRounds
      ? `${what} has not come to an end after ${round} answers, which is the most that is read`
      : `${what} is said to go on from ${until}, which is no later than it was asked for`,
    { facts: { limit: maxRounds } },
  );
}

/** True if it was reopened after its last event and its newest plan. All times are by the forge's clock. */
function isReopened({ state, reopened_at, planned_at }: Changed, last: StoredEvent | null): boolean {
  if (state !== 'open' || reopened_at === null) return false;
  const times = [planned_at ?? '', last?.content.occurred_at ?? ''].map((text) => Date.parse(text) || 0);
  return Math.max(...times) < Date.parse(reopened_at);
}

/** What may have happened, as far as is known of the issue. */
function actionsOf(
  kind: WebhookForge,
  issue: Changed,
  how: { readonly last: StoredEvent | null; readonly reopened: boolean; readonly since: string },
): [string, ...string[]] {
  const { last, reopened, since } = how;
  if (issue.state !== 'open') return ['closed'];
  if (reopened) return ['reopened'];
  const before = last?.content.issue.labels ?? [];
  const labels = JSON.stringify([...before].sort()) === JSON.stringify([...issue.labels].sort());
  const label = labels ? [] : [dialectOf(kind).labelAction(before, issue.labels)];
  const isNew = last === null && Date.parse(issue.created_at) >= Date.parse(since);
  const labelsAlone = last?.issue_sha256 === sha256(plannedFieldsText({ ...issue, labels: before }));
  const actions = [...(isNew ? ['opened'] : []), ...(labelsAlone ? [] : ['edited']), ...label];
  return actions as [string, ...string[]];
}
