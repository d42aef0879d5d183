import { visibleLine } from '#kit/cli/terminal-text.ts';
import { platformServices } from '#kit/contracts/platform-services.ts';
import type { StatusReport } from '#kit/contracts/status.ts';

type Remark = StatusReport['problems'][number];

const following = new RegExp(`^(${platformServices.join('|')}): `);

/** A report in a few lines for a person: what is not well, and under it what to do. */
export function summaryOf({ ok, problems, warnings }: StatusReport): string {
  const causes = problems.filter(({ fix }) => fix === null || !following.test(fix));
  const [told, rest] = causes.length === 0 ? [problems, 0] : [causes, problems.length - causes.length];
  const head = ok
    ? 'All that is required is well.'
    : rest === 0
      ? 'Not well.'
      : `Not well; ${rest} more in the report ${rest === 1 ? 'follows' : 'follow'} from this:`;
  return `${[head, ...linesOf('problem', told), ...linesOf('warning', warnings)].join('\n')}\n`;
}

/** What is the same of several is said once. */
function linesOf(kind: string, remarks: readonly Remark[]): string[] {
  const alike = Map.groupBy(remarks, ({ detail, fix }) => JSON.stringify([detail, fix]));
  return [...alike.values()].flatMap((group) => {
    const { detail, fix } = group[0]!;
    const parts = group.map(({ part }) => part.replace(/^(services|http)\./, '')).join(', ');
    return [
      `${kind}  ${visibleLine(`${parts}: ${detail}`)}`,
      ...(fix === null ? [] : [`${'do'.padStart(kind.length)}  ${visibleLine(fix)}`]),
    ];
  });
}
