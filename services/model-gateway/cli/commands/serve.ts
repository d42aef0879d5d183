import type { Command } from 'commander';
import type { RunCommand } from '#kit/cli/program.ts';
import { defineServe } from '#kit/cli/serve-command.ts';

export function define(program: Command, run: RunCommand): void {
  // Whoever types `./core model` alone looks for what it can do.
  const isDefault = !program.name().endsWith(' model');
  defineServe(program, run, () => import('../../http/serve.ts'), { isDefault });
}
