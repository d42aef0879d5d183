import { expect } from 'chai';
import fc from 'fast-check';
import { unknownKeys } from '#kit/config/unknown-keys.ts';
import { DashboardEvent } from '#kit/contracts/bridge/dashboard-event.ts';
import { unknownMembers } from './unknown-members.ts';

const event = {
  event_id: 'e',
  kind: 'issue.created',
  occurred_at: '2026-01-01T00:00:00Z',
  issue: { id: '1', title: 't', status: 's', forge: { owner: 'o', repo: 'r', number: 1 } },
  actor: { name: 'mira' },
};

describe('Members of an event that nobody looks at', () => {
  it('are none of those that are documented', () => {
    expect(unknownMembers(event)).to.deep.equal([]);
    expect(unknownMembers({ ...event, actor: 'mira', issue: { ...event.issue, forge: null } })).to.deep.equal(
      [],
    );
  });

  it('are found wherever they are, as by walking all of the codec', () => {
    const extra = fc.dictionary(
      fc.constantFrom('name', 'path', 'branch', 'a/b', 'id', 'toString'),
      fc.integer(),
      {
        maxKeys: 3,
      },
    );
    fc.assert(
      fc.property(extra, extra, extra, extra, (ofEvent, ofIssue, ofForge, ofActor) => {
        const { forge } = event.issue;
        const issue = { ...ofIssue, ...event.issue, forge: { ...ofForge, ...forge, name: 'local' } };
        const given = { ...ofEvent, ...event, issue, actor: { ...ofActor, ...event.actor } };
        const walked = unknownKeys(DashboardEvent, given).map(({ pointer }) => pointer);
        expect(unknownMembers(given)).to.deep.equal(walked);
      }),
    );
  });
});
