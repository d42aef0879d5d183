import { expect } from 'chai';
import fc from 'fast-check';
import { git } from '#kit/git/git.ts';
import { planningInput } from '../../../../test/fixtures/planning/planning-input.ts';
import { makeRepository } from '../../../../test/fixtures/repositories/repository.ts';
import { describeWith } from '../../../../test/needs.ts';
import { createPatchPlanner } from './patch-planner.ts';

/** Lines that try to look like parts of a patch. */
const line = fc.constantFrom(
  '',
  ' ',
  'a',
  '- b',
  '+ c',
  '-- d',
  '--- e',
  '+++ f',
  '@@ -1 +1 @@',
  '\\ g',
  '> h',
  'é',
  '\t',
);
/** Line feeds alone: text of an issue cannot say more, see `assemble`. */
const content = fc
  .tuple(fc.array(line, { minLength: 1, maxLength: 25 }), fc.boolean())
  .map(([lines, closed]) => `${lines.join('\n')}${closed ? '\n' : 'x'}`);
const name = fc.constantFrom('a', 'b', 'a b', 'd/a', 'd/"q"', 'é', '-x', 'b/a', 'a/b.txt');

describeWith(['time'], 'any change that git can write', () => {
  it('comes out of an issue’s text exactly as it went in', async () => {
    const files = fc.dictionary(name, content, { minKeys: 1, maxKeys: 4 });
    await fc.assert(
      fc.asyncProperty(files, files, fc.boolean(), fc.boolean(), async (before, after, prefixed, crlf) => {
        const source = makeRepository({});
        const clash = (one: string, all: object) =>
          Object.keys(all).some((other) => other.startsWith(`${one}/`));
        const fit = (all: Record<string, string>, others: object) =>
          Object.fromEntries(
            Object.entries(all).filter(([path]) => !clash(path, all) && !clash(path, others)),
          );
        const old = fit(before, after);
        source.commit(old);
        const gone = Object.fromEntries(Object.keys(old).map((path) => [path, null]));
        source.commit({ ...gone, ...fit(after, old) });
        const options = prefixed ? [] : ['--no-prefix'];
        const args = ['diff', '--binary', ...options, 'HEAD~1', 'HEAD'];
        const patch = (await git(args, { gitDir: source.gitDir })).stdout.toString('utf8');
        fc.pre(patch !== '');
        const wanted = source.git('rev-parse', 'HEAD^{tree}');
        source.git('reset', '-q', '--hard', 'HEAD~1');
        const body = `Please:\n\n\`\`\`diff\n${patch}\`\`\`\n`;
        const input = await planningInput(source, { body: crlf ? body.replaceAll('\n', '\r\n') : body });
        const proposal = await createPatchPlanner().propose(input);
        expect(proposal.kind, proposal.kind === 'comment' ? proposal.body + patch : '').to.equal('change');
        expect((await input.scratch.diff()).tree, patch).to.equal(wanted);
      }),
      { numRuns: 20 },
    );
  });
});
