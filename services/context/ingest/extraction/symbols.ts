import type { Node, Tree } from 'web-tree-sitter';
import type { Part } from './extraction.ts';
import type { CodeLanguage } from './languages.ts';
import { symbolRules } from './symbol-rules.ts';
import { cut, lineStarts } from './text.ts';

/** A declaration in the text; positions count UTF-16 units, lines from 1. */
interface FoundSymbol {
  readonly name: string;
  readonly sort: string;
  readonly from: number;
  readonly to: number;
  readonly start: number;
  readonly end: number;
  /** Where its body begins; `to` where it has none. */
  readonly bodyFrom: number;
  /** Place of the symbol around it; -1 where there is none. */
  readonly parent: number;
}

/** What a generated file declares beyond is found in its text alone. */
const maxSymbols = 3_000;
const maxNameLength = 200;

interface Scope {
  readonly depth: number;
  readonly name: string;
  readonly symbol: number;
}

/**
 * The declarations that others can name, in the order of the file: functions, types, members, constants of a module. What is
 * declared within a function is its own. Where the text breaks the grammar, what is around it is still found.
 */
export function symbolsOf(language: CodeLanguage, tree: Tree): FoundSymbol[] {
  const { separator, declarations, opaque } = symbolRules(language);
  const found: FoundSymbol[] = [];
  const scopes: Scope[] = [{ depth: -1, name: '', symbol: -1 }];
  const cursor = tree.walk();
  let depth = 0;
  try {
    for (let more = true; more && found.length < maxSymbols; ) {
      while (scopes.at(-1)!.depth >= depth) scopes.pop();
      const enter = visit(cursor.nodeType, cursor, depth);
      if (enter && cursor.gotoFirstChild()) {
        depth++;
        continue;
      }
      more = false;
      for (;;) {
        if (cursor.gotoNextSibling()) {
          more = true;
          break;
        }
        if (!cursor.gotoParent()) break;
        depth--;
      }
    }
  } finally {
    cursor.delete();
  }
  return found;

  /** @returns whether to look within it */
  function visit(type: string, at: { readonly currentNode: Node }, depth: number): boolean {
    const rule = declarations.get(type);
    if (rule === undefined) return !opaque.has(type) || isCalledAtOnce(at.currentNode);
    const scope = scopes.at(-1)!;
    const node = at.currentNode;
    if (!node.isNamed) return true;
    const declared = rule(node, scope.symbol >= 0 || scope.name !== '');
    if (declared === null || declared.name.length > maxNameLength) return !opaque.has(type);
    const name = scope.name === '' ? declared.name : `${scope.name}${separator}${declared.name}`;
    if (declared.sort !== null) found.push(symbolAt(node, name, declared.sort, scope.symbol));
    if (declared.closed) return false;
    scopes.push({ depth, name, symbol: declared.sort === null ? scope.symbol : found.length - 1 });
    return true;
  }
}

/** `(function () { … })()`, around whole files of older JavaScript. */
function isCalledAtOnce(node: Node): boolean {
  return node.parent?.type === 'parenthesized_expression';
}

function symbolAt(node: Node, name: string, sort: string, parent: number): FoundSymbol {
  const outer = enclosing(node);
  const body = node.childForFieldName('body') ?? node.childForFieldName('value')?.childForFieldName('body');
  const { row, column } = outer.endPosition;
  const start = outer.startPosition.row + 1;
  return {
    name,
    sort,
    from: outer.startIndex,
    to: outer.endIndex,
    start,
    end: Math.max(start, column === 0 ? row : row + 1),
    bodyFrom: body?.startIndex ?? outer.endIndex,
    parent,
  };
}

const wrappers = new Set([
  'decorated_definition',
  'export_statement',
  'template_declaration',
  'ambient_declaration',
]);

/** The declaration with its decorators, its `export` and its `const`. */
function enclosing(node: Node): Node {
  let outer = node;
  for (let parent = node.parent; parent !== null; parent = parent.parent) {
    const isOnly = parent.namedChildCount === 1 && /_declaration$|^expression_statement$/.test(parent.type);
    if (!wrappers.has(parent.type) && !isOnly) break;
    outer = parent;
  }
  return outer;
}

const maxSignatureLength = 240;
const maxBodyLength = 50_000;

/** Symbols as parts: each with the comment above it, and without the text of the symbols that it holds. */
export function symbolParts(text: string, symbols: readonly FoundSymbol[]): Part[] {
  const starts = lineStarts(text);
  const from = symbols.map((symbol) => commentStart(text, starts, symbol));
  const children = symbols.map((): number[] => []);
  for (const [at, { parent }] of symbols.entries()) if (parent >= 0) children[parent]!.push(at);
  const names = new Map<string, number>();
  return symbols.map((symbol, at) => {
    const nth = (names.get(symbol.name) ?? 0) + 1;
    names.set(symbol.name, nth);
    return {
      node: 'symbol',
      name: symbol.name,
      nth,
      title: symbol.name,
      sort: symbol.sort,
      start: symbol.start,
      end: symbol.end,
      parent: symbol.parent,
      body: cut(ownText(at), maxBodyLength),
      signature: signatureOf(text, symbol),
    };
  });

  function ownText(at: number): string {
    const pieces: string[] = [];
    let position = from[at]!;
    for (const child of children[at]!) {
      pieces.push(text.slice(position, Math.max(position, from[child]!)));
      position = Math.max(position, symbols[child]!.to);
    }
    pieces.push(text.slice(position, symbols[at]!.to));
    return pieces.join('').replace(/\n\s*\n\s*\n/g, '\n\n');
  }
}

const comment = /^\s*(\/\/|\/\*|\*|#(?!\s*(include|define|undef|if|else|elif|endif|pragma|import)\b)|@\w|--)/;

/** Where the lines of comment and annotation right above it begin; its own start where there are none. */
function commentStart(text: string, starts: readonly number[], { from, start }: FoundSymbol): number {
  let line = start - 1;
  while (line > 0 && comment.test(text.slice(starts[line - 1]!, starts[line]!))) line--;
  return line === start - 1 ? from : starts[line]!;
}

function signatureOf(text: string, { from, to, bodyFrom }: FoundSymbol): string {
  const end = bodyFrom < to ? bodyFrom : endOfLine(text, from, to);
  const declaration = text.slice(from, Math.min(end, from + 4 * maxSignatureLength));
  return cut(declaration.replace(/\s+/g, ' ').trim(), maxSignatureLength);
}

function endOfLine(text: string, from: number, to: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? to : Math.min(end, to);
}
