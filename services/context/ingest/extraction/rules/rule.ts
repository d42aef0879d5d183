import type { Node } from 'web-tree-sitter';

/** What a declaration of the grammar becomes. */
export interface Declared {
  readonly name: string;
  /** What the language calls it; null where it only lends its name to what it holds, as Rust's `impl` does. */
  readonly sort: string | null;
  /** Nothing within it is looked at. */
  readonly closed: boolean;
}

/** @param held whether the node lies within another declaration. @returns null where it declares nothing to find */
export type SymbolRule = (node: Node, held: boolean) => Declared | null;

export interface SymbolRules {
  /** Between the parts of a qualified name. */
  readonly separator: '.' | '::';
  /** By node type. */
  readonly declarations: Readonly<Record<string, SymbolRule>>;
  /** Node types in which nothing is declared that others could name. */
  readonly opaque: readonly string[];
}

/** A declaration that is named by its field `name`, and whose body is its own affair. */
export function leaf(sort: string): SymbolRule {
  return named(sort, true);
}

/** A declaration that is named by its field `name` and holds others. */
export function holder(sort: string): SymbolRule {
  return named(sort, false);
}

function named(sort: string, closed: boolean): SymbolRule {
  return (node) => {
    const name = node.childForFieldName('name')?.text;
    return name ? { name, sort, closed } : null;
  };
}

/** The name of a type without its arguments: `Bar` of `Bar<T>`. */
export function withoutArguments(type: string): string {
  return type.replace(/<[\s\S]*$/, '').trim();
}
