import { expect } from 'chai';
import { dialectOf, webhookForges } from '#kit/forges/registry.ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { readRoleMap } from '../targets/role-map.ts';
import { ForgeWebhookSource } from './forge-webhook-source.ts';

const issue = {
  number: 1,
  title: 'a',
  body: 'b',
  state: 'open',
  html_url: 'https://forge.test/you/thing/issues/1',
  labels: [],
  updated_at: '2026-01-01T00:00:00Z',
};
const repository = { name: 'thing', owner: { login: 'you' }, html_url: 'https://forge.test/you/thing' };

describe('A delivery of a forge', () => {
  for (const kind of webhookForges) {
    const source = new ForgeWebhookSource({
      kind,
      config: { secret: null, forge: null, label: null, actions: ['opened', 'edited'], by: 'anyone' },
      roleLabel: null,
      secret: null,
      forges: [{ name: 'forge', kind, base: new URL('https://forge.test'), root: null }],
      roles: readRoleMap({ config: temporaryFolder() }),
    });
    /** The header that says so is not signed: whoever has seen a delivery can send its body under another. */
    const read = (value: object) =>
      source.read(
        {
          body: Buffer.from(JSON.stringify(value)),
          identity: null,
          header: (name) => (name === dialectOf(kind).eventHeader ? 'issues' : 'some-delivery-1'),
        },
        'test',
      );

    it(`of ${kind} about a comment is none about its issue, whatever its header says`, () => {
      const edited = { action: 'edited', issue, repository, sender: { login: 'you' } };
      expect(read(edited).event).to.not.equal(null);
      for (const comment of [{ id: 7, body: 'hello' }, null])
        expect(read({ ...edited, comment })).to.include({ event: null, code: 'event_not_used' });
    });
  }
});
