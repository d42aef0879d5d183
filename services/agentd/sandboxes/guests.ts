import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { isAbsolute, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InvalidInput } from '#kit/errors.ts';
import type { SandboxRun } from '../ports/sandbox.ts';

/** What a run brings into its sandbox beside the workspace: doors, programs, variables and files of the home. */
export interface Guests {
  /** Shown read-only. */
  readonly guests: readonly { readonly source: string; readonly target: string }[];
  readonly variables: Readonly<Record<string, string>>;
  readonly home: readonly { readonly path: string; readonly bytes: Uint8Array }[];
  /** Words of the program that opens the doors; empty without doors. */
  readonly relay: readonly string[];
}

/** A folder that no system has, inside. */
const inside = '/run/core';
const relayFile = fileURLToPath(new URL('relay.mjs', import.meta.url));

/** @throws InvalidInput (`sandbox_run_not_allowed`) naming the value and the rule */
export function guestsOf({ doors = [], programs = [], environment = {}, home = {} }: SandboxRun): Guests {
  for (const { port, socket } of doors) {
    if (!Number.isInteger(port) || port < 1024 || port > 65_535) {
      throw notAllowed(`door ${port} is no port from 1024 to 65535`);
    }
    if (!lstatSync(socket, { throwIfNoEntry: false })?.isSocket()) {
      throw notAllowed(`door ${port} leads to '${socket}', which is no Unix socket`);
    }
  }
  for (const path of programs) {
    if (!isAbsolute(path) || normalize(path) !== path || path.endsWith('/')) {
      throw notAllowed(`program '${path}' is not an absolute path without '.', '..' and a slash at its end`);
    }
    if (!existsSync(path)) throw notAllowed(`program '${path}' does not exist on this machine`);
  }
  for (const [name, value] of Object.entries(environment)) {
    if (!/^[A-Za-z_]\w*$/.test(name))
      throw notAllowed(`variable '${name}' is no name of letters, digits and _`);
    if (value.includes('\0')) throw notAllowed(`variable ${name} has a NUL in its value`);
  }
  for (const path of Object.keys(home)) {
    if (path.includes('\0') || path.split('/').some((part) => ['', '.', '..'].includes(part))) {
      throw notAllowed(`home file '${path}' is not a relative path without '.' and '..'`);
    }
  }
  return {
    guests: [
      ...programs.map((path) => ({ source: realpathSync(path), target: path })),
      ...doors.map(({ port, socket }) => ({ source: socket, target: `${inside}/${port}` })),
      ...(doors.length === 0
        ? []
        : [
            { source: realpathSync(process.execPath), target: `${inside}/node` },
            { source: relayFile, target: `${inside}/relay.mjs` },
          ]),
    ],
    variables: environment,
    home: Object.entries(home).map(([path, bytes]) => ({ path, bytes })),
    relay:
      doors.length === 0
        ? []
        : [`${inside}/node`, `${inside}/relay.mjs`, inside, doors.map(({ port }) => port).join(',')],
  };
}

function notAllowed(problem: string): InvalidInput {
  return new InvalidInput('sandbox_run_not_allowed', `the sandbox cannot be opened: ${problem}`);
}
