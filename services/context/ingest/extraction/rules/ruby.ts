import type { Node } from 'web-tree-sitter';
import { type Declared, holder, leaf, type SymbolRules } from './rule.ts';

export const rubyRules: SymbolRules = {
  separator: '::',
  declarations: {
    class: holder('class'),
    module: holder('module'),
    method: leaf('method'),
    singleton_method: leaf('method'),
    assignment: constant,
  },
  opaque: ['lambda'],
};

function constant(node: Node): Declared | null {
  const left = node.childForFieldName('left');
  return left?.type === 'constant' ? { name: left.text, sort: 'constant', closed: true } : null;
}
