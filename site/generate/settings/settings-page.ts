import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type CodecRow, codecRows } from '../codecs/codec-rows.ts';
import { codecDocs } from '../codecs/doc-comments.ts';
import type { GeneratedPage } from '../generated-page.ts';
import { blocks, code, generatedPage, prose, table } from '../markdown.ts';
import { type Concern, concerns } from './concerns.ts';
import { explainedVariables, variablesByKey } from './variables.ts';

const shipped = fileURLToPath(new URL('../../../config/', import.meta.url));

export function settingsPage(): GeneratedPage {
  const variables = variablesByKey();
  const text = generatedPage(
    'Every setting',
    'the codecs of the configuration',
    '[Configuration](../configuration.md) says where the files lie and how they are laid over each other. `./core config show` prints what is in force and where it comes from. `NAME` stands for a name of yours, `[]` for each entry of a list. An environment variable that sets a key is listed below it.',
    ...concerns.map((concern) => concernSection(concern, variables)),
    variablesSection(),
  );
  return { path: 'reference/settings.md', text };
}

/** Every key of a concern; those that hold others are there where they have a word or a rule of their own. */
export function settingRows({ codec, file, constant }: Concern): CodecRow[] {
  const rows = codecRows(codec, codecDocs(file, constant));
  return rows.filter(({ holds, meaning, rule }) => !holds || meaning !== null || rule !== 'object');
}

function concernSection(concern: Concern, variables: ReadonlyMap<string, string>): string {
  const defaults: unknown = JSON.parse(readFileSync(`${shipped}${concern.name}.json`, 'utf8'));
  const rows = settingRows(concern).map((row) => {
    const variable = variables.get(`${concern.name}.${row.path}`);
    const preset = row.holds && !row.rule.endsWith('null') ? '' : defaultOf(defaults, row);
    const named = variable === undefined ? '' : `<br>${code(variable)}`;
    const fallback = preset === '' ? '' : `<br>default ${preset}`.replace('default needed', '*needed*');
    return [`${code(row.path)}${named}`, `${prose(row.rule)}${fallback}`, prose(row.meaning ?? '')];
  });
  return blocks(`## ${concern.name}.json`, concern.about, table(['Key', 'Value', 'Meaning'], rows));
}

const longest = 60;

function defaultOf(defaults: unknown, { path, optional }: CodecRow): string {
  if (/NAME|\[\]/.test(path)) return optional ? '' : 'needed';
  const value = path.split('.').reduce<unknown>(memberOf, defaults);
  if (value === undefined) return '';
  const text = JSON.stringify(value);
  if (text.length <= longest) return code(text);
  return Array.isArray(value) ? `${value.length} entries` : 'as shipped';
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function variablesSection(): string {
  return blocks(
    '## Environment',
    'Variables that stand for no key of a file, and what they mean. Those of keys are in the tables above.',
    table(
      ['Variable', 'Meaning'],
      explainedVariables().map(({ name, meaning }) => [code(name), prose(meaning)]),
    ),
  );
}
