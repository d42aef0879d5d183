import { posix } from 'node:path';
import { parseJson } from '#kit/decode.ts';
import { wordsOf } from '../shell-line.ts';

export type Scripts = Readonly<Record<string, string>>;
type Use = 'nothing' | 'lints' | 'type-checks' | 'tests';

/** The scripts of a package.json; none if it cannot be read. */
export function scriptsOf(text: string): Scripts {
  try {
    const { scripts = {} } = parseJson(text, 'package.json') as { scripts?: Record<string, unknown> };
    return Object.fromEntries(
      Object.entries(scripts).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    );
  } catch {
    return {};
  }
}

/** For example `only lints` where a test script has no tests; null where it may have some. */
export function usedFor(scripts: Scripts, name = 'test'): string | null {
  const uses = new Set(usesOf(scripts, name, []));
  if (uses.has('tests')) return null;
  uses.delete('nothing');
  return uses.size === 0 ? 'does nothing' : `only ${[...uses].sort().join(' and ')}`;
}

function usesOf(scripts: Scripts, name: string, within: readonly string[]): Use[] {
  const line = scripts[name];
  if (line === undefined || within.includes(name)) return ['tests'];
  return line.split(/&&|\|\||;/).flatMap((part): Use[] => {
    if (/^\s*(:|echo\b.*)?\s*$/.test(part)) return ['nothing'];
    const words = wordsOf(part);
    if (words === null) return ['tests'];
    const program = posix.basename(words[0]!);
    if (/^(true|exit|echo|:)$/.test(program)) return ['nothing'];
    if (linters.test(program)) return ['lints'];
    if (/^(tsc|vue-tsc|tsgo|svelte-check|flow)$/.test(program)) return ['type-checks'];
    if (!runners.test(program)) return ['tests'];
    const called = words.slice(1).filter((word) => !/^(run|run-script|-.*)$/.test(word));
    if (
      called.length === 1 &&
      Object.hasOwn(scripts, called[0]!) &&
      !words.some((word) => /^-(r|w|ws|-.*)$/.test(word))
    )
      return usesOf(scripts, called[0]!, [...within, name]);
    if (words.some((word) => /test|^t$/.test(word))) return ['tests'];
    if (words.some((word) => /(^|=)type-?check$/.test(word))) return ['type-checks'];
    return words.some((word) => /(^|[=:])(lint|format)(:|$)/.test(word)) ? ['lints'] : ['tests'];
  });
}

const linters = /^(eslint|prettier|biome|standard|ts-standard|xo|tslint|oxlint|stylelint|jshint|dprint)$/;
const runners = /^(npm|pnpm|yarn|bun|turbo|nx|lerna)$/;

interface Form {
  /** Each word fits: a filter fits none. */
  readonly words: RegExp;
  readonly line: RegExp;
}

const forms: Readonly<Record<string, Form>> = {
  npm: {
    words:
      /^(t|tst|test|run|run-script|-ws|--workspaces(=true)?|--if-present|--include-workspace-root|-s|--silent)$/,
    line: /^(?=.* (-ws|--workspaces))(?=.* (t|tst|test)( |$))/,
  },
  pnpm: {
    words:
      /^(test|run|-r|--recursive|--if-present|--no-bail|--stream|--parallel|-s|--silent|--workspace-concurrency=\d+|--filter=\*)$/,
    line: /^(?=.* (-r|--recursive|--filter=\*)( |$))(?=.* test( |$))/,
  },
  bun: { words: /^(run|test|--filter=\*)$/, line: /^bun (run --filter=\* test|--filter=\* run test)$/ },
  yarn: {
    words:
      /^(workspaces|foreach|run|test|-[Apvit]+|--(all|parallel|verbose|interlaced|topological|topological-dev))$/,
    line: /^yarn workspaces (foreach (-\S+ )*)?run test$/,
  },
  turbo: {
    words:
      /^([\w:]+|--(parallel|force|no-cache|continue|no-daemon)|--(concurrency|output-logs|log-order|log-prefix|ui)=\S+)$/,
    line: /^turbo (.* )?test( |$)/,
  },
  nx: {
    words:
      /^(run-many|-t|--targets?(=[\w,:]+)?|[\w:]+|--all|--parallel(=\d+)?|--skip-nx-cache|--verbose|--output-style=\S+)$/,
    line: /^nx run-many (.* )?(-t|--targets?)[ =]([\w:]+[ ,])*test([ ,]|$)/,
  },
  lerna: {
    words: /^(run|test|--(stream|parallel|no-bail|no-sort|sort|concurrency=\d+))$/,
    line: /^lerna run test( |$)/,
  },
};

/** True for a root's test script that is known to run those of all packages: it chooses none of them. */
export function testsAllPackages(script: string): boolean {
  return script.split('&&').some((part) => {
    const words = wordsOf(part);
    if (words === null) return false;
    const [program = '', ...rest] = words.join(' ').replace('--filter *', '--filter=*').split(' ');
    const form = forms[program];
    return (
      form?.line.test([program, ...rest].join(' ')) === true && rest.every((word) => form.words.test(word))
    );
  });
}
