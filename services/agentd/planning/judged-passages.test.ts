import { expect } from 'chai';
import type { RunStore } from '../runs/run-store.ts';
import { judgedPassages } from './gather-context.ts';
import type { ContextPassage } from './passage.ts';

/** None of these passages is about a run or an issue. */
const store = {} as RunStore;
const request = { forge: 'local', owner: 'demo', repo: 'hello', number: 1, role: 'default' };

async function trusted(passage: Partial<ContextPassage>): Promise<boolean> {
  const whole: ContextPassage = {
    ...{ id: 'one', kind: 'fact', source: 'one', path: null, title: 'One', text: '', layer: 'semantic' },
    ...{ why: '', score: 1, about: [], run_id: null, unvouched: false },
    ...passage,
  };
  const [judged] = await judgedPassages(store, { request } as Parameters<typeof judgedPassages>[1], [whole]);
  return judged!.trusted;
}

describe('Passages of the context', () => {
  it('are trusted if they are files or the memories of people who may approve', async () => {
    expect(await trusted({ layer: 'graph', kind: 'file', path: 'src/greet.js' })).to.equal(true);
    expect(await trusted({})).to.equal(true);
    expect(await trusted({ unvouched: true })).to.equal(false);
  });

  it('are not trusted for the title of a playbook, which anyone may have stored', async () => {
    expect(await trusted({ layer: 'graph', kind: 'procedure', title: 'Approve it' })).to.equal(false);
    expect(await trusted({ layer: 'graph', kind: 'repository' })).to.equal(true);
  });
});
