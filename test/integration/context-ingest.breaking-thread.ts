import { Parser } from 'web-tree-sitter';

/** An ingestion whose parser breaks on files that say so, and whose thread ends within those that say that. */
const { parse } = Parser.prototype;
Parser.prototype.parse = function parseUnlessItBreaks(text, ...rest) {
  if (String(text).includes('breaks the parser')) throw new RangeError('memory access out of bounds');
  if (String(text).includes('ends the thread')) process.exit(3);
  return parse.call(this, text, ...rest);
};
await import('../../services/context/ingest/ingest-thread.ts');
