import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { git } from '#kit/git/git.ts';
import { readObjects } from '#kit/git/objects.ts';
import { splitAtNul, type TreeEntry } from '#kit/git/tree.ts';

export interface AttributedFile {
  readonly path: string;
  /** A value is `set`, `unset` or the text after `=`. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** Attributes that change what a checkout writes; `text` and `crlf` only together with `eol`. */
const attributeNames = ['text', 'crlf', 'eol', 'working-tree-encoding', 'ident', 'filter'];
/** Matches rules that may change a file, also within macros. */
const mayConvert = /(^|\s)(eol|working-tree-encoding|ident|filter)(=|\s|$)/m;

/** Attributes of files that change what a checkout writes, as git reads them from the tree itself. */
export async function attributesOf(
  gitDir: string,
  treeish: string,
  files: readonly TreeEntry[],
): Promise<AttributedFile[]> {
  const rules = files.filter(({ path }) => /(^|\/)\.gitattributes$/.test(path));
  if (!(await textsOf(gitDir, rules)).some(([, text]) => mayConvert.test(text))) return [];
  const folder = await mkdtemp(join(tmpdir(), 'core-index-'));
  try {
    const env = { GIT_INDEX_FILE: join(folder, 'index') };
    await git(['read-tree', '--end-of-options', treeish], { gitDir, env });
    const input = Buffer.concat(files.flatMap(({ bytes }) => [bytes, Buffer.from([0])]));
    const args = ['check-attr', '--cached', '-z', '--stdin', ...attributeNames];
    const { stdout } = await git(args, { gitDir, env, input });
    const found = new Map<string, Record<string, string>>();
    const answers = splitAtNul(stdout).map((part) => part.toString('utf8'));
    for (let at = 0; at + 2 < answers.length; at += 3) {
      const [path, name, value] = answers.slice(at, at + 3) as [string, string, string];
      if (value === 'unspecified') continue;
      const attributes = found.get(path) ?? {};
      attributes[name] = value;
      found.set(path, attributes);
    }
    return [...found].map(([path, attributes]) => ({ path, attributes }));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export async function textsOf(
  gitDir: string,
  files: readonly TreeEntry[],
): Promise<[path: string, text: string][]> {
  const texts: [string, string][] = [];
  for await (const { bytes } of readObjects(
    gitDir,
    files.map(({ id }) => id),
  ))
    texts.push([files[texts.length]!.path, bytes.toString('utf8')]);
  return texts;
}
