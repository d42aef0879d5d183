import { type Language, Query, type Tree } from 'web-tree-sitter';
import { type CodeLanguage, familyOf } from './languages.ts';

/** Where a text declares names of its own, which stand for nothing that others define. */
export interface LocalNames {
  /** Start of each name of a parameter or a variable. */
  readonly bindings: ReadonlySet<number>;
  /** Start of each name of a field, key, named argument or label. */
  readonly keys: ReadonlySet<number>;
  /** What says nothing about this file, such as attributes, in the order of the text. */
  readonly skipped: readonly { readonly from: number; readonly to: number }[];
}

export const noLocalNames: LocalNames = { bindings: new Set(), keys: new Set(), skipped: [] };

const javascript = `
  (variable_declarator name: (identifier) @bind) (shorthand_property_identifier_pattern) @bind
  (pair_pattern value: (identifier) @bind) (array_pattern (identifier) @bind) (rest_pattern (identifier) @bind)
  (assignment_pattern left: (identifier) @bind) (arrow_function parameter: (identifier) @bind)
  (for_in_statement left: (identifier) @bind) (catch_clause parameter: (identifier) @bind)
  (function_declaration name: (identifier) @bind) (function_expression name: (identifier) @bind)
  (property_identifier) @key (statement_identifier) @key`;

const typescript = `${javascript}
  (required_parameter pattern: (identifier) @bind) (optional_parameter pattern: (identifier) @bind)
  (type_parameter name: (type_identifier) @bind)`;

/** By family: patterns of the grammar's queries. TypeScript's are its own, as its grammar has more node types. */
const patterns: Readonly<Record<string, string>> = {
  javascript: `${javascript} (formal_parameters (identifier) @bind)`,
  typescript,
  python: `
    (parameters (identifier) @bind) (lambda_parameters (identifier) @bind)
    (default_parameter name: (identifier) @bind) (typed_default_parameter name: (identifier) @bind)
    (typed_parameter (identifier) @bind) (list_splat_pattern (identifier) @bind) (dictionary_splat_pattern (identifier) @bind)
    (assignment left: (identifier) @bind) (pattern_list (identifier) @bind) (tuple_pattern (identifier) @bind)
    (for_statement left: (identifier) @bind) (for_in_clause left: (identifier) @bind)
    (named_expression name: (identifier) @bind) (as_pattern_target (identifier) @bind)
    (function_definition name: (identifier) @bind) (class_definition name: (identifier) @bind)
    (keyword_argument name: (identifier) @key)`,
  go: `
    (short_var_declaration left: (expression_list (identifier) @bind))
    (range_clause left: (expression_list (identifier) @bind))
    (receive_statement left: (expression_list (identifier) @bind))
    (type_switch_statement alias: (expression_list (identifier) @bind))
    (parameter_declaration name: (identifier) @bind) (variadic_parameter_declaration name: (identifier) @bind)
    (var_spec name: (identifier) @bind) (const_spec name: (identifier) @bind)
    (keyed_element . (literal_element (identifier) @key)) (field_identifier) @key (label_name) @key
    (package_clause) @skip`,
  rust: `
    (let_declaration pattern: (identifier) @bind) (parameter pattern: (identifier) @bind)
    (closure_parameters (identifier) @bind) (for_expression pattern: (identifier) @bind)
    ((match_pattern (identifier) @bind) (#match? @bind "^[a-z_]"))
    ((tuple_pattern (identifier) @bind) (#match? @bind "^[a-z_]"))
    ((tuple_struct_pattern (identifier) @bind) (#match? @bind "^[a-z_]"))
    ((slice_pattern (identifier) @bind) (#match? @bind "^[a-z_]"))
    ((or_pattern (identifier) @bind) (#match? @bind "^[a-z_]"))
    ((let_condition pattern: (identifier) @bind) (#match? @bind "^[a-z_]"))
    (captured_pattern (identifier) @bind) (mut_pattern (identifier) @bind) (ref_pattern (identifier) @bind)
    (reference_pattern (identifier) @bind) (shorthand_field_identifier) @bind
    (function_item name: (identifier) @bind)
    ((field_pattern pattern: (identifier) @bind) (#match? @bind "^[a-z_]"))
    (field_identifier) @key (enum_variant name: (identifier) @key)
    (attribute_item) @skip (inner_attribute_item) @skip (lifetime) @skip (label) @skip`,
  java: `
    (formal_parameter name: (identifier) @bind) (catch_formal_parameter name: (identifier) @bind)
    (variable_declarator name: (identifier) @bind) (inferred_parameters (identifier) @bind)
    (lambda_expression parameters: (identifier) @bind) (enhanced_for_statement name: (identifier) @bind)
    (resource name: (identifier) @bind) (instanceof_expression name: (identifier) @bind)
    (method_declaration name: (identifier) @bind) (type_parameter (type_identifier) @bind)
    (element_value_pair key: (identifier) @key) (enum_constant name: (identifier) @key)
    (labeled_statement . (identifier) @key) (package_declaration) @skip`,
  cpp: `
    (parameter_declaration declarator: (identifier) @bind) (init_declarator declarator: (identifier) @bind)
    (declaration declarator: (identifier) @bind) (pointer_declarator declarator: (identifier) @bind)
    (reference_declarator (identifier) @bind) (array_declarator declarator: (identifier) @bind)
    (optional_parameter_declaration declarator: (identifier) @bind)
    (for_range_loop declarator: (identifier) @bind) (structured_binding_declarator (identifier) @bind)
    (preproc_params (identifier) @bind) (enumerator name: (identifier) @bind)
    (type_parameter_declaration (type_identifier) @bind)
    (field_identifier) @key (statement_identifier) @key (namespace_definition name: (_) @key)`,
  csharp: `
    (parameter name: (identifier) @bind) (variable_declarator name: (identifier) @bind)`,
  ruby: `
    (assignment left: (identifier) @bind) (left_assignment_list (identifier) @bind)
    (method_parameters (identifier) @bind) (block_parameters (identifier) @bind)
    (optional_parameter name: (identifier) @bind) (keyword_parameter name: (identifier) @bind)
    (hash_key_symbol) @key`,
};

const queries = new WeakMap<Language, Query | null>();

/** Declarations that nest deeper are not looked at. */
const maxDepth = 500;
const maxQueryMs = 3_000;

/**
 * Where a text declares local names, for languages whose rules say so; PHP marks its variables by `$`.
 * @returns null when it took too long
 */
export function localNamesOf(language: CodeLanguage, grammar: Language, tree: Tree): LocalNames | null {
  const query = queryOf(language, grammar);
  if (query === null) return noLocalNames;
  const bindings = new Set<number>();
  const keys = new Set<number>();
  const skipped: { from: number; to: number }[] = [];
  const deadline = performance.now() + maxQueryMs;
  const progressCallback = () => performance.now() > deadline;
  const captures = query.captures(tree.rootNode, { maxStartDepth: maxDepth, progressCallback });
  if (performance.now() > deadline) return null;
  for (const { name, node } of captures) {
    if (name === 'bind') bindings.add(node.startIndex);
    else if (name === 'key') keys.add(node.startIndex);
    else skipped.push({ from: node.startIndex, to: node.endIndex });
  }
  return { bindings, keys, skipped };
}

function queryOf(language: CodeLanguage, grammar: Language): Query | null {
  const known = queries.get(grammar);
  if (known !== undefined) return known;
  const pattern =
    patterns[language === 'typescript' || language === 'tsx' ? 'typescript' : familyOf(language)];
  const query = pattern === undefined ? null : new Query(grammar, pattern);
  queries.set(grammar, query);
  return query;
}
