import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  everybody,
  greetPatch,
  helloFiles,
  makeWorld,
  quiet,
  ref,
  type World,
} from '../fixtures/world/world.ts';
import { type Benchmark, type Comparison, compare, type Turn, takeTurns } from './comparison.ts';
import { core, timed } from './timed-process.ts';

const files = 2_000;
const rounds = 10;

/** What a person who trusts everything would type. */
const script = `set -e
git clone -q "$1" "$2"
cd "$2"
git checkout -q -b "$3"
git apply "$4"
git -c user.name=Mira -c user.email=mira@example.org commit -q -a -m 'Greet strangers (#1)'
git push -q origin "$3"
`;

export const execute: Benchmark = {
  summary: `execute-approved with all seven actions on ${files.toLocaleString('en')} files, validation: true`,
  async run(folder) {
    const kinds = hasJj() ? (['git', 'jj'] as const) : (['git'] as const);
    const worlds = await Promise.all(kinds.map((vcs) => makeWorld({ vcs, files: repositoryFiles() })));
    try {
      const turns: Record<string, Turn> = { shell: shellTurn(worlds[0]!, folder) };
      for (const [index, vcs] of kinds.entries()) turns[vcs] = coreTurn(worlds[index]!);
      const samples = await takeTurns(rounds, turns);
      return kinds.map(
        (vcs): Comparison =>
          compare(
            {
              subject: `execute-approved with ${vcs}`,
              yardstick: 'a script: clone, checkout -b, apply, commit, push',
              measure: 'time',
              bar: vcs === 'git' ? 3 : 5,
            },
            samples[vcs]!,
            samples.shell!,
          ),
      );
    } finally {
      for (const world of worlds) await world.close();
    }
  },
};

/** Plans and approves; then counts the whole process that executes. */
function coreTurn(world: World): Turn {
  return async () => {
    const body = `It should greet strangers.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`;
    const planned = await world.agent.planIssue(
      { ...ref, number: await world.newIssue(body), by: everybody },
      quiet,
    );
    const run = await world.approve(planned);
    const took = await timed(core, [
      'execute-approved',
      '--run-id',
      run.run_id,
      '--repo-dir',
      world.checkout.dir,
      '--home',
      world.home,
    ]);
    const { actions } = await world.agent.run(run.run_id);
    const succeeded = actions.filter(({ state }) => state === 'succeeded').length;
    if (succeeded !== 7) throw new Error(`${succeeded} of seven actions of ${run.run_id} succeeded`);
    return took;
  };
}

function shellTurn(world: World, folder: string): Turn {
  const patch = join(folder, 'change.patch');
  writeFileSync(patch, greetPatch);
  return async (round) => {
    const clone = join(folder, `clone-${round}`);
    // Not removed until the end: file systems are slow to make files where many were removed just before.
    return timed('sh', ['-c', script, 'sh', world.remote.dir, clone, `script-${round}`, patch]);
  };
}

function repositoryFiles(): Record<string, string> {
  const made: Record<string, string> = {
    ...helloFiles,
    '.core.json': '{"validation":{"commands":[{"name":"check","run":"true"}]}}\n',
  };
  for (let index = Object.keys(made).length; index < files; index++) {
    const lines = Array.from(
      { length: 20 + (index % 60) },
      (_, line) => `export const value${line} = ${index * line};\n`,
    );
    made[`src/part${index % 40}/module${index}.js`] = lines.join('');
  }
  return made;
}

function hasJj(): boolean {
  try {
    execFileSync('jj', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
