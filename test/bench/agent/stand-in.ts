import { readFileSync } from 'node:fs';

/**
 * A program that starts about as slowly as Claude Code: Node that loads a package of 9 MB and works for a while before it answers
 * its first line with a line.
 */
const { default: typescript } = await import('typescript');
const declarations = new URL(import.meta.resolve('typescript/lib/lib.dom.d.ts'));
typescript.createSourceFile('dom.d.ts', readFileSync(declarations, 'utf8'), typescript.ScriptTarget.Latest);
process.stdin.once('data', () => {
  process.stdout.write('{"jsonrpc":"2.0","id":0,"result":{}}\n', () => process.exit(0));
});
