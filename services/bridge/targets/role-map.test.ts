import { expect } from 'chai';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { readRoleMap } from './role-map.ts';

describe('The role that an event is given', () => {
  const roles = readRoleMap({ config: temporaryFolder() });
  const chosen = (word: string | null, labels: readonly string[] = [], prefix: string | null = 'core:') =>
    roles.choose(word, labels, prefix);

  it('is the one of its key or its name, in any case', () => {
    for (const word of ['review', 'REVIEW', ' Assayour ', 'assayour'])
      expect(chosen(word)).to.deep.equal({
        role: { key: 'review', name: 'Assayour' },
        plans: true,
        note: null,
      });
  });

  it('is the default one where none is named', () => {
    for (const word of [null, '', '  ']) expect(chosen(word).role.name).to.equal('Depute');
    expect(chosen(null).note).to.equal(null);
  });

  it('is the default one, and said so, where the word is no role', () => {
    const { role, note } = chosen('constructor');
    expect(role.name).to.equal('Depute');
    expect(note).to.contain('"constructor"').and.to.contain('architect').and.to.contain('Depute works');
  });

  it('can be chosen by a label, which never wins over the word', () => {
    expect(chosen(null, ['bug', 'core:triage'])).to.deep.include({ note: 'role Avisour by its label' });
    expect(chosen('ops', ['core:triage']).role.name).to.equal('Steward');
    expect(chosen(null, ['core:nobody', 'triage']).role.name).to.equal('Depute');
    expect(chosen(null, ['core:triage'], null).role.name).to.equal('Depute');
  });

  it('does not plan if it may propose nothing', () => {
    expect(chosen('executor').plans).to.equal(false);
  });

  it('comes with the time that a planning may take', () => {
    expect(roles.planningSeconds).to.equal(1200);
  });
});
