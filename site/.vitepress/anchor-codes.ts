interface Token {
  readonly type: string;
  readonly content: string;
  attrSet(name: string, value: string): void;
}

interface MarkdownIt {
  readonly core: {
    readonly ruler: {
      push(
        name: string,
        rule: (state: { readonly tokens: Token[]; readonly env: { readonly relativePath?: string } }) => void,
      ): void;
    };
  };
}

/** Each code of the page of errors is the anchor of its row: `errors.html#digest_mismatch`. */
export function anchorCodes(markdown: MarkdownIt): void {
  markdown.core.ruler.push('anchor_codes', ({ tokens, env }) => {
    if (env.relativePath !== 'errors.md') return;
    for (const [index, token] of tokens.entries()) {
      const [, code] = /^`([a-z_]+)`$/.exec(tokens[index + 2]?.content ?? '') ?? [];
      if (code !== undefined && token.type === 'tr_open') token.attrSet('id', code);
    }
  });
}
