import { expect } from 'chai';
import { smokeForge } from '#kit/config/smoke-forge.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { readRoleMap } from '../targets/role-map.ts';
import { DashboardSource, unknownMembers } from './dashboard-source.ts';

describe('The states of a dashboard that are planned', () => {
  const source = new DashboardSource({
    config: { dashboard: { secret: null, statuses: ['Todo'] }, role_label: null, signature_seconds: 300 },
    secret: null,
    forges: [{ name: 'local', kind: 'local', base: null, root: 'forge' }],
    roles: readRoleMap({ config: temporaryFolder() }),
    now: Date.now,
  });

  function codeOf(status: string, forge: string): string | undefined {
    const { owner, repo } = smokeForge;
    const event = {
      event_id: 'e1',
      kind: 'issue.status_changed',
      occurred_at: '2026-01-01T00:00:00Z',
      issue: { id: '1', title: 'a', status, forge: { name: forge, owner, repo, number: 1 } },
    };
    const body = Buffer.from(JSON.stringify(event));
    const read = source.read({ body, identity: null, header: () => undefined }, 'test');
    return read.event?.skip?.code;
  }

  it('are those that are configured, and every one for a smoke run', () => {
    expect(codeOf('Todo', 'local')).to.equal(undefined);
    expect(codeOf('ready', 'local')).to.equal('status_not_planned');
    expect(codeOf('ready', smokeForge.name)).to.equal(undefined);
  });
});

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

  it('are found wherever they are', () => {
    const { issue, actor } = event;
    const given = {
      ...{ ...event, 'a/b': 1 },
      issue: { ...issue, branch: 1, forge: { ...issue.forge, name: 'local', path: 1 } },
      actor: { ...actor, toString: 1 },
    };
    expect(unknownMembers(given)).to.have.members([
      '/a~1b',
      '/issue/branch',
      '/issue/forge/path',
      '/actor/toString',
    ]);
  });
});
