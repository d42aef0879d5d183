import type { Node } from 'web-tree-sitter';
import { type Declared, holder, leaf, type SymbolRules } from './rule.ts';

const functionTypes = new Set([
  'arrow_function',
  'function_expression',
  'function',
  'generator_function',
  'method_definition',
]);

/** Also of TypeScript, whose grammar has the same names and more. */
export const javascriptRules: SymbolRules = {
  separator: '.',
  declarations: {
    function_declaration: leaf('function'),
    generator_function_declaration: leaf('function'),
    function_signature: leaf('function'),
    class_declaration: holder('class'),
    abstract_class_declaration: holder('class'),
    interface_declaration: leaf('interface'),
    type_alias_declaration: leaf('type'),
    enum_declaration: leaf('enum'),
    internal_module: holder('namespace'),
    module: holder('namespace'),
    method_definition: leaf('method'),
    abstract_method_signature: leaf('method'),
    method_signature: leaf('method'),
    public_field_definition: (node) => withFunction(node, 'name', 'method'),
    field_definition: (node) => withFunction(node, 'property', 'method'),
    pair: (node) => withFunction(node, 'key', 'method'),
    variable_declarator: variable,
    assignment_expression: assignment,
  },
  opaque: ['arrow_function', 'function_expression', 'function', 'generator_function', 'for_statement'],
};

function withFunction(node: Node, field: string, sort: string): Declared | null {
  const value = node.childForFieldName('value');
  if (value === null || !functionTypes.has(value.type)) return null;
  const name = node.childForFieldName(field)?.text.replace(/^['"]|['"]$/g, '');
  return name ? { name, sort, closed: true } : null;
}

function variable(node: Node): Declared | null {
  const name = node.childForFieldName('name');
  if (name?.type !== 'identifier') return null;
  const value = node.childForFieldName('value');
  return isRequired(value) ? null : { name: name.text, sort: sortOf(value), closed: false };
}

/** A module of somewhere else, or a part of it: a name for what is defined there. */
function isRequired(value: Node | null): boolean {
  return value !== null && /^(?:await\s+import|require)\s*\([^()]*\)(?:\.[\w$]+)*$/.test(value.text);
}

/** `exports.name = …`, `module.exports.name = …`, `Type.prototype.name = …` and `Type.name = function …`. */
function assignment(node: Node): Declared | null {
  const left = node.childForFieldName('left');
  if (left?.type !== 'member_expression') return null;
  const value = node.childForFieldName('right');
  const text = left.text;
  const exported = /^(?:module\.)?exports\.([\w$]+)$/.exec(text);
  if (exported !== null && isRequired(value)) return null;
  if (exported !== null) return { name: exported[1]!, sort: sortOf(value), closed: false };
  if (value === null || !functionTypes.has(value.type) || !/^[\w$.]+$/.test(text)) return null;
  return { name: text.replace('.prototype.', '.'), sort: 'function', closed: true };
}

function sortOf(value: Node | null): string {
  if (value === null) return 'constant';
  if (functionTypes.has(value.type)) return 'function';
  return value.type === 'class' ? 'class' : 'constant';
}
