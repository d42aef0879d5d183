import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { InvalidInput, Refused } from '#kit/errors.ts';
import { has } from '../../../test/needs.ts';
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

  it('takes bubblewrap, and what holds less only where it is allowed', async () => {
    const weaker = has('unshare') ? 'unshare (weak)' : 'none';
    const best = has('bubblewrap') ? 'bubblewrap' : weaker;
    expect((await chooseSandbox('auto', true)).kind).to.equal(best);
    const strict = await refusal(chooseSandbox('auto', false).then(({ kind }) => kind));
    if (best === 'bubblewrap') expect(strict).to.equal('allowed');
    else expect(strict).to.be.instanceOf(Refused);
  });

  it('refuses the weak sandbox unless the policy allows it', async () => {
    const error = await refusal(chooseSandbox('unshare (weak)', false));
    expect(error).to.be.instanceOf(Refused).and.include({ code: 'sandbox_unavailable' });
    expect((error as Refused).message).to.contain('allow_weak_sandbox is false in config/policy.json');
    if (!has('unshare')) return;
    const allowed = await chooseSandbox('unshare (weak)', false, { allow_weak: true });
    expect(allowed.kind).to.equal('unshare (weak)');
  });

  it('says of each that was tried why it does not work, and what to do', async () => {
    const here = { bubblewrap: has('bubblewrap'), 'unshare (weak)': has('unshare') };
    for (const [kind, works] of Object.entries(here) as [keyof typeof here, boolean][]) {
      const choice = chooseSandbox(kind, false, { allow_weak: true });
      if (works) {
        expect((await choice).kind).to.equal(kind);
        continue;
      }
      const error = await refusal(choice);
      expect((error as Refused).message).to.contain(`${kind}: `);
      expect((error as Refused).hint).to.contain('bubblewrap');
    }
  });

  it('takes no weaker one where folders of tools hold more credentials than a sandbox can hide', async function () {
    if (!has('bubblewrap') && !has('unshare')) return this.skip();
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'core-registry-test-')));
    try {
      for (let number = 0; number < 501; number += 1) {
        mkdirSync(join(root, `${number}`));
        writeFileSync(join(root, `${number}/.netrc`), '');
      }
      const error = await refusal(chooseSandbox('auto', true, { tool_paths: [root] }));
      expect(error).to.be.instanceOf(InvalidInput).and.include({ code: 'tool_path_not_allowed' });
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});
