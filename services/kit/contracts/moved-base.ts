import type { RunDetail } from './run.ts';

/** For people, before they approve what would be published. */
export function movedText({ base_branch, commit, files }: NonNullable<RunDetail['base_moved']>): string {
  const some = files.slice(0, 5).join(', ');
  const rest = files.length > 5 ? ` and ${files.length - 5} more` : '';
  return `${base_branch} is at ${commit.slice(0, 7)} by now and changed ${some}${rest}, which this plan changes too; plan the issue again to start from there`;
}
