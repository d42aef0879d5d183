import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { expect } from 'chai';
import { codeOf, InvalidInput } from '#kit/errors.ts';
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

  it('makes a token, shows it and takes it back, without ever printing its text', async () => {
    expect(
      await tokenCommands.create({ home, display, stdout, name: 'ci', scopes: 'read, plan', days: '3' }),
    ).to.equal(0);
    const secret = readFileSync(join(home, 'config/tokens/ci.token'), 'utf8').trim();
    await tokenCommands.list({ home, display, stdout });
    expect(text)
      .to.contain('token ci may read, plan until')
      .and.to.match(/ci +in force +\d{4}-\d\d-\d\d +\d{4}-\d\d-\d\d +read, plan/);
    await tokenCommands.revoke({ home, display, stdout, name: 'ci' });
    await tokenCommands.list({ home, display, stdout, json: true });
    expect(text).to.contain('"state":"revoked"');
    expect(text).not.to.contain(secret);
  });

  it('lists tokens under titles, with the day on which each expires, on 80 columns too', async () => {
    const narrow = { home, display: displayWith(80), stdout };
    await tokenCommands.list(narrow);
    expect(text).to.equal('no tokens yet; the first command that needs one makes yours\n');
    const scopes = 'read,plan,approve,execute,admin,model,mint';
    await tokenCommands.create({ ...narrow, name: 'a-name-of-30-letters-as-of-teams', scopes, days: '3' });
    await tokenCommands.create({ ...narrow, name: 'ci', scopes: 'read' });
    text = '';
    await tokenCommands.list(narrow);
    const lines = text.trimEnd().split('\n');
    const inThreeDays = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10);
    expect(lines[0]).to.match(/^token +state +expires +scopes$/);
    expect(lines.join('\n')).to.match(new RegExp(`^a-name-of-30-.* +in force +${inThreeDays} +read`, 'm'));
    expect(lines.join('\n')).to.match(/^ci +in force +never +read$/m);
    expect(Math.max(...lines.map(({ length }) => length))).to.be.at.most(80);
  });

  it('names the scopes there are when one is unknown', async () => {
    const failure = async (options: { readonly scopes: string; readonly days?: string }) =>
      tokenCommands.create({ home, display, stdout, name: 'ci', ...options }).catch((error) => error);
    const error = await failure({ scopes: 'write' });
    expect(error).to.be.instanceOf(InvalidInput);
    expect(error.message).to.equal(
      'scope "write" is unknown: must be one of read, plan, approve, execute, admin, model, mint',
    );
    expect(await failure({ scopes: 'read', days: '0' })).to.be.instanceOf(InvalidInput);
  });

  it('has one host where the registry is a file', async () => {
    await tokenCommands.create({ home, display, stdout, name: 'ci', scopes: 'read' });
    const error = await tokenCommands
      .revoke({ home, display, stdout, name: 'ci', host: 'elsewhere' })
      .catch((error) => error);
    expect(codeOf(error)).to.equal('token_not_found');
    expect(String(error)).to.contain('"elsewhere"').and.contain('storage.kind is files');
  });
});
