import { isObject } from '../is-object.ts';

/** What the content of an answer says, which some servers write as a list of parts. */
export interface WrittenContent {
  readonly kind: 'text' | 'thinking' | 'refusal';
  readonly text: string;
}

const kinds: Readonly<Record<string, WrittenContent['kind']>> = {
  text: 'text',
  output_text: 'text',
  thinking: 'thinking',
  reasoning: 'thinking',
  refusal: 'refusal',
};

/** An answer has a part that is no text. */
export class UnknownPart extends Error {}

/** @throws UnknownPart */
export function contentParts(content: unknown): readonly WrittenContent[] {
  if (content == null) return [];
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  if (!Array.isArray(content)) return contentParts([content]);
  return content.map((part: unknown) => {
    if (typeof part === 'string') return { kind: 'text', text: part };
    const { type = 'text' } = isObject(part) ? part : { type: part };
    const kind = typeof type === 'string' && Object.hasOwn(kinds, type) ? kinds[type] : undefined;
    if (kind === undefined || !isObject(part))
      throw new UnknownPart(`the content has a part of type ${JSON.stringify(type)}`);
    const said = part.text ?? part.thinking ?? part.reasoning ?? part.refusal;
    return {
      kind,
      text:
        typeof said === 'string'
          ? said
          : contentParts(said)
              .map(({ text }) => text)
              .join(''),
    };
  });
}
