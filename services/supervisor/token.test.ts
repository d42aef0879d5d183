import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { expect } from 'chai';
import { InvalidInput } from '#kit/errors.ts';
import { displayWith } from '../../test/fixtures/terminal/display.ts';
import { tokenCommands } from './token.ts';

describe('core token', () => {
  const display = displayWith();
  let home: string;
  let text: string;
  const stdout = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'core-token-'));
    text = '';
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  it('makes a token, shows it and takes it back, without ever printing its text', () => {
    expect(
      tokenCommands.create({ home, display, stdout, name: 'ci', scopes: 'read, plan', days: '3' }),
    ).to.equal(0);
    const secret = readFileSync(join(home, 'config/tokens/ci.token'), 'utf8').trim();
    tokenCommands.list({ home, display, stdout });
    expect(text)
      .to.contain('token ci may read, plan until')
      .and.to.match(/ci +in force +\d{4}-\d\d-\d\d +read, plan/);
    tokenCommands.revoke({ home, display, stdout, name: 'ci' });
    tokenCommands.list({ home, display, stdout, json: true });
    expect(text).to.contain('"state":"revoked"');
    expect(text).not.to.contain(secret);
  });

  it('names the scopes there are when one is unknown', () => {
    expect(() => tokenCommands.create({ home, display, stdout, name: 'ci', scopes: 'write' })).to.throw(
      InvalidInput,
      'scope "write" is unknown: must be one of read, plan, approve, execute, admin, model, mint',
    );
    expect(() =>
      tokenCommands.create({ home, display, stdout, name: 'ci', scopes: 'read', days: '0' }),
    ).to.throw(InvalidInput);
  });
});
