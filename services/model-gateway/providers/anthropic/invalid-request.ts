import { InvalidInput } from '#kit/errors.ts';

/** A request that is no chat completion, or one that Anthropic has nothing for. `param` is told as OpenAI does, such as `messages[0].content`. */
export class UntranslatableRequest extends InvalidInput {
  readonly param: string | null;

  constructor(message: string, param: string | null, code = 'unsupported_parameter') {
    super(code, message);
    this.param = param;
  }
}

/** OpenAI's way to name a member, from a JSON pointer. */
export function paramOf(pointer: string): string | null {
  const [first, ...rest] = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (first === undefined) return null;
  return rest.reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : `${path}.${part}`), first);
}
