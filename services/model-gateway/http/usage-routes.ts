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
          by: { description: 'How to group; default day', schema: { enum: [...usageGroups] } },
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
  const sum = (pick: (row: UsageLine) => number) => rows.reduce((total, row) => total + pick(row), 0);
  return {
    name: 'total',
    calls: sum((row) => row.calls),
    aborted: sum((row) => row.aborted),
    failed: sum((row) => row.failed),
    estimated: sum((row) => row.estimated),
    unsettled: sum((row) => row.unsettled),
    input_tokens: sum((row) => row.input_tokens),
    output_tokens: sum((row) => row.output_tokens),
    cached_tokens: sum((row) => row.cached_tokens),
    cache_write_tokens: sum((row) => row.cache_write_tokens),
    cost: Math.round(sum((row) => row.cost) * 1_000_000) / 1_000_000,
  };
}

function dayIn(text: string | undefined, name: string): string | null {
  return text === undefined ? null : queryValue(Day, text, name);
}
