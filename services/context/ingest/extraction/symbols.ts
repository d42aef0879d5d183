import type { Node, Tree } from 'web-tree-sitter';
import type { CodeLanguage } from './languages.ts';
import { symbolRules } from './symbol-rules.ts';

/** A declaration in the text; positions count UTF-16 units, lines from 1. */
export interface FoundSymbol {
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
const mostSymbols = 3_000;
const longestName = 200;

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
  const rules = symbolRules[language];
  const opaque = new Set(rules.opaque);
  const found: FoundSymbol[] = [];
  const scopes: Scope[] = [{ depth: -1, name: '', symbol: -1 }];
  const cursor = tree.walk();
  let depth = 0;
  try {
    for (let more = true; more && found.length < mostSymbols; ) {
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
    const rule = Object.hasOwn(rules.declarations, type) ? rules.declarations[type] : undefined;
    if (rule === undefined) return !opaque.has(type) || isCalledAtOnce(at.currentNode);
    const scope = scopes.at(-1)!;
    const node = at.currentNode;
    if (!node.isNamed) return true;
    const declared = rule(node, scope.symbol >= 0 || scope.name !== '');
    if (declared === null || declared.name.length > longestName) return !opaque.has(type);
    const name = scope.name === '' ? declared.name : `${scope.name}${rules.separator}${declared.name}`;
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
