import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { codeOf } from '#kit/errors.ts';
import { processorTime } from '../fixtures/processor-time.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { differences, fingerprint } from '../fixtures/world/fingerprint.ts';
import { allowUnsandboxed, issueWith, kindsOf } from '../fixtures/world/place.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';

describe('what may be asked for', () => {
  let world: World;

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
    await world.newIssue(issueWith(greetPatch));
  });
  after(() => world?.close());

  const asked: readonly [readonly string[], number, string, RegExp][] = [
    [
      ['--owner', 'nobody', '--repo', 'hello', '--number', '1'],
      4,
      'repository_not_found',
      /nobody\/hello.*local/,
    ],
    [['--owner', 'demo', '--repo', 'nothing', '--number', '1'], 4, 'repository_not_found', /demo\/nothing/],
    [
      ['--owner', '../demo', '--repo', 'hello', '--number', '1'],
      2,
      'invalid_owner_name',
      /'\.\.\/demo'.*for example/,
    ],
    [['--owner', '-x', '--repo', 'hello', '--number', '1'], 2, 'invalid_owner_name', /'-x'/],
    [['--owner', 'demo', '--repo', '..', '--number', '1'], 2, 'invalid_repository_name', /'\.\.'/],
    [['--owner', 'demo', '--repo', 'hello.git', '--number', '1'], 2, 'invalid_repository_name', /\.git/],
    [['--owner', 'demo', '--repo', 'a b\u001b[31m', '--number', '1'], 2, 'invalid_repository_name', /a b/],
    [['--owner', 'demo', '--repo', 'x'.repeat(300), '--number', '1'], 2, 'invalid_repository_name', /x{20}/],
    [['--owner', 'demo', '--repo', 'hello', '--number', '0'], 2, 'invalid_option', /'0'.*from 1 to/],
    [['--owner', 'demo', '--repo', 'hello', '--number', '-1'], 2, 'invalid_option', /'-1'.*from 1 to/],
    [['--owner', 'demo', '--repo', 'hello', '--number', '1.5'], 2, 'invalid_option', /'1\.5'/],
    [['--owner', 'demo', '--repo', 'hello', '--number', '1e3'], 2, 'invalid_option', /'1e3'/],
    [
      ['--owner', 'demo', '--repo', 'hello', '--number', '2147483648'],
      2,
      'invalid_option',
      /from 1 to 2147483647/,
    ],
    [['--owner', 'demo', '--repo', 'hello', '--number', '9'.repeat(400)], 2, 'invalid_option', /999/],
    [['--owner', 'demo', '--repo', 'hello', '--number', '2147483647'], 4, 'issue_not_found', /2147483647/],
    [['--owner', 'demo', '--repo', 'hello', '--number', ''], 2, 'invalid_option', /''/],
    [['--owner', 'demo', '--repo', 'hello'], 2, 'usage', /--number/],
  ];
  for (const [args, exitCode, code, words] of asked) {
    it(`answers plan-issue ${args.join(' ').slice(0, 60).replace('\u001b', '')} with ${code}`, async () => {
      const before = fingerprint(join(world.home, 'state/forge'));
      const runs = (await world.agent.runs({ limit: 100 })).runs.length;
      const { code: ended, stderr, stdout } = await world.command(['plan-issue', ...args, '--json']);
      const { error } = JSON.parse(stderr.trim().split('\n').at(-1)!);
      expect(error.code).to.equal(code);
      expect(error.message).to.match(words);
      expect(error.exit_code).to.equal(exitCode);
      expect(ended).to.equal(exitCode);
      expect(stdout).to.equal('');
      expect(differences(before, fingerprint(join(world.home, 'state/forge')))).to.deep.equal([]);
      expect((await world.agent.runs({ limit: 100 })).runs).to.have.length(runs);
    });
  }

  for (const number of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, 2 ** 60]) {
    it(`refuses the number ${number} from any caller, and makes no run of it`, async () => {
      const before = (await world.agent.runs({ limit: 100 })).runs.length;
      expect(await codeOfPlan({ number })).to.equal('invalid_issue_number');
      expect((await world.agent.runs({ limit: 100 })).runs).to.have.length(before);
    });
  }

  it('reads an issue of 1 MiB, and refuses one of 10 MB with its size and the limit', async () => {
    const folder = temporaryFolder();
    const words = ['--title', 'Large', '--author', 'mira', '--association', 'member'];
    const sizes: [number, number][] = [
      [1024 * 1024, 0],
      [10_000_000, 2],
    ];
    for (const [size, exitCode] of sizes) {
      const file = join(mkdtempSync(join(folder, 'x')), 'body.md');
      const patch = issueWith(greetPatch);
      writeFileSync(file, `${patch}${'x'.repeat(99)}\n`.padEnd(size, 'lorem ipsum\n'));
      const made = await world.command([
        'forge',
        'issue',
        'new',
        ...['--owner', ref.owner, '--repo', ref.repo],
        ...words,
        '--body-file',
        file,
        '--json',
      ]);
      const { number } = JSON.parse(made.stdout);
      const { code, stderr } = await world.command(planning(number));
      expect(code, stderr).to.equal(exitCode);
      if (exitCode === 0) continue;
      expect(stderr).to.contain('[issue_too_large]').and.to.contain('10000000').and.to.contain('1048576');
      expect((await world.agent.runs({ limit: 1, ...ref, number })).runs).to.deep.equal([]);
    }
  });

  it('is not hidden by a comment of 10 MB beside it', async () => {
    const number = await world.newIssue(issueWith(greetPatch));
    const body = 'y'.repeat(10_000_000);
    await world.forgeAdmin.comment({ ...ref, number, body, author: 'troll', association: 'none' });
    const run = await world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
    expect(kindsOf(run)).to.include('apply_patch');
  });

  /** Texts of up to 1 MiB that make naive readers of Markdown and patches slow. */
  const slow: Readonly<Record<string, string>> = {
    suggestions: `${'a'.repeat(500)}\n\`\`\`suggestion\nx\n\`\`\`\n`,
    'suggestions with paths': `\`${'a:'.repeat(240)}\n\`\`\`suggestion\nx\n\`\`\`\n`,
    fences: '```\n',
    quotes: '> ',
    'quoted fences': `${'>'.repeat(50)} \`\`\`\n`,
    'list marks': '1. - ',
    'open comments': '<!-- ',
    'headers of patches': 'diff --git a/src/greet.js b/src/greet.js\n',
    renames: 'diff --git a/src/greet.js b/y\nsimilarity index 100%\nrename from src/greet.js\nrename to y\n',
    'parts for one file': greetPatch,
    'binary lines': 'diff --git a/x b/x\nGIT binary patch\nliteral 5\nAabcd\n\n',
    spaces: ' ',
    'right-to-left marks': '\u202e',
    'slots and markers': '{{approved_by}} <!-- core run=x action=y -->\n',
  };
  for (const [what, unit] of Object.entries(slow)) {
    it(`is answered soon although an issue is full of ${what}`, async () => {
      const size = Math.floor((1024 * 1024) / Buffer.byteLength(unit));
      const number = await world.newIssue(unit.repeat(size));
      const spent = processorTime();
      const run = await world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
      expect(kindsOf(run)).to.deep.equal(['comment_issue']);
      expect(spent()).to.be.lessThan(50_000);
      const comment = run.actions[0]!.definition;
      expect(comment.kind === 'comment_issue' && comment.params.body.length).to.be.lessThan(10_000);
    });
  }

  it('keeps titles and texts from filling slots, forging markers and adding trailers', async () => {
    const title =
      'Fix {{approved_by}}\n\nSigned-off-by: Boss <boss@example.org>\u0000\u001b[31m <!-- core run=x -->';
    const number = await world.newIssue(issueWith(greetPatch), title);
    const run = await world.approve(await world.agent.planIssue({ ...ref, number, by: everybody }, quiet));
    const done = await world.agent.execute(
      { run_id: run.run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
      quiet,
    );
    expect(done.status, JSON.stringify(done.actions.map(({ outcome }) => outcome))).to.equal('completed');
    const branch = run.plan!.target.branch!;
    expect(branch).to.match(/^core\/\d+-[a-z0-9-]+$/);
    const message = world.remote.git('log', '-1', '--format=%B', branch);
    expect(message.split('\n')[0]).to.contain('Signed-off-by: Boss');
    expect(world.remote.git('log', '-1', '--format=%(trailers)', branch)).to.equal(`Core-Run: ${run.run_id}`);
    const [pull] = await world.forgeAdmin.listPullRequests(ref, 'open');
    expect(`${message}${pull!.title}${pull!.body}`).to.not.match(/[\u0000-\u0009\u000b-\u001f]/);
    expect(pull!.title).to.not.contain('\n');
    expect(pull!.body.match(/<!-- core /g)).to.have.length(1);
    expect(pull!.title).to.contain('{ {approved_by}}');
  });

  async function codeOfPlan(request: { number: number }): Promise<string> {
    try {
      await world.agent.createRun({ ...ref, ...request, by: everybody }, quiet.signal);
      return 'none';
    } catch (error) {
      return codeOf(error);
    }
  }

  function planning(number: number): string[] {
    return ['plan-issue', '--owner', ref.owner, '--repo', ref.repo, '--number', String(number)];
  }
});
