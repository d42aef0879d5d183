/** `core/<number>-<slug>-<short run id>`: letters, digits and dashes alone, whatever the title holds. */
export function branchName(number: number, title: string, runId: string): string {
  return [
    'core/',
    [String(number), slugOf(title), shortRunId(runId)].filter((part) => part !== '').join('-'),
  ].join('');
}

/** The first words of a title, at most 20 characters. */
export function slugOf(title: string): string {
  const words =
    title
      .normalize('NFKD')
      .toLowerCase()
      .replace(/[\u0300-\u036f]/g, '')
      .match(/[a-z0-9]+/g) ?? [];
  let slug = '';
  for (const word of words) {
    const longer = slug === '' ? word.slice(0, 20) : `${slug}-${word}`;
    if (longer.length > 20) break;
    slug = longer;
  }
  return slug;
}

/** The 48-bit time of the UUIDv7: eight digits would be shared by runs of the same minute. */
function shortRunId(runId: string): string {
  return runId.replace(/^run_/, '').replaceAll('-', '').slice(0, 12);
}
