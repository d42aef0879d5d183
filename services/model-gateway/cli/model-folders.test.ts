import { expect } from 'chai';
import type { Environment } from '#kit/environment.ts';
import { whenItCounts } from './commands/models.ts';
import { modelFolders } from './models-file.ts';

describe('The commands of models in a container', () => {
  const variables = (more: Partial<Environment>) =>
    ({ CORE_HOME: '/nowhere', CORE_SECRETS_DIR: '/secrets/forges', ...more }) as Environment;

  it('keep keys where the gateway alone sees them, unless a folder is named', () => {
    const inContainer = variables({ CORE_MODEL_SECRETS_DIR: '/secrets/models' });
    expect(modelFolders(undefined, inContainer).secrets).to.equal('/secrets/models');
    expect(modelFolders('/elsewhere', inContainer).secrets).to.equal('/elsewhere/config/secrets');
    expect(modelFolders(undefined, variables({})).secrets).to.equal('/secrets/forges');
  });

  it('say which gateway goes by them', () => {
    const state = '/nowhere/state';
    expect(whenItCounts({ state }, variables({}))).to.contain('no gateway runs here');
    expect(
      whenItCounts({ state }, variables({ CORE_MODELS_URL: 'http://core-model-gateway:8092' })),
    ).to.contain('the gateway at http://core-model-gateway:8092 goes by it from now on');
  });
});
