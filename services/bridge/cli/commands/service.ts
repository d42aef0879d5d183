import type { Command } from 'commander';
import type { RunCommand } from '#kit/cli/program.ts';
import { defineServe } from '#kit/cli/serve-command.ts';

export function define(program: Command, run: RunCommand): void {
  defineServe(program, run, () => import('../../http/serve.ts'));
}
