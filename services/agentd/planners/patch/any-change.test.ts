import { expect } from 'chai';
import fc from 'fast-check';
import { git } from '#kit/git/git.ts';
import { planningInput, scratchText } from '../../../../test/fixtures/planning/planning-input.ts';
import {
  type FileContent,
  makeRepository,
  type TestRepository,
} from '../../../../test/fixtures/repositories/repository.ts';
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

type Files = Record<string, string>;

const files = fc.dictionary(name, content, { minKeys: 1, maxKeys: 4 });
const edit = fc.record({ at: fc.nat(25), remove: fc.nat(2), add: fc.array(line, { maxLength: 2 }) });
/** Two unrelated trees, or one with a few lines inserted, removed or replaced. */
const trees: fc.Arbitrary<[Files, Files]> = fc.oneof(
  fc.tuple(files, files),
  fc.tuple(files, fc.array(edit, { minLength: 1, maxLength: 4 })).map(([before, edits]): [Files, Files] => {
    const changed = Object.entries(before).map(([path, text]) => {
      const lines = text.split('\n');
      for (const { at, remove, add } of edits) lines.splice(at % lines.length, remove, ...add);
      return [path, lines.join('\n') || 'x'];
    });
    return [before, Object.fromEntries(changed)];
  }),
);

const kinds = fc.tuple(
  fc.array(fc.constantFrom<Kind>('file', 'program', 'link'), { maxLength: 4 }),
  fc.array(fc.constantFrom<Kind>('file', 'program', 'link'), { maxLength: 4 }),
);

/** What git can be told about context and matching. */
const diffOptions = fc.constantFrom(
  ['-U0'],
  ['-U1'],
  ['-U2'],
  ['-U3'],
  ['-U10'],
  ['-U0', '--inter-hunk-context=2'],
  ['-U1', '--function-context'],
  ['-U0', '--patience'],
  ['-U1', '--histogram', '--no-prefix'],
  ['-U3', '-M', '--full-index'],
);

/** Two trees in which no file has the name of a folder of the other. */
function pairOf(before: Files, after: Files): [Files, Files] {
  const clash = (one: string, all: object) => Object.keys(all).some((other) => other.startsWith(`${one}/`));
  const fit = (all: Files, others: object) =>
    Object.fromEntries(Object.entries(all).filter(([path]) => !clash(path, all) && !clash(path, others)));
  const old = fit(before, after);
  return [old, fit(after, old)];
}

type Kind = 'file' | 'program' | 'link';

/** Each file as one of the kinds, by its place in the tree. */
function ofKinds(files: Files, kinds: readonly Kind[]): Record<string, FileContent> {
  const made = (text: string, kind: Kind): FileContent => {
    if (kind === 'link') return { link: `to-${text.length}` };
    return kind === 'program' ? { content: text, mode: 0o755 } : text;
  };
  return Object.fromEntries(
    Object.entries(files).map(([path, text], index) => [path, made(text, kinds[index] ?? 'file')]),
  );
}

function repositoryOf(commits: readonly Readonly<Record<string, FileContent>>[]): TestRepository {
  const source = makeRepository({});
  let last: Readonly<Record<string, FileContent>> = {};
  for (const files of commits) {
    const gone = Object.fromEntries(Object.keys(last).map((path) => [path, null]));
    source.commit({ ...gone, ...files });
    last = files;
  }
  return source;
}

/** @param paths files whose text is returned too */
async function planned(source: TestRepository, patch: string, crlf = false, paths: readonly string[] = []) {
  const body = `Please:\n\n\`\`\`diff\n${patch}\`\`\`\n`;
  const input = await planningInput(source, { body: crlf ? body.replaceAll('\n', '\r\n') : body });
  const proposal = await createPatchPlanner().propose(input);
  const texts: Record<string, string | null> = {};
  for (const path of paths) texts[path] = await scratchText(input.scratch, path);
  return { proposal, tree: (await input.scratch.diff()).tree, texts };
}

