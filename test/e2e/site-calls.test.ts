import { expect } from 'chai';
import type { Command } from 'commander';
import { programs } from '../../site/generate/commands/programs.ts';
import { blocksOf, commandsOf, coreCalls, handWrittenPages, inlineCalls } from './site-blocks.ts';

const everywhere = new Set(['--home', '--json', '--verbose', '--no-color', '--help', '--version']);

describe('the commands that the site names', () => {
  let tops: ReadonlyMap<string, Command>;
  before(async () => {
    const found = new Map<string, Command>();
    for (const { call, load } of programs) {
      const [, group] = call.split(' ');
      const program = await load();
      if (group !== undefined) found.set(group, program);
      else for (const command of program.commands) found.set(command.name(), command);
    }
    tops = found;
  });

  for (const page of handWrittenPages()) {
    it(`exist with their flags: ${page}`, () => {
      const calls = [
        ...blocksOf(page).flatMap(commandsOf).flatMap(coreCalls),
        ...inlineCalls(page).flatMap(coreCalls),
      ];
      expect(calls.map((call) => problemOf(call)).filter((problem) => problem !== null)).to.deep.equal([]);
    });

    it(`stand in blocks of sh or console, so that a test runs them: ${page}`, () => {
      const lost = blocksOf(page)
        .filter(
          ({ language, text }) =>
            !['sh', 'console'].includes(language) && /^\$? ?(\.\/core|curl|npm) /m.test(text),
        )
        .map(({ line }) => `${page}:${line}`);
      expect(lost).to.deep.equal([]);
    });
  }

  it('are known to be wrong where they are', () => {
    expect(problemOf(['./core', 'plan-isue'])).to.contain('plan-isue');
    expect(problemOf(['./core', 'context', 'cypher', 'MATCH …', '--rows', '3'])).to.contain('--rows');
    expect(problemOf(['./core', 'forge', 'issue', 'new', '--title', 'x'])).to.equal(null);
  });

  function problemOf([, ...rest]: readonly string[]): string | null {
    const call = `./core ${rest.join(' ')}`;
    const [name = '', ...args] = rest.filter((word) => word !== '…');
    if (name === 'help' || name.startsWith('--') || /^[A-Z]+$/.test(name)) return null;
    let command = tops.get(name);
    if (command === undefined) return `${call}: there is no command ${name}`;
    let at = 0;
    while (command.commands.length > 0 && at < args.length) {
      const inner: Command | undefined = command.commands.find((child) => child.name() === args[at]);
      if (inner === undefined)
        return args[at]!.startsWith('--') ? null : `${call}: there is no command ${args[at]}`;
      command = inner;
      at++;
    }
    const known = new Set(command.options.flatMap(({ long, short }) => [long, short]));
    const unknown = args
      .slice(at)
      .filter((word) => /^--[a-z]/.test(word))
      .map((word) => word.replace(/=.*$/, ''))
      .filter((word) => !known.has(word) && !everywhere.has(word));
    return unknown.length === 0 ? null : `${call}: there is no ${unknown.join(', ')}`;
  }
});
