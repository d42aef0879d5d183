import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { Refused } from '#kit/errors.ts';
import { findProgram } from '#kit/find-program.ts';
import type { Agent } from './agent.ts';
import { packagesAround, startable } from './find-agents.ts';
import { presets } from './presets.ts';

/** How an agent is started, and what of this machine it is run from. */
export interface AgentStart {
  /** The program by its absolute path. */
  readonly command: readonly string[];
  /** Files and folders to show; of a program of npm the packages around it. */
  readonly programs: readonly string[];
  /** The program itself, where `command` begins with what interprets it. */
  readonly program: string;
}

/** @throws Refused (`agent_not_installed`) */
export function startOf(agent: Pick<Agent, 'name' | 'preset' | 'command' | 'programs'>): AgentStart {
  const [program, ...args] = agent.command;
  const found = isAbsolute(program) ? (existsSync(program) ? program : null) : findProgram(program);
  if (found === null) {
    const install = agent.preset === null ? null : presets[agent.preset].install;
    throw new Refused(
      'agent_not_installed',
      `agent ${agent.name}: ${program} is not installed${isAbsolute(program) ? '' : ', or not on PATH'}`,
      { hint: install ?? `correct agents.${agent.name}.command in agents.json` },
    );
  }
  const real = startable(agent.preset, found);
  const node = isNodeScript(real);
  return {
    command: [...(node ? [process.execPath] : []), real, ...args],
    program: real,
    programs: [
      ...new Set([...(node ? [process.execPath] : []), packagesAround(real) ?? real, ...agent.programs]),
    ],
  };
}

function isNodeScript(path: string): boolean {
  const start = Buffer.alloc(128);
  const fd = openSync(path, 'r');
  try {
    readSync(fd, start, 0, start.length, 0);
  } finally {
    closeSync(fd);
  }
  const [line = ''] = start.toString('latin1').split('\n');
  return /^#!.*\bnode\b/.test(line);
}
