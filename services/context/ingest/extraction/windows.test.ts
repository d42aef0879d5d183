import { expect } from 'chai';
import { Extractor } from './extractor.ts';

const partsOf = async (path: string, text: string) => {
  const extraction = await new Extractor().extract(path, Buffer.from(text));
  return extraction!.parts.map(({ node, start, end, body }) => ({ node, start, end, body }));
};

describe('Lines between symbols', () => {
  it('become sections of their own: the cases of a test', async () => {
    const cases = Array.from({ length: 40 }, (_, nth) => `it('does thing ${nth}', () => check(${nth}));`);
    const text = `import { check } from './check.ts';\n\nfunction helper() {\n  return 1;\n}\n\n${cases.join('\n')}\n`;
    const parts = await partsOf('things.test.ts', text);
    expect(parts.map(({ node, start, end }) => [node, start, end])).to.deep.equal([
      ['symbol', 3, 5],
      ['section', 6, 35],
      ['section', 36, 47],
    ]);
    expect(parts[2]!.body).to.include('does thing 39');
    expect(parts[1]!.body).to.not.include('helper');
  });

  it('are left to the file where they say little: imports, comments, brackets', async () => {
    const text =
      "import a from 'a';\nimport b from 'b';\n// One.\n// Two.\n\nfunction c() {\n  return a + b;\n}\n\nc();\n";
    expect((await partsOf('c.js', text)).map(({ node }) => node)).to.deep.equal(['symbol']);
  });
});
