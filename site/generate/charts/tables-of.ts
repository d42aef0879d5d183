export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The first table below a heading of a page in Markdown, its cells without marks. @throws Error where there is none */
export function tableBelow(markdown: string, heading: string): Table {
  const lines = markdown.split('\n');
  const at = lines.indexOf(`## ${heading}`);
  const start = lines.findIndex((line, index) => index > at && line.startsWith('|'));
  if (at === -1 || start === -1) throw new Error(`there is no table below '## ${heading}'`);
  const rows: string[][] = [];
  for (const line of lines.slice(start)) {
    if (!line.startsWith('|')) break;
    rows.push(cellsOf(line));
  }
  const [head = [], , ...body] = rows;
  return { head, rows: body };
}

function cellsOf(line: string): string[] {
  return line
    .replace(/^\|/, '')
    .replace(/\|\s*$/, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.replaceAll('`', '').trim());
}
