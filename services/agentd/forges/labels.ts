import type { Issue, IssueFilter } from '../ports/forge.ts';

/** What a forge is asked for, so that it sends less; a comma would make two labels of one. */
export function labelQuery({ label }: IssueFilter): { readonly labels?: string } {
  return label === undefined || label.includes(',') ? {} : { labels: label };
}

export function hasLabel({ labels }: Pick<Issue, 'labels'>, { label }: IssueFilter): boolean {
  if (label === undefined) return true;
  const wanted = label.toLowerCase();
  return labels.some((given) => given.toLowerCase() === wanted);
}
