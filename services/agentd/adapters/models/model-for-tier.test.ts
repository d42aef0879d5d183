import { expect } from 'chai';
import { modelForTier } from './model-for-tier.ts';

const endpoint = {
  base_url: 'http://127.0.0.1:8092/v1',
  credential_file: 'model-key',
  tiers: {
    small: { model: 'little', price: null, max_output_tokens: undefined, max_tokens_field: undefined },
  },
};

describe('the model of a tier', () => {
  it('is the one configured, and says where it is asked', () => {
    expect(modelForTier(endpoint, 'small', '/secrets')).to.include({
      provider: '127.0.0.1:8092',
      model: 'little',
      tier: 'small',
    });
  });

  it('is refused by name where there is none', () => {
    expect(() => modelForTier(endpoint, 'large', '/secrets')).to.throw(
      /no model tier "large"; there are small/,
    );
    expect(() => modelForTier(endpoint, 'constructor', '/secrets')).to.throw(/no model tier/);
  });
});
