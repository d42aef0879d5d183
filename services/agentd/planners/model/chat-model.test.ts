import { expect } from 'chai';
import type { KnownModel } from '#kit/config/known-models.ts';
import { chatModelFor } from './model-planner.ts';

function model(name: string, tier: KnownModel['tier'], kind: KnownModel['kind'] = 'chat'): KnownModel {
  return {
    name,
    kind,
    tier,
    context_tokens: null,
    output_tokens: null,
    price: null,
    most_output_price: 0,
    upstream_kinds: ['openai'],
  };
}

describe('the model that plans for a tier', () => {
  const large = model('big', 'large');
  const plain = model('plain', null);
  const small = model('little', 'small');

  it('is the first of that tier, wherever it stands', () => {
    const models = [plain, large, model('other', 'large'), small];
    expect(chatModelFor(models, 'large')).to.equal(large);
    expect(chatModelFor(models, 'small')).to.equal(small);
  });

  it('is one without a tier before one of another', () => {
    expect(chatModelFor([small, plain], 'large')).to.equal(plain);
    expect(chatModelFor([small], 'large')).to.equal(small);
  });

  it('is none that makes embeddings', () => {
    expect(chatModelFor([model('vectors', null, 'embeddings')], 'large')).to.equal(null);
    expect(chatModelFor([], null)).to.equal(null);
  });
});
