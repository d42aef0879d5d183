import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../../', import.meta.url));
const classes =
  'CoreError|Failed|InvalidInput|TooLarge|Unauthorized|Forbidden|NotFound|Conflict|Refused|Unavailable|TimedOut|Interrupted';

describe('the page of errors', () => {
  const page = readFileSync(`${root}site/errors.md`, 'utf8');
  const listed = new Set([...page.matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, code]) => code!));

  it('lists every code that the source raises', () => {
    const raised = new Map<string, string>();
    for (const file of globSync('services/**/*.ts', { cwd: root })) {
      if (file.endsWith('.test.ts')) continue;
      const source = readFileSync(`${root}${file}`, 'utf8');
      const patterns = [new RegExp(`new (?:${classes})\\(\\s*'([a-z_]+)'`, 'g'), /\bcode: '([a-z_]+)'/g];
      for (const pattern of patterns)
        for (const [, code] of source.matchAll(pattern)) raised.set(code!, file);
    }
    const missing = [...raised]
      .filter(([code]) => !listed.has(code))
      .map(([code, file]) => `${code} (${file})`);
    expect(raised.size).to.be.greaterThan(100);
    expect(missing).to.deep.equal([]);
  });
});
