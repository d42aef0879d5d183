import type { Command } from 'commander';
import { sections } from '../overview.ts';
import { declaredBy, services } from '../programs.ts';
import { bashScript } from './bash.ts';
import { fishScript } from './fish.ts';
import { type Place, placesOf } from './words.ts';
import { zshScript } from './zsh.ts';

const shells = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/**
 * The script with which a shell completes the commands of `core`, as they are declared now.
 * @param supervisor its own commands
 */
export async function completionScript(shell: keyof typeof shells, supervisor: Command): Promise<string> {
  return shells[shell](await allPlaces(supervisor));
}

async function allPlaces(supervisor: Command): Promise<Place[]> {
  const [root, ...below] = placesOf(await declaredBy('agentd'));
  const [{ commands }, ...supervised] = placesOf(supervisor) as [Place, ...Place[]];
  const others = await Promise.all(
    [...services].map(async ([word, service]) => placesOf(await declaredBy(service), [word])),
  );
  const abouts = Object.fromEntries(Object.values(sections).flatMap(Object.entries));
  const words = [...services.keys()].map((name) => ({
    name,
    about: abouts[name] ?? `${name} --help lists its commands`,
  }));
  const all = [...root!.commands, ...commands, ...words].sort((a, b) => a.name.localeCompare(b.name, 'en'));
  const help = { name: 'help', about: 'what a command does, and its options' };
  return [
    { ...root!, commands: [...all, help] },
    { path: 'help', commands: all, options: [], argument: null },
    ...below,
    ...supervised.map((place) => ({ ...place, options: [...place.options, ...globals(root!, place)] })),
    ...others.flat(),
  ];
}

/** The supervisor's commands take what those of core-agentd take everywhere. */
function globals({ options }: Place, place: Place): Place['options'] {
  return options.filter(
    ({ name }) => name !== '--version' && !place.options.some((one) => one.name === name),
  );
}
