import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** Calls that take the locale of the person's machine, because they name none. */
const withoutLocale =
  /\.localeCompare\((?:[^(),]|\([^()]*\))*\)|\.toLocale\w+\(\)|\bIntl\.(?:Collator|DateTimeFormat|NumberFormat|PluralRules)\((?:\)|undefined)/g;

describe('The locale of the machine', () => {
  it('decides neither an order nor a text: each call names its locale', () => {
    const found = globSync('services/**/*.ts', { cwd: root }).flatMap((file) =>
      [...readFileSync(join(root, file), 'utf8').matchAll(withoutLocale)].map(([call]) => `${file}: ${call}`),
    );
    expect(found).to.deep.equal([]);
  });
});
