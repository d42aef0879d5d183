import { visibleLine } from '#kit/cli/terminal-text.ts';

export interface Column {
  readonly title: string;
  /** Numbers stand to the right. */
  readonly right?: boolean;
}

/** Lines of a table; the last column is as wide as it needs. */
export function tableLines(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  const all = [columns.map(({ title }) => title), ...rows.map((row) => row.map(visibleLine))];
  const widths = columns.map((_, index) => Math.max(...all.map((row) => row[index]!.length)));
  return all.map((row) =>
    row
      .map((cell, index) =>
        columns[index]!.right ? cell.padStart(widths[index]!) : cell.padEnd(widths[index]!),
      )
      .join('  ')
      .trimEnd(),
  );
}

export function printTable(columns: readonly Column[], rows: readonly (readonly string[])[]): void {
  process.stdout.write(`${tableLines(columns, rows).join('\n')}\n`);
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** @param program as people call it, for example `./core model` */
export function noModel(program: string): string {
  return `No model is configured. ${program} add asks for one, tries it and writes it down.\n`;
}
