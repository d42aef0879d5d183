import type { CodeLanguage } from './languages.ts';
import { cppRules } from './rules/cpp.ts';
import { csharpRules } from './rules/csharp.ts';
import { goRules } from './rules/go.ts';
import { javaRules } from './rules/java.ts';
import { javascriptRules } from './rules/javascript.ts';
import { phpRules } from './rules/php.ts';
import { pythonRules } from './rules/python.ts';
import { rubyRules } from './rules/ruby.ts';
import type { SymbolRules } from './rules/rule.ts';
import { rustRules } from './rules/rust.ts';

export const symbolRules: Readonly<Record<CodeLanguage, SymbolRules>> = {
  typescript: javascriptRules,
  tsx: javascriptRules,
  javascript: javascriptRules,
  python: pythonRules,
  go: goRules,
  rust: rustRules,
  java: javaRules,
  c: cppRules,
  cpp: cppRules,
  csharp: csharpRules,
  ruby: rubyRules,
  php: phpRules,
};
