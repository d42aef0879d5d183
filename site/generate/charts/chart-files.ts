import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { GeneratedPage } from '../generated-page.ts';
import { type Bar, type BarChart, barChart } from './bar-chart.ts';
import { type Table, tableBelow } from './tables-of.ts';

const figures = fileURLToPath(new URL('../../figures.md', import.meta.url));

/** Charts of the tables on the page of figures, which includes them. */
export function chartFiles(page = readFileSync(figures, 'utf8')): GeneratedPage[] {
  const charts: Readonly<Record<string, BarChart>> = {
    bars: benchmarkChart(tableBelow(page, 'Speed and memory')),
    lookup: lookupChart(tableBelow(page, 'How much memory lookup finds')),
    search: searchChart(tableBelow(page, 'How well search finds files')),
  };
  return Object.entries(charts).map(([name, chart]) => ({
    path: `reference/charts/${name}.html`,
    text: barChart(chart),
  }));
}

/** How much of each bar was used up: 1 is the bar, shorter is better. */
function benchmarkChart(table: Table): BarChart {
  const bars = table.rows.map((row): Bar => {
    const [subject, beside, ratio, rounds, bar] = columns(table, row, [
      'Subject',
      'Compared with',
      'Ratio',
      'Middle half of the rounds',
      'Bar',
    ]);
    const value = Number.parseFloat(ratio);
    const [, bound, limit] = /^at (most|least) ([\d.]+)$/.exec(bar) ?? [];
    if (Number.isNaN(value) || limit === undefined)
      throw new Error(
        `figures.md: the row '${subject}' has the ratio '${ratio}' and the bar '${bar}'; a chart needs one number, and 'at most N' or 'at least N'`,
      );
    const used = (one: number) => (bound === 'most' ? one / Number(limit) : Number(limit) / one);
    const ends = [...rounds.matchAll(/[\d.]+/g)].map(([number]) => used(Number(number)));
    const spread = ends.length === 2 ? { spread: [Math.min(...ends), Math.max(...ends)] as const } : {};
    return {
      label: subject,
      note: `compared with ${beside}`,
      values: [used(value)],
      texts: [`${/[\d.]+/.exec(ratio)![0]}, ${bar}`],
      ...spread,
    };
  });
  return {
    describedAs: 'How much of its bar each benchmark used: all stay below 1',
    bars,
    series: ['share of the bar'],
    max: 1.05,
    mark: { at: 1, label: 'bar' },
  };
}

function lookupChart(table: Table): BarChart {
  const bars = table.rows.map((row): Bar => {
    const [label, before, now] = columns(table, row, ['Conversations', 'Before', 'Now']);
    const values = [before, now].map((cell) => Number(cell.split(', ')[1]));
    return { label, values, texts: values.map((value) => `${value} %`) };
  });
  return {
    describedAs: 'Share of the answering turns among the first 10 results, before and now',
    bars,
    series: ['before, at 10', 'now, at 10'],
    max: 100,
  };
}

function searchChart(table: Table): BarChart {
  const bars = table.rows.map((row): Bar => {
    const [label, mrr, recall] = columns(table, row, ['Method', 'MRR', 'at 10']);
    return { label, values: [Number(mrr), Number(recall)], texts: [`${mrr} %`, `${recall} %`] };
  });
  return {
    describedAs: 'Mean reciprocal rank and recall at 10 of each method of search',
    bars,
    series: ['MRR', 'recall at 10'],
    max: 60,
  };
}

/** The cells of these columns. @throws Error where the table has no such column */
function columns<Names extends readonly string[]>(
  { head }: Table,
  row: readonly string[],
  names: readonly [...Names],
): { [Name in keyof Names]: string } {
  return names.map((name) => {
    const at = head.indexOf(name);
    if (at === -1) throw new Error(`figures.md: no column '${name}' in the table of ${head.join(', ')}`);
    return row[at] ?? '';
  }) as { [Name in keyof Names]: string };
}
