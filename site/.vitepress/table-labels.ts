interface Token {
  readonly type: string;
  readonly content: string;
  attrSet(name: string, value: string): void;
}

interface MarkdownIt {
  readonly core: {
    readonly ruler: { push(name: string, rule: (state: { readonly tokens: Token[] }) => void): void };
  };
}

/** Each cell has its column's head in `data-label`: on narrow screens, where a row is a block, it stands before the cell. */
export function labelCells(markdown: MarkdownIt): void {
  markdown.core.ruler.push('label_cells', ({ tokens }) => {
    let heads: string[] = [];
    let column = 0;
    for (const [index, token] of tokens.entries()) {
      const text = tokens[index + 1]?.content ?? '';
      if (token.type === 'table_open') heads = [];
      if (token.type === 'th_open') heads.push(text.replaceAll(/\[([^\]]*)\]\([^)]*\)|`/g, '$1'));
      if (token.type === 'tr_open') column = 0;
      if (token.type !== 'td_open') continue;
      if (column > 0 && text !== '') token.attrSet('data-label', heads[column] ?? '');
      column += 1;
    }
  });
}
