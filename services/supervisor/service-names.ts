import { type PlatformService, platformServices } from '#kit/contracts/platform-services.ts';
import { InvalidInput } from '#kit/errors.ts';

/** Which are wanted, as `--only` and `--without` say it; `core-` may be left out of a name. */
export interface Choice {
  readonly only?: string | undefined;
  readonly without?: string | undefined;
}

/**
 * Why a service is not wanted, by name; empty where all are.
 * @throws InvalidInput (`invalid_option`) naming the choices
 */
export function unwanted({ only, without }: Choice): ReadonlyMap<PlatformService, string> {
  const reasons = new Map<PlatformService, string>();
  const kept = only === undefined ? null : namesIn('--only', only);
  for (const name of platformServices) {
    if (kept !== null && !kept.includes(name)) reasons.set(name, `--only ${only} leaves it out`);
  }
  if (without === undefined) return reasons;
  for (const name of namesIn('--without', without)) reasons.set(name, `--without ${without} leaves it out`);
  if (reasons.size < platformServices.length) return reasons;
  throw new InvalidInput(
    'invalid_option',
    'nothing is left to start: --only and --without leave out every service',
  );
}

function namesIn(option: string, list: string): PlatformService[] {
  return list.split(',').map((word) => {
    const found = platformServices.find((name) => name === word.trim() || name === `core-${word.trim()}`);
    if (found !== undefined) return found;
    throw new InvalidInput(
      'invalid_option',
      `${option} is ${JSON.stringify(list)}: ${JSON.stringify(word)} must be one of ${platformServices.join(', ')}`,
    );
  });
}
