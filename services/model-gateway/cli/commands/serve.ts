import type { Command } from 'commander';
import type { RunCommand } from '#kit/cli/program.ts';
import { defineServe } from '#kit/cli/serve-command.ts';

export function define(program: Command, run: RunCommand): void {
  // Whoever types `./core model` alone looks for what it can do.
  const isDefault = !program.name().endsWith(' model');
  const serve: Parameters<typeof defineServe>[2] = async (options) =>
    (await import('../../http/serve.ts')).serve(options);
  defineServe(program, run, serve, { isDefault });
}
