import { expect } from 'chai';
import { hostileMarkdown } from '../../../test/fixtures/review/hostile-markdown.ts';
import { markdown } from './markdown.ts';

const rendered = (text: string) => String(markdown(text));

describe('Markdown of others', () => {
  for (const text of hostileMarkdown) {
    it(`holds no tag or attribute of its own: ${JSON.stringify(text).slice(0, 60)}`, () => {
      const html = rendered(text);
      const tags = [...html.matchAll(/<\/?([a-z0-9]+)((?:\s+[\w-]+="[^"]*")*)\s*>/gi)];
      // Every angle bracket is of a tag that is looked at below.
      expect(html.replaceAll(/<\/?[a-z0-9]+(?:\s+[\w-]+="[^"]*")*\s*>/gi, '')).to.not.match(/[<>]/);
      for (const [, name = '', attributes = ''] of tags) {
        expect(name).to.be.oneOf([
          ...[
            'div',
            'p',
            'strong',
            'em',
            'a',
            'code',
            'pre',
            'span',
            'mark',
            'br',
            'ul',
            'ol',
            'li',
            'blockquote',
          ],
          ...['table', 'thead', 'tbody', 'tr', 'th', 'td', 's', 'hr'],
        ]);
        for (const [, attribute, value] of attributes.matchAll(/([\w-]+)="([^"]*)"/g)) {
          expect(attribute).to.be.oneOf(['class', 'href', 'rel', 'target', 'data-host', 'tabindex', 'start']);
          if (attribute === 'href') expect(value).to.match(/^(https?:\/\/|mailto:)/i);
        }
      }
    });
  }

  it('shows invisible and bidirectional characters, and letters that look like others, also those written as entities', () => {
    expect(rendered('a&#x202e;b gr\u0435et')).to.contain('<mark class="odd">\\u{202e}</mark>');
    expect(rendered('a\u202eb')).to.contain('a<mark class="odd">\\u{202e}</mark>b');
    expect(rendered('gr\u0435et')).to.contain('gr<mark class="odd">\\u{435}</mark>et');
    expect(rendered('`a\u200bb`')).to.contain('<code>a<mark class="odd">\\u{200b}</mark>b</code>');
    expect(rendered('привет, 日本語 👩‍👩‍👧')).to.contain('привет, 日本語 👩‍👩‍👧').and.to.not.contain('mark');
  });

  it('names the host of a link whose text is another, and loads no picture', () => {
    const link = rendered('[https://bank.test](https://evil.test/x)');
    expect(link).to.contain('rel="noopener noreferrer nofollow"').and.to.contain('(evil.test)');
    expect(rendered('https://example.com/a'))
      .to.contain('href="https://example.com/a"')
      .and.to.not.contain('(example.com)');
    for (const text of ['github.com', 'see hub.com', 'https://github.com/?to=hub.com', 'https://a@hub.com'])
      expect(rendered(`[${text}](https://hub.com/x)`), text).to.contain('(hub.com)');
    for (const text of ['hub.com', 'https://hub.com/y', 'HUB.com?z'])
      expect(rendered(`[${text}](https://hub.com/x)`), text).to.not.contain('(hub.com)');
    const picture = rendered('![a cat](https://evil.test/cat.png)');
    expect(picture)
      .to.contain('picture, not loaded: a cat https://evil.test/cat.png')
      .and.to.not.contain('<img');
  });

  it('keeps what people write: lists, emphasis, code, tables, quotes', () => {
    const html = rendered(
      '# Title\n\n- *a*\n- **b**\n\n> q\n\n```js\nlet a = "<b>";\n```\n\n| a |\n|---|\n| 1 |',
    );
    for (const part of [
      '<strong>Title</strong>',
      '<em>a</em>',
      '<blockquote>',
      'let a = &quot;&lt;b&gt;&quot;;',
      '<td>1</td>',
    ])
      expect(html).to.contain(part);
    expect(rendered('  ')).to.contain('No text.');
  });
});
