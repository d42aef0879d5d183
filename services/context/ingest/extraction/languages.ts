import { posix } from 'node:path';

/** Languages whose symbols are read, by the name of their grammar. */
export const grammars = {
  typescript: 'typescript',
  tsx: 'tsx',
  javascript: 'javascript',
  python: 'python',
  go: 'go',
  rust: 'rust',
  java: 'java',
  c: 'cpp',
  cpp: 'cpp',
  csharp: 'c-sharp',
  ruby: 'ruby',
  php: 'php',
} as const;

export type CodeLanguage = keyof typeof grammars;
export type DocumentLanguage = 'markdown' | 'restructuredtext' | 'asciidoc';
export type LanguageName = CodeLanguage | DocumentLanguage | 'text';

const byExtension: Readonly<Record<string, LanguageName>> = {
  ...all('typescript', 'ts mts cts'),
  ...all('tsx', 'tsx'),
  ...all('javascript', 'js mjs cjs jsx'),
  ...all('python', 'py pyi pyw'),
  ...all('go', 'go'),
  ...all('rust', 'rs'),
  ...all('java', 'java'),
  ...all('c', 'c'),
  ...all('cpp', 'h cc cpp cxx c++ hh hpp hxx h++ ipp inl tpp cu cuh'),
  ...all('csharp', 'cs csx'),
  ...all('ruby', 'rb rake gemspec ru'),
  ...all('php', 'php phtml php5 php7'),
  ...all('markdown', 'md markdown mdx mdown'),
  ...all('restructuredtext', 'rst rest'),
  ...all('asciidoc', 'adoc asciidoc asc'),
};

const byName: Readonly<Record<string, LanguageName>> = {
  Rakefile: 'ruby',
  Gemfile: 'ruby',
  Vagrantfile: 'ruby',
};

/** By the file's name alone. */
export function languageOf(path: string): LanguageName {
  const name = posix.basename(path);
  const extension = posix.extname(name).slice(1).toLowerCase();
  return byName[name] ?? (Object.hasOwn(byExtension, extension) ? byExtension[extension]! : 'text');
}

export function isCode(language: LanguageName): language is CodeLanguage {
  return Object.hasOwn(grammars, language);
}

export function isDocument(language: LanguageName): language is DocumentLanguage {
  return language === 'markdown' || language === 'restructuredtext' || language === 'asciidoc';
}

/** Languages of one family see each other's names. */
export function familyOf(language: LanguageName): string {
  if (language === 'typescript' || language === 'tsx') return 'javascript';
  return language === 'c' ? 'cpp' : language;
}

function all(language: LanguageName, extensions: string): Record<string, LanguageName> {
  return Object.fromEntries(extensions.split(' ').map((extension) => [extension, language]));
}
