import type { Node } from 'web-tree-sitter';
import { type Declared, holder, leaf, type SymbolRules } from './rule.ts';

export const phpRules: SymbolRules = {
  separator: '::',
  declarations: {
    function_definition: leaf('function'),
    class_declaration: holder('class'),
    interface_declaration: holder('interface'),
    trait_declaration: holder('trait'),
    enum_declaration: holder('enum'),
    method_declaration: leaf('method'),
    const_element: constant,
  },
  opaque: ['anonymous_function', 'anonymous_function_creation_expression', 'arrow_function'],
};

function constant(node: Node): Declared | null {
  const name = node.namedChild(0)?.text;
  return name ? { name, sort: 'constant', closed: true } : null;
}
