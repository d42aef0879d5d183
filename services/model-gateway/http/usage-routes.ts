import {
  Day,
  UsageGroup,
  type UsageLine,
  UsageReply,
  usageGroups,
} from '#kit/contracts/model-gateway/usage.ts';
import { InvalidInput, Unauthorized } from '#kit/errors.ts';
import { queryValue, type Route, route } from '#kit/http/route.ts';
import { accountOf } from '../ledger/accounts.ts';
import type { Ledger } from '../ledger/ledger.ts';

const dayParameter = { type: 'string', format: 'date' };

export function usageRoutes(ledger: Pick<Ledger, 'usage'>): readonly Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/v1/usage',
        summary: 'What calls used and cost, by run, model or day',
        scope: 'read',
        query: {
          by: {
            description: 'How to group; default day',
            schema: { type: 'string', enum: [...usageGroups] },
          },
          from: { description: 'First day, in UTC', schema: dayParameter },
          to: { description: 'Last day, in UTC, included', schema: dayParameter },
        },
        answers: { 200: { description: 'Calls that ended', content: UsageReply } },
      },
      async ({ query, identity }) => {
        // Who leaves the key of a run away must not see more than with it.
        if (identity === null) {
          throw new Unauthorized('token_required', 'what calls cost needs a token of scope read', {
            hint: 'Send authorization: Bearer TOKEN; ./core token create makes one.',
          });
        }
        const by = queryValue(UsageGroup, query.by ?? 'day', 'by');
        const [from, to] = [dayIn(query.from, 'from'), dayIn(query.to, 'to')];
        if (from !== null && to !== null && from > to) {
          throw new InvalidInput(
            'invalid_query',
            `query parameter from is ${from}: must not be after to, ${to}`,
          );
        }
        // The key of a run sees what that run used, and nothing of others.
        const rows = await ledger.usage({ by, from, to, run: accountOf(identity).run });
        const reply: UsageReply = { by, from, to, rows: [...rows], total: totalOf(rows) };
        return { json: reply };
      },
    ),
  ];
}

function totalOf(rows: readonly UsageLine[]): UsageLine {
  const total = { ...noCalls };
  for (const row of rows) for (const member of summed) total[member] += row[member];
  return { name: 'total', ...total, cost: Math.round(total.cost * 1_000_000) / 1_000_000 };
}

const noCalls = {
  ...{ calls: 0, aborted: 0, failed: 0, estimated: 0, contradictory: 0, unsettled: 0 },
  ...{ input_tokens: 0, output_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, cost: 0 },
};
const summed = Object.keys(noCalls) as (keyof typeof noCalls)[];

function dayIn(text: string | undefined, name: string): string | null {
  return text === undefined ? null : queryValue(Day, text, name);
}
