import { expect } from 'chai';
import { groupsOf, scopesOf, shownNameOf } from './claims.ts';

describe('What a provider says about a person', () => {
  it('has groups as a list, as one text, or inside another claim, and nothing else is one', () => {
    const at = (groups_claim: string, claims: object) => groupsOf({ ...claims }, { groups_claim });
    expect(at('groups', { groups: ['a', 'b', 'a', '', 7, null] })).to.deep.equal(['a', 'b']);
    expect(at('hd', { hd: 'example.org' })).to.deep.equal(['example.org']);
    expect(at('/realm_access/roles', { realm_access: { roles: ['a'] } })).to.deep.equal(['a']);
    expect(at('https://example.org/groups', { 'https://example.org/groups': ['a'] })).to.deep.equal(['a']);
    for (const groups of [undefined, null, 7, { a: true }, [['a']]])
      expect(at('groups', { groups }), JSON.stringify(groups)).to.deep.equal([]);
    expect(at('/groups/length', { groups: 'abc' })).to.deep.equal([]);
  });

  it('gives the scopes of every group, and none for a name that every object has', () => {
    const groups = { a: ['read' as const], b: ['read' as const, 'approve' as const] };
    expect(scopesOf(['a', 'b', 'c'], { groups })).to.deep.equal(['read', 'approve']);
    expect(scopesOf(['constructor', '__proto__', 'toString', 'A'], { groups })).to.deep.equal([]);
  });

  it('names them by the first claim that has letters, without what could deceive', () => {
    const shown = (claims: object) =>
      shownNameOf({ sub: 's-1', ...claims }, { name_claims: ['email', 'preferred_username', 'name'] });
    expect(shown({ email: 'mira@example.org', name: 'Mira' })).to.equal('mira@example.org');
    expect(shown({ email: 'kim@example.org', email_verified: false, name: "Mira O'Neill-Şen" })).to.equal(
      "Mira O'Neill-Şen",
    );
    expect(shown({ email: 7, preferred_username: ' ', name: '\u202e' })).to.equal('s-1');
    expect(shown({ name: '@all #12 <b>x</b>\u0007`y`' })).to.equal('all 12 b x b y');
    expect(shown({ sub: '\u0000' })).to.equal('somebody');
    expect(shown({ name: 'x'.repeat(500) })).to.have.length(60);
    // The mark of another account cannot stand in a name.
    expect(shown({ name: 'mira@example.org#3fa9c1d2e4b5a6f7' })).to.not.contain('#');
  });
});
