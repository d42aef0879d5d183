import { sha256 } from '#kit/digest.ts';
import { environment } from '#kit/environment.ts';
import { Refused } from '#kit/errors.ts';
import type { SandboxTerms } from '../action.ts';
import { type Sandbox, sandboxKinds } from '../ports/sandbox.ts';
import { createBubblewrap } from './bubblewrap.ts';
import { hostCertificates } from './host-certificates.ts';
import type { SandboxOptions } from './system-view.ts';
import { approvedToolPaths, toolPaths } from './tool-paths.ts';
import { createUnsandboxed } from './unsandboxed.ts';
import { createUnshare } from './unshare.ts';

export const sandboxes = {
  bubblewrap: createBubblewrap,
  'unshare (weak)': createUnshare,
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
  /** `allow_weak_sandbox` of the policy. */
  readonly allow_weak?: boolean;
}

/**
 * The sandbox that the configuration names, or for `auto` the best that works here, tried for real.
 * @param allowUnsandboxed whether `none` may be used: by name, or by `auto` where nothing else works; it allows the weak one too
 * @throws Refused (`sandbox_unavailable`) naming what was tried, why each failed, and the choices
 */
export async function chooseSandbox(
  setting: SandboxSetting,
  allowUnsandboxed: boolean,
  choice: SandboxChoice = {},
): Promise<Sandbox> {
  const options = sandboxOptions(choice);
  const kinds = setting === 'auto' ? (['bubblewrap', 'unshare (weak)'] as const) : [setting];
  const reasons: string[] = [];
  for (const kind of kinds) {
    const forbidden = whyForbidden(kind, allowUnsandboxed, choice);
    if (forbidden !== null) {
      reasons.push(`${kind}: ${forbidden}`);
      continue;
    }
    const sandbox = sandboxes[kind](options);
    const { works, reason } = await sandbox.check();
    if (works) return sandbox;
    reasons.push(`${kind}: ${reason}`);
  }
  if (setting === 'auto' && allowUnsandboxed) return createUnsandboxed(options);
  throw unavailable(reasons);
}

function whyForbidden(
  kind: Sandbox['kind'],
  allowUnsandboxed: boolean,
  { allow_weak = false }: SandboxChoice,
): string | null {
  if (kind === 'bubblewrap' || allowUnsandboxed) return null;
  if (kind === 'none') return 'allow_unsandboxed is false in config/validation.json';
  return allow_weak ? null : 'allow_weak_sandbox is false in config/policy.json';
}

export function sandboxOptions({
  tool_paths = [],
  prepare_environment = {},
  hidden = [],
}: SandboxChoice): SandboxOptions {
  return {
    tools: toolPaths(tool_paths, hiddenFrom({ hidden })),
    networkEnvironment: prepare_environment,
    certificates: hostCertificates(environment),
  };
}

function hiddenFrom({ hidden = [] }: SandboxChoice): string[] {
  return [...(environment.HOME ? [environment.HOME] : []), ...hidden];
}

/** What is approved of a sandbox. Values of variables may be secrets: their digests stand for them. */
export function termsOf(kind: Sandbox['kind'], { tools, networkEnvironment }: SandboxOptions): SandboxTerms {
  const digests = Object.entries(networkEnvironment).map(([name, value]) => [name, sha256(value)]);
  return { kind, tool_paths: tools, prepare_environment: Object.fromEntries(digests) };
}

/** From the weakest. */
const byStrength: readonly Sandbox['kind'][] = sandboxKinds.toReversed();

/**
 * The sandbox that was approved, with what it was approved to show. The configuration of now can only ask for a stricter one,
 * or refuse.
 * @param usesNetwork whether `prepare_environment` reaches anything
 * @throws Refused (`sandbox_unavailable`, `prepare_environment_changed`), InvalidInput (`tool_path_not_allowed`)
 */
export async function approvedSandbox(
  approved: SandboxTerms,
  usesNetwork: boolean,
  config: SandboxChoice & { readonly sandbox: SandboxSetting; readonly allow_unsandboxed: boolean },
): Promise<{ readonly sandbox: Sandbox; readonly terms: SandboxTerms }> {
  const kind = stricter(approved.kind, config.sandbox);
  const forbidden = whyForbidden(kind, config.allow_unsandboxed, config);
  if (forbidden !== null) {
    throw unavailable([`approved was '${approved.kind}', and ${forbidden} by now; plan the issue again`]);
  }
  const networkEnvironment = config.prepare_environment ?? {};
  if (usesNetwork) requireSameEnvironment(approved, termsOf(kind, { tools: [], networkEnvironment }));
  const options = {
    tools: approvedToolPaths(approved.tool_paths, hiddenFrom(config)),
    networkEnvironment,
    // As /etc/ssl/certs, which everybody trusts here; no part of what is approved.
    certificates: hostCertificates(environment),
  };
  const sandbox = sandboxes[kind](options);
  const { works, reason } = await sandbox.check();
  if (works) return { sandbox, terms: termsOf(kind, options) };
  throw unavailable([`approved was '${approved.kind}', and '${kind}' does not work here: ${reason}`]);
}

function stricter(approved: string, setting: SandboxSetting): Sandbox['kind'] {
  const strength = (byStrength as readonly string[]).indexOf(approved);
  if (strength < 0) {
    throw unavailable([`approved was '${approved}', which is none of ${byStrength.join(', ')}`]);
  }
  return byStrength[Math.max(strength, setting === 'auto' ? 0 : byStrength.indexOf(setting))]!;
}

function requireSameEnvironment(approved: SandboxTerms, now: SandboxTerms): void {
  const before = approved.prepare_environment;
  const after = now.prepare_environment;
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...names].filter((name) => before[name] !== after[name]);
  if (changed.length === 0) return;
  const shown = (digest: string | undefined) =>
    digest === undefined ? 'not set' : `sha256 ${digest.slice(0, 12)}`;
  const each = changed.map((name) => `${name} is ${shown(after[name])}, approved was ${shown(before[name])}`);
  throw new Refused(
    'prepare_environment_changed',
    `prepare_environment of config/validation.json: ${each.join('; ')}. Set it back, or plan the issue again`,
  );
}

function unavailable(reasons: readonly string[]): Refused {
  return new Refused('sandbox_unavailable', `no sandbox to validate in. ${reasons.join('. ')}`, {
    facts: { tried: reasons },
    hint: 'Install bubblewrap. Else allow a weaker sandbox with "allow_weak_sandbox": true in config/policy.json, or, for repositories that you trust as yourself, none with "allow_unsandboxed": true in config/validation.json.',
  });
}
