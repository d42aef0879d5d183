import type { InboxItem, InboxKind } from '#kit/contracts/inbox.ts';
import type { Route } from '#kit/http/route.ts';
import { subjectOf } from '#kit/repository-name.ts';
import { badge, moment, riskBadge } from './badges.ts';
import { type Html, html, nothing } from './html.ts';
import { layout } from './layout.ts';
import { htmlReply, pageRoute, type Visit } from './page.ts';
import type { ReviewParts } from './review-parts.ts';
import { shownLine } from './visible-text.ts';

const badges: Readonly<Record<InboxKind, Html>> = {
  approval: badge('warn', 'waits for approval'),
  lapsed: badge('warn', 'approval has ended'),
  execution: badge('warn', 'waits for execution'),
  validation: badge('bad', 'validation failed'),
  outcome: badge('bad', 'needs a look'),
  interrupted: badge('warn', 'interrupted'),
  draft: badge('live', 'draft'),
  planning: badge('bad', 'planning failed'),
};

const allParameter = {
  all: { description: 'What waits for anybody', schema: { type: 'string', enum: ['true'] } },
};

/** What waits for who is signed in, and how much of it there is. */
export function inboxRoutes(parts: ReviewParts): Route[] {
  const read = ({ by }: Visit, all = false) =>
    parts.agent.inbox({
      person: all ? null : by.name,
      scopes: by.providerAccount === undefined ? undefined : by.scopes,
      now: new Date(),
    });
  return [
    pageRoute(
      parts,
      { path: '/inbox', summary: 'What waits for you', query: allParameter },
      async (visit) => {
        const all = visit.request.query.all === 'true';
        const { items, others } = await read(visit, all);
        return htmlReply(
          layout(visit, { title: 'Inbox', kind: 'list', live: '/live', body: inboxBody(items, others, all) }),
        );
      },
    ),
    pageRoute(parts, { path: '/inbox/count', summary: 'How much waits for you' }, async (visit) => {
      const { items } = await read(visit);
      return htmlReply(html`${items.length}`, 200, 'part');
    }),
  ];
}

function inboxBody(items: readonly InboxItem[], others: number, all: boolean): Html {
  const more = all
    ? html`<p><a href="/inbox">Only what waits for you</a></p>`
    : others > 0
      ? html`<p><a href="/inbox?all=true">${others} more ${others === 1 ? 'waits' : 'wait'} for others</a></p>`
      : nothing;
  return html`<div class="list-head"><h1>Inbox</h1></div>
${
  items.length === 0
    ? html`<p class="empty">Nothing waits for ${all ? 'anybody' : 'you'}. <a href="/">All runs</a></p>`
    : html`<ol class="runs">${items.map(row)}</ol>`
}
${more}`;
}

function row(item: InboxItem): Html {
  const { run_id, title, highest_risk, kind, text, people, since } = item;
  const whose =
    people === null ? '' : people.length === 0 ? ', of nobody in policy.json' : `, of ${people.join(' or ')}`;
  return html`<li id="row-${run_id}-${kind}"><a class="run" href="/runs/${run_id}" data-run>
<span class="run-title"><span class="subject">${shownLine(subjectOf(item))}</span> ${shownLine(title ?? 'not read yet')}</span>
<span class="run-marks">${riskBadge(highest_risk)}${badges[kind]}</span>
<span class="run-note">${shownLine(`${text}${whose}`)}, changed ${moment(since)}</span>
</a></li>`;
}
