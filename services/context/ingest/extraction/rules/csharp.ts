import { holder, leaf, type SymbolRules } from './rule.ts';

/** Namespaces lend nothing to a name: people leave them out, and a file repeats them. */
export const csharpRules: SymbolRules = {
  separator: '.',
  declarations: {
    class_declaration: holder('class'),
    interface_declaration: holder('interface'),
    struct_declaration: holder('struct'),
    record_declaration: holder('record'),
    enum_declaration: leaf('enum'),
    delegate_declaration: leaf('delegate'),
    method_declaration: leaf('method'),
    constructor_declaration: leaf('constructor'),
    property_declaration: leaf('property'),
  },
  opaque: ['block', 'lambda_expression', 'anonymous_method_expression'],
};
