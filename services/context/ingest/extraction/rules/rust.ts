import type { Node } from 'web-tree-sitter';
import { type Declared, holder, leaf, type SymbolRules, withoutArguments } from './rule.ts';

export const rustRules: SymbolRules = {
  separator: '::',
  declarations: {
    function_item: leaf('function'),
    function_signature_item: leaf('function'),
    struct_item: leaf('struct'),
    enum_item: leaf('enum'),
    union_item: leaf('union'),
    trait_item: holder('trait'),
    type_item: leaf('type'),
    const_item: leaf('constant'),
    static_item: leaf('static'),
    macro_definition: leaf('macro'),
    mod_item: module,
    impl_item: implementation,
  },
  opaque: ['closure_expression', 'macro_invocation'],
};

/** `mod name;` is found as the file that it stands for. */
function module(node: Node): Declared | null {
  const name = node.childForFieldName('name')?.text;
  if (!name || node.childForFieldName('body') === null) return null;
  return { name, sort: 'module', closed: false };
}

function implementation(node: Node): Declared | null {
  const type = node.childForFieldName('type')?.text;
  return type ? { name: withoutArguments(type), sort: null, closed: false } : null;
}
