import { environment } from '#kit/environment.ts';
import { Refused } from '#kit/errors.ts';
import type { Sandbox } from '../../execution/sandbox.ts';
import { createBubblewrap, type SandboxOptions } from './bubblewrap.ts';
import { toolPaths } from './tool-paths.ts';
import { createUnsandboxed } from './unsandboxed.ts';
import { createUnshare } from './unshare.ts';

export const sandboxes = {
  bubblewrap: createBubblewrap,
  unshare: createUnshare,
  none: createUnsandboxed,
} as const;
export type SandboxSetting = 'auto' | keyof typeof sandboxes;

export interface SandboxChoice {
  /** `tool_paths` of the configuration. */
  readonly tool_paths?: readonly string[];
  /** `prepare_environment` of the configuration. */
  readonly prepare_environment?: Readonly<Record<string, string>>;
  /** Folders that no tool path may contain: state and configuration. Home is always among them. */
  readonly hidden?: readonly string[];
}

/**
 * The sandbox that the configuration names, or for `auto` the best that works here, tried for real.
 * @param allowUnsandboxed whether `none` may be used: by name, or by `auto` where nothing else works
 * @throws Refused (`sandbox_unavailable`) naming what was tried, why each failed, and the choices
 */
export async function chooseSandbox(
  setting: SandboxSetting,
  allowUnsandboxed: boolean,
  choice: SandboxChoice = {},
): Promise<Sandbox> {
  const options = optionsOf(choice);
  if (setting === 'none' && !allowUnsandboxed) {
    throw unavailable(["sandbox is set to 'none', and allow_unsandboxed is false"]);
  }
  const kinds = setting === 'auto' ? (['bubblewrap', 'unshare'] as const) : [setting];
  const reasons: string[] = [];
  for (const kind of kinds) {
    const sandbox = sandboxes[kind](options);
    const { works, reason } = await sandbox.check();
    if (works) return sandbox;
    reasons.push(`${kind}: ${reason}`);
  }
  if (setting === 'auto' && allowUnsandboxed) return createUnsandboxed(options);
  throw unavailable(reasons);
}

function optionsOf({
  tool_paths = [],
  prepare_environment = {},
  hidden = [],
}: SandboxChoice): SandboxOptions {
  const home = environment.HOME ? [environment.HOME] : [];
  return { tools: toolPaths(tool_paths, [...home, ...hidden]), networkEnvironment: prepare_environment };
}

function unavailable(reasons: readonly string[]): Refused {
  return new Refused('sandbox_unavailable', `no sandbox to validate in. ${reasons.join('. ')}`, {
    facts: { tried: reasons },
    hint: 'Install bubblewrap, or, for repositories that you trust as yourself, set "allow_unsandboxed": true in config/validation.json.',
  });
}
