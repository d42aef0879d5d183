import { expect } from 'chai';
import { span } from './cell.ts';
import { createPaint, createScreenWriter } from './writer.ts';

function writer(color = true) {
  const sent: string[] = [];
  const screen = createScreenWriter({
    write: (text) => void sent.push(text),
    paint: createPaint({ color }),
    ellipsis: '…',
  });
  return { screen, sent };
}

describe('The screen writer', () => {
  it('sends only lines that changed', () => {
    const { screen, sent } = writer();
    const size = { columns: 10, rows: 3 };
    screen.draw([[span('one')], [span('two')]], size);
    screen.draw([[span('one')], [span('2')]], size);
    expect(sent[1]).to.contain('\x1b[2;1H\x1b[2K2  ').and.not.to.contain('one');
    screen.draw([[span('one')], [span('2')]], size);
    expect(sent).to.have.length(2);
  });

  it('sends everything after a resize, and when the screen may hold something else', () => {
    const { screen, sent } = writer();
    screen.draw([[span('one')]], { columns: 10, rows: 2 });
    screen.draw([[span('one')]], { columns: 12, rows: 2 });
    expect(sent[1]).to.contain('\x1b[2J').and.to.contain('one');
    screen.forget();
    screen.draw([[span('one')]], { columns: 12, rows: 2 });
    expect(sent[2]).to.contain('one');
  });

  it('leaves the last cell of the screen alone, which would scroll it', () => {
    const { screen, sent } = writer(false);
    screen.draw([[span('x'.repeat(9))], [span('y'.repeat(9))]], { columns: 5, rows: 2 });
    expect(sent[0]).to.contain('xxxx…').and.to.contain('yyy…').and.not.to.contain('yyyy');
  });

  it('draws other colours on a light background', () => {
    const paint = (theme: 'dark' | 'light') =>
      createPaint({ color: true, theme })([span('a', { ground: 'added', color: 'gray' })]);
    expect(paint('dark')).to.contain('48;5;22');
    expect(paint('light')).to.contain('48;5;194').and.to.contain('38;5;242');
    const { screen, sent } = writer();
    screen.draw([[span('a', { ground: 'chosen' })]], { columns: 4, rows: 1 });
    screen.repaint(createPaint({ color: true, theme: 'light' }));
    screen.draw([[span('a', { ground: 'chosen' })]], { columns: 4, rows: 1 });
    expect(sent[1]).to.contain('48;5;253');
  });

  it('uses no colour where none is wanted, and still shows what is chosen', () => {
    const { screen, sent } = writer(false);
    const row = [span('a', { color: 'red', dim: true }), span('b', { ground: 'chosen' })];
    screen.draw([row], { columns: 4, rows: 2 });
    expect(sent[0]).to.contain('a\x1b[7mb\x1b[0m');
  });
});
