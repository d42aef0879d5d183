import type { Node } from 'web-tree-sitter';
import type { CodeLanguage } from './languages.ts';

/** What a declaration of the grammar becomes. */
interface Declared {
  readonly name: string;
  /** What the language calls it; null where it only lends its name to what it holds, as Rust's `impl` does. */
  readonly sort: string | null;
  /** Nothing within it is looked at. */
  readonly closed: boolean;
}

/** @param held true if the node lies within another declaration. @returns null where it declares nothing to find */
type SymbolRule = (node: Node, held: boolean) => Declared | null;

interface LanguageTable {
  /** Between the parts of a qualified name. */
  readonly separator: '.' | '::';
  /** By what the language calls them, node types named by their field `name`, whose body is not looked at. */
  readonly leaves?: Readonly<Record<string, string>>;
  /** As `leaves`, of node types that hold other declarations. */
  readonly holders?: Readonly<Record<string, string>>;
  readonly others?: Readonly<Record<string, SymbolRule>>;
  /** Node types in which nothing is declared that others could name. */
  readonly opaque: readonly string[];
}

/** TypeScript's grammar has JavaScript's node types and more. */
const javascript: LanguageTable = {
  separator: '.',
  leaves: {
    function: 'function_declaration generator_function_declaration function_signature',
    interface: 'interface_declaration',
    type: 'type_alias_declaration',
    enum: 'enum_declaration',
    method: 'method_definition abstract_method_signature method_signature',
  },
  holders: { class: 'class_declaration abstract_class_declaration', namespace: 'internal_module module' },
  others: {
    public_field_definition: (node) => methodIn(node, 'name'),
    field_definition: (node) => methodIn(node, 'property'),
    pair: (node) => methodIn(node, 'key'),
    variable_declarator: javascriptVariable,
    assignment_expression: javascriptAssignment,
  },
  opaque: ['arrow_function', 'function_expression', 'function', 'generator_function', 'for_statement'],
};

const python: LanguageTable = {
  separator: '.',
  holders: { class: 'class_definition' },
  others: {
    function_definition: (node, held) => declared(field(node, 'name'), held ? 'method' : 'function'),
    assignment: (node, held) => (held ? null : assigned(node, 'identifier')),
  },
  opaque: ['lambda', 'for_statement', 'with_statement', 'while_statement'],
};

const go: LanguageTable = {
  separator: '.',
  leaves: {
    function: 'function_declaration',
    type: 'type_alias',
    constant: 'const_spec',
    variable: 'var_spec',
  },
  others: { method_declaration: goMethod, type_spec: goType },
  opaque: ['func_literal'],
};

const rust: LanguageTable = {
  separator: '::',
  leaves: {
    function: 'function_item function_signature_item',
    struct: 'struct_item',
    enum: 'enum_item',
    union: 'union_item',
    type: 'type_item',
    constant: 'const_item',
    static: 'static_item',
    macro: 'macro_definition',
  },
  holders: { trait: 'trait_item' },
  others: {
    // `mod name;` is found as the file that it stands for.
    mod_item: withBody('module'),
    impl_item: (node) => declared(withoutArguments(field(node, 'type')), null, false),
  },
  opaque: ['closure_expression', 'macro_invocation'],
};

const java: LanguageTable = {
  separator: '.',
  leaves: { method: 'method_declaration', constructor: 'constructor_declaration' },
  holders: {
    class: 'class_declaration',
    interface: 'interface_declaration',
    enum: 'enum_declaration',
    record: 'record_declaration',
    annotation: 'annotation_type_declaration',
  },
  others: { field_declaration: javaConstant },
  opaque: ['lambda_expression', 'block'],
};

/** Also of C, whose programs the grammar of C++ reads. */
const cpp: LanguageTable = {
  separator: '::',
  leaves: {
    type: 'alias_declaration',
    concept: 'concept_definition',
    macro: 'preproc_def preproc_function_def',
  },
  others: {
    function_definition: cppFunction,
    declaration: cppFunction,
    field_declaration: cppFunction,
    // A type that is only named, as in `struct S *next`, is not declared there.
    class_specifier: withBody('class'),
    struct_specifier: withBody('struct'),
    union_specifier: withBody('union'),
    enum_specifier: withBody('enum'),
    namespace_definition: (node) => declared(field(node, 'name'), null, false),
    type_definition: cppType,
  },
  opaque: ['compound_statement', 'lambda_expression', 'parameter_list'],
};

/** Namespaces lend nothing to a name: people leave them out, and a file repeats them. */
const csharp: LanguageTable = {
  separator: '.',
  leaves: {
    enum: 'enum_declaration',
    delegate: 'delegate_declaration',
    method: 'method_declaration',
    constructor: 'constructor_declaration',
    property: 'property_declaration',
  },
  holders: {
    class: 'class_declaration',
    interface: 'interface_declaration',
    struct: 'struct_declaration',
    record: 'record_declaration',
  },
  opaque: ['block', 'lambda_expression', 'anonymous_method_expression'],
};

const ruby: LanguageTable = {
  separator: '::',
  leaves: { method: 'method singleton_method' },
  holders: { class: 'class', module: 'module' },
  others: { assignment: (node) => assigned(node, 'constant') },
  opaque: ['lambda'],
};

const php: LanguageTable = {
  separator: '::',
  leaves: { function: 'function_definition', method: 'method_declaration' },
  holders: {
    class: 'class_declaration',
    interface: 'interface_declaration',
    trait: 'trait_declaration',
    enum: 'enum_declaration',
  },
  others: { const_element: (node) => declared(node.namedChild(0)?.text, 'constant') },
  opaque: ['anonymous_function', 'anonymous_function_creation_expression', 'arrow_function'],
};

