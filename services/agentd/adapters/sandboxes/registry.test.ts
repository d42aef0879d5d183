import { expect } from 'chai';
import { Refused } from '#kit/errors.ts';
import { has } from '../../../../test/needs.ts';
import { chooseSandbox } from './registry.ts';

function refusal(choice: Promise<unknown>): Promise<unknown> {
  return choice.then(
    () => 'allowed',
    (error: unknown) => error,
  );
}

describe('Choosing a sandbox', () => {
  it('refuses to run without one unless the configuration allows it by name', async () => {
    const error = await refusal(chooseSandbox('none', false));
    expect(error).to.be.instanceOf(Refused).and.include({ code: 'sandbox_unavailable' });
    expect((error as Refused).message).to.contain('allow_unsandboxed');
    expect((await chooseSandbox('none', true)).kind).to.equal('none');
  });

  it('takes the best that works, and no sandbox only where none does and it is allowed', async () => {
    const best = has('bubblewrap') ? 'bubblewrap' : has('unshare') ? 'unshare' : 'none';
    expect((await chooseSandbox('auto', true)).kind).to.equal(best);
    const strict = await refusal(chooseSandbox('auto', false).then(({ kind }) => kind));
    if (best !== 'none') expect(strict).to.equal('allowed');
    else expect(strict).to.be.instanceOf(Refused);
  });

  it('says of each that was tried why it does not work, and what to do', async () => {
    if (has('bubblewrap') && has('unshare')) {
      for (const kind of ['bubblewrap', 'unshare'] as const) {
        expect((await chooseSandbox(kind, false)).kind).to.equal(kind);
      }
      return;
    }
    const missing = has('bubblewrap') ? 'unshare' : 'bubblewrap';
    const error = await refusal(chooseSandbox(missing, false));
    expect((error as Refused).message).to.contain(`${missing}: `);
    expect((error as Refused).hint).to.contain('bubblewrap');
  });
});