describeWith(['time'], 'any change that git can write', () => {
  it('comes out of an issue’s text exactly as it went in', async () => {
    await fc.assert(
      fc.asyncProperty(
        trees,
        kinds,
        diffOptions,
        fc.boolean(),
        async ([one, other], [was, is], options, crlf) => {
          const [before, after] = pairOf(one, other);
          const source = repositoryOf([ofKinds(before, was), ofKinds(after, is)]);
          const args = ['diff', '--binary', ...options, 'HEAD~1', 'HEAD'];
          const patch = (await git(args, { gitDir: source.gitDir })).stdout.toString('utf8');
          fc.pre(patch !== '');
          const wanted = source.git('rev-parse', 'HEAD^{tree}');
          source.git('reset', '-q', '--hard', 'HEAD~1');
          const { proposal, tree } = await planned(source, patch, crlf);
          expect(proposal.kind, proposal.kind === 'comment' ? proposal.body + patch : '').to.equal('change');
          expect(tree, patch).to.equal(wanted);
          if (proposal.kind === 'change') expect(proposal.notices, patch).to.deep.equal([]);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('is applied at its line without index lines and markers, also where it repeats its neighbours', async () => {
    const near = fc.record({ at: fc.nat(25), count: fc.nat(2), remove: fc.nat(1), behind: fc.boolean() });
    const marker = /^\\ No newline at end of file\n/gm;
    let repaired = 0;
    await fc.assert(
      fc.asyncProperty(
        files,
        fc.array(near, { minLength: 1, maxLength: 3 }),
        diffOptions,
        fc.constantFrom(true, true, false),
        async (all, edits, options, lost) => {
          const [before] = pairOf(all, all);
          const after = Object.fromEntries(
            Object.entries(before).map(([path, text]) => {
              const lines = text.split('\n');
              for (const { at, count, remove, behind } of edits) {
                const start = at % lines.length;
                const copied = lines.slice(start, start + count);
                lines.splice(start + (behind ? count : 0), remove, ...copied);
              }
              return [path, lines.join('\n') || 'x'];
            }),
          );
          const source = repositoryOf([before, after]);
          const args = ['diff', ...options, 'HEAD~1', 'HEAD'];
          const made = (await git(args, { gitDir: source.gitDir })).stdout.toString('utf8');
          const named = made.replace(/^index .*\n/gm, '');
          const patch = lost ? named.replace(marker, '') : named;
          fc.pre(patch !== '');
          const wanted = source.git('rev-parse', 'HEAD^{tree}');
          source.git('reset', '-q', '--hard', 'HEAD~1');
          const { proposal, tree, texts } = await planned(source, patch, false, Object.keys(after));
          if (patch === named) {
            expect(proposal.kind, proposal.kind === 'comment' ? proposal.body + patch : '').to.equal(
              'change',
            );
            expect(tree, patch).to.equal(wanted);
          } else if (proposal.kind === 'comment') {
            expect(proposal.body, patch).to.match(/no newline|changes nothing/);
          } else {
            if (proposal.repair !== null) repaired += 1;
            const bare = (text: string | null | undefined) => text?.replace(/\n$/, '');
            for (const [path, text] of Object.entries(after)) {
              expect(bare(texts[path]), patch).to.equal(bare(text));
            }
          }
        },
      ),
      { numRuns: 60 },
    );
    expect(repaired).to.be.above(0);
  });

  it('comes out of a log of several commits exactly as it went in', async () => {
    const change = fc.record({
      kind: fc.constantFrom('edit', 'rename', 'rename and edit', 'swap', 'delete', 'create'),
      at: fc.nat(3),
      line: fc.nat(14),
      to: name,
      text: content,
    });
    const numbered = (path: string) => Array.from({ length: 12 }, (_, at) => `${path} ${at}\n`).join('');
    function changed(
      files: Files,
      { kind, at, line, to, text }: { kind: string; at: number; line: number; to: string; text: string },
    ) {
      const paths = Object.keys(files);
      const path = paths[at % paths.length]!;
      const { [path]: was, ...others } = files as Record<string, string>;
      if (kind === 'create') return { ...files, [to]: files[to] ?? text };
      if (kind === 'delete') return paths.length > 1 ? others : files;
      const inserted = () =>
        was!
          .split('\n')
          .toSpliced(line, 0, ...text.split('\n'))
          .join('\n');
      if (kind === 'edit') return { ...files, [path]: inserted() };
      if (kind === 'swap')
        return { ...files, [path]: files[to] ?? was!, ...(to in files ? { [to]: was! } : {}) };
      return { ...others, [to]: kind === 'rename' ? was! : `${was}${text}` };
    }
    const series = fc.array(fc.array(change, { minLength: 1, maxLength: 2 }), { minLength: 2, maxLength: 3 });
    const form = fc.constantFrom('log', 'without messages', 'blocks');
    await fc.assert(
      fc.asyncProperty(series, form, diffOptions, async (changes, how, options) => {
        const commits: Files[] = [{ a: numbered('a'), 'd/a': numbered('d/a'), é: numbered('é') }];
        for (const of of changes) {
          const next = of.reduce<Files>(changed, commits.at(-1)!);
          const [before, after] = pairOf(commits.at(-1)!, next);
          fc.pre(Object.keys(before).length === Object.keys(commits.at(-1)!).length);
          commits.push(after);
        }
        const source = repositoryOf(commits);
        const range = `HEAD~${changes.length}..HEAD`;
        const format = how === 'log' ? [] : [`--format=${how === 'blocks' ? '%x00' : ''}`];
        const args = ['log', '-p', '--reverse', '--binary', ...format, ...options, range];
        const text = (await git(args, { gitDir: source.gitDir })).stdout.toString('utf8');
        const patch = text.replace(/^\0\n*/, '').replaceAll(/\0\n*/g, '```\nand\n```diff\n');
        const wanted = source.git('rev-parse', 'HEAD^{tree}');
        fc.pre(wanted !== source.git('rev-parse', `HEAD~${changes.length}^{tree}`));
        source.git('reset', '-q', '--hard', `HEAD~${changes.length}`);
        const { proposal, tree } = await planned(source, patch);
        expect(proposal.kind, proposal.kind === 'comment' ? proposal.body + patch : '').to.equal('change');
        expect(tree, patch).to.equal(wanted);
      }),
      { numRuns: 30 },
    );
  });

  it('moves with its block if lines were inserted above it, or is refused', async () => {
    const block = fc.array(fc.constantFrom('new 1', 'new 2', 'new 3'), { minLength: 1, maxLength: 12 });
    const withIndex = fc.boolean();
    let exact = 0;
    await fc.assert(
      fc.asyncProperty(trees, diffOptions, block, withIndex, async ([one, other], options, lines, named) => {
        const [before, after] = pairOf(one, other);
        const added = `${lines.join('\n')}\n`;
        const drifted = (all: Files) =>
          Object.fromEntries(
            Object.entries(all).map(([path, text]) => [
              path,
              path in before && path in after ? added + text : text,
            ]),
          );
        const source = repositoryOf([before, after, drifted(after), drifted(before)]);
        const args = ['diff', '--binary', ...options, 'HEAD~3', 'HEAD~2'];
        const patch = (await git(args, { gitDir: source.gitDir })).stdout.toString('utf8');
        fc.pre(patch !== '' && (named || !patch.includes('rename ')));
        const wanted = source.git('rev-parse', 'HEAD~1^{tree}');
        const text = named ? patch : patch.replace(/^index .*\n/gm, '');
        const { proposal, tree } = await planned(source, text);
        if (proposal.kind === 'comment') return;
        if (tree === wanted) exact += 1;
        // Without the index line the change of the file is unknown. The line in the header counts, with a note.
        else if (named) expect.fail(`the change came to another place\n${patch}`);
        else expect(proposal.notices!.join('\n'), patch).to.match(/not verified|other places?:/);
      }),
      { numRuns: 80 },
    );
    expect(exact).to.be.above(10);
  });
});
