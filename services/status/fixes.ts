import type { StatusReport } from '#kit/contracts/status.ts';
import { shellWord } from '#kit/shell-word.ts';
import type { Unit } from './service-manager.ts';

/** A process that was started so short a time ago, in milliseconds, is still starting where it does not answer. */
const startingMs = 15_000;

/**
 * What to do about something that does not answer, by what the service manager says of the services behind it, the nearest first: one
 * that is halted or waits is the reason, and one that has just begun needs time alone.
 */
export function fixByUnits(
  names: readonly string[],
  units: ReadonlyMap<string, Unit>,
  otherwise: string | null,
  now = Date.now(),
): string | null {
  for (const name of names) {
    const unit = units.get(name);
    if (unit === undefined || unit.state === 'unknown') continue;
    if (unit.state === 'left_out')
      return `${name} is left out (${unit.detail}); ./core up starts it where nothing leaves it out.`;
    if (unit.state !== 'running') return unit.fix === null ? otherwise : `${name}: ${unit.fix}`;
    const age = unit.since === null ? startingMs : now - Date.parse(unit.since);
    if (age >= 0 && age < startingMs)
      return `Wait a moment: ${name} was started ${Math.round(age / 1000)} s ago.`;
  }
  return otherwise;
}

/** The report with its commands as they are to be typed by who asked about this state folder. */
export function withHome(report: StatusReport, home: string | undefined): StatusReport {
  if (home === undefined) return report;
  const flag = ` --home ${shellWord(home)}`;
  const told = <T extends { readonly fix: string | null }>(part: T): T =>
    part.fix === null
      ? part
      : { ...part, fix: part.fix.replaceAll(/\.\/core (?:up|doctor|config show|model add)\b/g, `$&${flag}`) };
  const each = <T extends { readonly fix: string | null }>(parts: Readonly<Record<string, T>>) =>
    Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, told(part)]));
  return {
    ...report,
    services: each(report.services),
    http: each(report.http),
    problems: report.problems.map(told),
    warnings: report.warnings.map(told),
  };
}
