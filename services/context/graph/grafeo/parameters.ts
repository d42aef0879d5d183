import { tokensOf } from '../text/tokens.ts';

type Params = Readonly<Record<string, unknown>>;

const plainName = /^\$[A-Za-z]\w*$/;
const reserved = new Set(
  `ALL AND AS ASC BY CALL CASE CONTAINS COUNT CREATE DELETE DESC DETACH DISTINCT ELSE END ENDS EXISTS FALSE FOREACH IN IS LIMIT
  LOAD MATCH MERGE NOT NULL ON OPTIONAL OR ORDER REMOVE RETURN SET SKIP STARTS THEN TRUE UNION UNWIND WHEN WHERE WITH XOR YIELD`.split(
    /\s+/,
  ),
);

/** Grafeo takes no keyword and nothing in backticks for the name of a parameter: such ones get other names. */
export function renamed(query: string, params: Params): { query: string; params: Params } {
  const odd = tokensOf(query).filter(({ kind, text }) => {
    return kind === 'parameter' && (!plainName.test(text) || reserved.has(text.slice(1).toUpperCase()));
  });
  let text = query;
  const values: Record<string, unknown> = { ...params };
  for (const [nth, token] of [...odd.entries()].reverse()) {
    const name = token.text.slice(1).trim();
    const key = name.startsWith('`') ? name.slice(1, -1).replaceAll('``', '`') : name;
    if (!Object.hasOwn(params, key)) continue;
    const fresh = `renamed_parameter_${nth}`;
    values[fresh] = params[key];
    text = `${text.slice(0, token.offset)}$${fresh}${text.slice(token.end)}`;
  }
  return { query: text, params: values };
}
