const most = 100;
const longest = 200;

/** What a text names in backticks or links to: paths and names of symbols, each once, without the line that may follow a path. */
export function mentionsIn(text: string): string[] {
  const found = new Set<string>();
  for (const [, code] of text.matchAll(/`{1,2}([^`\n]+)`{1,2}/g)) add(code!);
  for (const [, target] of text.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+["'][^)]*)?\)/g)) {
    if (!/^[a-z][a-z0-9+.-]*:|^#/i.test(target!)) add(decoded(target!.replace(/[#?].*$/, '')));
  }
  return [...found];

  function add(raw: string): void {
    const name = raw
      .trim()
      .replace(/\([^()]*\)$/, '')
      .replace(/:\d+(?::\d+|-\d+)?$/, '');
    if (found.size < most && name.length > 2 && name.length <= longest && !/\s/.test(name)) found.add(name);
  }
}

function decoded(target: string): string {
  try {
    return decodeURI(target);
  } catch {
    return target;
  }
}
