import type { Node } from 'web-tree-sitter';
import { type Declared, leaf, type SymbolRules } from './rule.ts';

export const goRules: SymbolRules = {
  separator: '.',
  declarations: {
    function_declaration: leaf('function'),
    method_declaration: method,
    type_spec: type,
    type_alias: leaf('type'),
    const_spec: leaf('constant'),
    var_spec: leaf('variable'),
  },
  opaque: ['func_literal'],
};

/** `Type.Name`, by the receiver's type without its star and parameters. */
function method(node: Node): Declared | null {
  const name = node.childForFieldName('name')?.text;
  const receiver = node.childForFieldName('receiver')?.text ?? '';
  const type = /([A-Za-z_]\w*)\s*(?:\[[^\]]*\])?\s*\)$/.exec(receiver)?.[1];
  if (!name) return null;
  return { name: type === undefined ? name : `${type}.${name}`, sort: 'method', closed: true };
}

function type(node: Node): Declared | null {
  const name = node.childForFieldName('name')?.text;
  const sorts: Record<string, string> = { struct_type: 'struct', interface_type: 'interface' };
  const sort = sorts[node.childForFieldName('type')?.type ?? ''] ?? 'type';
  return name ? { name, sort, closed: true } : null;
}
