import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** What the source says about a codec: the comments above its members, which a running codec does not know. */
export interface CodecDocs {
  member(name: string): { readonly meaning: string | null; readonly docs: CodecDocs } | null;
}

const services = fileURLToPath(new URL('../../../services/', import.meta.url));
const noDocs: CodecDocs = { member: () => null };
const parsed = new Map<string, ts.SourceFile>();

/** @param file below `services/` @throws Error where the file has no such constant */
export function codecDocs(file: string, constant: string): CodecDocs {
  const path = resolve(services, file);
  const declared = declarationOf(path, constant);
  if (declared === null) throw new Error(`services/${file} declares no ${constant}`);
  return docsOf(declared.expression, declared.path);
}

interface Declared {
  readonly expression: ts.Expression;
  readonly path: string;
}

function docsOf(expression: ts.Expression, path: string): CodecDocs {
  const members = membersOf(expression, path);
  return {
    member(name) {
      const found = members.find((member) => member.name === name);
      if (found === undefined) return null;
      const { meaning, expression: inner, path: place } = found;
      return { meaning, docs: inner === null ? noDocs : docsOf(inner, place) };
    },
  };
}

interface Member {
  readonly name: string;
  readonly meaning: string | null;
  readonly expression: ts.Expression | null;
  readonly path: string;
}

function membersOf(expression: ts.Expression, path: string): Member[] {
  if (ts.isObjectLiteralExpression(expression)) return literalMembers(expression, path);
  if (ts.isSatisfiesExpression(expression)) return membersOf(expression.expression, path);
  if (ts.isIdentifier(expression)) return membersOfDeclared(declarationOf(path, expression.text));
  // `Codec.type.props`, spread into another codec.
  if (ts.isPropertyAccessExpression(expression)) return membersOf(expression.expression, path);
  if (ts.isArrayLiteralExpression(expression))
    return expression.elements.flatMap((element) => membersOf(element, path));
  if (!ts.isCallExpression(expression)) return [];
  const called = ts.isIdentifier(expression.expression) ? expression.expression.text : null;
  const returned = called === null ? null : returnedBy(path, called);
  if (returned !== null) return membersOfDeclared(returned);
  // `choiceBy(tag, member, kinds)`: the codecs are in that member of each kind.
  const [, member, kinds] = expression.arguments;
  if (called === 'choiceBy' && member !== undefined && ts.isStringLiteral(member))
    return insideOf(insideOf(membersOf(kinds!, path)).filter(({ name }) => name === member.text));
  const isRecord = expression.expression.getText().endsWith('.record');
  const argument = expression.arguments[isRecord ? 1 : 0];
  return argument === undefined ? [] : membersOf(argument, path);
}

function insideOf(members: readonly Member[]): Member[] {
  return members.flatMap(({ expression, path }) => (expression === null ? [] : membersOf(expression, path)));
}

function membersOfDeclared(declared: Declared | null): Member[] {
  return declared === null ? [] : membersOf(declared.expression, declared.path);
}

function literalMembers(literal: ts.ObjectLiteralExpression, path: string): Member[] {
  return literal.properties.flatMap((property): Member[] => {
    if (ts.isSpreadAssignment(property)) return membersOf(property.expression, path);
    if (property.name === undefined || !(ts.isIdentifier(property.name) || ts.isStringLiteral(property.name)))
      return [];
    const expression = ts.isPropertyAssignment(property)
      ? property.initializer
      : ts.isShorthandPropertyAssignment(property)
        ? property.name
        : null;
    return [{ name: property.name.text, meaning: commentAbove(property), expression, path }];
  });
}

function commentAbove(node: ts.Node): string | null {
  const text = node.getSourceFile().text;
  const comments = (ts.getLeadingCommentRanges(text, node.getFullStart()) ?? [])
    .map(({ pos, end }) => text.slice(pos, end))
    .filter((comment) => comment.startsWith('/**'));
  const last = comments.at(-1);
  if (last === undefined) return null;
  const words = last
    .slice(3, -2)
    .split('\n')
    .map((line) => line.replace(/^\s*\*? ?/, '').trim())
    .join(' ');
  return words.trim();
}

/** The value of a constant, there or in the file that it is imported from. */
function declarationOf(path: string, name: string): Declared | null {
  for (const statement of sourceOf(path).statements) {
    if (ts.isVariableStatement(statement)) {
      for (const { name: own, initializer } of statement.declarationList.declarations) {
        if (ts.isIdentifier(own) && own.text === name && initializer !== undefined)
          return { expression: initializer, path };
      }
    }
  }
  const from = importedFrom(path, name);
  return from === null ? null : declarationOf(from.path, from.name);
}

function returnedBy(path: string, name: string): Declared | null {
  for (const statement of sourceOf(path).statements) {
    if (!ts.isFunctionDeclaration(statement) || statement.name?.text !== name) continue;
    const end = statement.body?.statements.findLast(ts.isReturnStatement)?.expression;
    return end !== undefined && ts.isCallExpression(end) ? { expression: end, path } : null;
  }
  return null;
}

function importedFrom(path: string, name: string): { path: string; name: string } | null {
  for (const statement of sourceOf(path).statements) {
    const isLink = ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement);
    if (!isLink || statement.moduleSpecifier === undefined) continue;
    const names = ts.isImportDeclaration(statement)
      ? statement.importClause?.namedBindings
      : statement.exportClause;
    if (names === undefined || !(ts.isNamedImports(names) || ts.isNamedExports(names))) continue;
    const found = names.elements.find((element) => element.name.text === name);
    if (found === undefined) continue;
    const target = pathOf((statement.moduleSpecifier as ts.StringLiteral).text, path);
    if (target !== null) return { path: target, name: (found.propertyName ?? found.name).text };
  }
  return null;
}

function pathOf(specifier: string, from: string): string | null {
  const path = specifier.startsWith('#kit/')
    ? resolve(services, 'kit', specifier.slice('#kit/'.length))
    : resolve(dirname(from), specifier);
  return specifier.endsWith('.ts') && existsSync(path) ? path : null;
}

function sourceOf(path: string): ts.SourceFile {
  let source = parsed.get(path);
  if (source === undefined) {
    source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
    parsed.set(path, source);
  }
  return source;
}
