import { expect } from 'chai';
import { decodeCall } from './decode-call.ts';
import { chosenModel, type Model } from './models.ts';

describe('The time to live of cached input with the key of a run', () => {
  const ofRun = { key: 'key:1', run: 'run_1', models: ['a'], budget: 1 };
  const ofToken = { key: 'token:a', run: null, models: null, budget: null };

  function chosen(
    ttl: string,
    hasHourPrice: boolean,
    account = ofRun as typeof ofRun | typeof ofToken,
    written = (body: string) => body,
  ): Model {
    const text = { type: 'text', text: 'Hello', cache_control: { type: 'ephemeral', ttl } };
    const messages = [{ role: 'user', content: [text] }];
    const call = decodeCall({
      endpoint: 'chat/completions',
      bytes: Buffer.from(written(JSON.stringify({ model: 'a', messages }))),
    });
    const model: Model = { name: 'a', kind: 'chat', outputLimit: null, hasHourPrice, lanes: [] };
    return chosenModel(call, account, new Map([['a', model]]));
  }

  it('may be an hour where each upstream has a price for it', () => {
    expect(chosen('1h', true).name).to.equal('a');
    expect(() => chosen('1h', false)).to.throw('cache_control.ttl is "1h": must be 5m with the key of a run');
  });

  it('is refused where its price is not known, naming those that are', () => {
    expect(() => chosen('2h', true)).to.throw(
      'cache_control.ttl is "2h": must be 5m or 1h with the key of a run',
    );
    const escaped = (body: string) => body.replace('"ttl"', '"\\u0074tl"');
    expect(() => chosen('1h', false, ofRun, escaped)).to.throw('must be 5m');
    expect(chosen('5m', false).name).to.equal('a');
    expect(chosen('2h', false, ofToken).name).to.equal('a');
  });
});
