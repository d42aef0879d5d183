import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { addressVariables } from '../../../services/kit/config/service-address.ts';
import { settingBindings } from '../../../services/kit/config/settings.ts';

/** The variable that gives a value in place of the files, by `concern.key`. */
export function variablesByKey(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { key, variable } of settingBindings) found.set(`core.${key}`, variable);
  for (const [concern, { host, port }] of Object.entries(addressVariables)) {
    found.set(`${concern}.host`, host);
    found.set(`${concern}.port`, port);
  }
  return found;
}

export interface Variable {
  readonly name: string;
  readonly meaning: string;
}

const source = fileURLToPath(new URL('../../../services/kit/environment.ts', import.meta.url));

/** Variables that the source explains, that are not for tests, and that stand for no key of a file. */
export function explainedVariables(): Variable[] {
  const file = ts.createSourceFile(source, readFileSync(source, 'utf8'), ts.ScriptTarget.Latest, true);
  const declared = file.statements
    .filter(ts.isVariableStatement)
    .flatMap(({ declarationList }) => declarationList.declarations)
    .find(({ name }) => name.getText() === 'environment');
  const value = declared?.initializer;
  if (value === undefined || !ts.isAsExpression(value) || !ts.isObjectLiteralExpression(value.expression))
    throw new Error(`${source} declares no object environment`);
  const ofKeys = new Set(variablesByKey().values());
  return value.expression.properties.flatMap((member): Variable[] => {
    const [comment] = ts.getJSDocCommentsAndTags(member);
    const words = comment === undefined ? null : ts.getTextOfJSDocComment(comment.comment);
    if (words == null || words.includes('Tests only') || member.name === undefined) return [];
    const name = member.name.getText();
    return ofKeys.has(name) ? [] : [{ name, meaning: words.replaceAll(/\s+/g, ' ') }];
  });
}
