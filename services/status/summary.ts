import { visibleLine } from '#kit/cli/terminal-text.ts';
import { platformServices } from '#kit/contracts/platform-services.ts';
import type { StatusReport } from '#kit/contracts/status.ts';
import { shellWord } from '#kit/shell-word.ts';
import type { Unit } from './managers/service-manager.ts';

type Remark = StatusReport['problems'][number];

const following = new RegExp(`^(${platformServices.join('|')}): `);

/** A report in a few lines for a person: what is not well, and under it what to do. */
export function summaryOf({ ok, problems, warnings, services }: StatusReport): string {
  const causes = problems.filter(({ fix }) => fix === null || !following.test(fix));
  const [shown, rest] = causes.length === 0 ? [problems, 0] : [causes, problems.length - causes.length];
  if (nothingRuns(shown, services)) {
    const [first] = shown;
    const fix = first?.fix == null ? [] : [`     do  ${visibleLine(first.fix)}`];
    return `${['Nothing runs here.', ...fix, ...linesOf('warning', warnings)].join('\n')}\n`;
  }
  const head = ok
    ? 'All that is required is well.'
    : rest === 0
      ? 'Not well.'
      : `Not well; ${rest} more in the report ${rest === 1 ? 'follows' : 'follow'} from this:`;
  return `${[head, ...linesOf('problem', shown), ...linesOf('warning', warnings)].join('\n')}\n`;
}

/** Nobody has started it: that is all there is to say. */
function nothingRuns(causes: readonly Remark[], services: StatusReport['services']): boolean {
  const units = Object.entries(services ?? {}).filter(([, { required }]) => required);
  const isOff = ({ part, detail }: Remark) => part.startsWith('services.') && detail === 'does not run';
  return units.length > 0 && causes.length === units.length && causes.every(isOff);
}

/** Name of a part of the report for people: `http.core-agentd` is `core-agentd`, `here.core-agentd` is `core-agentd here`. */
export function nameOfPart(part: string): string {
  return part.replace(/^(services|http)\./, '').replace(/^here\.(.*)/, '$1 here');
}

/** What is the same of several is said once. */
function linesOf(kind: string, remarks: readonly Remark[]): string[] {
  const alike = Map.groupBy(remarks, ({ detail, fix }) => JSON.stringify([detail, fix]));
  return [...alike.values()].flatMap((group) => {
    const { detail, fix } = group[0]!;
    const parts = group.map(({ part }) => nameOfPart(part)).join(', ');
    return [
      `${kind}  ${visibleLine(`${parts}: ${detail}`)}`,
      ...(fix === null ? [] : [`${'do'.padStart(kind.length)}  ${visibleLine(fix)}`]),
    ];
  });
}

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
  const withFlag = <T extends { readonly fix: string | null }>(part: T): T =>
    part.fix === null
      ? part
      : { ...part, fix: part.fix.replaceAll(/\.\/core (?:up|doctor|config show|model add)\b/g, `$&${flag}`) };
  const each = <T extends { readonly fix: string | null }>(parts: Readonly<Record<string, T>>) =>
    Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, withFlag(part)]));
  return {
    ...report,
    services: each(report.services),
    http: each(report.http),
    here: each(report.here),
    problems: report.problems.map(withFlag),
    warnings: report.warnings.map(withFlag),
  };
}
