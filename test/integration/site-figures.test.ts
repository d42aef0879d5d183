import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { sourceLinks } from '../../site/.vitepress/source.ts';
import { chartFiles } from '../../site/generate/charts/chart-files.ts';
import { tableBelow } from '../../site/generate/charts/tables-of.ts';

const page = readFileSync(fileURLToPath(new URL('../../site/figures.md', import.meta.url)), 'utf8');

describe('the charts of the page of figures', () => {
  it('draw every row of their tables, and the page includes each', () => {
    const charts = chartFiles(page);
    const headings = {
      bars: 'Speed and memory',
      lookup: 'How much memory lookup finds',
      search: 'How well search finds files',
    };
    for (const [name, heading] of Object.entries(headings)) {
      const path = `reference/charts/${name}.html`;
      const { rows } = tableBelow(page, heading);
      const svg = charts.find((chart) => chart.path === path)!.text;
      expect(rows.length).to.be.greaterThan(3);
      for (const [label] of rows) expect(svg, heading).to.contain(`<tspan>${label}</tspan>`);
      expect(page).to.contain(`<!--@include: ./${path}-->`);
    }
  });

  it('draw a bar as long as its part of what is allowed, whichever direction is better', () => {
    const row = (ratio: string, bar: string) => `| it | that | ${ratio} | | ${bar} |`;
    const widthOf = (ratio: string, bar: string) => {
      const [chart] = chartFiles(withRow(row(ratio, bar)));
      return Number(/class="series-0"[^>]* width="([\d.]+)%"/.exec(chart!.text)![1]);
    };
    expect(widthOf('1 of its time', 'at most 2')).to.equal(widthOf('1 of its rate', 'at least 0.5'));
    expect(widthOf('2 of its time', 'at most 2')).to.be.closeTo(
      2 * widthOf('1 of its time', 'at most 2'),
      0.2,
    );
  });

  it('refuse a row that they cannot read, and name it', () => {
    expect(() => chartFiles(withRow('| it | that | fast | | soon |'))).to.throw(
      "the row 'it' has the ratio 'fast' and the bar 'soon'",
    );
  });
});

describe("the site's links to its source", () => {
  it('lead to the repository, in whatever way git writes its address, without the account', () => {
    for (const address of [
      'https://github.com/acme/core.git',
      'git+https://name:password@github.com/acme/core.git',
      'git@github.com:acme/core.git',
      'ssh://git@github.com:22/acme/core',
    ])
      expect(sourceLinks(address), address).to.deep.equal({
        repository: 'https://github.com/acme/core',
        editPattern: 'https://github.com/acme/core/edit/main/site/:path',
      });
    expect(sourceLinks('https://codeberg.org/acme/core')?.editPattern).to.equal(
      'https://codeberg.org/acme/core/_edit/main/site/:path',
    );
  });

  it('are left out where the source is a folder or unknown', () => {
    for (const address of [
      '/srv/core',
      '../core',
      'file:///srv/core',
      'http://localhost:3000/acme/core',
      null,
    ])
      expect(sourceLinks(address), String(address)).to.equal(null);
  });
});

/** The page with this row alone in its table of benchmarks. */
function withRow(row: string): string {
  const lines = page.split('\n');
  const start = lines.findIndex((line) => line.startsWith('| Subject | Compared with | Ratio'));
  const end = lines.findIndex((line, index) => index > start && !line.startsWith('|'));
  return [...lines.slice(0, start + 2), row, ...lines.slice(end)].join('\n');
}
