import { expect } from 'chai';
import { makeRepository } from '../fixtures/repositories/repository.ts';
import { allowUnsandboxed, issueWith, makePlace, type Place, validated } from '../fixtures/world/place.ts';
import { makeWorld, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

const code = 'int a(int x)\n{\n  return x < 1;\n}\n\nint b(int x)\n{\n  return x;\n}\n';
const header = '--- a/a.c\n+++ b/a.c\n';

describeWith(['git'], 'what a reviewer sees of how a patch was applied', () => {
  let world: World;
  let place: Place;

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
    place = await makePlace(world, 'repaired', makeRepository({ ...validated, 'a.c': code }));
  });
  after(() => world?.close());

  async function views(patch: string) {
    const run = await place.plan(issueWith(patch));
    const texts = await Promise.all(
      [
        ['show', run.run_id],
        ['actions', run.run_id],
      ].map((args) => world.command(args)),
    );
    return { run, shown: texts.map(({ stdout }) => stdout.replace(/\s+/g, ' ')) };
  }

  it('is a repair, in the notes and in the risk of every view', async () => {
    const { run, shown } = await views(`${header}@@ -3 +3 @@\n-  return x &lt; 1;\n+  return x &lt; 2;\n`);
    const action = run.actions.find(({ definition }) => definition.kind === 'apply_patch')!;
    expect(action.definition.risk).to.equal('medium');
    expect(action.definition.risk_reasons.join()).to.include('repaired: HTML entities');
    expect(run.plan!.notices.join('\n')).to.include('was repaired (HTML entities)');
    for (const text of shown) expect(text).to.include('HTML entities');
  });

  it('is a hunk that moved, in the notes', async () => {
    const { run, shown } = await views(`${header}@@ -6 +6 @@\n-  return x;\n+  return x + 1;\n`);
    expect(run.plan!.notices.join('\n')).to.match(/a\.c: the patch says line 6; applied at line 8/);
    expect(shown[0]).to.include('the patch says line 6; applied at line 8');
  });
});
