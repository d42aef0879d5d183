import { expect } from 'chai';
import type { Command } from 'commander';
import { programs } from '../../site/generate/commands/programs.ts';
import { blocksOf, commandsOf, coreCalls, handWrittenPages, inlineCalls } from './site-blocks.ts';

const everywhere = new Set(['--home', '--json', '--verbose', '--no-color', '--help', '--version']);

describe('the commands that the site names', () => {
  /** Commands by what stands first in a call: `./core`, or a service's own program. */
  let tops: ReadonlyMap<string, ReadonlyMap<string, Command>>;
  let leaves: ReadonlyMap<string, Command>;
  before(async () => {
    const core = new Map<string, Command>();
    const found = new Map<string, ReadonlyMap<string, Command>>([['./core', core]]);
    const alone = new Map<string, Command>();
    for (const { call, service, load } of programs) {
      const [first, group] = call.split(' ');
      const program = await load();
      const own = new Map(program.commands.map((command) => [command.name(), command]));
      if (own.size === 0) alone.set(`core-${service}`, program);
      else found.set(`core-${service}`, own);
      if (first !== './core') continue;
      if (group !== undefined) core.set(group, program);
      else for (const [name, command] of own) core.set(name, command);
    }
    tops = found;
    leaves = alone;
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
      const known = [...tops.keys(), ...leaves.keys(), 'curl', 'npm'];
      const lost = blocksOf(page)
        .filter(
          ({ language, text }) =>
            !['sh', 'console'].includes(language) &&
            text.split('\n').some((line) => known.includes(line.replace(/^\$ /, '').split(' ')[0]!)),
        )
        .map(({ line }) => `${page}:${line}`);
      expect(lost).to.deep.equal([]);
    });
  }

  it('are known to be wrong where they are', () => {
    expect(problemOf(['./core', 'plan-isue'])).to.contain('plan-isue');
    expect(problemOf(['./core', 'context', 'cypher', 'MATCH …', '--rows', '3'])).to.contain('--rows');
    expect(problemOf(['core-bridge', 'event'])).to.contain('event');
    expect(problemOf(['core-status', '--smok'])).to.contain('--smok');
    expect(problemOf(['core-brigde', 'events'])).to.contain('core-brigde');
    expect(problemOf(['./core', 'forge', 'issue', 'new', '--title', 'x'])).to.equal(null);
  });

  function problemOf([program = '', ...rest]: readonly string[]): string | null {
    const call = `${program} ${rest.join(' ')}`;
    const words = rest.filter((word) => word !== '…');
    const alone = leaves.get(program);
    if (alone !== undefined) return unknownFlags(call, alone, words);
    const [name = '', ...args] = words;
    if (name === 'help' || name.startsWith('--') || /^[A-Z]+$/.test(name)) return null;
    const commands = tops.get(program);
    if (commands === undefined) return `${call}: there is no program ${program}`;
    let command = commands.get(name);
    if (command === undefined) return `${call}: there is no command ${name}`;
    let at = 0;
    while (command.commands.length > 0 && at < args.length) {
      const inner: Command | undefined = command.commands.find((child) => child.name() === args[at]);
      if (inner === undefined && command.registeredArguments.length > 0) break;
      if (inner === undefined)
        return args[at]!.startsWith('--') ? null : `${call}: there is no command ${args[at]}`;
      command = inner;
      at++;
    }
    return unknownFlags(call, command, args.slice(at));
  }
});

function unknownFlags(call: string, command: Command, args: readonly string[]): string | null {
  const known = new Set(command.options.flatMap(({ long, short }) => [long, short]));
  const unknown = args
    .filter((word) => /^--[a-z]/.test(word))
    .map((word) => word.replace(/=.*$/, ''))
    .filter((word) => !known.has(word) && !everywhere.has(word));
  return unknown.length === 0 ? null : `${call}: there is no ${unknown.join(', ')}`;
}
