import { expect } from 'chai';
import { withArrows } from './status.ts';

describe('A smoke run', () => {
  const smoke = { ok: true, event_id: 'e', run_id: 'run_1', steps: [], repositories: [], changed: [] };
  const arrow = (ok: boolean) => ({ from: 'core-bridge', to: 'core-agentd', ok, detail: 'answers 401' });

  it('says of the connections between services which work, or which does not and why', () => {
    const [works] = withArrows(smoke, [arrow(true)]).steps;
    expect(works).to.include({ step: 'connections between services', ok: true });
    expect(works!.detail).to.equal('1 connection works: core-bridge to core-agentd');
    const broken = withArrows(smoke, [arrow(true), arrow(false)]);
    expect(broken.ok).to.equal(false);
    expect(broken.steps[0]!.detail).to.equal('core-bridge does not reach core-agentd: answers 401');
  });
});