const tables: Readonly<Record<CodeLanguage, LanguageTable>> = {
  typescript: javascript,
  tsx: javascript,
  javascript,
  python,
  go,
  rust,
  java,
  c: cpp,
  cpp,
  csharp,
  ruby,
  php,
};

export interface SymbolRules {
  readonly separator: '.' | '::';
  /** By node type. */
  readonly declarations: ReadonlyMap<string, SymbolRule>;
  readonly opaque: ReadonlySet<string>;
}

export function symbolRules(language: CodeLanguage): SymbolRules {
  const { separator, leaves = {}, holders = {}, others = {}, opaque } = tables[language];
  const named = (sorts: Readonly<Record<string, string>>, closed: boolean) =>
    Object.entries(sorts).flatMap(([sort, types]) =>
      types
        .split(' ')
        .map((type): [string, SymbolRule] => [type, (node) => declared(field(node, 'name'), sort, closed)]),
    );
  const declarations = new Map([...named(leaves, true), ...named(holders, false), ...Object.entries(others)]);
  return { separator, declarations, opaque: new Set(opaque) };
}

function declared(name: string | undefined, sort: string | null, closed = true): Declared | null {
  return name ? { name, sort, closed } : null;
}

function field(node: Node, name: string): string | undefined {
  return node.childForFieldName(name)?.text;
}

/** The name of a type without its arguments: `Bar` of `Bar<T>`. */
function withoutArguments(type: string | undefined): string | undefined {
  return type?.replace(/<[\s\S]*$/, '').trim();
}

function withBody(sort: string): SymbolRule {
  return (node) =>
    node.childForFieldName('body') === null
      ? null
      : declared(withoutArguments(field(node, 'name')), sort, false);
}

function assigned(node: Node, type: string): Declared | null {
  const left = node.childForFieldName('left');
  return left?.type === type ? declared(left.text, 'constant') : null;
}

const functionTypes = new Set([
  'arrow_function',
  'function_expression',
  'function',
  'generator_function',
  'method_definition',
]);

function methodIn(node: Node, nameField: string): Declared | null {
  const value = node.childForFieldName('value');
  if (value === null || !functionTypes.has(value.type)) return null;
  return declared(field(node, nameField)?.replace(/^['"]|['"]$/g, ''), 'method');
}

function javascriptVariable(node: Node): Declared | null {
  const name = node.childForFieldName('name');
  if (name?.type !== 'identifier') return null;
  const value = node.childForFieldName('value');
  return isRequired(value) ? null : declared(name.text, sortOf(value), false);
}

/** `exports.name = …`, `module.exports.name = …`, `Type.prototype.name = …` and `Type.name = function …`. */
function javascriptAssignment(node: Node): Declared | null {
  const left = node.childForFieldName('left');
  if (left?.type !== 'member_expression') return null;
  const value = node.childForFieldName('right');
  const text = left.text;
  const exported = /^(?:module\.)?exports\.([\w$]+)$/.exec(text);
  if (exported !== null) return isRequired(value) ? null : declared(exported[1], sortOf(value), false);
  if (value === null || !functionTypes.has(value.type) || !/^[\w$.]+$/.test(text)) return null;
  return declared(text.replace('.prototype.', '.'), 'function');
}

/** A module of somewhere else, or a part of it: a name for what is defined there. */
function isRequired(value: Node | null): boolean {
  return value !== null && /^(?:await\s+import|require)\s*\([^()]*\)(?:\.[\w$]+)*$/.test(value.text);
}

function sortOf(value: Node | null): string {
  if (value === null) return 'constant';
  if (functionTypes.has(value.type)) return 'function';
  return value.type === 'class' ? 'class' : 'constant';
}

/** `Type.Name`, by the receiver's type without its star and parameters. */
function goMethod(node: Node): Declared | null {
  const name = field(node, 'name');
  const receiver = field(node, 'receiver') ?? '';
  const type = /([A-Za-z_]\w*)\s*(?:\[[^\]]*\])?\s*\)$/.exec(receiver)?.[1];
  return declared(name && type ? `${type}.${name}` : name, 'method');
}

function goType(node: Node): Declared | null {
  const sorts: Record<string, string> = { struct_type: 'struct', interface_type: 'interface' };
  return declared(field(node, 'name'), sorts[node.childForFieldName('type')?.type ?? ''] ?? 'type');
}

/** A `static final` field; other fields are found with their class. */
function javaConstant(node: Node): Declared | null {
  if (!/\bstatic\b[^=;{]*\bfinal\b|\bfinal\b[^=;{]*\bstatic\b/.test(node.text)) return null;
  return declared(node.childForFieldName('declarator')?.childForFieldName('name')?.text, 'constant');
}

function cppType(node: Node): Declared | null {
  const name = node.childForFieldName('declarator');
  return name?.type === 'type_identifier' ? declared(name.text, 'type', false) : null;
}

/** Functions and their prototypes; a variable is found with its file. */
function cppFunction(node: Node, held: boolean): Declared | null {
  const declarator = functionDeclarator(node.childForFieldName('declarator'));
  const name = declarator?.childForFieldName('declarator');
  if (!name || name.type === 'parenthesized_declarator') return null;
  const sort = held || name.type === 'qualified_identifier' ? 'method' : 'function';
  return declared(name.text.replace(/\s+/g, ' '), sort);
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
