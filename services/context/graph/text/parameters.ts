import { invalidAt, placeOf } from '../refusals.ts';
import { parameterName, type Token } from './tokens.ts';

const maxNames = 20;

/** @throws InvalidInput (`cypher_invalid`) naming the first parameter of the text that was not sent */
export function refuseMissingParameters(
  query: string,
  tokens: readonly Token[],
  params: Readonly<Record<string, unknown>>,
): void {
  const isMissing = (token: Token) =>
    token.kind === 'parameter' && !Object.hasOwn(params, parameterName(token));
  const missing = tokens.find(isMissing);
  if (missing === undefined) return;
  const names = Object.keys(params).slice(0, maxNames).join(', ');
  const sent = names === '' ? '"params" is empty' : `"params" has ${names}`;
  throw invalidAt(placeOf(query, missing.offset), `the parameter ${missing.text} is missing: ${sent}`);
}
