import { posix } from 'node:path';

/** Kinds of files that tests can be about: name for people, and the extensions. */
const kinds = {
  javascript: ['JavaScript', 'js mjs cjs jsx ts tsx mts cts vue svelte astro'],
  python: ['Python', 'py pyi pyx'],
  rust: ['Rust', 'rs'],
  go: ['Go', 'go'],
  java: ['Java', 'java kt kts scala groovy'],
  c: ['C', 'c h cc cpp cxx hh hpp hxx m mm'],
  dotnet: ['.NET', 'cs fs vb cshtml razor'],
  ruby: ['Ruby', 'rb rake'],
  php: ['PHP', 'php'],
  swift: ['Swift', 'swift'],
  shell: ['shell', 'sh bash zsh fish ps1 bat cmd'],
  perl: ['Perl', 'pl pm'],
  lua: ['Lua', 'lua'],
  elixir: ['Elixir', 'ex exs'],
  dart: ['Dart', 'dart'],
  /** What the code of its project uses: templates, styles, queries, schemas. */
  resource: [
    'template',
    'html htm xhtml css scss sass less styl hbs ejs pug njk j2 jinja jinja2 mustache liquid tmpl gohtml erb sql graphql gql proto',
  ],
  /** All that no other kind has. */
  other: ['other', ''],
} as const satisfies Readonly<Record<string, readonly [label: string, extensions: string]>>;

export type FileKind = keyof typeof kinds;
export const fileKinds = Object.keys(kinds) as FileKind[];

/** Documentation, media, data and configuration: they have no tests of their own. */
const untestable = new Set(
  (
    'md markdown mdx rst adoc asciidoc txt text org tex pdf ' +
    'png jpg jpeg gif webp avif ico svg bmp tiff mp3 mp4 wav ogg webm mov woff woff2 ttf otf eot ' +
    'json jsonc json5 ndjson jsonl yaml yml toml ini cfg conf config properties xml xsd csv tsv lock lockb sum mod work env ' +
    'example sample snap map patch diff log po pot mo plist zip gz tar tgz bz2 xz 7z jar gradle editorconfig'
  ).split(' '),
);

/** Files without an extension that are documentation, or say how to build. */
const untestableNames =
  /^(\..*|licen[cs]e|copying|notice|authors|contributors|maintainers|changelog|changes|history|news|readme|todo|codeowners|owners|version|(gnu)?makefile|dockerfile|containerfile|jenkinsfile|procfile|gemfile|rakefile|vagrantfile|justfile|pipfile|brewfile)([-.].*)?$/i;

const interpreters: readonly (readonly [RegExp, FileKind])[] = [
  [/\b(node|deno|bun|tsx)\b/, 'javascript'],
  [/\bpython[\d.]*\b/, 'python'],
  [/\b(ba|da|k|z|fi)?sh\b/, 'shell'],
  [/\bruby\b/, 'ruby'],
  [/\bperl\b/, 'perl'],
  [/\bphp\b/, 'php'],
];

const byExtension = new Map<string, FileKind>(
  fileKinds.flatMap((kind) => kinds[kind][1].split(' ').map((extension) => [extension, kind] as const)),
);

/**
 * The kind of a file that needs tests; null for one that needs none. What is unknown needs tests.
 * @param firstLine says what runs a script whose name has no extension
 */
export function kindOf(path: string, firstLine = ''): FileKind | null {
  const name = posix.basename(path);
  const extension = posix.extname(name).slice(1).toLowerCase();
  const known = extension === '' ? undefined : byExtension.get(extension);
  if (known !== undefined) return /^build\.gradle\.kts$|^settings\.gradle\.kts$/.test(name) ? null : known;
  if (untestableNames.test(name) || (extension !== '' && untestable.has(extension))) return null;
  if (!firstLine.startsWith('#!')) return 'other';
  return interpreters.find(([program]) => program.test(firstLine))?.[1] ?? 'other';
}

/** Words for what is missing, for example `Python tests`. */
export function testsOf(path: string, kind: FileKind): string {
  if (kind !== 'other' && kind !== 'resource') return `${kinds[kind][0]} tests`;
  const extension = posix.extname(path);
  return extension === '' ? 'tests for files without an extension' : `tests for ${extension} files`;
}

/** True if only the first line of a file says what it is. */
export function hasNoExtension(path: string): boolean {
  return posix.extname(posix.basename(path)) === '';
}

/** True for a file whose name says to pytest that it holds tests. */
export function isPythonTest(path: string): boolean {
  return /(^|\/)(test_[^/]*|[^/]*_test)\.py$/.test(path);
}

/** True for code whose name or folder says that it holds tests. */
export function isTestFile(path: string): boolean {
  const kind = kindOf(path);
  if (kind === null || kind === 'resource' || kind === 'other') return false;
  return (
    isPythonTest(path) ||
    /(^|\/)(__tests__|tests?|spec)\/|[._-](test|spec|cy)\.\w+$|(Tests?|IT|Spec)\.(java|kt|scala|groovy|cs|swift)$/.test(
      path,
    )
  );
}
