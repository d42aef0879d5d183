import type { Node } from 'web-tree-sitter';
import { type Declared, holder, leaf, type SymbolRules } from './rule.ts';

export const javaRules: SymbolRules = {
  separator: '.',
  declarations: {
    class_declaration: holder('class'),
    interface_declaration: holder('interface'),
    enum_declaration: holder('enum'),
    record_declaration: holder('record'),
    annotation_type_declaration: holder('annotation'),
    method_declaration: leaf('method'),
    constructor_declaration: leaf('constructor'),
    field_declaration: constant,
  },
  opaque: ['lambda_expression', 'block'],
};

/** A `static final` field; other fields are found with their class. */
function constant(node: Node): Declared | null {
  if (!/\bstatic\b[^=;{]*\bfinal\b|\bfinal\b[^=;{]*\bstatic\b/.test(node.text)) return null;
  const name = node.childForFieldName('declarator')?.childForFieldName('name')?.text;
  return name ? { name, sort: 'constant', closed: true } : null;
}
