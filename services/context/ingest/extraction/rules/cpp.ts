import type { Node } from 'web-tree-sitter';
import { type Declared, leaf, type SymbolRule, type SymbolRules, withoutArguments } from './rule.ts';

/** Also of C, whose programs the grammar of C++ reads. */
export const cppRules: SymbolRules = {
  separator: '::',
  declarations: {
    function_definition: (node, held) => declaredFunction(node, held),
    declaration: (node, held) => declaredFunction(node, held),
    field_declaration: (node, held) => declaredFunction(node, held),
    class_specifier: withBody('class'),
    struct_specifier: withBody('struct'),
    union_specifier: withBody('union'),
    enum_specifier: withBody('enum'),
    namespace_definition: namespace,
    type_definition: typeName,
    alias_declaration: leaf('type'),
    concept_definition: leaf('concept'),
    preproc_def: leaf('macro'),
    preproc_function_def: leaf('macro'),
  },
  opaque: ['compound_statement', 'lambda_expression', 'parameter_list'],
};

/** A type that is only named, as in `struct S *next`, is not declared there. */
function withBody(sort: string): SymbolRule {
  return (node) => {
    const name = node.childForFieldName('name')?.text;
    if (!name || node.childForFieldName('body') === null) return null;
    return { name: withoutArguments(name), sort, closed: false };
  };
}

function namespace(node: Node): Declared | null {
  const name = node.childForFieldName('name')?.text;
  return name ? { name, sort: null, closed: false } : null;
}

function typeName(node: Node): Declared | null {
  const name = node.childForFieldName('declarator');
  return name?.type === 'type_identifier' ? { name: name.text, sort: 'type', closed: false } : null;
}

/** Functions and their prototypes; a variable is found with its file. */
function declaredFunction(node: Node, held: boolean): Declared | null {
  const declarator = functionDeclarator(node.childForFieldName('declarator'));
  const name = declarator?.childForFieldName('declarator');
  if (!name || name.type === 'parenthesized_declarator') return null;
  const sort = held || name.type === 'qualified_identifier' ? 'method' : 'function';
  return { name: name.text.replace(/\s+/g, ' '), sort, closed: true };
}

function functionDeclarator(node: Node | null): Node | null {
  let inner = node;
  for (let depth = 0; inner !== null && depth < 8; depth++) {
    if (inner.type === 'function_declarator') return inner;
    if (!/^(pointer|reference|array|attributed)_declarator$/.test(inner.type)) return null;
    inner = inner.childForFieldName('declarator') ?? inner.namedChild(inner.namedChildCount - 1);
  }
  return null;
}
