import ignore, { type Ignore } from 'ignore';

/** Bounds for what a hostile tree can make us compute. People's own rules stay far below; what is beyond is not applied. */
const maxRules = 2_000;
const maxWildcards = 8;
const maxRuleLength = 500;

/** The `.gitignore` files of a tree together, as git reads them: the one nearest to a path decides, and what lies in an ignored folder is ignored. */
export class IgnoreRules {
  readonly #files = new Map<string, Ignore>();
  readonly #folders = new Map<string, boolean>();
  #rules = 0;

  /** @param folder empty for the root, else with a slash at its end */
  add(folder: string, text: string): void {
    const rules = text.split(/\r?\n/).filter(isBounded);
    const taken = rules.slice(0, maxRules - this.#rules);
    this.#rules += taken.length;
    this.#files.set(folder, ignore({ ignoreCase: false, allowRelativePaths: true }).add(taken));
  }

  ignores(path: string): boolean {
    if (this.#files.size === 0) return false;
    return this.#ignoresFolder(folderOf(path)) || this.#decides(path);
  }

  #ignoresFolder(folder: string): boolean {
    if (folder === '') return false;
    const known = this.#folders.get(folder);
    if (known !== undefined) return known;
    const ignored = this.#ignoresFolder(folderOf(folder.slice(0, -1))) || this.#decides(folder);
    this.#folders.set(folder, ignored);
    return ignored;
  }

  #decides(path: string): boolean {
    const own = path.endsWith('/') ? path.slice(0, -1) : path;
    for (let folder = folderOf(own); ; folder = folderOf(folder.slice(0, -1))) {
      const { ignored, unignored } = this.#files.get(folder)?.test(path.slice(folder.length)) ?? neither;
      if (ignored || unignored) return ignored;
      if (folder === '') return false;
    }
  }
}

function isBounded(rule: string): boolean {
  const isRule = rule.trim() !== '' && !rule.startsWith('#');
  return isRule && rule.length <= maxRuleLength && (rule.match(/[*?]/g)?.length ?? 0) <= maxWildcards;
}

const neither = { ignored: false, unignored: false };

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1);
}
