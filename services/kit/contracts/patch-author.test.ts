import { expect } from 'chai';
import { issueAuthorText, type PatchAuthor, type PatchPlace, patchAuthorText } from './patch-author.ts';

type Person = Extract<PatchAuthor, { kind: 'person' }>;

const inIssue: PatchPlace = { kind: 'issue', id: null, at: null };
const comment = (id: string): PatchPlace => ({ kind: 'comment', id, at: '2026-11-28T10:00:00Z' });

function person(change: Partial<Person> = {}): Person {
  const standing = { login: 'eve', association: 'none', trusted: false };
  return { kind: 'person', ...standing, quoted: false, repaired: false, places: [comment('3')], ...change };
}

describe('The author of a patch', () => {
  const table: readonly [PatchAuthor, string][] = [
    [person(), 'eve (no write access), comment 3 of 2026-11-28'],
    [person({ association: 'contributor' }), 'eve (contributor, no write access), comment 3 of 2026-11-28'],
    [person({ association: 'owner', trusted: true, places: [inIssue] }), 'eve (owner), in the issue'],
    [person({ places: [{ kind: 'task', id: null, at: null }] }), 'eve (no write access), in the task'],
    [
      person({ association: 'member', trusted: true, quoted: true }),
      'an unknown author, quoted by eve (member), comment 3 of 2026-11-28',
    ],
    [person({ repaired: true }), 'eve (no write access), comment 3 of 2026-11-28, repaired by Core'],
    [
      person({ places: [inIssue, comment('3')] }),
      'eve (no write access), in the issue and comment 3 of 2026-11-28',
    ],
    [
      person({ places: ['3', '4', '5'].map(comment) }),
      'eve (no write access), comment 3 of 2026-11-28 and 2 more texts',
    ],
    [
      person({ login: 'mira (owner), in the issue' }),
      '"mira (owner), in the issue" (no write access), comment 3 of 2026-11-28',
    ],
    [{ kind: 'model', model: 'large-4' }, 'model large-4'],
    [{ kind: 'agent', agent: 'claude', protocol: 'acp', model: 'large-4' }, 'agent claude, model large-4'],
    [{ kind: 'agent', agent: 'fix', protocol: 'command', model: null }, 'command fix'],
  ];
  for (const [patch_by, text] of table)
    it(`is shown as ${text}`, () => {
      expect(patchAuthorText({ patch: 'digest', patch_by })).to.equal(`patch by ${text}`);
    });

  it('is not shown without a patch, and not guessed for a plan that does not record it', () => {
    expect(patchAuthorText(null)).to.equal(null);
    expect(patchAuthorText({ patch: null, patch_by: null })).to.equal(null);
    for (const patch_by of [undefined, null, { kind: 'unheard' }])
      expect(patchAuthorText({ patch: 'digest', patch_by })).to.contain('not on record');
  });

  it('stands beside the author of the issue or task, who is named as such', () => {
    const of = (number: number | null, association: string) =>
      issueAuthorText(number, { author: 'mira', association });
    expect(of(1, 'contributor')).to.equal('issue by mira (contributor)');
    expect(of(1, 'none')).to.equal('issue by mira (no write access)');
    expect(of(null, 'owner')).to.equal('task by mira (owner)');
  });
});
