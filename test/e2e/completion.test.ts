import { execFile } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { leafCommands, programs } from '../../site/generate/commands/programs.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { TmuxTerminal } from '../fixtures/terminal/tmux.ts';
import { core, ended } from '../fixtures/world/core-command.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';
import { itWith } from '../needs.ts';

type Shell = 'bash' | 'zsh' | 'fish';

describe('The completion of core in a shell', () => {
  let world: World;
  let run: string;
  let issue: string;
  let folder: string;

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    const number = await world.newIssue(`\`\`\`diff\n${greetPatch}\`\`\`\n`);
    run = (await world.agent.planIssue({ ...ref, number, by: everybody }, quiet)).run_id.slice(0, 17);
    issue = `${ref.owner}/${ref.repo}#${number}`;
    folder = temporaryFolder();
    symlinkSync(core, join(folder, 'core'));
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { code, stdout } = await ended(core, ['completion', shell]);
      expect(code).to.equal(0);
      writeFileSync(join(folder, shell), stdout);
    }
  });
  after(() => world.close());

  const variables = () => ({ PATH: `${folder}:${process.env.PATH}`, CORE_HOME: world.home });

  async function completed(shell: Shell, line: string): Promise<string[]> {
    const script = join(folder, shell);
    const code = {
      bash: `source ${script}; COMP_WORDS=(${line}x); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
        COMP_WORDS[COMP_CWORD]=\${COMP_WORDS[COMP_CWORD]%x}; _core; printf '%s\\n' "\${COMPREPLY[@]}"`,
      fish: `source ${script}; complete -C '${line}'`,
      zsh: '',
    }[shell];
    const env = { ...process.env, ...variables() };
    const { stdout } = await promisify(execFile)(shell, ['-c', code], { env });
    return stdout.split('\n').flatMap((text) => text.split('\t', 1)[0] || []);
  }

  const inShells = (title: string, check: (shell: Shell) => Promise<void>) => {
    it(`${title}, in bash`, () => check('bash'));
    itWith(['fish'], `${title}, in fish`, () => check('fish'));
  };

  it('names its shells where none is given, and its help says how each uses it', async () => {
    const none = await ended(core, ['completion']);
    expect(none.code).to.equal(2);
    expect(none.stderr).to.contain('bash|zsh|fish');
    const { stdout } = await ended(core, ['completion', '--help']);
    expect(stdout).to.match(/bash +source <\(\S+ completion bash\)/);
  });

  inShells('offers every command there is, at its place', async (shell) => {
    const all = (
      await Promise.all(programs.map(async ({ call, load }) => leafCommands(await load(), call)))
    ).flat();
    for (const { call } of all.filter((one) => / /.test(one.call))) {
      const words = call.replace('./', '').split(' ');
      const offered = await completed(shell, `${words.slice(0, -1).join(' ')} ${words.at(-1)!.slice(0, 2)}`);
      expect(offered, call).to.include(words.at(-1));
    }
  });

  inShells('offers options and the values they take', async (shell) => {
    expect(await completed(shell, 'core forge issue list --st')).to.deep.equal(['--state']);
    expect(await completed(shell, 'core runs --repository a/b --status aw')).to.deep.equal([
      'awaiting_approval',
    ]);
    expect(await completed(shell, 'core show --rec')).to.deep.equal(['--recovery']);
    expect(await completed(shell, `core execute-approved --repo-dir ${folder}/`)).to.include(
      `${folder}/core`,
    );
  });

  inShells('offers runs by their identifier, issue or last', async (shell) => {
    expect(await completed(shell, 'core show run_')).to.deep.equal([run]);
    expect(await completed(shell, `core diff ${ref.owner}/`)).to.deep.equal([issue]);
    const all = await completed(shell, `core --home ${world.home} approve `);
    expect(all).to.include.members(['last', run, issue.replace(/.*#/, '')]);
  });

  itWith(['zsh', 'tmux'], 'completes commands, options and runs where they are typed, in zsh', async () => {
    const terminal = new TmuxTerminal({ program: 'zsh', args: ['-f', '-i'], env: variables() });
    try {
      terminal.type(
        `PS1='ready> '; autoload -U compinit; compinit -u -D; source ${join(folder, 'zsh')}; clear\n`,
      );
      await terminal.shows(/^ready>/m);
      for (const [typed, shown] of [
        ['core forge iss', 'core forge issue'],
        ['core forge issue list --st', 'core forge issue list --state'],
        ['core runs --status aw', 'core runs --status awaiting_approval'],
        ['core show run_', `core show ${run}`],
        ['core help sh', 'core help show'],
      ] as const) {
        terminal.type(typed);
        terminal.keys('Tab');
        await terminal.shows(shown);
        // The line is empty again before the next is typed.
        terminal.keys('C-u');
        await terminal.shows(/^ready>\s*$/m);
      }
    } finally {
      terminal.close();
    }
  });
});
