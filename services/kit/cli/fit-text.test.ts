import { expect } from 'chai';
import { labelledCommand, wrapCommand, wrapLine, wrapText } from './fit-text.ts';

describe('Text that is fitted to a width', () => {
  it('is broken between words, and a word that is too long at the edge', () => {
    expect(wrapText('one two three', 8)).to.deep.equal(['one two', 'three']);
    expect(wrapText('a 0123456789 b', 4)).to.deep.equal(['a', '0123', '4567', '89 b']);
    expect(wrapText('日本語', 4)).to.deep.equal(['日本', '語']);
  });

  it('goes on under the text behind its label, colours not counted', () => {
    expect(wrapLine('note  one two three', 14)).to.deep.equal(['note  one two', '      three']);
    const painted = '\x1b[33mnote\x1b[39m  one two three';
    expect(wrapLine(painted, 14)).to.deep.equal(['\x1b[33mnote\x1b[39m  one two', '      three']);
  });

  it('never breaks a path or an address in a line of text', () => {
    const path = `/tmp/${'x'.repeat(40)}`;
    expect(wrapLine(`log  ${path}`, 20)).to.deep.equal([`log  ${path}`]);
    expect(wrapLine(`is in ${path} now`, 20)).to.deep.equal(['is in', path, 'now']);
  });

  it('breaks a command between its words, quoted ones whole', () => {
    const command = "core plan --task 'a task of words' --yes";
    expect(wrapCommand(command, 24)).to.deep.equal([
      'core plan --task \\',
      "  'a task of words' \\",
      '  --yes',
    ]);
    expect(wrapCommand(command, 80)).to.deep.equal([command]);
  });

  it('breaks no words in double quotes, and keeps a quote without its pair', () => {
    const command = 'core issue --title "Crash on \\"empty\\" input" --body it\'s';
    expect(wrapCommand(command, 24)).to.deep.equal([
      'core issue --title \\',
      '  "Crash on \\"empty\\" input" \\',
      "  --body it's",
    ]);
  });

  it('continues a command under its beginning behind a label', () => {
    expect(labelledCommand('look   ', './core status --home /a/long/folder', 30)).to.deep.equal([
      'look   ./core status --home \\',
      '         /a/long/folder',
    ]);
  });

  it('leaves what fits, and everything where there is no edge', () => {
    expect(wrapLine('a  b   c', 8)).to.deep.equal(['a  b   c']);
    const long = 'word '.repeat(100);
    expect(wrapLine(long, Number.POSITIVE_INFINITY)).to.deep.equal([long]);
  });
});
