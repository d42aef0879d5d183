import { expect } from 'chai';
import { InvalidInput } from '#kit/errors.ts';
import { unwanted } from './embedded-services.ts';

describe('The choice of services', () => {
  it('leaves out what is not named by --only, and what is named by --without', () => {
    expect(unwanted({}).size).to.equal(0);
    expect([...unwanted({ without: 'bridge, core-bus-worker' }).keys()]).to.have.members([
      'core-bridge',
      'core-bus-worker',
    ]);
    expect([...unwanted({ only: 'agentd,context', without: 'context' }).keys()]).to.not.include(
      'core-agentd',
    );
    expect(unwanted({ only: 'agentd' }).get('core-context')).to.equal('--only agentd leaves it out');
  });

  it('names a service that is none, and the choices', () => {
    expect(() => unwanted({ only: 'agentd,bus' })).to.throw(
      InvalidInput,
      /--only is "agentd,bus": "bus" must be one of core-bus-engine, /,
    );
    expect(() => unwanted({ only: '' })).to.throw(InvalidInput, /--only is ""/);
    expect(() => unwanted({ only: 'agentd', without: 'agentd' })).to.throw(InvalidInput, /nothing is left/);
  });
});
