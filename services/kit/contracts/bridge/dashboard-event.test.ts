import { expect } from 'chai';
import { decode } from '../../decode.ts';
import { InvalidInput } from '../../errors.ts';
import { DashboardEvent } from './dashboard-event.ts';

describe('The id of an event of a dashboard', () => {
  const decoded = (event_id: string) =>
    decode(
      DashboardEvent,
      {
        event_id,
        kind: 'issue.updated',
        occurred_at: '2026-01-01T00:00:00Z',
        issue: { id: '1', title: 'a', status: 'todo' },
      },
      'the body',
    ).event_id;

  it('does not look like the second try of another event', () => {
    for (const id of ['V~2', 'V~0', '~10'])
      expect(() => decoded(id), id).to.throw(InvalidInput, 'not ending in ~ and digits');
    for (const id of ['V', '2', 'V~2x', 'V~', 'V2', '~2 V']) expect(decoded(id)).to.equal(id);
  });
});
