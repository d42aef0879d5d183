import type { Node } from 'web-tree-sitter';
import { type Declared, holder, type SymbolRules } from './rule.ts';

export const pythonRules: SymbolRules = {
  separator: '.',
  declarations: {
    class_definition: holder('class'),
    function_definition: (node, held) => named(node, held ? 'method' : 'function'),
    assignment: (node, held) => (held ? null : constant(node)),
  },
  opaque: ['lambda', 'for_statement', 'with_statement', 'while_statement'],
};

function named(node: Node, sort: string): Declared | null {
  const name = node.childForFieldName('name')?.text;
  return name ? { name, sort, closed: true } : null;
}

function constant(node: Node): Declared | null {
  const left = node.childForFieldName('left');
  return left?.type === 'identifier' ? { name: left.text, sort: 'constant', closed: true } : null;
}
