import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { CoreError } from '#kit/errors.ts';
import { resolveFolders } from '#kit/folders.ts';
import { readGatewayConfig } from './configuration.ts';

describe('The configuration of the model gateway', () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'core-models-'));
  });
  afterEach(() => rmSync(home, { recursive: true }));

  function read(models: object) {
    return readText(JSON.stringify({ models }));
  }

  function readText(text: string) {
    const folders = resolveFolders({ home }, {} as never);
    mkdirSync(folders.config, { recursive: true });
    writeFileSync(join(folders.config, 'models.json'), text);
    return readGatewayConfig({ folders, environment: {} });
  }

  const there = { kind: 'openai', base_url: 'http://127.0.0.1:1/v1', model: 'm' };

  it('refuses an address with white space, and vectors of Anthropic, naming where they stand', () => {
    const cases: [object, string][] = [
      [{ upstreams: [{ ...there, base_url: 'http://127.0.0.1:1/v1\n' }] }, '/models/a/upstreams/0/base_url'],
      [{ upstreams: [{ ...there, base_url: 'http://127.0.0.1:1/v 1' }] }, 'white space'],
      [
        { kind: 'embeddings', upstreams: [there, { ...there, kind: 'anthropic' }] },
        '/models/a/upstreams/1/kind is "anthropic": must be "openai"',
      ],
      [{ upstreams: [{ ...there, limit_member: 'maximum' }] }, 'max_completion_tokens'],
    ];
    for (const [model, said] of cases) {
      expect(() => read({ a: model }))
        .to.throw(CoreError, said)
        .with.property('code', 'config_invalid');
    }
    const { models } = read({ a: { upstreams: [{ ...there, limit_member: 'max_completion_tokens' }] } });
    expect(models.a!.upstreams[0]!.limit_member).to.equal('max_completion_tokens');
  });

  it('refuses a member that stands twice, of which the last would count without a word', () => {
    const entry = JSON.stringify({ upstreams: [there] });
    const twice = `{ "models": { "a": ${entry}, "b": ${entry}, "a": ${entry} } }`;
    expect(() => readText(twice)).to.throw(
      CoreError,
      'models.json: /models/a stands twice: must be there once',
    );
    const within = `{ "models": { "a": ${entry.replace('{"kind"', '{"kind":"openai","kind"')} } }`;
    expect(() => readText(within)).to.throw(CoreError, '/models/a/upstreams/0/kind stands twice');
    expect(Object.keys(readText(`\uFEFF { "models": { "a": ${entry} } }`).models)).to.deep.equal(['a']);
  });

  it('refuses the name __proto__, which objects would lose', () => {
    const text = `{ "models": { "__proto__": ${JSON.stringify({ upstreams: [there] })} } }`;
    expect(() => readText(text)).to.throw(
      CoreError,
      'the name of a model in /models: / is "__proto__": must be letters, digits and',
    );
    expect(Object.keys(read({ constructor: { upstreams: [there] } }).models)).to.deep.equal(['constructor']);
  });

  it('refuses two chat models of one tier, naming both', () => {
    const model = (tier: string | null, kind = 'chat') => ({ kind, tier, upstreams: [there] });
    expect(() => read({ a: model('large'), b: model('small'), c: model('large') })).to.throw(
      CoreError,
      '/models/c/tier is "large", as that of /models/a: must be of one chat model',
    );
    const { models } = read({
      a: model('large'),
      b: model(null),
      c: model(null),
      d: model('large', 'embeddings'),
    });
    expect(models).to.have.all.keys('a', 'b', 'c', 'd');
  });
});
