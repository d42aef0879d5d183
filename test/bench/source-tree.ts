/**
 * A made-up program of many files in several languages, the same each time: classes with methods that call each other across
 * files, comments of common words, imports of neighbours. About 2.5 KB and 80 lines a file.
 */
export function sourceTree(howMany: number): Record<string, string> {
  const files: Record<string, string> = {};
  for (let n = 0; n < howMany; n++) {
    const write = languages[n % languages.length]!;
    const { path, text } = write(n);
    files[path] = text;
  }
  return files;
}

interface SourceFile {
  readonly path: string;
  readonly text: string;
}

const words =
  'account batch cache delivery event filter gateway handler index journal key ledger message notice order payment queue record session token update version worker'.split(
    ' ',
  );

const languages: readonly ((n: number) => SourceFile)[] = [
  typescript,
  python,
  go,
  java,
  markdown,
  typescript,
  rust,
  cpp,
];
const methods = 8;

function word(n: number): string {
  return words[n % words.length]!;
}

function capital(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1);
}

function className(n: number): string {
  return `${capital(word(n))}${capital(word(Math.floor(n / words.length)))}${n}`;
}

function methodName(n: number, m: number): string {
  return `${word(n + m)}${capital(word(n * 3 + m))}${m}`;
}

function comment(n: number, m: number): string {
  return Array.from({ length: 12 }, (_, at) => word(n * 7 + m * 5 + at * at)).join(' ');
}

function place(n: number): string {
  return `src/${word(n % 7)}/${word(n % 19)}`;
}

/** The file of the same language before this one. */
function before(n: number): number {
  return Math.max(n % languages.length, n - languages.length);
}

function each(write: (m: number) => string): string {
  return Array.from({ length: methods }, (_, m) => write(m)).join('\n');
}

function typescript(n: number): SourceFile {
  const other = before(n);
  const text = `import { ${className(other)} } from '../../../${place(other)}/file${other}.ts';

/** ${comment(n, 0)} */
export class ${className(n)} {
  readonly #other = new ${className(other)}();
${each(
  (m) => `
  /** ${comment(n, m)}. */
  ${methodName(n, m)}(input: readonly string[], limit = ${m}): Map<string, number> {
    const counts = new Map<string, number>();
    for (const item of input.slice(0, limit)) counts.set(item, (counts.get(item) ?? 0) + 1);
    return this.#other.${methodName(other, m)}([...counts.keys()], limit - 1);
  }`,
)}
}
`;
  return { path: `${place(n)}/file${n}.ts`, text };
}

function python(n: number): SourceFile {
  const other = before(n);
  const text = `from ${place(other).replaceAll('/', '.')}.file${other} import ${className(other)}


class ${className(n)}:
    """${comment(n, 0)}"""
${each(
  (m) => `
    def ${methodName(n, m)}(self, items, limit=${m}):
        """${comment(n, m)}"""
        counts = {}
        for item in items[:limit]:
            counts[item] = counts.get(item, 0) + 1
        return ${className(other)}().${methodName(other, m)}(list(counts), limit - 1)`,
)}
`;
  return { path: `${place(n)}/file${n}.py`, text };
}

function go(n: number): SourceFile {
  const text = `package ${word(n)}

import "fmt"

// ${className(n)} is ${comment(n, 0)}.
type ${className(n)} struct{ limit int }
${each(
  (m) => `
// ${capital(methodName(n, m))} is ${comment(n, m)}.
func (s *${className(n)}) ${capital(methodName(n, m))}(items []string) (map[string]int, error) {
	counts := map[string]int{}
	for _, item := range items {
		if len(counts) > s.limit {
			return nil, fmt.Errorf("more than %d", s.limit)
		}
		counts[item]++
	}
	return counts, nil
}`,
)}
`;
  return { path: `${place(n)}/file${n}.go`, text };
}

function java(n: number): SourceFile {
  const other = before(n);
  const text = `package ${word(n)};

import java.util.Map;

/** ${comment(n, 0)} */
public class ${className(n)} {
${each(
  (m) => `
  /** ${comment(n, m)} */
  public Map<String, Integer> ${methodName(n, m)}(Map<String, Integer> counts, int limit) {
    for (String item : counts.keySet()) {
      if (counts.size() > limit) break;
      counts.merge(item, 1, Integer::sum);
    }
    return new ${className(other)}().${methodName(other, m)}(counts, limit - 1);
  }`,
)}
}
`;
  return { path: `${place(n)}/${className(n)}.java`, text };
}

function rust(n: number): SourceFile {
  const text = `use std::collections::HashMap;

/// ${comment(n, 0)}
pub struct ${className(n)} { limit: usize }

impl ${className(n)} {
${each(
  (m) => `
    /// ${comment(n, m)}
    pub fn ${word(n + m)}_${word(n * 3 + m)}_${m}(&self, items: &[String]) -> HashMap<String, usize> {
        let mut counts = HashMap::new();
        for item in items.iter().take(self.limit) {
            *counts.entry(item.clone()).or_insert(0) += 1;
        }
        counts
    }`,
)}
}
`;
  return { path: `${place(n)}/file${n}.rs`, text };
}

function cpp(n: number): SourceFile {
  const text = `#include <map>
#include <string>

namespace ${word(n)} {
// ${comment(n, 0)}
class ${className(n)} {
 public:
${each(
  (m) => `
  // ${comment(n, m)}
  std::map<std::string, int> ${methodName(n, m)}(const std::map<std::string, int>& items, int limit) {
    std::map<std::string, int> counts;
    for (const auto& item : items) {
      if (limit-- == 0) break;
      counts[item.first] += item.second;
    }
    return counts;
  }`,
)}
};
}
`;
  return { path: `${place(n)}/file${n}.cpp`, text };
}

function markdown(n: number): SourceFile {
  const text = `# ${capital(word(n))} and ${word(n + 1)}

${each(
  (m) => `## ${comment(n, m)}

${Array.from({ length: 4 }, (_, at) => `${capital(comment(n + at, m))}.`).join('\n')}
See \`${className(n - 4 + m)}\` and \`${place(n - 4)}/file${n - 4}.ts\`.
`,
)}`;
  return { path: `docs/${word(n % 11)}/page${n}.md`, text };
}
